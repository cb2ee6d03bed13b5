package paths

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program finds a program in the directories of PATH or, if the name has a slash, by its path
// relative to dir. It skips relative directories in PATH: they would resolve against the
// directory gl was called in, and run programs from the repository there. The error is
// exec.LookPath's.
func Program(name, dir string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return exec.LookPath(name)
	}
	for _, d := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(d) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(d, name)); err == nil {
			return path, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}
