package statedir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
)

// Ignore is the content of the .gitignore.
const Ignore = ".gitignore\n.lock\nruns/\n*.tmp\n"

// Ignored returns the paths, relative to the root, that belong to this machine: git should
// ignore them all.
func Ignored() []string {
	return []string{Name + "/.lock", Name + "/runs/live", Name + "/.STATE.md.tmp", Name + "/slices/.S-1.md.tmp"}
}

// WriteIgnore writes the .gitignore if it doesn't exist.
func WriteIgnore(root string) error {
	path := Path(root, ".gitignore")
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return replaceIgnore(path, nil, Ignore)
}

// AddIgnores adds the lines that the .gitignore lacks, under the lock, and returns them. If it
// writes the whole file, it returns none.
func AddIgnores(ctx context.Context, root string) (added []string, err error) {
	err = Locked(ctx, root, func(Held) error {
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

// replaceIgnore doesn't replace a .gitignore that has changed since it was read.
func replaceIgnore(path string, old []byte, text string) error {
	err := durable.Replace(path, old, []byte(text))
	if err != nil && !errors.Is(err, durable.ErrChanged) {
		return fmt.Errorf("write %s/.gitignore: %w", Name, err)
	}
	return nil
}

// withIgnores returns the text with our lines that it lacks. It doesn't add the file's own name
// to a file that a person wrote, since they keep it in git.
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
