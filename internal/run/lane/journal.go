package lane

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/journal"
	"greenlight/internal/workspace/worktree"
)

// events writes the events of the queue that the settler doesn't write. The journal handles its own
// write errors.
type events struct {
	project   *project.Project
	repo      *worktree.Repo
	toldSince time.Time // the reason that the journal has: file.Since
}

// tellMerge writes how the work merges with its base, unless a worker that was killed has written
// it.
func (ev *events) tellMerge(w *work, conflicts []string, took time.Duration) {
	e := w.rec.ID.Event(journal.Merge)
	e.Key += "." + short(w.base) + "." + short(w.tip)
	e.Branch, e.Commit, e.Target = worktree.Short(w.rec.Place.Branch), w.base,
		worktree.Short(ev.repo.Target())
	e.Outcome = "clean"
	if len(conflicts) > 0 {
		e.Outcome, e.Detail = "conflict", some(conflicts)
	}
	ms := took.Milliseconds()
	e.DurationMS = &ms
	_ = ev.project.Runs.Journal().AppendOnceSince(w.rec.Landing.Queued, e)
}

// tellVerdict writes how the tests went. It runs before the verdict is kept for others, so that the
// journal has each known verdict exactly once.
func (ev *events) tellVerdict(of tested, v *testrun.Verdict) {
	e := journal.Event{Kind: journal.Verdict, Target: worktree.Short(ev.repo.Target())}
	if of.rec != nil {
		e = of.rec.ID.Event(journal.Verdict)
	}
	e.Reason = strings.Join(others(of.together, nil), ", ")
	if len(of.on) > 0 {
		e.Reason = strings.Join(append(slices.Clone(of.on), of.rec.ID.Label()), ", ")
	}
	ms := v.Duration().Milliseconds()
	e.Key = fmt.Sprintf("verdict.%s.%d", short(v.Tree), v.At.UnixMilli())
	e.Tree, e.Command, e.Exit, e.Passed, e.Failed, e.DurationMS = v.Tree, v.Command, v.ExitCode,
		v.Passed, v.Failed, &ms
	if e.Outcome = "green"; !v.Green() {
		e.Outcome, e.Detail = "red", strings.TrimPrefix(How(v, ev.project.Config.Test.Limit), "tests: ")
	}
	_ = ev.project.Runs.Journal().Append(e)
}

// tellAside writes why an entry was set aside, once for each reason and tree.
func (ev *events) tellAside(s sign) {
	e := s.rec.ID.Event(journal.SetAside)
	e.Outcome, e.Reason, e.Target = string(s.car.Aside), s.train.Aside,
		worktree.Short(ev.repo.Target())
	e.Key += "." + e.Outcome + "." + short(s.car.Tip.Tree) + "." + strings.Join(s.car.Ahead, ".")
	_ = ev.project.Runs.Journal().AppendOnceSince(s.rec.Landing.Queued, e)
}

// tellDelivered writes which slices are in the target now, here or on the remote. It runs before
// the file forgets them.
func (ev *events) tellDelivered(list []Undelivered, target string) {
	for _, u := range list {
		e := journal.Event{Kind: journal.Delivered, System: ev.project.Key(), Slice: u.Slice,
			Commit: u.Commit, Target: target}
		if u.Undone {
			e.Outcome = "undone"
		}
		if id, n, isTask := attempt.SplitTask(u.Slice); isTask {
			e.System, e.Slice, e.Attempt = "", id, n
		}
		e.Key = "delivered." + e.Target + "." + u.Commit
		_ = ev.project.Runs.Journal().AppendOnceSince(u.At, e)
	}
}

// tellUndelivered writes why the target can't be moved, once for each time that a reason arises.
func (ev *events) tellUndelivered(f *file) {
	if f.Since == nil || ev.toldSince.Equal(*f.Since) {
		return
	}
	ev.toldSince = *f.Since
	var ids []string
	for _, u := range f.Undelivered {
		id := u.Slice
		if u.Undone {
			id += " (taken back)"
		}
		ids = append(ids, id)
	}
	_ = ev.project.Runs.Journal().AppendOnce(journal.Event{Kind: journal.Undelivered,
		System: ev.project.Key(), Time: ev.toldSince, Target: worktree.Short(ev.repo.Target()),
		Reason: f.Reason, Detail: strings.Join(ids, ", "),
		Key: fmt.Sprintf("undelivered.%d", ev.toldSince.UnixMilli())})
}

// tellProposed writes which slices are in a pull request now.
func (ev *events) tellProposed(list []Undelivered, url string) {
	for _, u := range list {
		e := journal.Event{Kind: journal.PullRequest, System: ev.project.Key(), Slice: u.Slice,
			Commit: u.Commit, Target: worktree.Short(ev.repo.Target()), Detail: url}
		e.Key = "pull_request." + url + "." + u.Commit
		_ = ev.project.Runs.Journal().AppendOnceSince(u.At, e)
	}
}
