package dirlog

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

func TestChanged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	l := Of(dir)
	defer l.Close()
	says := func(sure bool, want ...string) {
		t.Helper()
		names, is := l.Changed()
		slices.Sort(names)
		if names = slices.Compact(names); is != sure || !slices.Equal(names, want) {
			t.Errorf("%q, %v; want %q, %v", names, is, want, sure)
		}
	}
	says(false) // not there yet
	do(os.Mkdir(dir, 0o755))
	says(false) // it begins
	if l.log == nil {
		t.Skip("no log on this file system")
	}
	says(true)
	do(os.WriteFile(at("a"), nil, 0o644))
	do(os.WriteFile(at("b"), []byte("b"), 0o644))
	says(true, "a", "b")
	says(true)
	do(os.WriteFile(at("a"), []byte("x"), 0o644))
	says(true, "a")
	do(os.Rename(at("a"), at("c")))
	do(os.Chmod(at("b"), 0o600))
	says(true, "a", "b", "c")
	do(os.Link(at("b"), at("d")))
	do(os.Remove(at("b")))
	do(os.Truncate(at("c"), 0))
	says(true, "b", "c", "d")
	do(os.Chmod(dir, 0o700)) // the directory's own
	says(false)
	says(true)
	do(os.Rename(dir, dir+".old"))
	do(os.Mkdir(dir, 0o755))
	do(os.WriteFile(at("e"), nil, 0o644))
	says(false)
	says(true)
	do(os.Rename(filepath.Dir(dir), filepath.Dir(dir)+".old")) // above it
	defer os.RemoveAll(filepath.Dir(dir) + ".old")
	says(false)
	do(os.MkdirAll(dir, 0o755))
	says(false)
	do(os.WriteFile(at("f"), nil, 0o644))
	says(true, "f")
	do(os.RemoveAll(dir))
	says(false)
}

// Events that the kernel dropped are always noticed.
func TestOverflow(t *testing.T) {
	dir := t.TempDir()
	l := Of(dir)
	defer l.Close()
	if l.log == nil {
		t.Skip("no log on this file system")
	}
	most := 16384
	if data, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events"); err == nil {
		if most, err = strconv.Atoi(string(data[:len(data)-1])); err != nil || most > 1<<17 {
			t.Skip("so long a queue", err)
		}
	}
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.WriteFile(a, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range most/4 + 1 { // there and back, two events each
		if err := os.Rename(a, b); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(b, a); err != nil {
			t.Fatal(err)
		}
	}
	if names, sure := l.Changed(); sure {
		t.Errorf("sure of %d names", len(names))
	}
	if names, sure := l.Changed(); !sure || len(names) > 0 {
		t.Errorf("then %q, %v", names, sure)
	}
}
