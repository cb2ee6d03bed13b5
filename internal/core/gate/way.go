package gate

import "slices"

// A Way is how something lands. Records contain these words.
type Way string

// The ways to land.
const (
	Single   Way = "single"   // a slice, merged and tested alone
	Batch    Way = "batch"    // a slice, tested together with others
	Task     Way = "task"     // gl quick, gl wrap
	Accepted Way = "accepted" // a person accepts what was built in a worktree, or lands a branch
	Checkout Way = "checkout" // a slice that was built and tested in the checkout
	// by its file alone, untested by gl: STATE.md, another system's items without a test command
	File    Way = "file"
	Sibling Way = "sibling" // another system's item, built and tested in the checkout
	Word    Way = "word"    // a person accepts what was built in the checkout
	Retest  Way = "retest"  // gl verify has tested what had landed
	Undo    Way = "undo"    // gl undo takes a slice back
	Follow  Way = "follow"  // the merge queue's branch takes up the target's own commits
	TakeIn  Way = "take-in" // the merge queue's branch is merged with them
	Reset   Way = "reset"   // gl land --reset restarts the merge queue's branch at the target
	Deliver Way = "deliver" // the target takes up what has landed
)

// A way is one entry of ways.
type way struct {
	key  Way
	text string
	skip map[Question]string // the questions not asked, each with the reason
}

const (
	inTarget = "it is in the target already"
	asked    = "asked of each slice in it"
	noMerge  = "nothing is merged"
	own      = "no agent's work"

	notCompared = "nothing is compared there"
)

// ways lists the ways to land, and which questions don't apply to them.
func ways() []way {
	inCheckout := map[Question]string{Merge: noMerge}
	return []way{
		{Single, "a slice, alone", nil},
		{Batch, "a slice, in a batch", nil},
		{Task, "a task: gl quick, gl wrap",
			map[Question]string{Review: "a person started the task"}},
		{Accepted, "accepted by a person: gl accept, gl land BRANCH", nil},
		{Checkout, "built in the checkout", inCheckout},
		{File, "another system's item, or STATE.md", map[Question]string{Merge: noMerge,
			Tests: notCompared, Run: "gl ran no tests there"}},
		{Sibling, "another system's item, built and tested in the checkout",
			map[Question]string{Merge: noMerge, Tests: notCompared}},
		{Word, "built in the checkout, accepted by a person", inCheckout},
		{Retest, "gl verify of merged work", nil},
		{Undo, "gl undo",
			map[Question]string{Tree: own, Tests: "what was merged with the slice goes with it"}},
		{Follow, "the target branch has moved on",
			map[Question]string{Merge: noMerge, Tests: inTarget, Run: inTarget, Review: inTarget}},
		{TakeIn, "the target branch and the merge queue have both moved on",
			map[Question]string{Tree: own, Tests: asked, Review: asked}},
		{Reset, "gl land --reset",
			map[Question]string{Merge: noMerge, Tests: inTarget, Run: inTarget}},
		{Deliver, "tested work is merged into the target branch",
			map[Question]string{Merge: noMerge, Tests: asked, Run: asked, Review: asked}},
	}
}

func (w Way) row() *way {
	all := ways()
	if i := slices.IndexFunc(all, func(r way) bool { return r.key == w }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Known reports whether the way is in ways.
func (w Way) Known() bool { return w.row() != nil }

// Text returns the way in words.
func (w Way) Text() string {
	if row := w.row(); row != nil {
		return row.text
	}
	return string(w)
}

// branch reports whether a branch moves to an existing commit, rather than work being merged.
func (w Way) branch() bool { return w.must() != "" }

// must describes that commit in words; "" for ways that merge.
func (w Way) must() string {
	switch w {
	case Follow, Reset:
		return "the target's commit"
	case Deliver:
		return "where gl left the merge queue"
	case Single, Batch, Task, Accepted, Checkout, File, Sibling, Word, Retest, Undo, TakeIn:
	}
	return ""
}

// person reports whether only a person can land something this way.
func (w Way) person() bool { return w == Accepted || w == Word || w == Undo || w == Reset }

// skips returns why a question isn't asked.
func (w Way) skips(q Question) (why string, skipped bool) {
	if row := w.row(); row != nil {
		why, skipped = row.skip[q]
	}
	return why, skipped
}
