package trackertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

const token = "2026-03-04T12:00:00Z-abcdef"

func traits(s *subject) {
	tr := s.tr.Traits()
	if tr.Format == "" {
		s.t.Error("the format has no name")
	}
	if !reflect.DeepEqual(tr, s.open().Traits()) {
		s.t.Errorf("%+v, another process has %+v", tr, s.open().Traits())
	}
	if tr.View == "" {
		return
	}
	s.check(s.tr.Refresh(s.t.Context()))
	if _, err := os.Stat(filepath.Join(s.root, tr.View)); err != nil {
		s.t.Errorf("the view isn't there after Refresh: %v", err)
	}
}

func load(s *subject) {
	c, err := s.tr.Load()
	s.check(err)
	var ids []string
	for _, it := range c.Items {
		ids = append(ids, it.ID)
		if it.Name == "" || it.Corrupt != "" {
			s.t.Errorf("%+v", it)
		}
	}
	if !slices.Equal(ids, s.ids) || len(c.Warnings) > 0 || c.Unsure != "" {
		s.t.Errorf("items %q, warnings %v, unsure %q", ids, c.Warnings, c.Unsure)
	}
	p := s.plan()
	if !slices.Equal(p.Lists.Ready, s.ids[:1]) {
		s.t.Errorf("ready are %q", p.Lists.Ready)
	}
	for i, id := range s.ids[1:] {
		if st := p.State(id); !slices.Equal(st.Needs, s.ids[i:i+1]) {
			s.t.Errorf("%s needs %q", id, st.Needs)
		}
	}
	s.check(s.tr.Do(s.t.Context(), func(tx tracker.Tx) error {
		again, err := tx.Load()
		if err != nil || !reflect.DeepEqual(c.Items, again.Items) {
			s.t.Errorf("under the lock: %+v, %v, want %+v", again, err, c)
		}
		for _, want := range c.Items {
			if it, err := tx.Item(want.ID); err != nil ||
				!reflect.DeepEqual(alone(it), alone(*want)) {
				s.t.Errorf("%+v, %v, want %+v", it, err, want)
			}
		}
		return nil
	}))
}

// alone returns the item without the fields that depend on other files.
func alone(it plan.Item) plan.Item {
	it.Deps, it.Files, it.Milestone, it.Paused = nil, nil, "", false
	it.Wave, it.Priority, it.Position = plan.None, plan.None, plan.None
	return it
}

func loadWritesNothing(s *subject) {
	before := s.tree()
	for range 2 {
		_, err := s.open().Load()
		s.check(err)
	}
	s.sameTree("Load", before)
}

func prompt(s *subject) {
	for _, id := range s.ids {
		if s.tr.Prompt(id) == "" {
			s.t.Errorf("%s has no prompt", id)
		}
	}
}

func claim(s *subject) {
	before := s.plan()
	s.do(func(tx tracker.Tx, _ plan.Item) {
		s.check(tx.Claim(s.id, token))
		it, err := tx.Item(s.id)
		s.check(err)
		if it.Session != token || plan.Classify(it.Status) != plan.Active {
			s.t.Errorf("claimed: %+v", it)
		}
	})
	p := s.plan()
	if st := p.State(s.id); st.Session != token || st.Class != plan.Active ||
		!slices.Equal(p.Lists.Running, s.ids[:1]) || len(p.Lists.Ready) > 0 {
		s.t.Errorf("another process sees %+v, running %q, ready %q", st, p.Lists.Running,
			p.Lists.Ready)
	}
	for _, id := range s.ids[1:] {
		if was, is := before.State(id), p.State(id); mark(*was.Item) != mark(*is.Item) {
			s.t.Errorf("%s was %+v and is %+v", id, was, is)
		}
	}
}

func claimAgain(s *subject) {
	s.claim(token)
	before := s.tree()
	s.do(func(tx tracker.Tx, _ plan.Item) {
		for range 2 {
			s.check(tx.Claim(s.id, token))
		}
	})
	s.sameTree("a second claim", before)
}

// claimOver checks that whether to claim is up to the caller.
func claimOver(s *subject) {
	s.claim("other")
	if s.claim(token); s.item().Session != token {
		s.t.Errorf("%+v", s.item())
	}
}

// same reports an error if the item changed, ignoring the times of its last change.
func (s *subject) same(was, is plan.Item) {
	s.t.Helper()
	was.Changed, was.Updated = is.Changed, is.Updated
	if !reflect.DeepEqual(was, is) {
		s.t.Errorf("it was %+v\nand is %+v", was, is)
	}
}

func (s *subject) settle(e tracker.Effect) {
	was := s.item()
	s.claim(token)
	claimed := s.item()
	var got plan.Mark
	s.do(func(tx tracker.Tx, _ plan.Item) {
		var err error
		got, err = tx.Settle(s.id, e, beforeOf(was))
		s.check(err)
	})
	is := s.item()
	if got != mark(is) || is.Session != "" {
		s.t.Errorf("settled as %+v, and a fresh process sees %+v", got, is)
	}
	switch {
	case e == tracker.Restore, e == tracker.Fail && s.lacks(Failure),
		e == tracker.Release && s.lacks(Halfway):
		s.same(was, is)
	case e == tracker.Fail:
		if plan.Classify(is.Status) != plan.Failed || is.Step != claimed.Step {
			s.t.Errorf("failed: %+v", is)
		}
	default:
		claimed.Session = ""
		s.same(claimed, is)
	}
}

// restoreSession covers an attempt that took over another claim by force and never started.
func restoreSession(s *subject) {
	s.claim("other")
	was := s.claim(token)
	s.do(func(tx tracker.Tx, _ plan.Item) {
		_, err := tx.Settle(s.id, tracker.Restore, beforeOf(was))
		s.check(err)
	})
	want := "other"
	if s.lacks(Earlier) {
		want = ""
	}
	if is := s.item(); is.Session != want {
		s.t.Errorf("it is %+v, want session %q", is, want)
	}
}

func settleTwice(s *subject) {
	for _, e := range effects() {
		was := s.claim(token)
		s.do(func(tx tracker.Tx, _ plan.Item) {
			first, err := tx.Settle(s.id, e, beforeOf(was))
			s.check(err)
			before := s.tree()
			again, err := tx.Settle(s.id, e, beforeOf(was))
			s.check(err)
			if first != again {
				s.t.Errorf("settled as %+v, then as %+v", first, again)
			}
			s.sameTree("settling again", before)
		})
	}
}

func effects() []tracker.Effect {
	return []tracker.Effect{tracker.Release, tracker.Fail, tracker.Restore}
}

// settleAfterTakeOver changes the session between the settler's read and its change.
func (s *subject) settleAfterTakeOver(session string) {
	for _, e := range effects() {
		was := s.claim(token)
		s.do(func(tx tracker.Tx, it plan.Item) {
			if it.Session != token {
				s.t.Fatalf("%+v", it)
			}
			s.f.TakeOver(s.t, s.root, session)
			before := s.tree()
			got, err := tx.Settle(s.id, e, beforeOf(was))
			s.check(err)
			if got.Session != session {
				s.t.Errorf("settled as %+v", got)
			}
			s.sameTree("settling another's claim", before)
		})
		if is := s.item(); is.Session != session {
			s.t.Errorf("%+v", is)
		}
	}
}

func putBack(s *subject) {
	was := s.claim(token)
	s.do(func(tx tracker.Tx, _ plan.Item) {
		m, err := tx.Settle(s.id, tracker.Fail, beforeOf(was))
		s.check(err)
		s.check(tx.PutBack(s.id, m, true))
	})
	if p := s.plan(); !slices.Equal(p.Lists.Ready, s.ids[:1]) {
		s.t.Errorf("put back: %+v, ready %q", p.State(s.id), p.Lists.Ready)
	}
}

func putBackChanged(s *subject) {
	s.do(func(tx tracker.Tx, it plan.Item) {
		before := s.tree()
		m := mark(it)
		m.Session = "gone"
		if err := tx.PutBack(s.id, m, true); !errors.Is(err, tracker.ErrChanged) {
			s.t.Errorf("put back what isn't as it was seen: %v", err)
		}
		s.sameTree("a refused PutBack", before)
	})
}

func unknownID(s *subject) {
	before := s.shared()
	for _, id := range []string{"no-such-thing", "../../x", ""} {
		s.check(s.tr.Do(s.t.Context(), func(tx tracker.Tx) error {
			_, item := tx.Item(id)
			_, settle := tx.Settle(id, tracker.Restore,
				tracker.Before{Mark: plan.Mark{Session: "x"}})
			for what, err := range map[string]error{
				"Item": item, "Claim": tx.Claim(id, token), "Settle": settle,
				"PutBack": tx.PutBack(id, plan.Mark{}, true),
			} {
				if !errors.Is(err, tracker.ErrNotFound) {
					s.t.Errorf("%s of %q: %v", what, id, err)
				}
			}
			return nil
		}))
	}
	s.sameShared("an unknown id", before)
}

// changes returns a claim and the ways to end it, each applied after reading the first item.
func changes() map[string]func(s *subject, tx tracker.Tx, it plan.Item) error {
	settle := func(e tracker.Effect) func(*subject, tracker.Tx, plan.Item) error {
		return func(s *subject, tx tracker.Tx, it plan.Item) error {
			it.Session = ""
			_, err := tx.Settle(s.id, e, beforeOf(it))
			return err
		}
	}
	return map[string]func(*subject, tracker.Tx, plan.Item) error{
		"claim": func(s *subject, tx tracker.Tx, _ plan.Item) error {
			return tx.Claim(s.id, token)
		},
		"release": settle(tracker.Release), "fail": settle(tracker.Fail),
		"restore": settle(tracker.Restore),
	}
}

// ready prepares the first item for the change: claimed, if it is to be settled.
func (s *subject) ready(change string) {
	s.f.TakeOver(s.t, s.root, "")
	if change != "claim" {
		s.claim("first")
	}
}

// after checks that the change was made.
func (s *subject) after(change string) {
	s.t.Helper()
	want := ""
	if change == "claim" {
		want = token
	}
	if is := s.item(); is.Session != want {
		s.t.Errorf("after %s: %+v", change, is)
	}
}

// editBefore has an editor save between the read and the change.
func editBefore(s *subject) {
	for name, change := range changes() {
		s := s.again()
		s.ready(name)
		mark := "before-" + name
		s.do(func(tx tracker.Tx, it plan.Item) {
			s.f.Edit(s.t, s.root, mark)
			s.check(change(s, tx, it))
		})
		s.after(name)
		if !s.has(mark) {
			s.t.Errorf("%s: the edit is lost", name)
		}
	}
}

// editDuring has an editor save between the change's own read and write.
func editDuring(s *subject) {
	for name, change := range changes() {
		s := s.again()
		s.ready(name)
		mark := "during-" + name
		s.do(func(tx tracker.Tx, it plan.Item) {
			var once sync.Once
			s.onNow = func() { once.Do(func() { s.f.Edit(s.t, s.root, mark) }) }
			s.check(change(s, tx, it))
			s.onNow = func() {}
			// in case the change never reads the clock
			once.Do(func() { s.f.Edit(s.t, s.root, mark) })
		})
		s.after(name)
		if !s.has(mark) {
			s.t.Errorf("%s: the edit is lost", name)
		}
	}
}

// editDuringEvery has an editor save repeatedly. The tracker gives up, and the file stays the
// editor's; a change written to another file succeeds.
func editDuringEvery(s *subject) {
	for name, change := range changes() {
		s := s.again()
		s.ready(name)
		n := 0
		var last map[string]string
		s.do(func(tx tracker.Tx, it plan.Item) {
			s.onNow = func() {
				n++
				s.f.Edit(s.t, s.root, fmt.Sprintf("every-%s-%d", name, n))
				last = s.shared()
			}
			err := change(s, tx, it)
			s.onNow = func() {}
			switch {
			case errors.Is(err, tracker.ErrChanged) && !s.lacks(Shared):
				s.sameShared("giving up", last)
			case err != nil || name == "claim" && !s.lacks(Shared):
				s.t.Errorf("%s against an editor: %v", name, err)
			default:
				s.after(name)
			}
		})
		for i := range n {
			if mark := fmt.Sprintf("every-%s-%d", name, i+1); !s.has(mark) {
				s.t.Errorf("%s: the edit %d of %d is lost", name, i+1, n)
			}
		}
	}
}

// corrupt checks that damage causes no crash, is reported, and that no damaged file is written.
func corrupt(s *subject) {
	if len(s.f.Corrupt) == 0 {
		s.t.Fatal("the format has no way to break its files")
	}
	for name, damage := range s.f.Corrupt {
		for _, claimed := range []bool{false, true} {
			s.inParallel(fmt.Sprintf("%s, claimed %v", name, claimed), func(s *subject) {
				broken(s, name, damage, claimed)
			})
		}
	}
}

// broken checks that a broken file is reported, refused, and kept as it is.
func broken(s *subject, name string, damage func(t testing.TB, root string), claimed bool) {
	var was plan.Item
	if claimed {
		was = s.claim(token)
	}
	sound := s.tree()
	damage(s.t, s.root)
	before := s.tree()
	// one that read it before the damage, and a fresh one
	for _, tr := range []tracker.Tracker{s.tr, s.open()} {
		s.corruptIs(name, tr)
	}
	s.refuses(name, was)
	_, _ = s.open().Repair(s.t.Context())
	_ = s.open().Refresh(s.t.Context())
	after, view := s.tree(), s.tr.Traits().View
	for rel, f := range before {
		// undamaged: gl may write it
		own := (rel == view || ours(rel)) && sound[rel].text == f.text
		if !own && after[rel].text != f.text {
			s.t.Errorf("%s: %s became %q", name, rel, after[rel].text)
		}
	}
}

// inParallel runs a case on a fresh project of its own, beside others: some formats wait before
// they call a file broken.
func (s *subject) inParallel(name string, run func(s *subject)) {
	s.t.Run(name, func(t *testing.T) {
		t.Parallel()
		run(newSubject(t, s.f))
	})
}

// again returns another fresh project.
func (s *subject) again() *subject {
	n := *s
	n.root = s.t.TempDir()
	n.ids = s.f.Make(s.t, n.root)
	n.tr = n.open()
	return &n
}

// corruptIs checks that the damage is reported.
func (s *subject) corruptIs(name string, tr tracker.Tracker) {
	c, err := tr.Load()
	if err != nil {
		s.t.Errorf("%s: %v", name, err)
		return
	}
	reported := len(c.Warnings) > 0
	for _, it := range c.Items {
		reported = reported || it.Corrupt != ""
	}
	if !reported {
		s.t.Errorf("%s: the damage is not reported: %+v", name, c)
	}
	tr.Check()
	tr.Line(false)
	tr.Line(true)
	tr.Prompt(s.id)
	_, _ = tr.Roadmap()
}

// refuses checks that a broken item isn't changed.
func (s *subject) refuses(name string, was plan.Item) {
	s.check(s.open().Do(s.t.Context(), func(tx tracker.Tx) error {
		_, _ = tx.Load()
		_, _ = tx.Item(s.id)
		if err := tx.Claim(s.id, "new"); err == nil {
			s.t.Errorf("%s: it can be claimed", name)
		}
		for _, e := range effects() {
			if _, err := tx.Settle(s.id, e, beforeOf(was)); err == nil {
				s.t.Errorf("%s: it can be settled by %v", name, e)
			}
		}
		return nil
	}))
}

func otherBytes(s *subject) {
	for _, e := range effects() {
		s := s.again()
		start := s.shared()
		was := s.claim(token)
		s.onlyDeclared("a claim", start)
		s.do(func(tx tracker.Tx, _ plan.Item) {
			_, err := tx.Settle(s.id, e, beforeOf(was))
			s.check(err)
		})
		s.onlyDeclared("settling", start)
		s.check(s.tr.Refresh(s.t.Context()))
		s.onlyDeclared("a refresh", start)
	}
}

// watch checks that every change causes a file event, even one made without the lock.
func watch(s *subject) {
	runs := filepath.Join(s.root, ".greenlight", "runs")
	s.check(os.MkdirAll(runs, 0o755))
	state := s.tr.Watch()
	if len(state) == 0 {
		s.t.Error("nothing is watched")
	}
	all := append([]string{runs}, state...)
	for _, c := range []struct {
		what string
		dirs []string
		f    func()
	}{
		{"an edit", state, func() { s.f.Edit(s.t, s.root, "seen") }},
		{"a claim", all, func() { s.claim(token) }},
		{"a takeover", all, func() { s.f.TakeOver(s.t, s.root, "other") }},
		{"settling", all, func() {
			s.do(func(tx tracker.Tx, _ plan.Item) {
				_, err := tx.Settle(s.id, tracker.Release, tracker.Before{})
				s.check(err)
			})
		}},
	} {
		before := s.watched(c.dirs...)
		c.f()
		if reflect.DeepEqual(before, s.watched(c.dirs...)) {
			s.t.Errorf("watching %q misses %s", c.dirs, c.what)
		}
	}
}

func refreshTwice(s *subject) {
	for _, change := range []func(){func() {}, func() { s.claim(token) },
		func() { s.f.Edit(s.t, s.root, "seen") }} {
		change()
		s.check(s.tr.Refresh(s.t.Context()))
		before := s.tree()
		s.check(s.tr.Refresh(s.t.Context()))
		s.check(s.open().Refresh(s.t.Context()))
		s.sameTree("a second refresh", before)
	}
}

func soundProject(s *subject) {
	s.check(s.tr.Refresh(s.t.Context()))
	before := s.tree()
	for _, c := range s.tr.Check() {
		if c.Severity == tracker.Broken || c.Fixable {
			s.t.Errorf("%+v", c)
		}
	}
	s.sameTree("Check", before)
	if did, err := s.tr.Repair(s.t.Context()); err != nil || len(did) > 0 {
		s.t.Errorf("repaired %q, %v", did, err)
	}
	s.sameTree("Repair", before)
}

func lineAndRoadmap(s *subject) {
	before := s.tree()
	for _, compact := range []bool{false, true} {
		if line := s.tr.Line(compact); line.Text == "" && line.Rest != tracker.WithPlan {
			s.t.Errorf("a status line without a word: %+v", line)
		}
	}
	r, err := s.tr.Roadmap()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		s.t.Error(err)
	case r.Text == "" || before[r.File].text != r.Text:
		s.t.Errorf("the roadmap in %q is %q", r.File, r.Text)
	}
	s.sameTree("reading", before)
}

// oneAtATime checks that one lock covers all users of the project.
func oneAtATime(s *subject) {
	const writers, turns = 8, 20
	var all sync.WaitGroup
	var inside atomic.Int32
	count := 0
	for w := range writers {
		tr := s.tr
		if w%2 == 0 {
			tr = s.open()
		}
		all.Add(1)
		go func() {
			defer all.Done()
			for range turns {
				err := tr.Do(context.Background(), func(tracker.Tx) error {
					if inside.Add(1) != 1 {
						s.t.Error("two hold the lock")
					}
					count++
					inside.Add(-1)
					return nil
				})
				if err != nil {
					s.t.Error(err)
				}
			}
		}()
	}
	all.Wait()
	if count != writers*turns {
		s.t.Errorf("%d of %d changes were made", count, writers*turns)
	}
}

// oneClaimWins checks that of concurrent claims, each made only if the item is free, one
// succeeds. Concurrent readers see the item as free or as the winner's.
func oneClaimWins(s *subject) {
	const claimants = 12
	var all sync.WaitGroup
	var won atomic.Int32
	for n := range claimants {
		tr := s.tr
		if n%2 == 0 {
			tr = s.open()
		}
		all.Add(2)
		go func() {
			defer all.Done()
			err := tr.Do(context.Background(), func(tx tracker.Tx) error {
				it, err := tx.Item(s.id)
				if err != nil || it.Session != "" {
					return err
				}
				won.Add(1)
				return tx.Claim(s.id, fmt.Sprintf("claimant-%d", n))
			})
			if err != nil {
				s.t.Error(err)
			}
		}()
		go func() {
			defer all.Done()
			c, err := tr.Load()
			if err != nil || len(c.Items) != len(s.ids) || len(c.Warnings) > 0 {
				s.t.Errorf("a reader sees %+v, %v", c, err)
			}
		}()
	}
	all.Wait()
	if won.Load() != 1 || s.item().Session == "" {
		s.t.Errorf("%d claims were made: %+v", won.Load(), s.item())
	}
}

// lockEnds checks that Do returns the caller's error and releases the lock, and that a canceled
// caller stops waiting for it.
func lockEnds(s *subject) {
	mine := errors.New("mine")
	s.check(s.tr.Do(s.t.Context(), func(tracker.Tx) error {
		ctx, cancel := context.WithCancel(s.t.Context())
		cancel()
		err := s.open().Do(ctx, func(tracker.Tx) error {
			s.t.Error("two hold the lock")
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			s.t.Errorf("waiting in vain: %v", err)
		}
		return nil
	}))
	for range 2 {
		if err := s.tr.Do(s.t.Context(), func(tracker.Tx) error {
			return mine
		}); !errors.Is(err, mine) {
			s.t.Errorf("Do returns %v", err)
		}
	}
}

// randomChanges checks that after any sequence of changes, the item has the session of its last
// claim, and no edit is lost.
func randomChanges(s *subject) {
	seed := rand.Uint64()
	s.t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var marks []string
	session := ""
	was := s.item()
	for step := range 60 {
		switch random.IntN(6) {
		case 0, 1:
			session = fmt.Sprintf("session-%d", step)
			s.claim(session)
		case 2:
			session = ""
			s.do(func(tx tracker.Tx, _ plan.Item) {
				_, err := tx.Settle(s.id, effects()[random.IntN(3)], beforeOf(was))
				s.check(err)
			})
		case 3:
			session = fmt.Sprintf("other-%d", step)
			s.f.TakeOver(s.t, s.root, session)
		case 4:
			marks = append(marks, fmt.Sprintf("mark-%d-", step))
			s.f.Edit(s.t, s.root, marks[len(marks)-1])
		case 5:
			s.tr = s.open()
			s.check(s.tr.Refresh(s.t.Context()))
		}
		c, err := s.tr.Load()
		s.check(err)
		if c.Items[0].Session != session || len(c.Warnings) > 0 {
			s.t.Fatalf("step %d: %+v, want session %q; warnings %v", step, c.Items[0],
				session, c.Warnings)
		}
	}
	for _, m := range marks {
		if !s.has(m) {
			s.t.Errorf("the edit %s is lost", m)
		}
	}
}
