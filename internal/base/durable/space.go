package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

const (
	enough = 1 << 20  // free bytes that make a test write unnecessary
	small  = 16 << 10 // an upper limit for one change of a project's state
)

// Free returns how many bytes may still be written to the file system of dir; false if unknown.
func Free(dir string) (int64, bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil || st.Blocks == 0 {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true //nolint:unconvert // its type differs between systems
}

// Room returns the error that writing a small file to dir would meet for lack of space, nil for
// none. If little is free, it writes one to find out: the reserve for root and a file's
// overhead aren't reported.
func Room(dir string) error {
	if left, ok := Free(dir); !ok || left >= enough {
		return nil
	}
	f, err := createTemp(filepath.Join(dir, "room"), 0o600)
	if err == nil {
		_, err = f.Write(make([]byte, small))
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return nil
}
