package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

const (
	enough = 1 << 20  // bytes that are free: nobody need try
	small  = 16 << 10 // the largest change of a project's state, and some
)

// Free is how many bytes may still be written to the file system of dir, false where it doesn't say.
func Free(dir string) (int64, bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil || st.Blocks == 0 {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true //nolint:unconvert // its type differs between systems
}

// Room is the error that writing a small file to dir would meet for want of space, nil for none. Where little is free it
// writes one: what is kept for root, and what a file takes beside its bytes, no number tells.
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
