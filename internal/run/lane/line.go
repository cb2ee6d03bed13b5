package lane

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"greenlight/internal/base/trust"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/tracker"
)

// A line is the merge queue: the attempts that wait, in the order in which their agents ended. It
// finds the next one that can move, and settles those that are through.
type line struct {
	project  *project.Project
	settler  attempt.Settler
	commands *commands // of the tests
	tell     func(format string, a ...any)

	stuck map[string]string // why an attempt can't move in this turn, by its name
}

// queueOf returns the attempts that await the queue. The project may have items of another system,
// which are for that system's queue.
func queueOf(pr *project.Project) ([]*attempt.Record, error) {
	queue, err := pr.Runs.Queue()
	return slices.DeleteFunc(queue, func(r *attempt.Record) bool { return !pr.Has(r) }), err
}

// again has an attempt that was about to land begin again.
func (l *line) again(ctx context.Context, r *attempt.Record) (gone bool, err error) {
	now, err := l.settler.Proceed(ctx, r, func(r *attempt.Record) {
		g := r.Landing
		g.Commit, g.Commits, g.As, g.Base, g.From, g.Batch = "", nil, "", "", "", nil
	})
	if now != nil {
		r.Landing = now.Landing
	}
	return now == nil, err
}

// block passes over an attempt for the rest of the turn.
func (l *line) block(r *attempt.Record, reason string) { l.stuck[r.ID.Name()] = reason }

// unblock considers all attempts again.
func (l *line) unblock() { clear(l.stuck) }

// isStuck reports whether the attempt was found unable to move.
func (l *line) isStuck(r *attempt.Record) bool { _, stuck := l.stuck[r.ID.Name()]; return stuck }

// next returns the first attempt in the queue that may move, nil for none. base returns what work
// is merged into now; next calls it only if an attempt waits for that to change.
func (l *line) next(ctx context.Context, base func(context.Context) (string, error)) (
	*attempt.Record, error) {
	queue, err := queueOf(l.project)
	if err != nil {
		return nil, err
	}
	return l.first(ctx, queue, base)
}

// first is next for a queue that is already read.
func (l *line) first(ctx context.Context, queue []*attempt.Record,
	base func(context.Context) (string, error)) (*attempt.Record, error) {
	for r, err := range l.movable(ctx, queue, base) {
		return r, err
	}
	return nil, nil
}

// movable yields the attempts of a queue that may move; see next.
func (l *line) movable(ctx context.Context, queue []*attempt.Record,
	base func(context.Context) (string, error)) iter.Seq2[*attempt.Record, error] {
	planned := sync.OnceValues(func() (*plan.Plan, error) {
		return l.project.Plan(now(), l.project.Options())
	})
	at := sync.OnceValues(func() (string, error) { return base(ctx) })
	return func(yield func(*attempt.Record, error) bool) {
		for _, r := range queue {
			if l.isStuck(r) {
				continue
			}
			may, err := l.mayMove(r, at, planned)
			if err != nil {
				yield(nil, err)
				return
			}
			if !may {
				l.block(r, r.Landing.Text())
			} else if !yield(r, nil) {
				return
			}
		}
	}
}

// mayMove reports whether an attempt that isn't known to be stuck may move.
func (l *line) mayMove(r *attempt.Record, base func() (string, error),
	planned func() (*plan.Plan, error)) (bool, error) {
	if r.Landing.Tried == "" && r.Landing.Behind == "" {
		return true, nil
	}
	if v := r.Judged.Verdict; r.Landing.Behind == "" && v != nil &&
		v.Command != l.commands.conf.Config.Test.Command.Line {
		return true, nil // it may pass by the new command
	}
	at, err := base()
	if errors.As(err, new(*Standstill)) { // landing it records the reason
		return true, nil
	}
	if err != nil {
		return false, err
	}
	behind := r.Landing.Behind != "" && l.isResolving(r.Landing.Behind, planned)
	return !behind && (r.Landing.Behind != "" || r.Landing.Tried != at), nil
}

// isResolving reports whether an agent resolves a conflict in a slice or a task, or is about to. It
// calls planned only if the plan decides that.
func (l *line) isResolving(work string, planned func() (*plan.Plan, error)) bool {
	all, err := l.project.Runs.AttemptsAt(work)
	if err != nil || len(all) == 0 {
		return false
	}
	last := all[0]
	if last.Life.Phase != plan.Settled {
		return last.Talk.Mends()
	}
	switch {
	case last.Judged.Outcome != outcome.Conflict || last.Since.Retried ||
		!last.PlanOutcome().Continue:
		return false
	case last.ID.IsTask(): // only the process that started it continues it
		return last.Life.LauncherLives()
	}
	// What it needs may have been taken back and be in the queue: the two would wait for each
	// other.
	p, err := planned()
	if err != nil {
		return false
	}
	st := p.State(work)
	return st != nil && st.Class == plan.Available && len(st.Needs) == 0
}

// wait leaves the attempt in the queue, with the reason.
func (l *line) wait(ctx context.Context, r *attempt.Record, why error) error {
	reason := why.Error()
	l.block(r, reason)
	return l.settler.Wait(ctx, r, func(g *attempt.Landing) {
		g.Step, g.Reason, g.Barred = "", reason, errors.As(why, new(*trust.Error))
	})
}

// step notes what happens to the attempt, and about how long that takes, 0 for unknown. gone means
// that the attempt has left the queue.
func (l *line) step(ctx context.Context, r *attempt.Record, what string,
	takes time.Duration) (gone bool, err error) {
	l.tell("%s: %s", r.ID.Label(), what)
	now, err := l.settler.Proceed(ctx, r, func(r *attempt.Record) {
		setStep(r.Landing, what, takes, judged(r.Landing.Train))
	})
	if now != nil {
		r.Landing = now.Landing
	}
	return now == nil && err == nil, err
}

// setStep sets what happens to an attempt, how long that takes, and its place in the train. Why it
// waited before no longer counts.
func setStep(g *attempt.Landing, what string, takes time.Duration, train *plan.InTrain) {
	g.Step, g.Takes, g.Train = what, takes.Seconds(), train
	g.Reason, g.Barred, g.Behind, g.Tried, g.Alike = "", false, "", "", false
}

// judged returns the place in the train that an attempt is shown at while it is judged. The first
// keeps its place; without one it would be listed after all others.
func judged(was *plan.InTrain) *plan.InTrain {
	if was == nil || was.Position > 1 {
		return nil
	}
	return was
}

// finish settles an attempt that leaves the queue.
func (l *line) finish(ctx context.Context, r *attempt.Record, res attempt.LandingResult) error {
	if r.Accepted() && res.Outcome.Traits().Claimed { // no agent is left to put it right
		ask := tracker.Ask
		res.Effect = &ask
	}
	final, err := l.settler.EndLanding(ctx, r, res)
	if final != nil {
		l.tell("%s %s", r.ID.Label(), final.Judged.Outcome.Text(final.Judged.Detail))
	}
	return err
}

// ask settles an attempt by asking a person.
func (l *line) ask(ctx context.Context, r *attempt.Record, why string) error {
	effect := tracker.Ask
	return l.finish(ctx, r, attempt.LandingResult{Outcome: outcome.Waiting, Detail: why,
		Effect: &effect})
}

// handBack settles an attempt whose worktree has the merge with its conflicts.
func (l *line) handBack(ctx context.Context, r *attempt.Record) error {
	return l.finish(ctx, r, attempt.LandingResult{Outcome: outcome.Conflict,
		Detail: some(r.Landing.Paths)})
}

// behind has the work wait for another slice.
func (l *line) behind(ctx context.Context, w *work, other string) error {
	if other == "" {
		return nil
	}
	reason := fmt.Sprintf("behind %s, which resolves a conflict in the same files", other)
	l.block(w.rec, reason)
	_, err := l.settler.Proceed(ctx, w.rec, func(r *attempt.Record) {
		g := r.Landing
		g.Step, g.Behind, g.Tried, g.Reason = "", other, w.base, reason
	})
	return err
}

// anyResolves reports whether an agent may be resolving a conflict, or be about to. It goes by the
// open attempts and by how the last attempt at each slice and task ended.
func (l *line) anyResolves() (bool, error) {
	live, _, err := l.project.Runs.Live()
	if err != nil || slices.ContainsFunc(live, func(r *attempt.Record) bool {
		return r.Talk.Mends()
	}) {
		return true, err
	}
	tallies, err := l.project.Runs.Tallies()
	for id, t := range tallies {
		// each attempt of a task id may be at another task
		if t.Last.Outcome == outcome.Conflict || attempt.IsTask(id) {
			return true, err
		}
	}
	return false, err
}

// resolver returns another slice or task whose agent resolves, or is about to resolve, a conflict
// in one of the paths, "" for none. Work that has itself resolved one never waits, because two
// could then wait for each other.
func (l *line) resolver(ctx context.Context, w *work, paths []string) (string, error) {
	if w.rec.Talk.Mends() {
		return "", nil
	}
	if any, err := l.anyResolves(); err != nil || !any {
		// the usual case, without reading the project
		return "", err
	}
	p, err := l.project.Plan(now(), l.project.Options())
	if err != nil {
		return "", err
	}
	others, err := l.project.Runs.TaskWorks()
	if err != nil {
		return "", err
	}
	for i := range p.States {
		if p.States[i].Attempt != nil {
			others = append(others, p.States[i].ID)
		}
	}
	for _, other := range others {
		if other == w.rec.ID.Work() || !l.isResolving(other, func() (*plan.Plan, error) {
			return p, nil
		}) {
			continue
		}
		all, err := l.project.Runs.AttemptsAt(other)
		if err != nil {
			return "", err
		}
		for _, r := range all {
			if r.Landing != nil && slices.ContainsFunc(r.Landing.Paths,
				func(p string) bool { return slices.Contains(paths, p) }) {
				return other, nil
			}
		}
	}
	return "", nil
}
