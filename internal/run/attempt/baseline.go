package attempt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"greenlight/internal/base/logfile"
	"greenlight/internal/core/gate"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/drift"
	"greenlight/internal/workspace/git"
)

// In a checkout nothing is merged, so there is no commit to compare its tests with. What counts there is how they were when the slice was
// claimed, before its agent began, as runs/tests has it.

// A baseline is a file of runs/tests. It stays until its slice is complete: what one attempt does to the tests isn't the start for the next one.
type baseline struct {
	Start  *drift.State `json:"start"`            // when the slice was claimed
	Handed *drift.State `json:"handed,omitempty"` // when its tests were handed over; a path is as it was the first time
	Left   drift.Files  `json:"left,omitempty"`   // when the attempt before ended; nil for unknown
}

func (s *Proofs) baselinePath(r *Record) string {
	return filepath.Join(s.dir, "tests", fileName(r.ID.System, r.ID.Work())+".json")
}

func (s *Proofs) baseline(r *Record) *baseline {
	b := &baseline{}
	if !readJSON(s.baselinePath(r), b) || b.Start == nil {
		return nil
	}
	return b
}

func (s *Proofs) putBaseline(r *Record, b *baseline) error {
	if err := mkdir(filepath.Join(s.dir, "tests")); err != nil {
		return err
	}
	return writeJSON(s.baselinePath(r), b)
}

// ForgetBaseline is for a slice that is complete.
func (s *Proofs) ForgetBaseline(r *Record) { _ = os.Remove(s.baselinePath(r)) }

// follow is the baseline for the next attempt, which begins at a state. What the attempt before has changed, and nobody since, is
// as it was before that.
func (b *baseline) follow(is *drift.State) *baseline {
	next := &baseline{Start: &drift.State{Files: drift.Files{}, Texts: b.Start.Texts, Ignored: b.Start.Ignored, Rules: b.Start.Rules}, Handed: b.Handed}
	for p, f := range is.Files {
		next.Start.Files[p] = f
	}
	for id, text := range is.Texts {
		next.Start.Texts[id] = text
	}
	for _, p := range drift.Changed(b.Start.Files, is.Files) {
		if b.Left != nil && b.Left[p] != is.Files[p] { // a person's, or another slice's
			continue
		}
		if was, there := b.Start.Files[p]; there {
			next.Start.Files[p] = was
		} else {
			delete(next.Start.Files, p)
		}
	}
	return next
}

// comparer compares states of a checkout's tests.
func (c *Conditions) comparer() *drift.Comparer { return &drift.Comparer{Command: c.Test.Line} }

// noteBaseline notes how the tests are before the agent begins. Without it they aren't compared, and the verdict says so.
func (w *Wrapper) noteBaseline(ctx context.Context) {
	if w.rec.Conditions.Test == nil {
		return
	}
	last := w.Store.Proofs.baseline(w.rec)
	var before *drift.State
	if last != nil {
		before = last.Start
	}
	is, err := w.rec.Conditions.comparer().Look(ctx, w.Root, before)
	b := &baseline{Start: is}
	if err == nil {
		if last != nil {
			b = last.follow(is)
		}
		err = w.Store.Proofs.putBaseline(w.rec, b)
	}
	if w.rec.Conditions.Baseline = err == nil; err != nil {
		w.log.note(logfile.Gl, "its tests won't be compared: "+err.Error())
	}
}

// HandOverHere notes the tests that the agent of an attempt in the checkout hands over. Unless told that it was writing tests, it has
// handed over nothing if it has written none.
func (s *Proofs) HandOverHere(ctx context.Context, r *Record, told bool) error {
	b := s.baseline(r)
	if b == nil || r.Conditions.Test == nil {
		return nil
	}
	is, err := r.Conditions.comparer().Look(ctx, Files{s.dir}.root(), b.Start)
	if err != nil {
		return err
	}
	if !told && !slices.ContainsFunc(drift.Changed(b.Start.Files, is.Files), r.Conditions.comparer().IsTest) {
		return nil
	}
	if b.Handed != nil {
		for p, f := range b.Handed.Files {
			is.Files[p] = f
		}
		for id, text := range b.Handed.Texts {
			is.Texts[id] = text
		}
	}
	b.Handed = is
	return s.putBaseline(r, b)
}

const atClaim = "how they were at the claim"

// A Comparison is what was found out about the tests of a checkout.
type Comparison struct {
	With    string // with what they were compared; "" for nothing
	Found   []gate.Item
	Allowed []gate.Item // of it, what a person has allowed beforehand
}

// noteTree notes the tree that the agent has left in the checkout, state aside. It isn't known if another agent
// has worked there, or without git.
func (w *Wrapper) noteTree(ctx context.Context) {
	if w.rec.Place.Lineage != 0 || w.rec.ID.IsTask() || !w.calledComplete(ctx) {
		return
	}
	if beside, err := w.Store.beside(w.rec); err != nil || beside {
		return
	}
	tree, err := git.CheckoutTree(ctx, w.Root, statedir.Name)
	if err != nil && !errors.Is(err, git.ErrNone) && !errors.Is(err, git.ErrMissing) {
		w.log.note(logfile.Gl, "the tree that its agent left isn't recorded: "+err.Error())
	}
	if err == nil {
		w.rec.Place.Tree = tree
	}
}

// compare compares the tests with how they were at the claim, and notes how they are now for an attempt after this one.
func (w *Wrapper) compare(ctx context.Context) {
	if !w.rec.Conditions.Baseline {
		return
	}
	b := w.Store.Proofs.baseline(w.rec)
	if b == nil {
		w.rec.Judged.Compared = lost("its file in .greenlight/runs/tests is gone")
		return
	}
	is, err := w.rec.Conditions.comparer().Look(ctx, w.Root, b.Start)
	if err == nil {
		w.rec.Judged.Compared, err = b.compare(ctx, w.rec, is)
		w.rec.Judged.Compared.Allowed = drift.Allowed(w.Tests.Removable, w.rec.Judged.Compared.Found, "")
	}
	if err != nil {
		w.rec.Judged.Compared = lost(err.Error())
		return
	}
	b.Left = is.Files
	if err := w.Store.Proofs.putBaseline(w.rec, b); err != nil {
		w.log.note(logfile.Gl, "how its tests are now can't be noted: "+err.Error())
	}
}

// lost has a person look where the baseline was there and can't be used.
func lost(why string) Comparison {
	return Comparison{Found: []gate.Item{{Kind: gate.Lost, Name: why}}}
}

// compare finds what differs by the rules of the merge queue.
func (b *baseline) compare(ctx context.Context, r *Record, is *drift.State) (Comparison, error) {
	states := []*drift.State{b.Start, is}
	if b.Handed != nil {
		states = append(states, b.Handed)
	}
	c := r.Conditions.comparer()
	c.Read = drift.Texts(states...)
	if err := c.UseCommand(ctx, b.Start.Files, is.Files); err != nil {
		return Comparison{}, err
	}
	p := b.promise(c)
	if r.Conditions.Terms != nil {
		p.Unlocks = func() bool { return r.Conditions.Terms.Wraps }
	}
	found, err := c.Find(ctx, p, b.Start.Files, is.Files, drift.Changed(b.Start.Files, is.Files), nil)
	with := atClaim + "; no tests were handed over"
	if p.Handed {
		with = atClaim + " and at the hand-over"
	}
	return Comparison{With: with, Found: found}, err
}

// promise is how the tests have to be.
func (b *baseline) promise(c *drift.Comparer) *drift.Promise {
	p := &drift.Promise{Want: b.Start.Files, Free: map[string]bool{}}
	if b.Handed == nil {
		return p
	}
	p.Handed, p.Want = true, drift.Files{}
	for name, f := range b.Start.Files {
		p.Want[name] = f
	}
	for _, name := range slices.DeleteFunc(drift.Changed(b.Start.Files, b.Handed.Files), func(name string) bool { return !c.Protects(name) }) {
		f, there := b.Handed.Files[name]
		if p.Want[name] = f; !there {
			delete(p.Want, name)
		}
		p.Tests = p.Tests || f != (git.File{}) && c.IsTest(name)
	}
	return p
}
