package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func seed(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// only fails the test unless the directory has exactly these entries, and so no temporary file.
func only(t testing.TB, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	if strings.Join(have, " ") != strings.Join(names, " ") {
		t.Errorf("directory has %q, want %q", have, names)
	}
}

func mode(t testing.TB, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func inode(t testing.TB, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

func TestWriteFileNewHasModeOfOSWriteFile(t *testing.T) {
	for _, perm := range []fs.FileMode{0o644, 0o600, 0o666, 0o755, 0o400} {
		dir := t.TempDir()
		ours, theirs := filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")
		if err := WriteFile(ours, []byte("x"), perm); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(theirs, []byte("x"), perm); err != nil {
			t.Fatal(err)
		}
		if mode(t, ours) != mode(t, theirs) {
			t.Errorf("perm %v: mode %v, os.WriteFile gives %v", perm, mode(t, ours),
				mode(t, theirs))
		}
		only(t, dir, "ours", "theirs")
	}
}

func TestWriteFileKeepsMode(t *testing.T) {
	for _, m := range []fs.FileMode{0o600, 0o644, 0o666, 0o777, 0o440, 0o755 | fs.ModeSetuid} {
		path := filepath.Join(t.TempDir(), "f")
		seed(t, path, "old")
		if err := os.Chmod(path, m); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(path, []byte("new"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := mode(t, path); got != m {
			t.Errorf("mode %v, want %v", got, m)
		}
	}
}

func TestWriteFileKeepsOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	path := filepath.Join(t.TempDir(), "f")
	seed(t, path, "old")
	if err := os.Chown(path, 1234, 5678); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 5678 {
		t.Errorf("owner %d:%d, want 1234:5678", st.Uid, st.Gid)
	}
}

func TestSymlinkStaysAndItsTargetIsReplaced(t *testing.T) {
	tests := []struct {
		name, link string // the link's text; %s is the directory
		exists     bool
	}{
		{"relative", "real/f", true},
		{"absolute", "%s/real/f", true},
		{"through a directory link and up", "dirlink/../f", true},
		{"chain", "hop", true},
		{"dangling", "real/none", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(os.MkdirAll(filepath.Join(dir, "real", "deep"), 0o755))
			must(os.Symlink("real/deep", filepath.Join(dir, "dirlink")))
			must(os.Symlink("real/f", filepath.Join(dir, "hop")))
			seed(t, filepath.Join(dir, "real", "f"), "old")
			link, want := filepath.Join(dir, "link"), filepath.Join(dir, "real", "f")
			if !tt.exists {
				want = filepath.Join(dir, "real", "none")
			}
			must(os.Symlink(strings.ReplaceAll(tt.link, "%s", dir), link))

			must(WriteFile(link, []byte("one"), 0o644))
			if read(t, want) != "one" {
				t.Errorf("target has %q after WriteFile", read(t, want))
			}
			must(Replace(link, []byte("one"), []byte("two")))
			if read(t, want) != "two" {
				t.Errorf("target has %q after Replace", read(t, want))
			}
			if mode, err := os.Lstat(link); err != nil || mode.Mode().Type() != fs.ModeSymlink {
				t.Errorf("the link is gone: %v %v", mode, err)
			}
		})
	}
}

func TestWriteFileRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "d"), 0o755),
		os.Symlink("loop", filepath.Join(dir, "loop")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, is := range map[string]error{"d": nil, "pipe": nil, "loop": syscall.ELOOP,
		"no/dir": fs.ErrNotExist} {
		path := filepath.Join(dir, name)
		for op, err := range map[string]error{
			"WriteFile": WriteFile(path, nil, 0o644),
			"Replace":   Replace(path, nil, nil),
		} {
			if err == nil || !strings.Contains(err.Error(), path) ||
				strings.Contains(err.Error(), ".tmp") {
				t.Errorf("%s %s: error %v doesn't name the path alone", op, name, err)
			}
			if is != nil && !errors.Is(err, is) {
				t.Errorf("%s %s: error %v, want %v", op, name, err, is)
			}
		}
	}
	only(t, dir, "d", "loop", "pipe")
}

func TestReadOnlyDirectory(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	seed(t, path, "old")
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	for op, err := range map[string]error{
		"write":  WriteFile(path, []byte("new"), 0o644),
		"remove": Remove(path),
	} {
		if !errors.Is(err, fs.ErrPermission) ||
			!strings.HasPrefix(err.Error(), fmt.Sprintf("%s %s: ", op, path)) {
			t.Errorf("%s: %v", op, err)
		}
	}
	if read(t, path) != "old" {
		t.Error("the file changed")
	}
}

// A file size limit would simulate the full disk, but it holds for the whole process; so here
// the commit fails instead, which takes the same path out.
func TestFailedCommitLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	seed(t, path, "old")
	target, err := resolve(path)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	err = target.put([]byte("new"), 0o644, func(string, string) error {
		calls++
		return syscall.EIO
	})
	if !errors.Is(err, syscall.EIO) || calls != 1 {
		t.Errorf("error %v after %d calls, want EIO after 1", err, calls)
	}
	only(t, dir, "f")
	if read(t, path) != "old" {
		t.Error("the file changed")
	}
}

// Another program's clean-up (rm *.tmp, an older tool) removes the temporary file between fsync
// and rename.
func TestSweptTempIsRewrittenOnce(t *testing.T) {
	for sweeps, wantErr := range map[int]bool{1: false, 2: true} {
		dir := t.TempDir()
		target := target{path: filepath.Join(dir, "f")}
		calls := 0
		err := target.put([]byte("new"), 0o644, func(tmp, dst string) error {
			if calls++; calls <= sweeps {
				os.Remove(tmp)
			}
			return os.Rename(tmp, dst)
		})
		if (err != nil) != wantErr || calls != 2 {
			t.Errorf("%d sweeps: error %v after %d renames", sweeps, err, calls)
		}
		if !wantErr && read(t, target.path) != "new" {
			t.Errorf("content %q", read(t, target.path))
		}
	}
}

func TestDirectoryGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	target := target{path: filepath.Join(dir, "f")}
	err := target.put([]byte("new"), 0o644, func(tmp, dst string) error {
		os.RemoveAll(dir)
		return os.Rename(tmp, dst)
	})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want not exist", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the directory came back")
	}
}

func TestConcurrentWritesAreNeverTorn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	content := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 1+i*5000) }
	whole := func(b []byte) bool {
		return len(b) > 0 && 'a' <= b[0] && b[0] < 'a'+8 && bytes.Equal(b, content(int(b[0]-'a')))
	}
	seed(t, path, string(content(0)))
	var writers, reader sync.WaitGroup
	var done atomic.Bool
	for i := range 8 {
		writers.Add(1)
		go func() {
			defer writers.Done()
			for range 20 {
				if err := WriteFile(path, content(i), 0o644); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	reader.Add(1)
	go func() {
		defer reader.Done()
		for !done.Load() {
			if b, err := os.ReadFile(path); err != nil || !whole(b) {
				t.Errorf("read %d bytes that no writer wrote (%v)", len(b), err)
				return
			}
		}
	}()
	writers.Wait()
	done.Store(true)
	reader.Wait()
	only(t, dir, "f")
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	file, link, sub := filepath.Join(dir, "f"), filepath.Join(dir, "l"), filepath.Join(dir, "d")
	seed(t, file, "x")
	if err := os.Symlink("f", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, link, filepath.Join(dir, "no", "such")} {
		if err := Remove(path); err != nil {
			t.Errorf("remove %s: %v", path, err)
		}
	}
	only(t, dir, "d", "f")
	if err := Remove(file); err != nil {
		t.Error(err)
	}
	if err := Remove(sub); err == nil || !strings.Contains(err.Error(), sub) {
		t.Errorf("removing a directory: %v", err)
	}
	only(t, dir, "d")
}

// After any sequence of operations, the files are those of a map.
func TestModel(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(base, "m")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		model := map[string]string{}
		name := rapid.SampledFrom([]string{"a", "b.md", ".c", strings.Repeat("long", 60)})
		content := rapid.SampledFrom([]string{"", "x", "y\n"})
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(rt *rapid.T) {
				n, c := name.Draw(rt, "name"), content.Draw(rt, "content")
				if err := WriteFile(filepath.Join(dir, n), []byte(c), 0o644); err != nil {
					rt.Fatal(err)
				}
				model[n] = c
			},
			"replace": func(rt *rapid.T) {
				n, c := name.Draw(rt, "name"), content.Draw(rt, "content")
				have, ok := model[n]
				var old []byte
				if rapid.Bool().Draw(rt, "expects a file") {
					old = []byte(content.Draw(rt, "old"))
				}
				match := ok == (old != nil) && have == string(old)
				err := Replace(filepath.Join(dir, n), old, []byte(c))
				if match != (err == nil) || (!match && !errors.Is(err, ErrChanged)) {
					rt.Fatalf("match %v, error %v", match, err)
				}
				if match {
					model[n] = c
				}
			},
			"remove": func(rt *rapid.T) {
				n := name.Draw(rt, "name")
				if err := Remove(filepath.Join(dir, n)); err != nil {
					rt.Fatal(err)
				}
				delete(model, n)
			},
			"": func(rt *rapid.T) {
				entries, err := os.ReadDir(dir)
				if err != nil || len(entries) != len(model) {
					rt.Fatalf("%d files, want %d (%v)", len(entries), len(model), err)
				}
				for n, c := range model {
					if got, err := os.ReadFile(filepath.Join(dir, n)); err != nil ||
						string(got) != c {
						rt.Fatalf("%s has %q, want %q (%v)", n, got, c, err)
					}
				}
			},
		})
	})
}

func BenchmarkWriteFile(b *testing.B) {
	path := filepath.Join(b.TempDir(), "f")
	data := bytes.Repeat([]byte("x"), 1024)
	for b.Loop() {
		if err := WriteFile(path, data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
}
