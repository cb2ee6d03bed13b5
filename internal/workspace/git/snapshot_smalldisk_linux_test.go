package git

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A snapshot that doesn't fit says so and leaves nothing: neither where the sizes tell beforehand,
// nor where the disk fills up while git writes.
func TestSnapshotOnAFullDisk(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	objects := filepath.Join(b.w.Common, "objects")
	copied := filepath.Join(t.TempDir(), "objects")
	b.ok(os.CopyFS(copied, os.DirFS(objects)))
	if syscall.Mount("tmpfs", objects, "tmpfs", 0, "size=1m") != nil {
		t.Skip("needs the right to mount")
	}
	t.Cleanup(func() { syscall.Unmount(objects, 2) }) // MNT_DETACH
	b.ok(os.CopyFS(objects, os.DirFS(copied)))
	before := b.files(objects)
	random := func(name string, size int) {
		data := make([]byte, size)
		rand.Read(data)
		b.write(name, string(data))
	}
	left := func(when string) {
		t.Helper()
		if diff := cmp.Diff(before, b.files(objects)); diff != "" {
			t.Errorf("%s: left: %s", when, diff)
		}
	}
	random("large", 2<<20)
	var space *SpaceError
	if _, err := b.w.Snapshot(t.Context(), b.options()); !errors.As(err, &space) ||
		space.Need < 2<<20 {
		t.Errorf("by the sizes: %v", err)
	}
	left("by the sizes")
	b.remove("large")
	const files = 300 // of 2 KiB; an object takes 4 KiB and its share of a directory
	for i := range files {
		random(fmt.Sprint("f", i), 2<<10)
	}
	_, err := b.w.Snapshot(t.Context(), b.options())
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("while git writes: %v", err)
	}
	left("while git writes")
	for i := range files - 20 {
		b.remove(fmt.Sprint("f", i))
	}
	s, err := b.w.Snapshot(t.Context(), b.options())
	b.ok(err)
	b.same("with room", s.Tree)
}
