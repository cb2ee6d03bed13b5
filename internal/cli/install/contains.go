package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"greenlight/internal/base/paths"
)

// contains returns an error if a path in a project leads outside it, or into .git: a link may
// come from a clone, as may the manifest that tells uninstall what to restore. It follows links
// within the project, such as CLAUDE.md to AGENTS.md, and any link in the user's own
// configuration.
func (t Target) contains(rel string) error {
	if t.Scope != Local {
		return nil
	}
	root, err := filepath.EvalSymlinks(t.Root)
	if err != nil {
		return err
	}
	real, err := landing(t.Path(rel), maxLinks)
	if err != nil {
		return fmt.Errorf("read %s: %w", t.Path(rel), unpath(err))
	}
	in, ok := paths.Below(root, real)
	first, _, _ := strings.Cut(filepath.ToSlash(in), "/")
	if !ok || strings.EqualFold(first, ".git") {
		return fmt.Errorf("%s: a symbolic link leads to %s, where a project's files don't belong: remove the link", t.Path(rel), real)
	}
	return nil
}

const maxLinks = 32

// landing returns where a path leads, even through dangling links, for which EvalSymlinks
// fails. It doesn't clean paths, since "a/../b" isn't "b" if a is a link.
func landing(path string, links int) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	dir, name := filepath.Split(strings.TrimRight(path, "/"))
	if dir == "" || links == 0 || name == "." || name == ".." {
		return "", syscall.ELOOP
	}
	if dir, err = landing(dir, links-1); err != nil {
		return "", err
	}
	to, err := os.Readlink(filepath.Join(dir, name))
	switch {
	case err != nil: // nothing exists, not even a link
		return filepath.Join(dir, name), nil
	case filepath.IsAbs(to):
		return landing(to, links-1)
	}
	return landing(dir+"/"+to, links-1)
}
