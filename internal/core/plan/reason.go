package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/words"
)

// A Reason explains an item's state, as data; its methods return the wording that all commands
// share.
type Reason struct {
	ID string
	// "done", "ready", "blocked", "running", "claimed", "landing", "failed", "red", "conflict",
	// "stalled", "waiting", "unknown", "corrupt"
	State string
	// a short explanation without the id: "needs S-4", "exit 7", …; "" if State is sufficient
	Cause string
	Needs []string // a blocked item's unfinished dependencies
	Root  string   // of a blocked item: the item to look at first
	Next  []string // commands that help, in order
	If    string   // a condition to check before running these; "" for none
}

// String returns the whole reason in one line, with the commands that help.
func (r Reason) String() string {
	s := r.ID + " is " + r.State
	switch r.State {
	case "failed":
		s = r.ID + " failed"
	case "conflict":
		s = r.ID + " is in conflict"
	case "landing":
		s = r.ID + " is in the merge queue"
	}
	switch {
	case strings.HasPrefix(r.Cause, Asking):
		s = r.ID + " " + r.Cause
	case r.State == "waiting" && strings.HasPrefix(r.Cause, "for "):
		s += " " + r.Cause
	case r.Cause != "":
		s += ": " + r.Cause
	}
	if len(r.Next) > 0 {
		sep := Then
		if r.State == "running" {
			sep = ", or "
		}
		if !strings.ContainsAny(s[len(s)-1:], ".!?") {
			s += "."
		}
		s += " " + r.Run(strings.Join(r.Next, sep))
	}
	return s
}

// Asking begins the text of an item with a question.
const Asking = "asks: "

// WaitText describes what a person is needed for: "asks: which color?", "waiting for a look at
// the colors". Punctuation decides the wording only, not whether gl answer or gl accept
// applies: a question mark at the end of any of its sentences makes it a question.
func WaitText(what string) string {
	for word := range strings.FieldsSeq(what) {
		if strings.HasSuffix(strings.TrimRight(word, `"')*_`), "?") {
			return Asking + what
		}
	}
	return "waiting for " + what
}

// Then separates commands of Next that are to be run one after the other.
const Then = ", then "

// Command returns the command of Next to show if there is room for only one: the one that
// decides, or else the first; "" for none.
func (r Reason) Command() string {
	for _, c := range r.Next {
		if strings.HasPrefix(c, "gl accept ") || strings.HasPrefix(c, "gl answer ") {
			return c
		}
	}
	if len(r.Next) == 0 {
		return ""
	}
	return r.Next[0]
}

// Run says when to run a command of Next: "Run gl retry S-4", "If no one works on it, run gl state
// release S-4 --force".
func (r Reason) Run(command string) string {
	if r.If == "" {
		return "Run " + command
	}
	return "If " + r.If + ", run " + command
}

// Brief returns the item with its cause, for a list: "S-5 (needs S-4)".
func (r Reason) Brief() string {
	if r.Cause == "" {
		return r.ID
	}
	return r.ID + " (" + r.Cause + ")"
}

// ClaimText describes the claim on the item: "S-3 is claimed by session 2026-…-a7f3, last
// change 5m ago".
func (st *State) ClaimText(now time.Time) string {
	text := st.ID + " is claimed by " + st.claimant()
	if !st.Changed.IsZero() {
		text += fmt.Sprintf(", last change %s ago", Age(now.Sub(st.Changed)))
	}
	if st.Stale {
		text += ", stale"
	}
	return text
}

func (st *State) claimant() string {
	switch {
	case st.Session != "":
		return "session " + st.Session
	case st.Holder != "":
		return st.Holder
	}
	return "unknown"
}

// Why returns the reason for an item's state; the zero Reason for an unknown id.
func (p *Plan) Why(id string, now time.Time) Reason {
	return explainer{p, now}.why(id)
}

// An explainer finds the reasons for the states of a plan's items.
type explainer struct {
	p   *Plan
	now time.Time
}

// LandCommand is the command that goes on with work in the merge queue: gl land, or gl land --reset
// if the reason that it isn't merged says that only this helps.
func LandCommand(reason string) string {
	if strings.Contains(reason, "Run "+LandReset) {
		return LandReset
	}
	return "gl land"
}

// LandReset starts the merge queue over from the target.
const LandReset = "gl land --reset"

func (x explainer) why(id string) Reason {
	p := x.p
	st := p.State(id)
	if st == nil {
		return Reason{}
	}
	r := Reason{ID: id}
	switch st.Class {
	case Done:
		r.State, r.Cause = "done", p.proof(st)
	case Available:
		x.available(st, &r)
	case Active:
		x.active(st, &r)
	case Failed:
		r.State, r.Cause = "failed", st.lastDetail()
		r.Next = st.repair()
	case Landing:
		r.State, r.Cause = "landing", st.Attempt.Landing
		if st.Attempt.Idle {
			r.Next = []string{LandCommand(r.Cause)}
			r.Cause, _, _ = strings.Cut(r.Cause, ". Run "+LandReset) // Next says it
		}
	case Red:
		r.State, r.Cause = "red", st.lastDetail()
		r.Next = st.repair()
	case Conflict:
		r.State, r.Cause = "conflict", st.lastDetail()
		r.Next = st.repair()
	case Stalled:
		r.State, r.Cause = "stalled", st.lastDetail()
		r.Next = st.repair()
	case Waiting:
		x.waiting(st, &r)
	case Corrupt:
		r.State, r.Cause = "corrupt", st.File+": "+st.Corrupt
		r.Next = []string{"gl doctor"}
	default:
		r.State, r.Cause = "unknown", fmt.Sprintf("unknown status %q", st.Status)
		r.Next = []string{"gl state set " + id + " status=pending"}
		r.help(st)
	}
	r.Next = p.Snapshot.commands(r.Next)
	return r
}

// commands adds the flags that make commands refer to these items rather than another
// system's.
func (s *Snapshot) commands(list []string) []string {
	if s.Flags == "" {
		return list
	}
	list = slices.Clone(list)
	for i, c := range list {
		if word, isGl := strings.CutPrefix(c, "gl "); isGl && !strings.HasPrefix(word, "gsd ") &&
			!strings.HasPrefix(word, "sw ") {
			list[i] += s.Flags
		}
	}
	return list
}

// help prefers the commands that the item's own system suggests.
func (r *Reason) help(st *State) {
	if st.Next != nil {
		r.Next = st.Next
	}
}

func (x explainer) waiting(st *State, r *Reason) {
	id := st.ID
	r.State, r.Cause = "waiting", strings.TrimPrefix(WaitText(st.WaitingFor), "waiting ")
	switch {
	case st.WaitingFor == "":
		r.Cause = "paused"
		if st.Paused {
			r.Next = append(r.Next, "gl resume "+id)
		}
		if Classify(st.Status) == Waiting { // written by hand
			r.Next = append(r.Next, "gl state set "+id+" status=pending")
		}
	case st.Asks():
		r.Next = []string{"gl review " + id, "gl answer " + id + " TEXT"}
	case st.SentBack() != "":
		r.Next = []string{"gl review " + id, "gl retry " + id}
	default:
		r.Next = []string{"gl review " + id, "gl accept " + id}
	}
	r.help(st)
}

func (x explainer) available(st *State, r *Reason) {
	if len(st.Needs) == 0 {
		if r.State = "ready"; st.Goes {
			r.Cause = "goes on: " + st.lastDetail()
		} else if st.Stale {
			r.Cause = "the claim of " + st.claimant() + " is stale, and is taken over in yolo mode"
		} else if len(st.Meets) > 0 {
			r.Cause = "behind others, since it is " + x.p.Foreseen(st.ID)[0].Text()
		}
		r.Next = []string{"gl slice " + st.ID}
		if h := x.hold(st); h != nil {
			r.Next = append(h.Lifting(), r.Next...)
		}
		if o := x.p.Snapshot.Outlook.Unplaced[st.ID]; o.Cause != "" {
			r.Cause, r.Next = o.Cause, []string{o.Next}
		}
		return
	}
	r.State, r.Needs, r.Root = "blocked", st.Needs, st.Root
	r.Cause = NeedsText(st.Needs)
	if st.inCycle {
		r.Cause += ", in a cycle"
		return
	}
	if x.p.State(st.Root) == nil && slices.Contains(st.Needs, st.Root) {
		r.Cause += ", " + x.p.Snapshot.unknown()
	}
}

// hold returns the hold that keeps an item from being launched; nil for none.
func (x explainer) hold(st *State) *Hold {
	if st.Agent == "" {
		return x.p.Hold
	}
	return x.p.HoldOf(Account{Agent: st.Agent})
}

// shownNeeds is how many needs a line lists.
const shownNeeds = 20

// NeedsText lists what an item needs: "needs S-1, S-2". Of very many needs it lists the first.
func NeedsText(needs []string) string {
	return "needs " + strings.Join(needs[:min(shownNeeds, len(needs))], ", ") +
		words.More(len(needs)-shownNeeds)
}

// Because briefly describes the root of a blocked item: "S-4 failed"; "" for an item that isn't
// blocked.
func (p *Plan) Because(id string) string {
	st := p.State(id)
	if st == nil || st.Root == "" {
		return ""
	}
	root := p.State(st.Root)
	switch {
	case root == nil:
		return strings.TrimPrefix(p.Snapshot.unknown(), "an ") + " " + st.Root
	case root.inCycle:
		return root.ID + " is in a dependency cycle"
	}
	switch root.Class {
	case Failed:
		return root.ID + " failed"
	case Active:
		return root.ID + " is running"
	case Conflict:
		return root.ID + " is in conflict"
	case Landing:
		return root.ID + " is in the merge queue"
	case Available:
		return root.ID + " isn't built yet"
	}
	return root.ID + " is " + string(root.Class)
}

// longWay is the maximum number of items that WayOut returns.
const longWay = 100

// WayOut returns the path from a blocked item to its root, starting with the item itself: each
// needs the next. A long path is cut to its beginning and the root: for all items of a long
// chain, full paths would take a hundred megabytes.
func (p *Plan) WayOut(id string) []string {
	path := way(p, id, longWay)
	if len(path) == longWay {
		path[longWay-1] = p.State(id).Root
	}
	return path
}

// way returns the first hops of the path to the root.
func way(p *Plan, id string, most int) []string {
	path := []string{id}
	seen := map[string]bool{id: true}
	for st := p.State(id); len(path) < most && st != nil && st.Root != "" && st.ID != st.Root; {
		next := ""
		for _, need := range st.Needs {
			d := p.State(need)
			if need == st.Root || d != nil && d.Root == st.Root && !seen[need] {
				next = need
				break
			}
		}
		if next == "" {
			break
		}
		seen[next] = true
		path = append(path, next)
		if next == st.Root {
			break
		}
		st = p.State(next)
	}
	return path
}

// shownHops is how many hops of a long path are shown, half from its beginning and half from
// its end.
const shownHops = 24

// Hops describes the path to the root, one need at a time, and then the root's state: "S-5
// needs S-4", "S-4 needs S-1", "S-1 failed: exit 7". It returns nil for an item that isn't
// blocked, and omits the middle of a long path.
func (p *Plan) Hops(id string, now time.Time) []string {
	if p.Why(id, now).State != "blocked" {
		return nil
	}
	path := way(p, id, len(p.States)+1)
	hops := make([]string, 0, shownHops+2)
	for i, need := range path[1:] {
		switch left := len(path) - 1 - shownHops; {
		case left < 2 || i < shownHops/2 || i >= shownHops/2+left:
			hops = append(hops, path[i]+" needs "+need)
		case i == shownHops/2:
			hops = append(hops, fmt.Sprintf("… %d more …", left))
		}
	}
	return append(hops, explainer{p, now}.rootText(path[len(path)-1]))
}

func (x explainer) rootText(id string) string {
	st := x.p.State(id)
	if st == nil {
		return id + " is " + x.p.Snapshot.unknown()
	}
	if st.inCycle {
		for _, c := range x.p.Cycles {
			if slices.Contains(c, id) {
				return id + " is in the dependency cycle " +
					strings.Join(append(slices.Clip(c), c[0]), " → ")
			}
		}
		// a member of connected cycles that the one reported path misses
		return id + " is in a dependency cycle"
	}
	r := x.why(id)
	r.Next = nil
	return r.String()
}

func (x explainer) active(st *State, r *Reason) {
	r.Cause = st.Progress()
	if st.Attempt.Live() {
		r.State = "running"
		a := st.Attempt
		r.Cause += fmt.Sprintf(", attempt %d with %s", a.N, a.Agent)
		if a.Detail != "" {
			r.Cause += ", which " + a.Detail
		} else if a.Worker != "" && a.Where.Text == "" {
			r.Cause += " on worker " + a.Worker
		}
		if !a.Started.IsZero() {
			r.Cause += ", for " + Age(x.now.Sub(a.Started))
		}
		switch quiet := a.Quiet(x.now); {
		case quiet > 0 && a.Tool != "":
			r.Cause += ", for " + Age(quiet) + " in " + a.Tool
		case quiet > 0:
			r.Cause += ", silent for " + Age(quiet)
		case !a.Heard.IsZero():
			r.Cause += ", last heard " + Age(x.now.Sub(a.Heard)) + " ago"
		}
		r.Next = []string{"gl logs -f " + st.ID, "gl stop " + st.ID}
		if a.Where.Text != "" {
			where, gone := a.unseen()
			r.Cause += ", " + where + "; if " + gone + " is gone, the attempt can be abandoned"
			r.Next = []string{"gl logs " + st.ID, abandon(st.ID)}
		}
		if a.Where.Unserved {
			r.Next = append([]string{serve}, r.Next...)
		}
		return
	}
	r.State = "claimed"
	switch {
	case st.Holder != "":
		r.Cause += " by " + st.Holder
	case st.Session != "":
		r.Cause += " by session " + st.Session
	default:
		r.Cause += " by unknown"
	}
	if !st.Changed.IsZero() {
		r.Cause += ", last change " + Age(x.now.Sub(st.Changed)) + " ago"
	}
	switch {
	case !x.p.Snapshot.ofSlices():
		r.Next = []string{"gl slice " + st.ID + " --force"}
	case st.Stale:
		r.Next = []string{"gl state release " + st.ID}
	default:
		r.Next = []string{"gl state release " + st.ID + " --force"}
	}
	if st.Stale {
		r.Cause += ", stale"
	} else { // a claim outside an attempt doesn't tell whether its session lives
		r.If = "no one works on it"
	}
	r.help(st)
}

// ofSlices reports whether the items are Greenlight's own.
func (s *Snapshot) ofSlices() bool { return s.Noun == "" || s.Noun == Slice }

// abandon returns the command that gives up an attempt whose host is gone.
func abandon(id string) string { return "gl retry --abandon " + id }

// unseen says where an attempt runs whose state can't be determined from here, and what may be
// gone.
func (a *Attempt) unseen() (where, gone string) {
	switch {
	case a.Where.Unserved:
		return a.Where.Text + ", and gl serve isn't running: its agent goes on, and the next gl serve continues with it", "the worker"
	case a.Worker != "":
		return a.Where.Text + ", which is silent: its agent goes on, and gl serve continues with it at the " +
			"next contact, or elsewhere after workers.lost_minutes", "the worker"
	}
	return a.Where.Text + ", where gl can't look", "that"
}

// serve is the command that hears of workers.
const serve = "gl serve"

// warnUnseen warns about an open attempt whose state can't be determined from here.
func (p *Plan) warnUnseen(label string, a *Attempt) {
	if !a.Open() || a.Where.Text == "" || a.Where.Unserved {
		return
	}
	where, gone := a.unseen()
	p.Warnings = append(p.Warnings, Warning{Message: fmt.Sprintf("attempt %d of %s runs %s. If %s is gone, run %s",
		a.N, label, where, gone, p.Snapshot.commands([]string{abandon(label)})[0])})
}

// Progress returns a word for the progress of an active item: its step if that is more specific
// than its status. Complete it isn't, until gl says so.
func (st *State) Progress() string {
	switch {
	case Classify(st.Status) == Done && st.Attempt.Live():
		return "finishing" // its agent calls it complete, and hasn't ended
	case IsStep(st.Status):
		return st.Status
	case StepReached(st.Step):
		return st.Step
	case st.Attempt.Live() && st.Attempt.Phase == Started:
		return "working"
	case st.Attempt.Live():
		return "starting"
	}
	return st.Status
}

// Quiet returns how long a running agent has been silent, if that is worth reporting; otherwise
// 0.
func (a *Attempt) Quiet(now time.Time) time.Duration {
	if !a.Live() || a.Phase != Started || a.Started.IsZero() {
		return 0
	}
	heard := a.Started
	if a.Heard.After(heard) {
		heard = a.Heard
	}
	if quiet := now.Sub(heard); quiet >= QuietAfter {
		return quiet
	}
	return 0
}

// QuietAfter is the silence after which an agent is shown as silent.
const QuietAfter = time.Minute

// Doing is Progress with details about a silent agent: "implementing, silent for 3m", "tests,
// for 4m in Bash: go test".
func (st *State) Doing(now time.Time) string {
	text := st.Progress()
	if a := st.Attempt; a.Live() && a.Worker != "" {
		text += " on " + a.Worker
	}
	quiet := st.Attempt.Quiet(now)
	switch {
	case quiet == 0:
	case st.Attempt.Tool != "":
		text += ", for " + Age(quiet) + " in " + st.Attempt.Tool
	default:
		text += ", silent for " + Age(quiet)
	}
	return text
}

// AtReview reports whether a person may approve the item's work: it is waiting at its review
// step, or explicitly for a review.
func (st *State) AtReview() bool {
	return st.WaitingFor != "" &&
		(st.WaitKind == ForReview || reviewed(st.Status) || reviewed(st.Step))
}

// Asks reports whether the item waits for an answer: it says so, or it waits before its review
// without saying for what.
func (st *State) Asks() bool {
	return st.WaitingFor != "" && (st.WaitKind == ForAnswer || !st.AtReview())
}

// SentBack returns Red or Conflict if a person has approved the item's work and it couldn't be
// merged as it is; "" for any other item. It waits for review again: a person may have its agent go
// on, or put it right and approve it once more.
func (st *State) SentBack() Class {
	if st.Class != Waiting || !st.AtReview() || st.Asks() || st.Attempt == nil || st.Attempt.Open() {
		return ""
	}
	switch was := st.Attempt.Outcome.Available; was {
	case Red, Conflict:
		return was
	}
	return ""
}

func reviewed(step string) bool { return normal(step) == "verifying" || Classify(step) == Done }

// repair returns the commands that help with a failed or stalled item.
func (st *State) repair() []string {
	if st.Attempt == nil {
		return []string{"gl retry " + st.ID}
	}
	return []string{"gl logs " + st.ID, "gl retry " + st.ID}
}

func (st *State) lastDetail() string {
	a := st.Attempt
	switch {
	case st.Released && !a.Open() && st.leftAs(Active) == "":
		return "released in " + st.Progress()
	case a == nil:
		return ""
	case a.Open():
		return "its gl process vanished, the next gl slice settles it"
	case a.Outcome.Success:
		return fmt.Sprintf("was complete in attempt %d, its file says %q now", a.N, st.Status)
	}
	return a.Detail
}

// proof describes the evidence for a done item: "3 new tests, verified"; "3 tests by its
// agent's count".
func (p *Plan) proof(st *State) string {
	var is []string
	// the sibling formats don't count tests
	if st.Tests > 0 || st.NewTests != 0 || p.Snapshot.ofSlices() && st.Verified != Green {
		is = append(is, p.TestsOf(st))
	}
	switch {
	case st.Verified == Green:
		is = append(is, "verified")
	case p.Snapshot.unproven(st):
		is = append(is, "unverified")
	}
	return strings.Join(is, ", ")
}

// unproven reports whether an item is done, by anyone, without gl having seen its tests pass.
// The sibling formats have verdicts of their own.
func (s *Snapshot) unproven(st *State) bool {
	return st.Class == Done && (st.Verified == Unverified || st.Verified == KnownRed ||
		st.Verified == NotKnown && s.ofSlices())
}

// TestCount returns "42 tests"; "" if the format counts none.
func (it *Item) TestCount() string {
	if it.Staged && it.Tests == 0 {
		return ""
	}
	return words.Count(it.Tests, "test")
}

// Age formats a duration for people, in one or two units: "4s", "12m", "3h05m", "2d".
func Age(d time.Duration) string {
	switch d = max(d, 0).Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}
