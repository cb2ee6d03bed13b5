package lane_test

import (
	"os"
	"strings"
	"testing"

	"greenlight/internal/core/plan"
)

// Queued work lands although runs/ is removed, unless its slice has changed. No notes are left
// then.
func TestQueueSurvives(t *testing.T) {
	s := newSite(t, "")
	r := s.queue("S-1", apart(t, "S-1"))
	s.queue("S-2", apart(t, "S-2"))
	check(t, os.RemoveAll(s.project().Runs.Files.Dir()))
	s.set("S-2", "status", "pending", "session", "")
	s.work()
	if got := s.landings("main"); len(got) > 0 {
		t.Fatalf("landed: %q", got)
	}
	check(t, s.lane().Restore(t.Context()))
	if got := s.queued(r, "queued"); got.ID.Token != r.ID.Token {
		t.Errorf("token %s", got.ID.Token)
	}
	check(t, s.lane().Restore(t.Context())) // it is there
	s.work()
	if final := s.landed(r); final.Judged.Verified != plan.Green {
		t.Errorf("verified %q", final.Judged.Verified)
	}
	s.delivered()
	if got := s.landings("main"); len(got) != 1 {
		t.Errorf("landed: %q", got)
	}
	if got := s.git("for-each-ref", "refs/gl/landing"); got != "" {
		t.Errorf("left: %s", got)
	}
	if !strings.Contains(strings.Join(s.said, "\n"), "S-1") {
		t.Errorf("said %q", s.said)
	}
}

// A note that isn't gl's, or whose attempt is over, puts nothing back.
func TestForgedNotes(t *testing.T) {
	s := newSite(t, "")
	r := s.queue("S-1", apart(t, "S-1"))
	note := s.git("rev-parse", "refs/gl/landing/_/greenlight/S-1/1")
	s.work()
	s.landed(r)
	for name, message := range map[string]string{"S-1/1": "", "S-2/1": "x\n\n{", "S-3/1": "x\n\n" + `{"attempt": {"slice": "../../x"}, "lineage": {"slice": "../../x"}}`} {
		commit := note
		if message != "" {
			commit = s.git("commit-tree", "HEAD^{tree}", "-m", message)
		}
		s.git("update-ref", "refs/gl/landing/_/greenlight/"+name, commit)
	}
	check(t, s.lane().Restore(t.Context()))
	queue, err := s.project().Runs.Queue()
	check(t, err)
	if len(queue) > 0 {
		t.Errorf("queued: %s", queue[0].ID.Name())
	}
	if got := s.git("for-each-ref", "refs/gl/landing/_/greenlight/S-1/1"); got != "" {
		t.Errorf("left: %s", got)
	}
}
