package doctor

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"greenlight/internal/base/durable"
)

// maxStartup is how much of a shell's startup file is read.
const maxStartup = 1 << 20

// startupFiles returns the files in which people define aliases or name their shell's plugins.
func startupFiles(home, zdotdir string) []string {
	zsh := home
	if filepath.IsAbs(zdotdir) {
		zsh = zdotdir
	}
	var files []string
	for _, name := range []string{".zshrc", ".zsh_aliases", ".zpreztorc", ".zsh_plugins.txt"} {
		files = append(files, filepath.Join(zsh, name))
	}
	for _, name := range []string{".bashrc", ".bash_aliases", ".bash_profile", ".profile", ".aliases",
		filepath.FromSlash(fishConfig)} {
		files = append(files, filepath.Join(home, name))
	}
	return files
}

const fishConfig = ".config/fish/config.fish"

var aliasPatterns = sync.OnceValue(func() (p struct {
	comment, defines, itself, undoes, plugins, git *regexp.Regexp
}) {
	const end = `(?:[ \t;&'"]|$)`
	p.comment = regexp.MustCompile(`(?m)(^|[ \t])#.*$`)
	p.defines = regexp.MustCompile(`(?m)^[ \t]*(?:alias[ \t]+(?:-\S*[ \t]+)*gl[= \t](.*)|` +
		`abbr[ \t].*\bgl[ \t].*|function[ \t]+gl` + end + `|gl[ \t]*\(\))`)
	// gl by another name: alias gl=greenlight
	p.itself = regexp.MustCompile(`^[ \t'"]*(?:\S*/)?(?:gl|greenlight)[ \t'"]*$`)
	p.undoes = regexp.MustCompile(`(?m)^[ \t]*(?:unalias|unset[ \t]+-f|(?:functions|abbr)[ \t]+(?:-e|--erase))` +
		`[ \t]+(?:.*[ \t])?gl` + end)
	// Lists of plugins, as oh-my-zsh, oh-my-bash and prezto have them. Their git has an alias gl.
	p.plugins = regexp.MustCompile(`(?:plugins|aliases)\+?=\(([^)]*)\)|\bpmodule\b((?:.*\\\n)*.*)`)
	p.git = regexp.MustCompile(`(?m)(?:\bOMZP::|\bplugins/)git` + end)
	return p
})

// checkAlias reports that gl may mean something else in the person's shell: many have it as an
// alias of git pull. It reads the startup files and runs none, so that it can be wrong both ways.
func checkAlias(x *exam) []Finding {
	home := x.Getenv("HOME")
	if home == "" {
		return nil
	}
	for _, path := range startupFiles(home, x.Getenv("ZDOTDIR")) {
		what := otherGl(startupText(path))
		if what == "" {
			continue
		}
		name := path
		if rel, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rel) {
			name = "~/" + filepath.ToSlash(rel)
		}
		undo := "unalias gl"
		if strings.HasSuffix(name, fishConfig) {
			undo = "functions --erase gl; abbr --erase gl"
		}
		return []Finding{found(Note, "", name+" "+what+": in that shell, gl may not be this program",
			"call it greenlight, its other name, or add "+undo+" to the end of "+name)}
	}
	return nil
}

// otherGl returns what a startup file does that gives gl another meaning; "" for nothing, or if the
// file undoes it afterwards.
func otherGl(text string) string {
	p := aliasPatterns()
	text = p.comment.ReplaceAllString(text, "")
	what, at := "", -1
	for _, m := range p.defines.FindAllStringSubmatchIndex(text, -1) {
		what, at = "seems to define gl itself", m[0]
		if m[2] >= 0 && p.itself.MatchString(text[m[2]:m[3]]) {
			what = ""
		}
	}
	for _, m := range p.plugins.FindAllStringSubmatchIndex(text, -1) {
		list := text[m[0]:m[1]]
		names := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(" \t\n\\'\"()=", r) })
		if m[0] > at && slices.Contains(names, "git") {
			what, at = loadsGit, m[0]
		}
	}
	if m := p.git.FindStringIndex(text); m != nil && m[0] > at {
		what, at = loadsGit, m[0]
	}
	if all := p.undoes.FindAllStringIndex(text, -1); len(all) > 0 && all[len(all)-1][0] > at {
		return ""
	}
	return what
}

const loadsGit = "loads a plugin git, which has an alias gl"

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
