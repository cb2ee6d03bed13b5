package paths

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program finds a program: in the directories of PATH or, where the name has a slash, by its path relative to dir. Relative
// directories in PATH are passed over, because what they hold depends on the directory in which gl is called, and there it
// is the repository's. The error is exec.LookPath's.
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
