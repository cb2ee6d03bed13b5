package statedir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"greenlight/internal/durable"
)

// Ignore is the text of the .gitignore.
const Ignore = ".gitignore\n.lock\nruns/\n*.tmp\n"

// Ignored are paths, relative to the root, that belong to this machine: git ought to ignore them all.
func Ignored() []string {
	return []string{Name + "/.lock", Name + "/runs/live", Name + "/.STATE.md.tmp", Name + "/slices/.S-1.md.tmp"}
}

// WriteIgnore writes the .gitignore where there is none.
func WriteIgnore(root string) error {
	path := Path(root, ".gitignore")
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return replaceIgnore(path, nil, Ignore)
}

// AddIgnores adds the lines that the .gitignore lacks, under the lock, and says which. Where it writes the whole file, it
// names none.
func AddIgnores(ctx context.Context, root string) (added []string, err error) {
	err = Locked(ctx, root, func() error {
		if err := WriteIgnore(root); err != nil {
			return err
		}
		path := Path(root, ".gitignore")
		old, err := durable.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read %s/.gitignore: %w", Name, err)
		}
		var text string
		if text, added = withIgnores(string(old)); len(added) == 0 {
			return nil
		}
		return replaceIgnore(path, old, text)
	})
	return added, err
}

// replaceIgnore leaves a .gitignore alone that somebody has just written.
func replaceIgnore(path string, old []byte, text string) error {
	err := durable.Replace(path, old, []byte(text))
	if err != nil && !errors.Is(err, durable.ErrChanged) {
		return fmt.Errorf("write %s/.gitignore: %w", Name, err)
	}
	return nil
}

// withIgnores is the text with the lines of ours that it lacks. In a file that somebody wrote, its own name is not
// among them: they keep it in git.
func withIgnores(text string) (with string, added []string) {
	var have []string
	for line := range strings.Lines(text) {
		have = append(have, strings.TrimSpace(line))
	}
	with = text
	if with != "" && !strings.HasSuffix(with, "\n") {
		with += "\n"
	}
	for line := range strings.Lines(Ignore) {
		name := strings.TrimSuffix(line, "\n")
		if slices.Contains(have, name) || name == ".gitignore" && text != "" {
			continue
		}
		with += line
		added = append(added, name)
	}
	return with, added
}
