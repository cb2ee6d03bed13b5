package hands

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"greenlight/internal/core/remote"
)

// A disk finds out how much a worker uses. The machine decides what is removed.
type disk struct {
	place *place
	busy  atomic.Bool
}

// spare is the size from which a repository without a lineage is removed: what it has is fetched
// again when it is needed.
const spare = 1 << 30

// measure adds up what there is, beside everything else.
func (d *disk) measure() {
	if !d.busy.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer d.busy.Store(false)
		all := used(d.place.files.dir)
		if repo := used(d.place.repo.top); repo > spare && d.place.repo.drop() {
			all -= repo
		}
		d.place.tell(remote.DiskUsed{Bytes: all})
	}()
}

// used returns the bytes on disk at and below a directory. What vanishes meanwhile doesn't count.
func used(dir string) (bytes int64) {
	// an error is of a directory that can't be read: the others count
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			bytes += st.Blocks * 512
		}
		return nil
	})
	return bytes
}

var errInUse = errors.New("it is in use")

// drop removes the repository if it has no lineage. A lineage is recorded before anything of it
// exists.
func (r *repository) drop() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := filepath.WalkDir(r.top, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path == r.common():
			return fs.SkipDir
		case filepath.Ext(path) == ".json" && filepath.Base(filepath.Dir(path)) == "lineage":
			return errInUse
		}
		return nil
	})
	if err != nil {
		return false
	}
	aside := r.top + ".gone"
	if err := errors.Join(os.RemoveAll(aside), os.Rename(r.top, aside)); err != nil {
		return false
	}
	return os.RemoveAll(aside) == nil
}
