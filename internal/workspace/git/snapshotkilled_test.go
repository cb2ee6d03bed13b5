package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"context"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/testfiles"
)

// fakeGit puts a shell script before git on PATH. It finds the real one in $REAL.
func fakeGit(t *testing.T, script string) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"+script),
		0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("REAL", real)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// Each git of a snapshot is killed in turn. That says nothing about the worktree: the snapshot
// fails, or it is as good as one that nothing happened to. It must not take the worktree for one
// without an index or a history.
func TestSnapshotWithAKilledGit(t *testing.T) {
	testfiles.Slow(t)
	b := worktree(t, start)
	b.write("a", "amended")
	b.git("commit", "-qam", "1")
	b.git("commit", "-q", "--amend", "-m", "2")
	b.git("checkout", "-q", "--detach")
	b.git("commit", "-q", "--allow-empty", "-m", "detached")
	b.write("f", "staged")
	b.git("add", "f")
	b.write("f", "edited")
	b.write("nr/x", "x")
	b.write("nr/y.ignored", "y")
	b.write("nr/.gitignore", "*.ignored")
	nested := filepath.Join(b.w.Path, "nr")
	b.in(nested, "init", "-q")
	b.in(nested, "add", "-f", "x", "y.ignored")
	b.in(nested, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "nested")
	b.write(".gitattributes", "broken filter=missing\n")
	b.git("config", "filter.missing.clean", "false")
	b.git("config", "filter.missing.required", "true")
	b.write("broken", "broken")

	calls := filepath.Join(t.TempDir(), "calls")
	t.Setenv("CALLS", calls)
	o := b.options()
	o.Exact = true
	content := func(s *Snapshot) *Snapshot { // commits have the time in them
		c := *s
		for _, commit := range []*string{&c.Tree, &c.Index} {
			if *commit != "" {
				*commit = b.in(b.main, "log", "-1", "--format=%T %P %B", *commit)
			}
		}
		return &c
	}
	whole, err := b.w.Snapshot(t.Context(), o)
	b.ok(err)
	want := content(whole)
	if want.Head == "" || want.Index == "" || len(want.Logs) == 0 || len(want.Modules) == 0 ||
		len(want.Failed) > 0 {
		t.Fatalf("not everything is there to be missed: %+v", want)
	}
	fakeGit(t, `echo >>"$CALLS"
n=0
while read -r line; do n=$((n + 1)); done <"$CALLS"
if [ $n -eq "$KILL" ]; then kill -9 $$; fi
exec "$REAL" "$@"
`)
	for n := 1; ; n++ {
		t.Setenv("KILL", fmt.Sprint(n))
		b.ok(os.WriteFile(calls, nil, 0o600))
		s, err := b.w.Snapshot(t.Context(), o)
		data, readErr := os.ReadFile(calls)
		b.ok(readErr)
		if len(data) < n {
			if n < 15 {
				t.Errorf("only %d calls of git", len(data))
			}
			return
		}
		t.Setenv("KILL", "0")
		if err == nil {
			if diff := cmp.Diff(want, content(s)); diff != "" {
				t.Errorf("call %d was killed:\n%s", n, diff)
			}
		}
	}
}

// A git that isn't wanted any more can remove its locks: the next one would find them.
func TestCancelLetsGitTidyUp(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DIR", dir)
	fakeGit(t, `trap 'touch "$DIR/tidied"; exit 1' TERM
touch "$DIR/begun"
while :; do sleep 0.01; done
`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := run(ctx, dir, "version"); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(filepath.Join(dir, "tidied")); err != nil {
		t.Error(err)
	}
}

// A signal to gl's process group, by C-c or a terminal that goes away, doesn't reach its git.
func TestGitIsNotInOurGroup(t *testing.T) {
	fakeGit(t, "ps -o pgid= -p $$\n")
	out, err := run(t.Context(), "", "version")
	if err != nil || strings.TrimSpace(out) == fmt.Sprint(syscall.Getpgrp()) {
		t.Errorf("group %s, ours is %d: %v", out, syscall.Getpgrp(), err)
	}
}
