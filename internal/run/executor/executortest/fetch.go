package executortest

import (
	"testing"

	"greenlight/internal/workspace/worktree"
)

// The program, and what it has started, write into the worktree until they are ended.
func promiseFetch(t *testing.T, s *Subject) {
	dir, place := s.Place(t)
	j := s.shell(t, `write() { i=0; while :; do i=$((i+1)); echo $i > $1; sleep 0.001; done; }
mkdir -p sub; echo whole > sub/file; (write child) & (setsid sh -c '. ./lib; write stranger') & : > up; write mine`)
	j.Dir = dir
	j.Argv[2] = `printf '%s\n' 'write() { i=0; while :; do i=$((i+1)); echo $i > $1; sleep 0.001; done; }' > lib; ` + j.Argv[2]
	run := s.start(t, j)
	until(t, "all of it writes", func() bool {
		return file(dir, "mine") != "" && file(dir, "child") != "" && file(dir, "stranger") != ""
	})
	run.End()
	finish(run)
	at := file(dir, "mine") + " " + file(dir, "child") + " " + file(dir, "stranger")
	last := worktree.SnapshotOptions{Last: true, Why: "gl: a test"}
	first, err := s.Executor.Fetch(t.Context(), place, last)
	check(t, err)
	again, err := s.Executor.Fetch(t.Context(), place, last)
	check(t, err)
	if first == nil || again == nil || first.Whole == "" || first.Whole != again.Whole || len(first.Failed) > 0 {
		t.Errorf("%+v, then %+v", first, again)
	}
	if now := file(dir, "mine") + " " + file(dir, "child") + " " + file(dir, "stranger"); now != at {
		t.Errorf("%s has become %s", at, now)
	}
	for _, name := range []string{"sub/file", "mine", "child", "stranger"} {
		if got, want := s.Fetched(t, dir, first, name), file(dir, name); got != want || got == "" {
			t.Errorf("%s: fetched %q, it is %q", name, got, want)
		}
	}
}
