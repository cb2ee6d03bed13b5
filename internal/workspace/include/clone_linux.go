package include

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// clone shares the data through FICLONE, which Btrfs, XFS, bcachefs and ZFS support.
func clone(src *os.File, dst string) error {
	f, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := unix.IoctlFileClone(int(f.Fd()), int(src.Fd())); err != nil {
		err = errors.Join(cloneError(err), f.Close())
		_ = os.Remove(dst)
		return err
	}
	return f.Close()
}
