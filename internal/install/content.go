package install

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Content is what ships.
type Content struct {
	Plugin fs.FS  // a Claude Code plugin: commands/, agents/, hooks/hooks.json, and directories of texts
	Memory []byte // CLAUDE.md; empty for none
}

// A File is one file as it is to be installed.
type File struct {
	Path string // relative to the target's root
	Data []byte
}

// A doc is a Markdown file of the content: a command or an agent.
type doc struct {
	name  string // its path below commands/ or agents/, without .md
	front map[string]string
	body  string
	raw   []byte
}

// Files returns what an installation of the content consists of, sorted by path; CLAUDE.md and hooks aside, which are
// parts of files of the user's.
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

// parseDoc takes the frontmatter off: flat lines `key: value`, as the content has them.
func parseDoc(name string, data []byte) doc {
	d := doc{name: name, front: map[string]string{}, body: string(data), raw: data}
	rest, ok := strings.CutPrefix(d.body, "---\n")
	if !ok {
		return d
	}
	head, body, ok := strings.Cut(rest, "\n---\n")
	if !ok {
		return d
	}
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\n"), ":")
		if ok && !strings.HasPrefix(line, " ") {
			d.front[strings.TrimSpace(key)] = unquote(strings.TrimSpace(value))
		}
	}
	d.body = strings.TrimLeft(body, "\n")
	return d
}

func unquote(value string) string {
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		quote := value[0]
		value = value[1 : n-1]
		if quote == '"' {
			return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(value)
		}
		return strings.ReplaceAll(value, "''", "'")
	}
	return value
}
