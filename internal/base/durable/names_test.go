package durable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// Names returns the same as os.ReadDir.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	for i := range 1200 { // more than one system call returns
		seed(t, filepath.Join(dir, fmt.Sprintf("%s-%d", strings.Repeat("x", i%200), i)), "")
	}
	seed(t, filepath.Join(dir, ".hidden"), "")
	seed(t, filepath.Join(dir, "a\n\x01ü"), "")
	for _, err := range []error{os.Mkdir(filepath.Join(dir, "d.md"), 0o755),
		os.Symlink("d.md", filepath.Join(dir, "link"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	list := func(dir string) (names []Name, err error) {
		err = Names(dir, func(part []Name) { names = append(names, part...) })
		return names, err
	}
	got, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(a, b Name) int { return strings.Compare(a.Name, b.Name) })
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var want []Name
	for _, e := range entries {
		want = append(want, Name{e.Name(), e.IsDir()})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if names, err := list(t.TempDir()); err != nil || names != nil {
		t.Errorf("an empty one: %v, %v", names, err)
	}
	if _, err := list(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// If the file system doesn't give an entry's type, Names asks the entry itself.
func TestNamesOfUnknownKind(t *testing.T) {
	path := t.TempDir()
	if err := os.Mkdir(filepath.Join(path, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	seed(t, filepath.Join(path, "f"), "")
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	records := record(1, unix.DT_UNKNOWN, "d") + record(2, unix.DT_UNKNOWN, "f") + record(3,
		unix.DT_UNKNOWN, "gone") + record(0, unix.DT_REG, "deleted") + record(4, unix.DT_DIR, "..")
	got, err := appendNames(nil, records, dir)
	if diff := cmp.Diff([]Name{{"d", true}, {"f", false}}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// record returns a directory entry in the system's format.
func record(ino uint64, kind byte, name string) string {
	var d unix.Dirent
	start := int(unsafe.Offsetof(d.Name))
	b := make([]byte, start, start+len(name)+1)
	binary.NativeEndian.PutUint64(b[unsafe.Offsetof(d.Ino):], ino)
	binary.NativeEndian.PutUint16(b[unsafe.Offsetof(d.Reclen):], uint16(cap(b)))
	b[unsafe.Offsetof(d.Type)] = kind
	return string(append(append(b, name...), 0))
}

// Reading ends, whatever the system returns.
func FuzzNames(f *testing.F) {
	f.Add(record(1, unix.DT_REG, "a") + record(2, unix.DT_DIR, "b"))
	f.Add(record(1, unix.DT_REG, "a")[:20])
	f.Fuzz(func(t *testing.T, records string) {
		dir, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		names, err := appendNames(nil, records, dir)
		if err == nil && len(names)*int(unsafe.Offsetof(unix.Dirent{}.Name)) > len(records) {
			t.Error(names)
		}
	})
}
