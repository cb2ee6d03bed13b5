package runner_test

import (
	"os"
	"path/filepath"
	"syscall"
)

// onSmallDisk puts the project on a file system of its own that can be filled, and reports
// whether it could.
func (s *site) onSmallDisk() bool { return s.smallDisk(s.Root, "4m") }

// smallDisk mounts one at the project's root or above it.
func (s *site) smallDisk(dir, size string) bool {
	if syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size) != nil {
		return false
	}
	s.t.Cleanup(func() { syscall.Unmount(dir, 2) }) // MNT_DETACH
	check(s.t, os.MkdirAll(filepath.Join(s.Root, ".greenlight", "slices"), 0o755))
	return true
}
