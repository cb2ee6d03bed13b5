package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/core/gate"
	"greenlight/internal/core/train"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A batching lands attempts in groups. If tests take long, several that wait are merged on top of
// each other and tested once; bisection finds what is to blame if that fails. A worker that is
// killed leaves only verdicts, and records that name the commit that the branch was to move to: the
// next worker forms the same batch, and tests nothing twice.
type batching struct {
	project  *project.Project
	repo     *worktree.Repo
	settler  attempt.Settler
	line     *line
	tip      *branchTip
	bench    *bench
	commands *commands
	events   *events
	merging  *merging
	tell     func(format string, a ...any)

	alone map[string]bool // names of attempts that aren't tested with others in this turn
}

// mostTogether is how many are tested at once.
const mostTogether = 5

// group returns what to land next: rec, with others if testing them together saves time.
func (b *batching) group(ctx context.Context, rec *attempt.Record) ([]*attempt.Record, error) {
	alone := []*attempt.Record{rec}
	fits := func(r *attempt.Record) bool {
		g := r.Landing
		return !r.ID.IsTask() && !b.line.isStuck(r) && !b.alone[r.ID.Name()] && g.Commit == "" &&
			g.Tried == "" && g.Behind == "" && g.Despite == ""
	}
	test := b.commands.conf.Config.Test
	if !test.Command.IsSet() || !fits(rec) || b.commands.usual() <= test.Batch {
		return alone, nil
	}
	queue, err := queueOf(b.project)
	if err != nil {
		return nil, err
	}
	queue = slices.DeleteFunc(queue, func(r *attempt.Record) bool { return !fits(r) })
	if len(queue) < 2 || queue[0].ID.Name() != rec.ID.Name() {
		return alone, nil
	}
	if red, err := b.bench.knownRed(ctx); err != nil || red { // nothing together would be green
		return alone, nil
	}
	return queue[:min(mostTogether, len(queue))], nil
}

// landGroup takes a group as far as it goes.
func (b *batching) landGroup(ctx context.Context, group []*attempt.Record) error {
	parts := newBisection(group)
	for part := parts.next(); part != nil; part = parts.next() {
		if len(part) == 1 {
			if err := b.landOne(ctx, part[0]); err != nil {
				return err
			}
			parts.passed()
			continue
		}
		green, err := b.together(ctx, part)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			for _, r := range part {
				if err := b.line.wait(ctx, r, err); err != nil {
					return err
				}
			}
			return nil
		}
		if green {
			parts.passed()
			continue
		}
		parts.failed()
	}
	return nil
}

// landOne takes one attempt as far as it goes. After an error of the machine it stays in the queue.
func (b *batching) landOne(ctx context.Context, r *attempt.Record) error {
	err := b.merging.land(ctx, r)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return b.line.wait(ctx, r, err)
}

// together tests several at once, and lands them if they pass; green is false if they don't. What
// can't be merged with the others stays in the queue, to be landed alone.
func (b *batching) together(ctx context.Context, group []*attempt.Record) (green bool, err error) {
	base, err := b.tip.base(ctx)
	if err != nil {
		return false, err
	}
	works, tip, err := b.joinAll(ctx, group, base)
	defer func() {
		for _, w := range works {
			w.release()
		}
	}()
	if err != nil {
		return false, err
	}
	if len(works) < 2 {
		for _, w := range works {
			b.alone[w.rec.ID.Name()] = true
		}
		return true, nil
	}
	for _, w := range works {
		what := "testing with " + strings.Join(others(works, w), ", ")
		if gone, err := b.line.step(ctx, w.rec, what, b.commands.usual()); gone || err != nil {
			return true, err // the others come again without it
		}
	}
	v, err := b.bench.test(ctx, tip, tested{together: works})
	if err != nil || v == nil {
		return false, err
	}
	if !v.Green() {
		b.tell("%s together: %s", strings.Join(others(works, nil), ", "),
			How(v, b.project.Config.Test.Limit))
		if a := b.tip.aheadAt(base); a != nil { // what the target has may be to blame
			_, err = b.tip.takeIn(ctx, a)
		}
		return false, err
	}
	// one by one shows which removes tests
	if fewer, err := b.bench.fewer(ctx, base, v, nil); err != nil || len(fewer) > 0 {
		return false, err
	}
	return true, b.passAll(ctx, works, base, v)
}

// others returns the slices of the works but for one.
func others(works []*work, but *work) []string {
	var list []string
	for _, w := range works {
		if w != but {
			list = append(list, w.rec.ID.Slice)
		}
	}
	return list
}

// joinAll merges the works of a group on top of each other: tip is the commit that has them all.
// Those that must go alone are left out. The works are the caller's to release, even with an error.
func (b *batching) joinAll(ctx context.Context, group []*attempt.Record, base string) (
	works []*work, tip string, err error) {
	tip = base
	for _, r := range group {
		w, err := b.join(ctx, r, tip)
		if err != nil {
			return works, "", err
		}
		if w == nil {
			b.alone[r.ID.Name()] = true
			continue
		}
		works = append(works, w)
		tip, err = git.CommitTree(ctx, b.repo.Git.Common,
			git.NewCommit{Tree: w.tree, Parents: []string{tip, w.tip},
				Message: "gl: candidate " + w.rec.ID.Slice})
		if err != nil {
			return works, "", err
		}
	}
	return works, tip, nil
}

// join merges a work on top of others. It returns nil for one that must go alone or has left the
// queue.
func (b *batching) join(ctx context.Context, r *attempt.Record, base string) (*work, error) {
	if gone, err := b.line.step(ctx, r, "merging", 0); gone || err != nil {
		return nil, err
	}
	w, err := b.merging.take(ctx, r)
	if w == nil || err != nil {
		return nil, err
	}
	w.base = base
	fits, err := b.fits(ctx, w)
	if !fits || err != nil {
		w.release()
		return nil, err
	}
	return w, nil
}

// fits merges the work, and reports whether only the tests can keep it from landing.
func (b *batching) fits(ctx context.Context, w *work) (bool, error) {
	began := time.Now()
	w.batched = true
	fit, changed, err := b.merging.fit(ctx, w)
	if fit != train.Fits || err != nil {
		return false, err
	}
	took := time.Since(began)
	if other, err := b.line.resolver(ctx, w, changed); err != nil || other != "" {
		return false, err
	}
	b.events.tellMerge(w, nil, took)
	return true, nil
}

// passAll lands works that were tested together. All records say so before the branch moves. If one
// of them has left the queue meanwhile, none lands now.
func (b *batching) passAll(ctx context.Context, works []*work, base string,
	v *testrun.Verdict) error {
	batch := &attempt.Batch{Base: base, From: b.tip.from(base), Head: base}
	lands, rulings, passes := make([]landing, len(works)), make([]*gate.Ruling, len(works)),
		make([]gate.Pass, len(works))
	for i, w := range works {
		w.base = batch.Head
		trailers := append(b.merging.trailers(w, v),
			git.Trailer{Key: "Batch", Value: fmt.Sprintf("%d of %d", i+1, len(works))})
		var err error
		if lands[i], err = b.merging.shape(ctx, w, trailers); err != nil {
			return err
		}
		batch.Head = lands[i].commit()
		batch.Members = append(batch.Members, w.rec.ID.Name())
		rulings[i] = w.askGate(runOf(v))
		if passes[i], err = rulings[i].Pass(batch.Head); err != nil {
			return err
		}
		w.release()
	}
	if err := b.repo.Queue.KeepNext(ctx, batch.Head); err != nil {
		return err
	}
	for i, w := range works {
		now, err := b.settler.Proceed(ctx, w.rec, func(r *attempt.Record) {
			w.passed(r, b.repo.Target(), lands[i], v, rulings[i])
			r.Landing.Batch = batch
		})
		if err != nil {
			return err
		}
		if now == nil {
			return b.anew(ctx, works[:i])
		}
		w.rec.Landing, w.rec.Judged.Verdict, w.rec.Judged.Gate = now.Landing, now.Judged.Verdict,
			now.Judged.Gate
	}
	if err := b.merging.moveBatch(ctx, batch, passes); err != nil {
		return err
	}
	for _, w := range works {
		if err := b.merging.complete(ctx, w.rec); err != nil {
			return err
		}
	}
	return nil
}

// anew has works that were about to land begin again.
func (b *batching) anew(ctx context.Context, works []*work) error {
	var errs []error
	for _, w := range works {
		_, err := b.line.again(ctx, w.rec)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
