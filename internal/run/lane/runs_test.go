package lane_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A landing runs git no more often than it has to, since the runs are most of its cost. For one
// more that is needed, raise the limit.
func TestRunsOfGit(t *testing.T) {
	const perLanding, besides = 25, 3 // each is delivered
	s := newSiteAt(t, filepath.Join(t.TempDir(), "p"), "", "")
	s.queue("S-1", apart(t, "S-1"))
	s.work() // the lane's worktree is there
	s.queue("S-2", apart(t, "S-2"))
	s.queue("S-3", apart(t, "S-3"))
	git, err := exec.LookPath("git")
	check(t, err)
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := fmt.Sprintf("#!/bin/sh\necho \"$*\" >>%q\nexec %q \"$@\"\n", log, git)
	check(t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	s.work()
	if st := s.field("S-3", "status"); st != "complete" {
		t.Fatalf("S-3 is %s; said:\n%s", st, strings.Join(s.said, "\n"))
	}
	data, err := os.ReadFile(log)
	check(t, err)
	if n := strings.Count(string(data), "\n"); n > 2*perLanding+besides || n < 10 {
		t.Errorf("two landings run git %d times:\n%s", n, data)
	}
}
