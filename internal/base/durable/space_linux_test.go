package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// There is room until the disk is full, and again once something is removed.
func TestRoom(t *testing.T) {
	dir := t.TempDir()
	if err := Room(dir); err != nil {
		t.Error(err)
	}
	if syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k") != nil {
		t.Skip("needs the right to mount")
	}
	t.Cleanup(func() { syscall.Unmount(dir, 2) }) // MNT_DETACH
	if err := Room(dir); err != nil {
		t.Errorf("of an empty disk: %v", err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := Room(dir); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("of a full disk: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := Room(dir); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
