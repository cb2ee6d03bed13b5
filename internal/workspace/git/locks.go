package git

import (
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"greenlight/internal/base/durable"
)

// DirKeeper is the name of an empty file that gl keeps in a directory of refs. Because of its
// ending git takes it for no ref, and because of the file git can't remove the directory when it
// packs refs. It is no lock.
const DirKeeper = "sandbox.lock"

// A Lock is a lock file of git's. A git that changes a file first creates its lock, and in the end
// moves it there or removes it. The lock of a killed git stays, and blocks all others.
type Lock struct {
	Path string // absolute
	Made time.Time
	Size int64
}

// Locks returns the lock files in the repository that are older than an age, in the order of their
// names: of refs, of the configuration, and of each checkout's index and HEAD. It starts no git.
func Locks(common string, age time.Duration) (list []Lock) {
	before := time.Now().Add(-age)
	look := func(dir string, deep bool) {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil: // gone by now, or not for us to read
				return nil
			case d.IsDir() && path != dir && !deep:
				return filepath.SkipDir
			case !d.Type().IsRegular() || !strings.HasSuffix(path, ".lock") ||
				strings.HasPrefix(d.Name(), "gl-") || strings.HasPrefix(d.Name(), "greenlight"),
				d.Name() == DirKeeper, path == filepath.Join(common, "gl.lock"):
				return nil // gl's own stay
			}
			if info, err := d.Info(); err == nil && info.ModTime().Before(before) {
				list = append(list, Lock{path, info.ModTime(), info.Size()})
			}
			return nil
		})
	}
	look(common, false)
	look(filepath.Join(common, "refs"), true)
	trees, _ := durable.ReadDir(filepath.Join(common, "worktrees")) // there may be none
	for _, t := range trees {
		look(filepath.Join(common, "worktrees", t.Name()), false)
	}
	return list
}
