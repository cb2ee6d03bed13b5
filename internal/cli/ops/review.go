package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/text/markdown"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/state/contracts"
	"greenlight/internal/workspace/worktree"
)

// A Pending is something that waits for a person: a slice, or something about the project.
type Pending struct {
	Kind      PendingKind
	ID        string // "" for the project
	Name      string
	Why       string             // short
	Foreign   bool               // what it is waiting for is done with another system's commands
	Commands  []string           // that answer it, the usual one first
	Last      *attempt.Record    // the last attempt at the slice; nil for none
	Built     *attempt.Record    // the last one with an agent
	Proposals []project.Proposal // commands that its sessions wanted to set
}

// PendingKind is what is asked of a person.
type PendingKind string

const (
	PendingQuestion    PendingKind = "question"    // an answer
	PendingReview      PendingKind = "review"      // approval of what was built
	PendingEmpty       PendingKind = "empty"       // called complete without a change
	PendingRed         PendingKind = "red"         // its tests fail, even after a repair
	PendingConflict    PendingKind = "conflict"    // it doesn't merge, even after a repair
	PendingFailed      PendingKind = "failed"      //
	PendingStalled     PendingKind = "stalled"     // its agent ended early
	PendingInterrupted PendingKind = "interrupted" // ended by a person or a crash
	PendingBudget      PendingKind = "budget"      // it has cost as much as a slice may
	PendingPaused      PendingKind = "paused"      // set aside by a person
	PendingUnknown     PendingKind = "unknown"     // its file or status can't be read
	PendingUndelivered PendingKind = "undelivered" // tested work that isn't merged yet
	PendingHeld        PendingKind = "held"        // launching is held
	PendingProposal    PendingKind = "proposal"    // a command that a session proposed
	PendingTests       PendingKind = "tests"       // they fail on what was merged
)

// ToReview returns what waits for a person, starting with what needs the least work. With ids, it
// returns only these slices.
func ToReview(pr *project.Project, now time.Time, ids ...string) ([]Pending, error) {
	p, err := pr.Plan(now, pr.Options())
	if err != nil {
		return nil, err
	}
	wait := slices.Concat(p.Lists.Waiting, p.Lists.Red, p.Lists.Conflicts, p.Lists.Failed,
		p.Lists.Stalled, p.Lists.Unknown)
	recs, err := pr.Runs.Last(wait...)
	if err != nil {
		return nil, err
	}
	proposals, err := pr.Proposals().List()
	if err != nil {
		return nil, err
	}
	var list []Pending
	for _, id := range wait {
		if len(ids) > 0 && !slices.Contains(ids, id) {
			continue
		}
		w := newPending(p, p.State(id), now)
		if len(recs[id]) > 0 {
			w.Last = recs[id][0]
			if i := slices.IndexFunc(recs[id], func(r *attempt.Record) bool {
				return !r.Accepted()
			}); i >= 0 {
				w.Built = recs[id][i]
			}
		}
		if w.Kind == PendingRed && TestsToAccept(pr, id) == nil {
			w.Commands = append([]string{"gl accept " + id + " --tests"},
				append(w.Commands, "gl retry --fresh "+id)...)
		}
		proposals = slices.DeleteFunc(proposals, func(q project.Proposal) bool {
			mine := q.Attempt[:max(0, strings.LastIndexByte(q.Attempt, '.'))] == id
			if mine {
				w.Proposals = append(w.Proposals, q)
			}
			return mine
		})
		list = append(list, w)
	}
	slices.SortStableFunc(list, func(a, b Pending) int {
		return cmp.Or(gate.TestsFirst(a.ruling(), b.ruling()), a.Kind.order()-b.Kind.order())
	})
	if len(ids) > 0 {
		return list, nil
	}
	return append(list, ofProject(pr, p, proposals)...), nil
}

// ofProject returns what waits for a person and isn't about a single slice.
func ofProject(pr *project.Project, p *plan.Plan, proposals []project.Proposal) []Pending {
	var list []Pending
	if red := plan.RedBase(p); red != nil {
		list = append(list, Pending{Kind: PendingTests, Why: red.Text, Commands: red.Next})
	}
	for _, q := range proposals {
		why := fmt.Sprintf("%s proposes %s", q.Attempt, q.Key)
		list = append(list,
			Pending{Kind: PendingProposal, Why: why, Commands: []string{q.Command()}})
	}
	s := lane.ReadStatus(pr.Runs.Files.Dir())
	if len(s.Waiting()) > 0 && (s.Reason != "" || !runs(pr)) { // a run is about to merge the rest
		why := strings.Join(s.Waiting(), ", ")
		if len(s.Undone) == 0 && plan.Tested(p, s.Waiting()) {
			why += ": tested,"
		}
		why += " not merged yet"
		if s.Reason != "" {
			why += ": " + s.Reason
		}
		list = append(list,
			Pending{Kind: PendingUndelivered, Why: why, Commands: []string{s.Command()}})
	}
	if h := p.Hold; h != nil && h.Kind != plan.HeldByCurfew { // which is as the person wants it
		list = append(list, Pending{Kind: PendingHeld, Commands: h.Lifting(),
			Why: "nothing is launched " + h.Describe(time.Now())})
	}
	return list
}

// runs reports whether a run is under way.
func runs(pr *project.Project) bool {
	leader, err := pr.Runs.Control.Leader()
	return err == nil && leader != ""
}

// ToApprove returns the slices in a plan's scope that will await approval once they are built, and
// why the first one will. With review set to always, it returns none: that is no news.
func ToApprove(pr *project.Project, p *plan.Plan) (ids []string, why string, err error) {
	if pr.Config.Review == project.ReviewAlways {
		return nil, "", nil
	}
	book := contracts.ReadBook(pr.Root)
	for i := range p.States {
		st := &p.States[i]
		if !st.InScope || st.Class == plan.Done || st.Class == plan.Waiting ||
			st.Class == plan.Corrupt {
			continue
		}
		because, err := pr.Approvals().Of(st.ID, book)
		if err != nil {
			return nil, "", err
		}
		if because != "" && because != project.OwnReview {
			if ids = append(ids, st.ID); why == "" {
				why = because
			}
		}
	}
	return ids, why, nil
}

// CommandText returns the commands on one line: another system's are steps, one after the other,
// gl's own are alternatives.
func (w *Pending) CommandText() string { return strings.Join(w.Commands, w.Between()) }

// Between returns the text between two of the commands.
func (w *Pending) Between() string {
	if w.Foreign {
		return plan.Then
	}
	return ", or "
}

// ruling returns the gate's answers about the work; nil if it wasn't asked.
func (w *Pending) ruling() *gate.Ruling {
	if w.Last == nil {
		return nil
	}
	return w.Last.Judged.Gate
}

// order returns the rank of a kind: first what others may wait for, or what takes one word.
func (k PendingKind) order() int {
	return slices.Index([]PendingKind{
		PendingQuestion, PendingReview, PendingEmpty, PendingConflict, PendingRed, PendingFailed,
		PendingStalled, PendingInterrupted, PendingBudget, PendingPaused, PendingUnknown,
	}, k)
}

func newPending(p *plan.Plan, st *plan.State, now time.Time) Pending {
	r := p.Why(st.ID, now)
	w := Pending{ID: st.ID, Name: st.Name, Why: r.Cause, Commands: r.Next, Kind: PendingUnknown}
	offers := outcome.ByClass
	if st.Attempt != nil && !st.Attempt.Open() {
		offers = outcome.Of(st.Attempt.Outcome.Name).Review
	}
	switch st.Class {
	case plan.Waiting:
		switch {
		case st.WaitingFor == "":
			w.Kind = PendingPaused
		case st.OverBudget:
			w.Kind = PendingBudget
		case st.HeldBack:
			w.Kind, w.Why = PendingRed, strings.TrimPrefix(st.WaitingFor, "a fix: ")
			w.Commands = []string{"gl retry " + st.ID + p.Snapshot.Flags, "gl accept " + st.ID + p.Snapshot.Flags}
		case st.Next != nil: // another system knows the commands
			w.Kind, w.Foreign = PendingReview, true
		case st.SentBack() != "":
			w.Kind, w.Why = PendingKind(st.SentBack()), strings.TrimPrefix(st.WaitingFor, "review: ")
			w.Commands = []string{"gl retry " + st.ID, "gl accept " + st.ID}
		case st.Asks():
			w.Kind, w.Why = PendingQuestion, st.WaitingFor
			w.Commands = []string{"gl answer " + st.ID + " TEXT"}
		case offers == outcome.Unchanged:
			w.Kind, w.Why = PendingEmpty, strings.TrimPrefix(st.WaitingFor, "review: ")
			w.Commands = []string{"gl reject " + st.ID + " TEXT", "gl accept " + st.ID}
		default:
			w.Kind, w.Why = PendingReview, st.WaitingFor
			w.Commands = []string{"gl accept " + st.ID, "gl reject " + st.ID + " TEXT"}
		}
	case plan.Red, plan.Conflict, plan.Failed, plan.Stalled:
		w.Kind = PendingKind(st.Class)
		if offers == outcome.CutShort {
			w.Kind = PendingInterrupted
		}
		w.Commands = []string{"gl retry " + st.ID + p.Snapshot.Flags}
	}
	if len(w.Commands) == 0 {
		w.Commands = []string{"gl why " + st.ID + p.Snapshot.Flags}
	}
	return w
}

// longestSummary is the number of bytes shown of a summary, and of a slice's file.
const longestSummary = 64 << 10

// PlaceOf returns the project's directory in the worktree of a slice, or the root.
func PlaceOf(ctx context.Context, pr *project.Project, id string) string {
	if repo, err := pr.Worktrees(ctx); err == nil {
		if l, err := repo.Lineages.Get(pr.Key(), id); err == nil && l.Phase != worktree.Gone {
			return repo.Layout.Dir(l)
		}
	}
	return pr.Root
}

// ToLookAt returns what the slice's contracts ask a person to look at: criteria, then steps.
func ToLookAt(ctx context.Context, pr *project.Project, id string) []string {
	if pr.Slices == nil {
		return nil
	}
	f, err := pr.Slices.Read(id)
	if err != nil {
		return nil
	}
	field, _ := f.Get("contracts")
	return contracts.ReadBook(PlaceOf(ctx, pr, id)).ToLookAt(contracts.In(string(f.Bytes()), field))
}

// Task returns what a slice's file asks for: its text without the title, "" for none.
func Task(pr *project.Project, id string) string {
	if pr.Slices == nil {
		return ""
	}
	f, err := pr.Slices.Read(id)
	if err != nil {
		return ""
	}
	text := strings.TrimSpace(f.Body())
	if strings.HasPrefix(text, "# ") {
		_, text, _ = strings.Cut(text, "\n")
	}
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[:min(len(text), longestSummary)], "\ufffd")
}

// Summary returns the first paragraph of the summary that a slice's session has written, "" for
// none.
func Summary(ctx context.Context, pr *project.Project, id string) (string, error) {
	name := filepath.FromSlash(".greenlight/summaries/" + id + "-SUMMARY.md")
	f, err := os.OpenInRoot(PlaceOf(ctx, pr, id), name)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, longestSummary))
	if err != nil {
		return "", err
	}
	text := strings.ToValidUTF8(string(data), "\ufffd")
	section, ok := markdown.Section(text, "What changed")
	if !ok {
		_, section, _ = strings.Cut(text, "\n\n")
	}
	first, _, _ := strings.Cut(strings.TrimSpace(section), "\n\n")
	return first, nil
}
