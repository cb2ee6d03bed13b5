package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A git that changes refs may finish when its caller has to end: no other process would remove its
// lock.
func TestRefsAreChangedToTheEnd(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	script := `#!/bin/sh
for a; do case $a in update-ref) : >"$LOCK"; : >"$LOCK.made"; sleep 0.3; rm "$LOCK"; exit 0 ;; rev-parse) : >"$LOCK.made"; exec sleep 60 ;; esac; done
`
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for verb, want := range map[string]error{"update-ref": nil, "rev-parse": context.Canceled} {
		lock := filepath.Join(dir, verb)
		t.Setenv("LOCK", lock)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for {
				if _, err := os.Stat(lock + ".made"); err == nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		began := time.Now()
		_, err := run(ctx, dir, verb, "x")
		if want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v", verb, err)
		}
		if _, err := os.Stat(lock); err == nil {
			t.Errorf("%s left its lock", verb)
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("%s took %v", verb, took)
		}
	}
}

func TestLocks(t *testing.T) {
	t.Parallel()
	common := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"packed-refs.lock", "refs/heads/a/b.lock",
		"worktrees/w/index.lock", "objects/x.lock", "gl-lane._.lock", "greenlight.lock", "index",
		"refs/gl/tests/_/greenlight/S-1/" + DirKeeper} {
		path := filepath.Join(common, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(path, nil, 0o644),
			os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	// It may be in use.
	if err := os.WriteFile(filepath.Join(common, "HEAD.lock"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range Locks(common, time.Minute) {
		rel, _ := filepath.Rel(common, l.Path)
		got = append(got, filepath.ToSlash(rel))
	}
	want := []string{"packed-refs.lock", "refs/heads/a/b.lock", "worktrees/w/index.lock"}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q", got)
		}
	}
}
