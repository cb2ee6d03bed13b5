package isolation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// MakeTemp creates the worktree's directory for temporary files below base (os.TempDir), and
// returns its path. The path is the same for all attempts of the lineage, and short, since the
// path of a socket is limited to about a hundred characters. Others can write to base, so an
// existing directory must be the user's own.
func (w Worktree) MakeTemp(base string) (string, error) {
	dir := filepath.Join(base, "gl-"+strconv.Itoa(os.Geteuid()))
	for _, d := range []string{dir, filepath.Join(dir, w.key())} {
		if err := private(d); err != nil {
			return "", err
		}
		dir = d
	}
	return dir, nil
}

// private creates a directory that only this user may access.
func private(dir string) error {
	if err := os.Mkdir(dir, 0o700); err == nil || !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s isn't a directory of yours: set TMPDIR to one", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}
