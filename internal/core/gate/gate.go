// Package gate decides what lands. All code that sets a slice complete, or moves the merge queue's
// branch or the target, asks it first. There is one list of questions for every way to land; each
// is answered, with evidence, from facts that agents can't write. The answers are kept in the
// attempt's record. The functions that land work require a Pass, which only this package can make.
// The package is pure: it reads no file and runs nothing.
package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Question is asked about everything that is to land. Records contain these words.
type Question string

// The questions, in the order they are asked.
const (
	Tree   Question = "tree"
	Merge  Question = "merge"
	Tests  Question = "tests"
	Run    Question = "run"
	Review Question = "review"
)

// A question is one entry of questions.
type question struct {
	key    Question
	asks   string
	answer func(*Facts) Answer
}

// questions lists all questions, in order.
func questions() []question {
	return []question{
		{Tree, "Is this the tree that its agent left?", tree},
		{Merge, "Is the merge complete?", merge},
		{Tests, "What of the tests, their runner and the test command differs from the base and from the hand-over?", tests},
		{Run, "Which command ran on which tree, where, with which result?", run},
		{Review, "Does a person have to look, and did one, at this tree?", review},
	}
}

// Text returns the question in words.
func (q Question) Text() string {
	for _, row := range questions() {
		if row.key == q {
			return row.asks
		}
	}
	return string(q)
}

// Says is an answer in one word. Records contain these words.
type Says string

// The answers.
const (
	Yes      Says = "yes"      // as it must be
	Approved Says = "approved" // a person has seen the defects and approves them
	Unknown  Says = "unknown"  // can't be determined; it is merged with a note
	Skipped  Says = "skipped"  // not asked for this way to land
	Pending  Says = "pending"  // not known yet
	Person   Says = "person"   // a person has to look
	No       Says = "no"       // it doesn't land
)

// passes reports whether work with this answer may land.
func (s Says) passes() bool { return s == Yes || s == Approved || s == Unknown || s == Skipped }

// An Answer is the answer to a question, with its evidence.
type Answer struct {
	Question Question `json:"question"`
	Says     Says     `json:"says"`
	Evidence string   `json:"evidence,omitempty"` // for people
	Items    []Item   `json:"items,omitempty"`    // the defects, approved or not
}

// A Ruling holds the answers to all questions about one piece of work.
type Ruling struct {
	Way     Way      `json:"way"`
	Work    string   `json:"work,omitempty"` // slice or task; "" for what is no one's
	Only    string   `json:"only,omitempty"` // the one commit that may land; "" for any
	Answers []Answer `json:"answers"`
}

// Ask asks all questions. Questions that don't apply to the way are skipped; those whose facts are
// gone are unknown.
func Ask(f Facts) *Ruling {
	r := &Ruling{Way: f.Way, Work: f.Work}
	if f.Way.branch() {
		r.Only = f.Lands
	}
	for _, q := range questions() {
		a := Answer{Says: No, Evidence: fmt.Sprintf("%q isn't a way to merge", f.Way)}
		why, skipped := f.Way.skips(q.key)
		switch gone := f.Gone[q.key]; {
		case skipped:
			a = Answer{Says: Skipped, Evidence: why}
		case gone != "":
			a = Answer{Says: Unknown, Evidence: gone}
		case f.Way.Known():
			a = q.answer(&f)
		}
		a.Question = q.key
		r.Answers = append(r.Answers, a)
	}
	return r
}

// Answer returns the answer to a question, Pending if it wasn't asked.
func (r *Ruling) Answer(q Question) Answer {
	if r != nil {
		for _, a := range r.Answers {
			if a.Question == q {
				return a
			}
		}
	}
	return Answer{Question: q, Says: Pending}
}

// Refused returns why the work can't land, regardless of later tests and of approvals; "" if it
// may.
func (r *Ruling) Refused() string { return r.texts(No, func(i Item) bool { return i.Red }) }

// Asks returns what a person has to look at first; "" for nothing.
func (r *Ruling) Asks() string { return r.texts(Person, func(Item) bool { return true }) }

// Approval returns which defects a person has approved, such as "tests removed, approved"; "" for
// none.
func (r *Ruling) Approval() string {
	var kinds []string
	for _, a := range r.Answers {
		for _, i := range a.Items {
			if word := i.Kind.Noun(); a.Says == Approved && !slices.Contains(kinds, word) {
				kinds = append(kinds, word)
			}
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	return strings.Join(kinds, ", ") + ", approved"
}

// texts joins the answers of a kind.
func (r *Ruling) texts(s Says, which func(Item) bool) string {
	var list []string
	for _, a := range r.Answers {
		if a.Says != s {
			continue
		}
		if text := itemsText(a.Items, which); text != "" {
			list = append(list, text)
		} else {
			list = append(list, a.Evidence)
		}
	}
	return strings.Join(list, "; ")
}

// Open returns the items that block the work; a person who accepts the work approves them.
func (r *Ruling) Open() []Item {
	var list []Item
	if r == nil {
		return nil
	}
	for _, a := range r.Answers {
		if a.Says == No || a.Says == Person {
			list = append(list, a.Items...)
		}
	}
	return list
}

// ApprovedItems returns the items that a person has approved.
func (r *Ruling) ApprovedItems() []Item {
	var list []Item
	if r == nil {
		return nil
	}
	for _, a := range r.Answers {
		if a.Says == Approved {
			list = append(list, a.Items...)
		}
	}
	return list
}

// TestsFirst compares two rulings: work that removed tests sorts first, since a person has to see
// it first.
func TestsFirst(a, b *Ruling) int {
	switch gone := a.testsGone(); {
	case gone == b.testsGone():
		return 0
	case gone:
		return -1
	}
	return 1
}

// testsGone reports whether tests were removed or skipped, or fewer of them ran, approved or not.
func (r *Ruling) testsGone() bool {
	return r != nil && slices.ContainsFunc(r.Answers, func(a Answer) bool {
		return slices.ContainsFunc(a.Items, func(i Item) bool {
			return i.Kind == Removed || i.Kind == Skips || i.Kind == Fewer
		})
	})
}

// A Verdict is the test result recorded in a slice's file: the values of plan.Verified.
type Verdict string

// The verdicts.
const (
	Green Verdict = "true"
	// the same tests fail without it, or a person has approved unverifiable work
	KnownRed   Verdict = "false"
	Unverified Verdict = "none"
)

// Verdict returns the verdict that follows from the answers.
func (r *Ruling) Verdict() Verdict {
	a := r.Answer(Run)
	switch {
	case a.Says == Yes && r.Answer(Merge).Says == Approved: // marks of a conflict
		return KnownRed
	case a.Says == Yes:
		return Green
	case a.Says == Unknown && a.Evidence == noCommand, a.Says == Skipped:
		return Unverified
	case len(a.Items) > 0:
		return KnownRed
	}
	return Unverified
}

// A Pass is the permission to land: to set one piece of work complete, or to move a branch to one
// commit. The zero Pass permits nothing; only Ruling.Pass and Together make others.
type Pass struct {
	works   []string
	commit  string
	verdict Verdict
	ok      bool
}

// ErrNoPass means that something was about to land without a pass. Unless an answer forbids it,
// that is a bug in gl.
var ErrNoPass = errors.New("nothing is merged without the gate's pass")

// Pass returns the permission that follows from the answers, or the first answer that forbids it.
// commit is what lands, "" if no branch moves.
func (r *Ruling) Pass(commit string) (Pass, error) {
	if r == nil || r.Only != "" && commit != r.Only {
		return Pass{}, ErrNoPass
	}
	for _, q := range questions() {
		if a := r.Answer(q.key); !a.Says.passes() {
			return Pass{}, fmt.Errorf("%w: %s: %s (%s)", ErrNoPass, r.Work, q.asks, a.Says)
		}
	}
	return Pass{works: []string{r.Work}, commit: commit, verdict: r.Verdict(), ok: true}, nil
}

// Together returns the permission to move a branch to the last of several commits, each of which
// has a pass.
func Together(head string, passes ...Pass) (Pass, error) {
	all := Pass{commit: head, ok: len(passes) > 0, verdict: Green}
	for _, p := range passes {
		all.ok = all.ok && p.ok
		all.works = append(all.works, p.works...)
	}
	if !all.ok || passes[len(passes)-1].commit != head {
		return Pass{}, ErrNoPass
	}
	return all, nil
}

// Moves returns an error unless the pass permits moving a branch to the commit.
func (p Pass) Moves(commit string) error {
	if !p.ok || commit == "" || p.commit != commit {
		return fmt.Errorf("%w: move a branch to %.12s", ErrNoPass, commit)
	}
	return nil
}

// Completes returns an error unless the pass permits setting the work complete.
func (p Pass) Completes(work string) error {
	if !p.ok || !slices.Contains(p.works, work) {
		return fmt.Errorf("%w: complete %s", ErrNoPass, work)
	}
	return nil
}

// Verdict returns the verdict on the tests.
func (p Pass) Verdict() Verdict { return p.verdict }
