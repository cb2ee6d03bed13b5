package durable

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestReplace(t *testing.T) {
	some, empty := func(s string) []byte { return []byte(s) }, []byte{}
	tests := []struct {
		name      string
		have      []byte // nil for no file
		old, data []byte
		changed   bool
	}{
		{"same as before", some("a"), some("a"), some("b"), false},
		{"changed", some("x"), some("a"), some("b"), true},
		{"changed, wants what is there", some("b"), some("a"), some("b"), true},
		{"gone", nil, some("a"), some("b"), true},
		{"gone, was empty", nil, empty, some("b"), true},
		{"new", nil, nil, some("b"), false},
		{"new and empty", nil, nil, nil, false},
		{"new, but there is one", some("x"), nil, some("b"), true},
		{"new, but there is an empty one", empty, nil, some("b"), true},
		{"new, but there is an equal one", some("b"), nil, some("b"), true},
		{"empty before", empty, empty, some("b"), false},
		{"emptied", some("a"), some("a"), nil, false},
		{"nothing to do, but changed", some("x"), some("a"), some("a"), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			want := string(tt.data)
			if tt.have != nil {
				seed(t, path, string(tt.have))
			}
			if tt.changed {
				want = string(tt.have)
			}
			err := Replace(path, tt.old, tt.data)
			if errors.Is(err, ErrChanged) != tt.changed || (err != nil) != tt.changed {
				t.Fatalf("error %v, changed should be %v", err, tt.changed)
			}
			if tt.changed && !strings.Contains(err.Error(), path) {
				t.Errorf("error %v doesn't name the path", err)
			}
			if tt.changed && tt.have == nil {
				only(t, dir)
				return
			}
			if read(t, path) != want {
				t.Errorf("content %q, want %q", read(t, path), want)
			}
			only(t, dir, "f")
		})
	}
}

func TestReplaceWritesNothingForEqualContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	seed(t, path, "same")
	before := inode(t, path)
	if err := Replace(path, []byte("same"), []byte("same")); err != nil {
		t.Fatal(err)
	}
	if inode(t, path) != before {
		t.Error("the file was replaced")
	}
	if err := Replace(path, []byte("same"), []byte("other")); err != nil {
		t.Fatal(err)
	}
	if inode(t, path) == before {
		t.Error("the file was written in place")
	}
}

// The editor saves while our temporary file is being written.
func TestReplaceComparesAgainBeforeTheRename(t *testing.T) {
	for name, old := range map[string][]byte{"replace": []byte("old"), "create": nil} {
		dir := t.TempDir()
		path, tmp := filepath.Join(dir, "f"), filepath.Join(dir, "t")
		seed(t, tmp, "ours")
		seed(t, path, "theirs")
		err := swap(tmp, path, old)
		if old == nil {
			err = create(tmp, path)
		}
		if !errors.Is(err, ErrChanged) || read(t, path) != "theirs" {
			t.Errorf("%s: error %v, content %q", name, err, read(t, path))
		}
	}
}

func TestReplaceUnderContentionLosesNothing(t *testing.T) {
	const workers, each = 8, 25
	dir := t.TempDir()
	path := filepath.Join(dir, "counter")
	seed(t, path, "0")
	increment := func() error {
		for {
			old, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(string(old))
			if err != nil {
				return err
			}
			err = Replace(path, old, []byte(strconv.Itoa(n+1)))
			if !errors.Is(err, ErrChanged) {
				return err
			}
		}
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range each {
				if err := increment(); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	wg.Wait()
	if got := read(t, path); got != strconv.Itoa(workers*each) {
		t.Errorf("counter is %s, want %d", got, workers*each)
	}
	only(t, dir, "counter")
}

func TestOneCreatorWins(t *testing.T) {
	commits := map[string]func(tmp, dst string) error{
		"link": create,
		// the fallback of create on a file system without hard links
		"no link": func(tmp, dst string) error { return swap(tmp, dst, nil) },
	}
	for name, commit := range commits {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			var wins atomic.Int32
			var winner atomic.Int64
			start := make(chan struct{})
			var wg sync.WaitGroup
			for i := range 64 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					<-start
					err := target{path: path}.put([]byte(strconv.Itoa(i)), 0o644, commit)
					switch {
					case err == nil:
						wins.Add(1)
						winner.Store(int64(i))
					case !errors.Is(err, ErrChanged):
						t.Error(err)
					}
				}()
			}
			close(start)
			wg.Wait()
			if wins.Load() != 1 || read(t, path) != strconv.FormatInt(winner.Load(), 10) {
				t.Errorf("%d winners, the last %d, content %q", wins.Load(), winner.Load(),
					read(t, path))
			}
			only(t, dir, "f")
		})
	}
}

// No system has hard links to directories: a directory as the temporary file simulates a file
// system without hard links.
func TestCreateWithoutHardLinks(t *testing.T) {
	dir := t.TempDir()
	tmp, path := filepath.Join(dir, "t"), filepath.Join(dir, "f")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := create(tmp, path); err != nil {
		t.Error(err)
	}
	only(t, dir, "f")
}

func TestCreateRaceThroughReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var wins atomic.Int32
	var wg sync.WaitGroup
	for range 64 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			err := Replace(path, nil, []byte("x"))
			if err == nil {
				wins.Add(1)
			} else if !errors.Is(err, ErrChanged) {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if wins.Load() != 1 {
		t.Errorf("%d winners", wins.Load())
	}
}

func BenchmarkReplace(b *testing.B) {
	path := filepath.Join(b.TempDir(), "f")
	old, data := bytes.Repeat([]byte("x"), 1024), bytes.Repeat([]byte("y"), 1024)
	seed(b, path, string(old))
	for b.Loop() {
		if err := Replace(path, old, data); err != nil {
			b.Fatal(err)
		}
		old, data = data, old
	}
}

func TestMoveDir(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	for _, d := range []string{from, to} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	seed(t, filepath.Join(from, "a"), "x")
	if err := MoveDir(from, to); !errors.Is(err, os.ErrExist) ||
		!strings.Contains(err.Error(), "move "+from) {
		t.Errorf("over an empty directory: %v", err)
	}
	if err := os.Remove(to); err != nil {
		t.Fatal(err)
	}
	if err := MoveDir(from, to); err != nil || read(t, filepath.Join(to, "a")) != "x" {
		t.Fatal(err)
	}
	if err := MoveDir(from, to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	only(t, dir, "to")
}
