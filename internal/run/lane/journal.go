package lane

import (
	"fmt"
	"strings"
	"time"

	"greenlight/internal/run/attempt"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/journal"
	"greenlight/internal/workspace/worktree"
)

// What the settler doesn't write into the journal: it has the events of the queue and of what has landed from the record. What can't be
// written is the journal's to keep.

// tellMerge writes how the work merges with its base. A worker that was killed may have written it.
func (l *Lane) tellMerge(w *work, conflicts []string, took time.Duration) {
	e := w.ID.Event(journal.Merge)
	e.Key += "." + short(w.base) + "." + short(w.tip)
	e.Branch, e.Commit, e.Target = worktree.Short(w.Place.Branch), w.base, worktree.Short(l.Repo.Target())
	e.Outcome = "clean"
	if len(conflicts) > 0 {
		e.Outcome, e.Detail = "conflict", some(conflicts)
	}
	ms := took.Milliseconds()
	e.DurationMS = &ms
	_ = l.Project.Runs.Journal().AppendOnceSince(w.Landing.Queued, e)
}

// tellVerdict writes how the tests went, before the verdict is kept for others: so each that is known was told, and none twice. r is
// the attempt whose work was tested, nil for the target's own, and for several.
func (l *Lane) tellVerdict(r *attempt.Record, v *testrun.Verdict) {
	e := journal.Event{Kind: journal.Verdict, Target: worktree.Short(l.Repo.Target())}
	if r != nil {
		e = r.ID.Event(journal.Verdict)
	}
	e.Reason = strings.Join(others(l.batch, nil), ", ")
	ms := v.Duration().Milliseconds()
	e.Key = fmt.Sprintf("verdict.%s.%d", short(v.Tree), v.At.UnixMilli())
	e.Tree, e.Command, e.Exit, e.Passed, e.Failed, e.DurationMS = v.Tree, v.Command, v.ExitCode, v.Passed, v.Failed, &ms
	if e.Outcome = "green"; !v.Green() {
		e.Outcome, e.Detail = "red", strings.TrimPrefix(How(v, l.Project.Config.Test.Limit), "tests: ")
	}
	_ = l.Project.Runs.Journal().Append(e)
}

// tellDelivered writes which slices the target has got, here or on the remote. It is called before the file forgets them.
func (l *Lane) tellDelivered(list []Undelivered, target string) {
	for _, u := range list {
		e := journal.Event{Kind: journal.Delivered, System: l.Project.Key(), Slice: u.Slice, Commit: u.Commit, Target: target}
		if u.Undone {
			e.Outcome = "undone"
		}
		if id, n, isTask := attempt.SplitTask(u.Slice); isTask {
			e.System, e.Slice, e.Attempt = "", id, n
		}
		e.Key = "delivered." + e.Target + "." + u.Commit
		_ = l.Project.Runs.Journal().AppendOnceSince(u.At, e)
	}
}

// tellUndelivered writes why the target can't be moved, once for each time that a reason comes up.
func (l *Lane) tellUndelivered() {
	if l.file.Since == nil || l.toldSince.Equal(*l.file.Since) {
		return
	}
	l.toldSince = *l.file.Since
	var ids []string
	for _, u := range l.file.Undelivered {
		id := u.Slice
		if u.Undone {
			id += " (taken back)"
		}
		ids = append(ids, id)
	}
	_ = l.Project.Runs.Journal().AppendOnce(journal.Event{Kind: journal.Undelivered, System: l.Project.Key(), Time: l.toldSince, Target: worktree.Short(l.Repo.Target()),
		Reason: l.file.Reason, Detail: strings.Join(ids, ", "), Key: fmt.Sprintf("undelivered.%d", l.toldSince.UnixMilli())})
}

// tellProposed writes which slices have come to be in a pull request.
func (l *Lane) tellProposed(list []Undelivered, url string) {
	for _, u := range list {
		e := journal.Event{Kind: journal.PullRequest, System: l.Project.Key(), Slice: u.Slice, Commit: u.Commit, Target: worktree.Short(l.Repo.Target()), Detail: url}
		e.Key = "pull_request." + url + "." + u.Commit
		_ = l.Project.Runs.Journal().AppendOnceSince(u.At, e)
	}
}

// usual is about how long the tests take, 0 for nobody knows.
func (l *Lane) usual() time.Duration {
	if l.median == nil {
		const month = 30 * 24 * time.Hour
		events := func(yield func(journal.Event) bool) {
			for e, err := range l.Project.Runs.Journal().Events(now().Add(-month)) {
				if err != nil || !yield(e) {
					return
				}
			}
		}
		d, _ := journal.MedianVerdict(events, l.conf.Config.Test.Command.Line)
		l.median = &d
	}
	return *l.median
}
