package doctor

import (
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"greenlight/internal/base/durable"
)

// maxStartup is how much of a shell's startup file is read.
const maxStartup = 1 << 20

// startupFiles are the files below the home directory in which people define aliases.
func startupFiles() []string {
	return []string{".zshrc", ".zsh_aliases", ".bashrc", ".bash_aliases", ".bash_profile", ".profile",
		".aliases", ".config/fish/config.fish"}
}

var (
	aliasOfGl = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[ \t]*(?:alias[ \t]+gl[= \t]|abbr[ \t][^\n]*\bgl[ \t]|(?:function[ \t]+)?gl[ \t]*\(\))`)
	})
	// in oh-my-zsh, oh-my-bash and prezto, the plugin or module git has an alias gl
	gitPlugin = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)\n[ \t]*(?:plugins|aliases)=\([^)#]*\bgit\b[^)]*\)`)
	})
)

// checkAlias reports that gl may mean something else in the person's shell: many have it as an
// alias of git pull. It reads the startup files and runs none, so that it can be wrong both ways.
func checkAlias(x *exam) []Finding {
	home := x.Getenv("HOME")
	if home == "" {
		return nil
	}
	for _, name := range startupFiles() {
		text := startupText(filepath.Join(home, filepath.FromSlash(name)))
		what := "seems to define gl itself"
		if !aliasOfGl().MatchString(text) {
			if !gitPlugin().MatchString("\n" + text) {
				continue
			}
			what = "loads a plugin git, whose alias gl is git pull"
		}
		return []Finding{found(Note, "", "~/"+name+" "+what+": in that shell, gl may not be this program",
			"call it greenlight, its other name, or add unalias gl to the end of ~/"+name)}
	}
	return nil
}

// startupText returns a file's text, or "" if it can't be read.
func startupText(path string) string {
	// a pipe might never end
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := durable.ReadNamed(path, maxStartup)
	if err != nil {
		return ""
	}
	return string(text)
}
