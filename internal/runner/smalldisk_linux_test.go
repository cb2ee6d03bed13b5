package runner_test

import (
	"os"
	"path/filepath"
	"syscall"
)

// onSmallDisk puts the project on a file system of its own that can be filled, and says whether it could.
func (s *site) onSmallDisk() bool {
	if syscall.Mount("tmpfs", s.Root, "tmpfs", 0, "size=4m") != nil {
		return false
	}
	s.t.Cleanup(func() { syscall.Unmount(s.Root, 2) }) // MNT_DETACH
	check(s.t, os.MkdirAll(filepath.Join(s.Root, ".greenlight", "slices"), 0o755))
	return true
}
