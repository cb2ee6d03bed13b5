package attempt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"greenlight/internal/core/gate"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/drift"
	"greenlight/internal/workspace/git"
)

// In a checkout nothing is merged, so there is no commit to compare its tests with. They are
// compared with how they were when the slice was claimed, before its agent began: runs/tests has
// that.

// A baseline is a file of runs/tests. It stays until its slice is complete: the next attempt isn't
// compared with what this one does to the tests.
type baseline struct {
	Start *drift.State `json:"start"` // when the slice was claimed
	// when its tests were handed over; each path as it was the first time
	Handed *drift.State `json:"handed,omitempty"`
	Left   drift.Files  `json:"left,omitempty"` // when the attempt before ended; nil for unknown
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

// ForgetBaseline removes the baseline of a slice that is complete.
func (s *Proofs) ForgetBaseline(r *Record) { _ = os.Remove(s.baselinePath(r)) }

// follow returns the baseline for the next attempt, which begins at a state. What the attempt
// before has changed, and no one since, is as it was before that.
func (b *baseline) follow(is *drift.State) *baseline {
	start := &drift.State{Files: drift.Files{}, Texts: b.Start.Texts, Ignored: b.Start.Ignored,
		Rules: b.Start.Rules}
	next := &baseline{Start: start, Handed: b.Handed}
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

// comparer returns what compares states of a checkout's tests.
func (c *Conditions) comparer() *drift.Comparer { return &drift.Comparer{Command: c.Test.Line} }

// noteBaseline notes how the tests are before the agent begins. If it can't, they aren't compared,
// and the verdict says so.
func (c *checkout) noteBaseline(ctx context.Context) {
	if c.rec.Conditions.Test == nil {
		return
	}
	last := c.settler.Store.Proofs.baseline(c.rec)
	var before *drift.State
	if last != nil {
		before = last.Start
	}
	is, err := c.rec.Conditions.comparer().Look(ctx, c.root, before)
	b := &baseline{Start: is}
	if err == nil {
		if last != nil {
			b = last.follow(is)
		}
		err = c.settler.Store.Proofs.putBaseline(c.rec, b)
	}
	if c.rec.Conditions.Baseline = err == nil; err != nil {
		c.note("its tests won't be compared: " + err.Error())
	}
}

// HandOverHere notes the tests that the agent of an attempt in the checkout hands over. Unless told
// means that it was writing tests, an agent that has written none hands over nothing.
func (s *Proofs) HandOverHere(ctx context.Context, r *Record, told bool) error {
	b := s.baseline(r)
	if b == nil || r.Conditions.Test == nil {
		return nil
	}
	is, err := r.Conditions.comparer().Look(ctx, Files{s.dir}.root(), b.Start)
	if err != nil {
		return err
	}
	if !told && !slices.ContainsFunc(drift.Changed(b.Start.Files, is.Files),
		r.Conditions.comparer().IsTest) {
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

// A Comparison is the result of comparing the tests of a checkout.
type Comparison struct {
	With    string // what they were compared with; "" for nothing
	Found   []gate.Item
	Allowed []gate.Item // what of it a person has allowed beforehand
}

// noteTree notes the tree that the agent has left in the checkout, without state files. It is
// unknown without git, or if another agent has worked there.
func (c *checkout) noteTree(ctx context.Context) {
	if c.rec.Place.Lineage != 0 || c.rec.ID.IsTask() || !c.calledComplete(ctx) {
		return
	}
	if beside, err := c.settler.Store.beside(c.rec); err != nil || beside {
		return
	}
	tree, err := git.CheckoutTree(ctx, c.root, statedir.Name)
	if err != nil && !errors.Is(err, git.ErrNone) && !errors.Is(err, git.ErrMissing) {
		c.note("can't record the tree that its agent left: " + err.Error())
	}
	if err == nil {
		c.rec.Place.Tree = tree
	}
}

// compare compares the tests with how they were at the claim, and notes how they are now for the
// next attempt.
func (c *checkout) compare(ctx context.Context) {
	if !c.rec.Conditions.Baseline {
		return
	}
	b := c.settler.Store.Proofs.baseline(c.rec)
	if b == nil {
		c.rec.Judged.Compared = lost("its file in .greenlight/runs/tests is gone")
		return
	}
	is, err := c.rec.Conditions.comparer().Look(ctx, c.root, b.Start)
	if err == nil {
		c.rec.Judged.Compared, err = b.compare(ctx, c.rec, is)
		c.rec.Judged.Compared.Allowed = drift.Allowed(c.tests.Removable,
			c.rec.Judged.Compared.Found, "")
	}
	if err != nil {
		c.rec.Judged.Compared = lost(err.Error())
		return
	}
	b.Left = is.Files
	if err := c.settler.Store.Proofs.putBaseline(c.rec, b); err != nil {
		c.note("can't record the state of its tests: " + err.Error())
	}
}

// lost makes a person look if there was a baseline that can't be used.
func lost(why string) Comparison {
	return Comparison{Found: []gate.Item{{Kind: gate.Lost, Name: why}}}
}

// compare returns what differs by the rules of the merge queue.
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
	found, err := c.Find(ctx, p, b.Start.Files, is.Files,
		drift.Changed(b.Start.Files, is.Files), nil)
	with := atClaim + "; no tests were handed over"
	if p.Handed {
		with = atClaim + " and at the hand-over"
	}
	return Comparison{With: with, Found: found}, err
}

// promise returns how the tests have to be.
func (b *baseline) promise(c *drift.Comparer) *drift.Promise {
	p := &drift.Promise{Want: b.Start.Files, Free: map[string]bool{}}
	if b.Handed == nil {
		return p
	}
	p.Handed, p.Want = true, drift.Files{}
	for name, f := range b.Start.Files {
		p.Want[name] = f
	}
	changed := drift.Changed(b.Start.Files, b.Handed.Files)
	for _, name := range slices.DeleteFunc(changed, func(name string) bool {
		return !c.Protects(name)
	}) {
		f, there := b.Handed.Files[name]
		if p.Want[name] = f; !there {
			delete(p.Want, name)
		}
		p.Tests = p.Tests || f != (git.File{}) && c.IsTest(name)
	}
	return p
}
