package attempt

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/gate"
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
	return durable.WriteJSON(s.baselinePath(r), b)
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

// NoteBaseline notes how the tests in the checkout are before the attempt's agent begins.
func (s *Proofs) NoteBaseline(ctx context.Context, r *Record) error {
	last := s.baseline(r)
	var before *drift.State
	if last != nil {
		before = last.Start
	}
	is, err := r.Conditions.comparer().Look(ctx, Files{s.dir}.root(), before)
	if err != nil {
		return err
	}
	b := &baseline{Start: is}
	if last != nil {
		b = last.follow(is)
	}
	return s.putBaseline(r, b)
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

// Compare compares the tests in the checkout with how they were at the claim, and notes how they
// are now for the next attempt. The error is of that note; what can't be compared is in the
// Comparison.
func (s *Proofs) Compare(ctx context.Context, r *Record, removable []string) (Comparison, error) {
	b := s.baseline(r)
	if b == nil {
		return lost("its file in .greenlight/runs/tests is gone"), nil
	}
	is, err := r.Conditions.comparer().Look(ctx, Files{s.dir}.root(), b.Start)
	if err != nil {
		return lost(err.Error()), nil
	}
	found, err := b.compare(ctx, r, is)
	if err != nil {
		return lost(err.Error()), nil
	}
	found.Allowed = drift.Allowed(removable, found.Found, "")
	b.Left = is.Files
	return found, s.putBaseline(r, b)
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
