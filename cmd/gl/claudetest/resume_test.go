package claudetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/core/outcome"
	"greenlight/internal/run/attempt"
)

// landable is work to land: an attempt in a worktree that changes nothing completes nothing.
const landable = "echo x > x.txt; git add -A; git commit -qm x; "

// If the conversation's files are gone, the same attempt begins a new conversation, which is
// told what the old one knew.
func TestConversationIsGone(t *testing.T) {
	w := newWorld(t, []string{"S-01"}, Script{Steps: []Reply{
		Bash("gl state set S-01 status=implementing step=implementing"), Bash("echo one"), Bash("echo two")}})
	first := w.stopped()
	w.check(os.RemoveAll(filepath.Join(w.home, ".claude", "projects")))
	w.must("gl", "retry", "S-01")
	w.flags(yolo)
	scripts := append([]Reply{Bash(landable + "gl state show S-01")}, built("S-01")...)
	w.serve(Script{Steps: scripts})
	w.call("gl", "slice", "S-01")
	r := w.attempt("S-01", 2)
	if r == nil {
		t.Fatal("no second attempt was made")
	}
	w.settled(r, outcome.Done, "complete")
	if r.Talk.Conversation == first.Talk.Conversation || r.Talk.Conversation == "" {
		t.Errorf("conversation %q after %q", r.Talk.Conversation, first.Talk.Conversation)
	}
	q := w.first()
	for _, part := range []string{"<command-name>/gl:slice</command-name>", "handoff:", "turn limit after 2 turns", "echo one"} {
		if !q.Asked(part) {
			t.Errorf("the new conversation isn't told %q", part)
		}
	}
	if log := w.log(r); !strings.Contains(log, "No conversation found") ||
		!strings.Contains(log, `{"gl":"anew"`) {
		t.Errorf("the client didn't do what this is about:\n%s", log)
	}
}

// stopped returns a first attempt at S-01 in a worktree that ends at its turn limit.
func (w *world) stopped() *attempt.Record {
	w.Helper()
	w.must("gl", "settings", "set", "git.isolation", "worktree")
	w.flags(yolo + " --max-turns 2")
	w.call("gl", "slice", "S-01")
	r := w.attempt("S-01", 1)
	if r == nil || r.Judged.Outcome != outcome.Stalled || r.Place.Lineage == 0 {
		w.Fatalf("the first attempt isn't a stalled one in a worktree: %+v", r)
	}
	return r
}
