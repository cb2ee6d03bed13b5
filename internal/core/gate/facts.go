package gate

import (
	"fmt"
	"slices"
	"strings"
)

// Facts are what the questions are answered from, about one thing that is to land or has landed.
// The caller takes them from where agents can't write: commits and trees by their hashes, gl's
// records, and gl's own test runs. A zero field means none or unknown; each question decides which.
type Facts struct {
	Way  Way
	Work string // slice or task; "" for neither

	// the tree that its agent left, "" if not recorded; for a branch, the commit it must be at
	Left  string
	Lands string   // the tree that is merged; for a branch, the commit it moves to
	Later []string // paths changed after the agent had ended: they don't land

	Remerged bool // it was merged once more, with the same result

	Compared string   // what the tests and their runner were compared with
	Unseen   []string // what couldn't be compared
	Found    []Item   // what differs

	Beforehand []Item // those of Found that a person allowed beforehand

	Run TestRun

	Gone map[Question]string // questions that can no longer be answered, each with the reason

	Review   string // why a person has to look; "" for no review
	Approval *Approval
}

// A TestRun is a run of the tests by gl.
type TestRun struct {
	Command string // "" for none
	Tree    string // that was tested, without state
	Place   string // where: "the lane's worktree"
	How     string // it ended: "exit 0"
	Pending bool   // not run yet
	Green   bool
	Known   bool   // red, but the same tests fail without the work
	Why     string // why nothing was run; "" for no test command
}

// An Approval is what a person has seen and approved.
type Approval struct {
	By    string // "a person, by gl accept"
	Tree  string // the approved tree; "" if not recorded
	Items []Item
	All   bool // everything: gl undo --force
}

// covers reports whether the person has approved the item as it is now. The number of missing tests
// may differ: it depends on what has landed since.
func (a *Approval) covers(i Item) bool {
	if a == nil || a.All {
		return a != nil
	}
	return slices.ContainsFunc(a.Items, func(o Item) bool {
		return o.Kind == i.Kind && (i.Kind == Fewer || o.Name == i.Name && o.ID == i.ID)
	})
}

// An Item is one defect of the work.
type Item struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`           // a path, or a test with its path
	ID   string `json:"id,omitempty"`   // of its content now; "" if it is gone
	Path string `json:"path,omitempty"` // where it is, or was, if its name isn't that
	Red  bool   `json:"red,omitempty"`  // its agent has to fix it; otherwise a person has to look
}

// A Kind is the kind of defect. Records contain these words.
type Kind string

// The kinds of defects.
const (
	Marks   Kind = "marks"   // marks of a conflict
	Differs Kind = "differs" // what was merged differs from the merge of the work
	Removed Kind = "removed" // a test is gone
	Skips   Kind = "skipped" // a test is skipped that ran before
	Fewer   Kind = "fewer"   // fewer tests run than without the work
	Changed Kind = "changed" // a test, contract or golden file differs from the hand-over
	Runner  Kind = "runner"  // the test runner's configuration
	Command Kind = "command" // what the test command runs
	Failing Kind = "failing" // the tests fail
	Lost    Kind = "lost"    // the tests' base of comparison is gone
)

// kindTexts holds, for each kind, a noun and the words that introduce a list of names.
func kindTexts() map[Kind][2]string {
	return map[Kind][2]string{
		Marks:   {"conflict marks", "conflict marks are left in "},
		Differs: {"not what the merge gives", "what was merged isn't what the merge gives: "},
		Removed: {"tests removed", "tests removed: "},
		Skips:   {"tests skipped", "tests skipped: "},
		Fewer:   {"fewer tests", "fewer tests run: "},
		Changed: {"tests changed after the hand-over",
			"changed after the tests were handed over: "},
		Runner:  {"test runner changed", "the test runner's configuration changed: "},
		Command: {"changed file of the test command", "a file of the test command changed: "},
		Failing: {"tests failing", "tests fail: "},
		Lost: {"tests not compared",
			"the tests can't be compared with how they were at the claim: "},
	}
}

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{Marks, Differs, Removed, Skips, Fewer, Changed, Runner, Command, Failing, Lost}
}

// Noun returns the kind in words.
func (k Kind) Noun() string { return kindTexts()[k][0] }

// ItemsText names the items, grouped by kind.
func ItemsText(items []Item) string { return itemsText(items, func(Item) bool { return true }) }

func itemsText(items []Item, which func(Item) bool) string {
	var list []string
	for _, k := range Kinds() {
		var names []string
		for _, i := range items {
			if i.Kind == k && which(i) {
				names = append(names, i.Name)
			}
		}
		if len(names) > 0 {
			list = append(list, kindTexts()[k][1]+some(names))
		}
	}
	return strings.Join(list, "; ")
}

// some names the first few of a list.
func some(names []string) string {
	const most = 5
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// short abbreviates a hash for people.
func short(hash string) string { return hash[:min(len(hash), 10)] }

func tree(f *Facts) Answer {
	switch {
	case f.Way.branch() && (f.Left == "" || f.Left != f.Lands):
		return Answer{Says: No,
			Evidence: fmt.Sprintf("%s isn't %s, %s", short(f.Lands), short(f.Left), f.Way.must())}
	case f.Way.branch():
		return Answer{Says: Yes, Evidence: short(f.Left) + ", " + f.Way.must()}
	case f.Left == "":
		return Answer{Says: Unknown, Evidence: "no record of the tree that its agent left"}
	case f.Left != f.Lands:
		return Answer{Says: Person, Evidence: fmt.Sprintf("its agent left the tree %s, and this is %s", short(f.Left), short(f.Lands))}
	case len(f.Later) > 0:
		return Answer{Says: Yes, Evidence: fmt.Sprintf("tree %s; changed after its agent had ended, and left out: %s", short(f.Left), some(f.Later))}
	}
	return Answer{Says: Yes, Evidence: "tree " + short(f.Left)}
}

func merge(f *Facts) Answer {
	a := Answer{Evidence: "no conflict marks"}
	if f.Remerged {
		a.Evidence += ", and merging it again gives the same"
	}
	return f.judge(a, Marks, Differs)
}

func tests(f *Facts) Answer {
	a := Answer{Evidence: "no test is missing and the test runner is unchanged (compared with " + f.Compared + ")"}
	if f.Compared == "" {
		a = Answer{Says: Unknown, Evidence: "nothing was compared"}
	}
	if len(f.Unseen) > 0 {
		a = Answer{Says: Unknown, Evidence: strings.Join(f.Unseen, "; ")}
	}
	return f.judge(a, Removed, Skips, Fewer, Changed, Runner, Command, Lost)
}

// judge answers by the items of some kinds: the worst one decides. Without such items, the answer
// is clean.
func (f *Facts) judge(clean Answer, kinds ...Kind) Answer {
	a := clean
	if a.Says == "" {
		a.Says = Yes
	}
	worst := Approved
	for _, i := range f.Found {
		if !slices.Contains(kinds, i.Kind) {
			continue
		}
		a.Items = append(a.Items, i)
		switch {
		case f.Approval.covers(i), (&Approval{Items: f.Beforehand}).covers(i):
		case i.Red:
			worst = No
		case worst != No:
			worst = Person
		}
	}
	if len(a.Items) > 0 {
		a.Says, a.Evidence = worst, ItemsText(a.Items)
	}
	return a
}

// noCommand is the evidence for a project without a test command. Ruling.Verdict compares with it.
const noCommand = "no test.command"

func run(f *Facts) Answer {
	r := f.Run
	tree := ""
	if r.Tree != "" {
		tree = " on tree " + short(r.Tree)
	}
	evidence := fmt.Sprintf("%s%s in %s: %s", r.Command, tree, r.Place, r.How)
	failing := []Item{{Kind: Failing, Name: r.How, Red: true}}
	switch {
	case r.Pending:
		return Answer{Says: Pending, Evidence: "not tested yet"}
	case r.Command == "" && r.Why == "":
		return Answer{Says: Unknown, Evidence: noCommand}
	case r.Why != "":
		return Answer{Says: Unknown, Evidence: r.Why}
	case r.Green:
		return Answer{Says: Yes, Evidence: evidence}
	case r.Known:
		return Answer{Says: Unknown, Evidence: evidence + "; the same tests fail without it",
			Items: failing}
	case f.Approval != nil && f.Approval.All:
		return Answer{Says: Approved, Evidence: evidence, Items: failing}
	}
	return Answer{Says: No, Evidence: evidence, Items: failing}
}

func review(f *Facts) Answer {
	switch {
	case f.Approval != nil:
		return Answer{Says: Yes,
			Evidence: strings.TrimSpace(f.Approval.By + treeText(f.Approval.Tree))}
	case f.Review != "":
		return Answer{Says: Person, Evidence: f.Review}
	case f.Way.person():
		return Answer{Says: Person, Evidence: "only a person can do that"}
	}
	return Answer{Says: Yes, Evidence: "not asked for"}
}

func treeText(tree string) string {
	if tree == "" {
		return ""
	}
	return ", tree " + short(tree)
}
