package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAlias(t *testing.T) {
	for _, c := range []struct {
		name, file, text, want string
	}{
		{"nothing", ".zshrc", "export PATH=~/bin:$PATH\n", ""},
		{"oh-my-zsh", ".zshrc", "export ZSH=~/.oh-my-zsh\nplugins=(\n  docker\n  git z)\nsource $ZSH/oh-my-zsh.sh\n", "loads a plugin git"},
		{"other plugins", ".zshrc", "plugins=(gitignore-x docker)\n", ""},
		{"commented out", ".zshrc", "# plugins=(git)\n", ""},
		{"an alias", ".bash_aliases", "\talias gl='git log'\n", "seems to define gl"},
		{"another alias", ".bashrc", "alias glog='git log'\n# alias gl=x\n", ""},
		{"a function", ".profile", "gl() { git log; }\n", "seems to define gl"},
		{"fish", ".config/fish/config.fish", "abbr -a gl git pull\n", "seems to define gl"},
	} {
		home := t.TempDir()
		path := filepath.Join(home, c.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		x := &exam{Options: Options{Getenv: func(key string) string {
			return map[string]string{"HOME": home}[key]
		}}}
		got := checkAlias(x)
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: %+v", c.name, got)
		case c.want != "" && (len(got) != 1 || got[0].Severity != Note ||
			!strings.Contains(got[0].Message, c.want) || !strings.Contains(got[0].Message, c.file)):
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
