package claudetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"greenlight/internal/plan"
)

// Two slices that are ready are built by two clients in tmux panes at once.
func TestTmux(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	of := func(id string) func(*Request) bool {
		return func(r *Request) bool { return r.Asked("<command-args>" + id + "</command-args>") }
	}
	w := newWorld(t, []string{"S-01", "S-02"}, Script{of("S-01"), built("S-01")}, Script{of("S-02"), built("S-02")})
	sockets, err := os.MkdirTemp("", "ct") // a socket's path must be short
	w.check(err)
	t.Cleanup(func() {
		all, _ := filepath.Glob(filepath.Join(sockets, "tmux-*", "*"))
		for _, s := range all {
			exec.Command("tmux", "-S", s, "kill-server").Run()
		}
		os.RemoveAll(sockets)
	})
	w.env = append(w.env, "TMUX_TMPDIR="+sockets)
	w.must("gl", "slice", "--runner", "tmux")
	for _, id := range []string{"S-01", "S-02"} {
		r := w.attempt(id, 1)
		if r == nil || r.Runner != "tmux" {
			t.Fatalf("%s: %+v", id, r)
		}
		w.settled(r, plan.Complete, "complete")
	}
	if one, two := w.attempt("S-01", 1), w.attempt("S-02", 1); one.EndedAt.Before(two.ClaimedAt) || two.EndedAt.Before(one.ClaimedAt) {
		t.Error("one was claimed only after the other had ended")
	}
}
