package install

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"greenlight/internal/base/text/frontmatter"
)

// Content is what gl ships.
type Content struct {
	// a Claude Code plugin: commands/, agents/, hooks/hooks.json, and directories of texts
	Plugin fs.FS
	Memory []byte // CLAUDE.md; empty for none
}

// A File is a file to install.
type File struct {
	Path string // relative to the target's root
	Data []byte
}

// A doc is a Markdown file of the content: a command or an agent.
type doc struct {
	name  string // path below commands/ or agents/, without .md
	front map[string]string
	body  string
	raw   []byte
}

// Files returns the files of an installation, sorted by path. It excludes CLAUDE.md and hooks,
// which go into the user's files.
func (t Target) Files(c Content) ([]File, error) {
	f, ok := formatOf(t.Agent)
	if !ok {
		return nil, fmt.Errorf("no such agent: %q", t.Agent)
	}
	var all []File
	err := fs.WalkDir(c.Plugin, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(c.Plugin, name)
		if err != nil {
			return err
		}
		top, rest, nested := strings.Cut(name, "/")
		text, isMarkdown := strings.CutSuffix(rest, ".md")
		switch {
		case !nested || strings.HasPrefix(top, ".") || top == "hooks":
		case top == "skills" && t.System != "":
			all = append(all, File{t.dirs.commands + "/" + rest, data})
		case top == "commands" && isMarkdown && f.command != nil:
			all = append(all, f.command(t, parseDoc(text, data)))
		case top == "agents" && isMarkdown && f.agent != nil:
			all = append(all, f.agent(t, parseDoc(text, data)))
		case top != "commands" && top != "agents":
			all = append(all, File{path.Join(t.Home, name), data})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the content: %w", err)
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for _, file := range all {
		if !t.owns(file.Path) {
			return nil, fmt.Errorf("%s has no name that gl may install for %s", file.Path, t.Agent)
		}
	}
	return all, nil
}

// parseDoc splits off the front matter; without a readable one, the whole text is the body.
func parseDoc(name string, data []byte) doc {
	d := doc{name: name, front: map[string]string{}, body: string(data), raw: data}
	f, err := frontmatter.ParseFile(data, frontmatter.Rules{})
	if err != nil {
		return d
	}
	for _, key := range f.Keys() {
		d.front[key], _ = f.Get(key)
	}
	d.body = strings.TrimLeft(f.Body(), "\n")
	return d
}
