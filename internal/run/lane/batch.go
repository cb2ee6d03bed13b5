package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/core/gate"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/testrun"
	"greenlight/internal/workspace/git"
)

// Where tests take long, several that wait are merged one on top of the other and tested once. What is to blame when that fails, bisection
// finds. A worker that was killed has left nothing but verdicts, and records that all name the commit at which the lane was to be: the next
// one forms the same batch, and knows what was tested.

// mostTogether is how many are tested at once.
const mostTogether = 5

// group is what is to be landed next: rec, with others if they are worth testing together.
func (l *Lane) group(ctx context.Context, rec *attempt.Record) ([]*attempt.Record, error) {
	alone := []*attempt.Record{rec}
	fits := func(r *attempt.Record) bool {
		g := r.Landing
		return !r.ID.IsTask() && !l.turn.line.isStuck(r) && !l.turn.alone[r.ID.Name()] && g.Commit == "" && g.Tried == "" && g.Behind == "" && g.Despite == ""
	}
	test := l.commands.conf.Config.Test
	if !test.Command.IsSet() || !fits(rec) || l.commands.usual() <= test.Batch {
		return alone, nil
	}
	queue, err := queueOf(l.Project)
	if err != nil {
		return nil, err
	}
	queue = slices.DeleteFunc(queue, func(r *attempt.Record) bool { return !fits(r) })
	if len(queue) < 2 || queue[0].ID.Name() != rec.ID.Name() {
		return alone, nil
	}
	if red, err := l.turn.bench.knownRed(ctx); err != nil || red { // then nothing together would be green
		return alone, nil
	}
	return queue[:min(mostTogether, len(queue))], nil
}

// landGroup takes a group as far as it goes.
func (l *Lane) landGroup(ctx context.Context, group []*attempt.Record) error {
	b := newBisection(group)
	for part := b.next(); part != nil; part = b.next() {
		if len(part) == 1 {
			if err := l.landOne(ctx, part[0]); err != nil {
				return err
			}
			b.passed()
			continue
		}
		green, err := l.together(ctx, part)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			for _, r := range part {
				if err := l.turn.line.wait(ctx, r, err); err != nil {
					return err
				}
			}
			return nil
		}
		if green {
			b.passed()
			continue
		}
		b.failed()
	}
	return nil
}

// landOne takes one as far as it goes. What is wrong with the machine leaves it in the queue.
func (l *Lane) landOne(ctx context.Context, r *attempt.Record) error {
	err := l.land(ctx, r)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return l.turn.line.wait(ctx, r, err)
}

// together tests several at once, and lands them if they pass; green is false if they don't. What can't be merged with the others is left in
// the queue, for its own turn.
func (l *Lane) together(ctx context.Context, group []*attempt.Record) (green bool, err error) {
	base, err := l.turn.tip.base(ctx)
	if err != nil {
		return false, err
	}
	var works []*work
	defer func() {
		for _, w := range works {
			w.release()
		}
	}()
	tip := base
	for _, r := range group {
		w, err := l.join(ctx, r, tip)
		if err != nil {
			return false, err
		}
		if w == nil {
			l.turn.alone[r.ID.Name()] = true
			continue
		}
		works = append(works, w)
		tip, err = git.CommitTree(ctx, l.Repo.Git.Common, git.NewCommit{Tree: w.tree, Parents: []string{tip, w.tip}, Message: "gl: candidate " + w.rec.ID.Slice})
		if err != nil {
			return false, err
		}
	}
	if len(works) < 2 {
		for _, w := range works {
			l.turn.alone[w.rec.ID.Name()] = true
		}
		return true, nil
	}
	for _, w := range works {
		if gone, err := l.turn.line.step(ctx, w.rec, "testing with "+strings.Join(others(works, w), ", "), l.commands.usual()); gone || err != nil {
			return true, err // the others come again, without it
		}
	}
	v, err := l.turn.bench.test(ctx, tip, tested{together: works})
	if err != nil || v == nil {
		return false, err
	}
	if !v.Green() {
		l.tell("%s together: %s", strings.Join(others(works, nil), ", "), How(v, l.Project.Config.Test.Limit))
		if a := l.turn.tip.aheadAt(base); a != nil { // what the target has may be to blame
			_, err = l.turn.tip.takeIn(ctx, a)
		}
		return false, err
	}
	if fewer, err := l.turn.bench.fewer(ctx, base, v, nil); err != nil || len(fewer) > 0 { // which of them removes tests is found out one by one
		return false, err
	}
	return true, l.passAll(ctx, works, base, v)
}

// others are the slices of the works but for one.
func others(works []*work, but *work) []string {
	var list []string
	for _, w := range works {
		if w != but {
			list = append(list, w.rec.ID.Slice)
		}
	}
	return list
}

// join merges a work on top of others. It is nil for one that has to go alone, or is gone.
func (l *Lane) join(ctx context.Context, r *attempt.Record, base string) (*work, error) {
	if gone, err := l.turn.line.step(ctx, r, "merging", 0); gone || err != nil {
		return nil, err
	}
	w, err := l.take(ctx, r)
	if w == nil || err != nil {
		return nil, err
	}
	w.base = base
	fits, err := l.fits(ctx, w)
	if !fits || err != nil {
		w.release()
		return nil, err
	}
	return w, nil
}

// fits merges the work, and says whether nothing but the tests can keep it from landing.
func (l *Lane) fits(ctx context.Context, w *work) (bool, error) {
	if other, err := l.revives(ctx, w); err != nil || other != "" {
		return false, err
	}
	began := time.Now()
	changed, _, err := l.trees.merge(ctx, w)
	if err != nil || len(changed) == 0 { // in conflict, too
		return false, err
	}
	took := time.Since(began)
	w.batched = true
	if err := l.inspect.survey(ctx, w, changed); err != nil {
		return false, err
	}
	if r := w.rule(gate.TestRun{Pending: true}); r.Refused() != "" || r.Asks() != "" {
		return false, nil
	}
	if other, err := l.turn.line.resolver(ctx, w, changed); err != nil || other != "" {
		return false, err
	}
	l.events.tellMerge(w, nil, took)
	return true, nil
}

// passAll lands works that were tested together. All records say so before the lane moves; if one of them is out of the queue by then, none
// lands now.
func (l *Lane) passAll(ctx context.Context, works []*work, base string, v *testrun.Verdict) error {
	batch := &attempt.Batch{Base: base, From: l.turn.tip.from(base), Head: base}
	lands, rulings, passes := make([]landing, len(works)), make([]*gate.Ruling, len(works)), make([]gate.Pass, len(works))
	for i, w := range works {
		w.base = batch.Head
		trailers := append(l.trailers(w, v), git.Trailer{Key: "Batch", Value: fmt.Sprintf("%d of %d", i+1, len(works))})
		var err error
		if lands[i], err = l.shape(ctx, w, trailers); err != nil {
			return err
		}
		batch.Head = lands[i].commit()
		batch.Members = append(batch.Members, w.rec.ID.Name())
		rulings[i] = w.rule(runOf(v))
		if passes[i], err = rulings[i].Pass(batch.Head); err != nil {
			return err
		}
		w.release()
	}
	if err := l.Repo.Queue.KeepNext(ctx, batch.Head); err != nil {
		return err
	}
	for i, w := range works {
		now, err := l.turn.settler.Proceed(ctx, w.rec, func(r *attempt.Record) {
			w.passed(r, l.Repo.Target(), lands[i], v, rulings[i])
			r.Landing.Batch = batch
		})
		if err != nil {
			return err
		}
		if now == nil {
			return l.anew(ctx, works[:i])
		}
		w.rec.Landing, w.rec.Judged.Verdict, w.rec.Judged.Gate = now.Landing, now.Judged.Verdict, now.Judged.Gate
	}
	if err := l.moveBatch(ctx, batch, passes); err != nil {
		return err
	}
	for _, w := range works {
		if err := l.complete(ctx, w.rec); err != nil {
			return err
		}
	}
	return nil
}

// anew has works begin again that were about to land.
func (l *Lane) anew(ctx context.Context, works []*work) error {
	var errs []error
	for _, w := range works {
		_, err := l.turn.line.again(ctx, w.rec)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// moveBatch moves the lane to a batch of which every record says that it lands.
func (l *Lane) moveBatch(ctx context.Context, batch *attempt.Batch, passes []gate.Pass) error {
	pass, err := gate.Together(batch.Head, passes...)
	if err != nil {
		return err
	}
	queue, err := queueOf(l.Project)
	if err != nil {
		return err
	}
	for _, r := range queue {
		if batch.Has(r) {
			if err := l.turn.file.undeliver(r.ID.Slice, r.Landing.Commit); err != nil {
				return err
			}
		}
	}
	return l.turn.tip.move(ctx, cmp.Or(batch.From, batch.Base), batch.Head, "land "+strings.Join(batch.Slices(), ", "), pass)
}

// whole returns the passes of a batch if all of it are in the queue and say that they land by it, in order.
func (l *Lane) whole(batch *attempt.Batch) ([]gate.Pass, bool, error) {
	queue, err := queueOf(l.Project)
	if err != nil {
		return nil, false, err
	}
	var passes []gate.Pass
	for _, name := range batch.Members {
		i := slices.IndexFunc(queue, func(r *attempt.Record) bool { return r.ID.Name() == name && batch.Has(r) })
		if i < 0 {
			return nil, false, nil
		}
		pass, err := queue[i].Ruled().Pass(queue[i].Landing.Commit)
		if err != nil {
			return nil, false, err
		}
		passes = append(passes, pass)
	}
	return passes, true, nil
}
