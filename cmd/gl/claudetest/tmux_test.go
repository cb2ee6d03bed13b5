package claudetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"greenlight/internal/core/outcome"
)

// Two clients build two ready slices in tmux panes at once.
func TestTmux(t *testing.T) {
	of := func(id string) func(*Request) bool {
		return func(r *Request) bool { return r.Asked("<command-args>" + id + "</command-args>") }
	}
	w := newWorld(t, []string{"S-01", "S-02"}, Script{of("S-01"), built("S-01")},
		Script{of("S-02"), built("S-02")})
	w.env = append(w.env, "TMUX_TMPDIR="+w.sockets())
	w.must("gl", "slice", "--runner", "tmux")
	for _, id := range []string{"S-01", "S-02"} {
		r := w.attempt(id, 1)
		if r == nil || r.Job.Runner != "tmux" {
			t.Fatalf("%s: %+v", id, r)
		}
		w.settled(r, outcome.Done, "complete")
	}
	if one, two := w.attempt("S-01", 1), w.attempt("S-02", 1); one.Life.EndedAt.Before(two.Life.ClaimedAt) ||
		two.Life.EndedAt.Before(one.Life.ClaimedAt) {
		t.Error("one was claimed only after the other had ended")
	}
}

// sockets returns a directory for the sockets of tmux servers, whose paths must be short. The
// servers end with the test.
func (w *world) sockets() string {
	w.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		w.Skip("tmux is not installed")
	}
	dir, err := os.MkdirTemp("", "ct")
	w.check(err)
	w.Cleanup(func() {
		all, _ := filepath.Glob(filepath.Join(dir, "tmux-*", "*"))
		for _, s := range append(all, filepath.Join(dir, "s")) {
			exec.Command("tmux", "-S", s, "kill-server").Run()
		}
		os.RemoveAll(dir)
	})
	return dir
}
