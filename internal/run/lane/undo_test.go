package lane_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
)

// undoer takes a slice back, as gl undo does.
func undoer(ctx context.Context, root, id string) error {
	l, err := open(ctx, root, os.Environ(), nil)
	if err != nil {
		return err
	}
	_, err = l.Undo(ctx, id, "no", false)
	return err
}

// A reset of the lane to a target that has a slice which was taken back takes it back again. The
// next attempt at it, which was built on what took it back before, would land nothing of it, and so
// begins anew.
func TestResetTakesBackAgain(t *testing.T) {
	s := newSite(t, "")
	a := s.queue("S-1", list(t, "S-1"))
	s.work()
	s.landed(a)
	s.delivered()
	s.write("list", "mine\n") // so that the revert isn't delivered
	_, err := s.lane().Undo(t.Context(), "S-1", "no", false)
	check(t, err)
	s.undelivered("list")
	b := s.queue("S-1", list(t, "S-1 again"))
	s.git("checkout", "-q", "list")
	s.write("notes", "amended\n")
	s.git("commit", "-q", "--amend", "--no-edit", "notes")
	dropped, _, err := s.lane().Reset(t.Context())
	check(t, err)
	if len(dropped) > 0 {
		t.Errorf("dropped %q", dropped)
	}
	s.work()
	s.settled(b, outcome.Interrupted, "gl retry --fresh S-1")
	s.delivered()
	if got := s.git("log", "--format=%s", "main"); strings.Count(got, "Take back S-1") != 1 {
		t.Errorf("the target has\n%s", got)
	}
	if got := s.read("list"); got != "" {
		t.Errorf("the list is %q", got)
	}
}

// landedAndUndone lands S-1 and takes it back. It returns the target that had it, and the record.
func (s *site) landedAndUndone() (had string, r *attempt.Record) {
	s.t.Helper()
	r = s.queue("S-1", list(s.t, "S-1"))
	s.work()
	s.landed(r)
	s.delivered()
	had = s.git("rev-parse", "main")
	_, err := s.lane().Undo(s.t.Context(), "S-1", "no", false)
	check(s.t, err)
	s.delivered()
	return had, r
}

// An undo that was delivered, and that a git reset of the target then drops, is taken back again by
// a reset of the lane: else the slice would be pending, and land a second time.
func TestResetTakesBackDelivered(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, "")
	had, _ := s.landedAndUndone()
	later := s.queue("S-2", apart(t, "S-2"))
	s.work()
	s.landed(later)
	s.delivered()
	s.git("reset", "-q", "--hard", had)
	_, reopened, err := s.lane().Reset(t.Context())
	check(t, err)
	if !slices.Equal(reopened, []string{"S-2"}) {
		t.Errorf("reopened %q", reopened)
	}
	s.work()
	s.delivered()
	if got := s.git("log", "--format=%s", "main"); strings.Count(got, "Take back S-1") != 1 {
		t.Errorf("the target has\n%s", got)
	}
	b := s.queue("S-1", list(t, "S-1"))
	s.work()
	s.landed(b)
	s.delivered()
	if got := s.read("list"); got != "S-1\n" {
		t.Errorf("the list is %q", got)
	}
}

// What a reset would take back again, and can't since later work changes the same lines, stays
// complete: the target has it, so it must not be built, and land, a second time. Later it can be
// taken back.
func TestResetCantTakeBackAgain(t *testing.T) {
	s := newSite(t, "")
	had, a := s.landedAndUndone()
	s.git("reset", "-q", "--hard", had)
	s.write("list", "S-1 as the person has it\n")
	s.git("commit", "-qam", "mine")
	s.set("S-1", "status", "pending")
	_, reopened, err := s.lane().Reset(t.Context())
	check(t, err)
	if len(reopened) > 0 {
		t.Errorf("reopened %q", reopened)
	}
	const want = "S-1 was taken back, and is in main again, so it is complete: later work changes"
	if said := strings.Join(s.said, "\n"); !strings.Contains(said, want) {
		t.Errorf("said:\n%s", said)
	}
	if got := s.class("S-1"); got != plan.Done || s.field("S-1", "status") != "complete" {
		t.Errorf("class %s, status %s", got, s.field("S-1", "status"))
	}
	if got := s.get(a); got.Since.Undone != nil || got.Since.Retried {
		t.Errorf("the record says %+v", got)
	}
	s.write("list", "S-1\n")
	s.git("commit", "-qam", "as it was")
	s.work()
	_, err = s.lane().Undo(t.Context(), "S-1", "no", false)
	check(t, err)
	s.delivered()
	if got := s.class("S-1"); got != plan.Available || s.read("list") != "" {
		t.Errorf("class %s, the list is %q", got, s.read("list"))
	}
}

// What later work builds on can't be taken back by itself: the error names what has to go first.
func TestUndoNamesLaterWork(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, "")
	for _, id := range []string{"S-1", "S-2"} {
		s.queue(id, list(t, id))
		s.work()
		s.delivered()
	}
	s.queue("S-3", apart(t, "S-3"))
	s.work()
	s.delivered()
	undo := func(id string) error {
		_, err := s.lane().Undo(t.Context(), id, "no", false)
		s.delivered()
		return err
	}
	if err := undo("S-1"); err == nil || !strings.HasSuffix(err.Error(), ": list. Run gl undo S-2 first") {
		t.Errorf("gl undo S-1 says %v", err)
	}
	check(t, undo("S-2"))
	s.write("list", "mine\n"+s.read("list"))
	s.git("commit", "-qam", "mine")
	if err := undo("S-1"); err == nil || !strings.HasSuffix(err.Error(), "git revert") {
		t.Errorf("gl undo S-1 says %v", err)
	}
	s.write("list", "S-1\n")
	s.git("commit", "-qam", "not mine")
	check(t, undo("S-1"))
}

// Killed before any of its calls that change a file, gl undo has taken the slice back or not. The
// next worker brings one of the two to its end, once; what else has landed stays.
func TestUndoKilledAnywhere(t *testing.T) {
	testfiles.Slow(t)
	killedAnywhere(t, 400, "", []string{"GREENLIGHT_TEST_UNDO=S-1"}, func(t *testing.T, s *site) func(*testing.T) {
		first := s.queue("S-1", list(t, "S-1"))
		s.work()
		s.queue("S-2", apart(t, "S-2"))
		s.work()
		return func(t *testing.T) {
			s.untilDone(func() error {
				err := worker(t.Context(), s.root, s.env, s.told)
				if err == nil && s.field("S-1", "status") == "complete" {
					if lane := s.git("log", "--format=%s", "gl/lane/_/main"); strings.Contains(lane, "Take back") {
						t.Errorf("taken back in the lane, and complete:\n%s", lane)
					}
					_, err = s.lane().Undo(t.Context(), "S-1", "no", false)
				}
				return err
			})
			if got := s.field("S-1", "status"); got != "pending" {
				t.Errorf("status %s", got)
			}
			if got := s.get(first); got.Since.Undone == nil || !got.Since.Retried {
				t.Errorf("the record says %+v", got.Since.Undone)
			}
			if got := s.git("log", "--format=%s", "main"); strings.Count(got, "Take back S-1") != 1 {
				t.Errorf("the target has\n%s", got)
			}
			if got := s.read("list") + s.read("doc/S-2"); got != "S-2\n" {
				t.Errorf("the checkout has %q", got)
			}
			if got := s.git("status", "--porcelain", "--", "list", "src", "doc"); got != "" {
				t.Errorf("git status:\n%s", got)
			}
			p, err := s.project().Plan(time.Now(), s.project().Options())
			check(t, err)
			if st := p.State("S-1"); st.Class != plan.Available {
				t.Errorf("class %s", st.Class)
			}
			s.git("fsck", "--connectivity-only")
			redo, err := s.lane().Reader.Redo(t.Context(), "S-1")
			check(t, err)
			if got := s.git("show", redo+":list"); got != "S-1" {
				t.Errorf("the next attempt begins with %q", got)
			}
		}
	})
}
