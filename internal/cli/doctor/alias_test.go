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
		{"oh-my-zsh", ".zshrc", "export ZSH=~/.oh-my-zsh\nplugins=(\n  docker # (or podman)\n  git z)\nsource $ZSH/oh-my-zsh.sh\n", "loads a plugin git"},
		{"one more plugin", ".zshrc", "plugins=(z)\nplugins+=(git)\n", "loads a plugin git"},
		{"other plugins", ".zshrc", "plugins=(gitignore-x docker git-prompt)\n", ""},
		{"commented out", ".zshrc", "# plugins=(git)\nplugins=(z #git\n)\n", ""},
		{"advice followed", ".zshrc", "plugins=(git)\nsource $ZSH/oh-my-zsh.sh\nunalias gl\n", ""},
		{"also for other aliases", ".zshrc", "plugins=(git)\nunalias gp gl 2>/dev/null\n", ""},
		{"undone before", ".zshrc", "unalias gl\nplugins=(git)\n", "loads a plugin git"},
		{"another one undone", ".zshrc", "plugins=(git)\nunalias glog gl-x\n", "loads a plugin git"},
		{"greenlight", ".zshrc", "plugins=(git)\nalias gl=greenlight\n", ""},
		{"by its path", ".bashrc", "alias gl='~/.local/bin/gl'\n", ""},
		{"prezto", ".zpreztorc", "zstyle ':prezto:load' pmodule \\\n  'environment' \\\n  'git' \\\n  'prompt'\n", "loads a plugin git"},
		{"prezto without git", ".zpreztorc", "zstyle ':prezto:load' pmodule \\\n  'prompt'\nzstyle ':prezto:module:git' x\n", ""},
		{"zinit", ".zshrc", "zinit snippet OMZP::git\n", "loads a plugin git"},
		{"antidote", ".zsh_plugins.txt", "ohmyzsh/ohmyzsh path:plugins/git\n", "loads a plugin git"},
		{"an alias", ".bash_aliases", "\talias gl='git log'\n", "seems to define gl"},
		{"another alias", ".bashrc", "alias glog='git log'\n# alias gl=x\n", ""},
		{"a function", ".profile", "gl() { git log; }\n", "seems to define gl"},
		{"a function with its keyword", ".bashrc", "function gl { git log; }\n", "seems to define gl"},
		{"fish", ".config/fish/config.fish", "abbr -a gl git pull\n", "seems to define gl"},
		{"fish, undone", ".config/fish/config.fish", "alias gl 'git pull'\nfunctions --erase gl; abbr --erase gl\n", ""},
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

// zsh's files can be elsewhere.
func TestAliasInZdotdir(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "zsh")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".zshrc"), []byte("plugins=(git)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for zdotdir, want := range map[string]bool{dir: true, "": false} {
		x := &exam{Options: Options{Getenv: func(key string) string {
			return map[string]string{"HOME": home, "ZDOTDIR": zdotdir}[key]
		}}}
		got := checkAlias(x)
		if len(got) > 0 != want || want && !strings.HasPrefix(got[0].Message, "~/zsh/.zshrc loads") {
			t.Errorf("ZDOTDIR=%s: %+v", zdotdir, got)
		}
	}
}
