package include

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// hide prepares the worktree for files that git doesn't ignore: the agent's git add -A would
// commit them, and then the branch couldn't be merged into the checkout they come from. Each of
// their directories gets a .gitignore that names them and itself. If there already is one, the
// files aren't copied.
func (c *copier) hide(list []string) ([]string, error) {
	byDir := map[string][]string{}
	for _, p := range list {
		if info, why := c.look(p); info == nil {
			if why != "" {
				c.leave(p, why)
			}
			continue
		}
		if strings.ContainsAny(p, "\n\r") {
			c.leave(p, "no .gitignore can name it")
			continue
		}
		byDir[path.Dir(p)] = append(byDir[path.Dir(p)], p)
	}
	var kept []string
	for dir, files := range byDir {
		var lines []string
		for _, p := range files {
			lines = append(lines, ignoreLine(path.Base(p)))
		}
		slices.Sort(lines)
		hidden, err := c.ignore(dir, strings.Join(append(lines, "/.gitignore\n"), "\n"))
		if err != nil {
			return nil, err
		}
		for _, p := range files {
			switch {
			case hidden && path.Base(p) != ".gitignore":
				kept = append(kept, p)
			case !hidden:
				c.leave(p, "the agent would commit it: have git ignore it, or add it")
			}
		}
	}
	return kept, nil
}

// ignore writes the .gitignore of a directory; it returns false if there is another one, or the
// directory can't be created.
func (c *copier) ignore(dir, text string) (bool, error) {
	if c.mkdirs(dir) != nil {
		return false, nil
	}
	file := filepath.Join(c.To, dir, ".gitignore")
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return c.isOurs(file, text), nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.WriteString(text)
	return err == nil, errors.Join(err, f.Close())
}

// isOurs reports whether an earlier run has written the same file, and completes it if that run
// was interrupted.
func (c *copier) isOurs(file, text string) bool {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	data, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(text, string(data)) {
		return false
	}
	return string(data) == text || os.WriteFile(file, []byte(text), 0o644) == nil
}

// ignoreLine returns the pattern for one name in the directory of the .gitignore.
func ignoreLine(name string) string {
	var b strings.Builder
	b.WriteByte('/')
	for i := range len(name) { // the name needn't be UTF-8
		if strings.IndexByte(`\*?[ `, name[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(name[i])
	}
	return b.String()
}
