package lane

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/durable"
	"greenlight/internal/base/proc"
	"greenlight/internal/core/train"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/testrun"
	"greenlight/internal/workspace/worktree"
)

// beds run tests side by side, each in a worktree of the queue of its own. runs/train.json has the
// process of each before it may run, so that the next worker ends them first.
type beds struct {
	attempts *attempt.Store
	make     func(k int) *bed // 1, 2, …

	list []*bed    // made so far; the k-th is list[k-1]
	runs []*run    // not over yet, those that were ended included
	over chan *run // gets each when it is over
	at   time.Time // when the number of runs last changed

	mu   sync.Mutex // guards note, which each run writes, and what a preparation has left
	note *trainNote

	tell        func(format string, a ...any)
	preparation *preparation // nil before the first
}

// A preparation makes worktrees, and sets them up, beside what the queue does.
type preparation struct {
	cancel context.CancelFunc
	left   []*bed        // not made yet: nothing else may use them
	done   chan struct{} // closed at its end
	err    error         // valid once done is closed
}

// A trainNote is runs/train.json. It isn't in lane.json, which an older gl writes without it.
type trainNote struct {
	SchemaVersion int              `json:"schema_version"`
	Tests         map[int]*proc.ID `json:"tests,omitempty"`     // what runs in each worktree
	Manifests     map[int]string   `json:"manifests,omitempty"` // for which setup last ran there
	Width         *widthNote       `json:"width,omitempty"`
}

// A run is one run of the tests in a bed.
type run struct {
	job       train.Job
	rec       *attempt.Record // nil for the target's own
	on        []string        // labels of the unmerged work that it is tested on top of
	manifests string          // of what is tested
	bed       *bed
	cancel    context.CancelFunc
	ended     bool // nothing wants it any more
	beside    bool // others ran meanwhile
	memory    int  // proc.OutOfMemory when it began
	since     time.Time
	shared    time.Duration // since then, each moment times the runs that went on at once

	// once it is over
	verdict *testrun.Verdict
	err     error
}

func (b *beds) path() string { return filepath.Join(b.attempts.Files.Dir(), "train.json") }

// open reads the note of the last worker. One that can't be read counts as none: it only saves
// time.
func (b *beds) open() {
	b.note = &trainNote{SchemaVersion: 1}
	note := &trainNote{}
	if durable.ReadJSON(b.path(), note) == nil && note.SchemaVersion == 1 {
		b.note = note
	}
}

// change changes the note. Any goroutine may.
func (b *beds) change(f func(*trainNote)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f(b.note); b.note.Tests == nil && b.note.Manifests == nil && b.note.Width == nil {
		return nil
	}
	if err := b.attempts.Files.Prepare(); err != nil {
		return err
	}
	return durable.WriteJSON(b.path(), b.note)
}

// bed returns the k-th bed.
func (b *beds) bed(k int) *bed {
	for len(b.list) < k {
		n := len(b.list) + 1
		made := b.make(n)
		b.mu.Lock()
		made.manifests = b.note.Manifests[n]
		b.mu.Unlock()
		made.started = func(h command.Handle) error {
			if made.low {
				h.Process.LowerPriority()
			}
			return b.change(func(note *trainNote) {
				if note.Tests == nil {
					note.Tests = map[int]*proc.ID{}
				}
				note.Tests[n] = &h.Process
			})
		}
		made.setUp = func(manifests string) error {
			return b.change(func(note *trainNote) {
				if note.Manifests == nil {
					note.Manifests = map[int]string{}
				}
				note.Manifests[n] = manifests
				delete(note.Tests, n)
			})
		}
		b.list = append(b.list, made)
	}
	return b.list[k-1]
}

// free returns a bed for a run, nil if all of a width are in use or being prepared, or what was
// ended for the same entry still writes its log.
func (b *beds) free(width int, j train.Job) *bed {
	for _, r := range b.runs {
		if r.job.Entry == j.Entry {
			return nil
		}
	}
	for k := 1; k <= width; k++ {
		bed := b.bed(k)
		if !b.inUse(bed) && !b.isPrepared(bed) {
			return bed
		}
	}
	return nil
}

func (b *beds) inUse(bed *bed) bool {
	return slices.ContainsFunc(b.runs, func(r *run) bool { return r.bed == bed })
}

// isPrepared reports whether a bed is being prepared. If there are workers, more tests may begin
// than there are beds that are ready.
func (b *beds) isPrepared(bed *bed) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.preparation != nil && slices.Contains(b.preparation.left, bed)
}

// start starts a run in a bed.
func (b *beds) start(ctx context.Context, r *run) {
	ctx, r.cancel = context.WithCancel(ctx)
	b.count()
	r.memory, r.since = proc.OutOfMemory(), b.at
	b.runs = append(b.runs, r)
	for _, o := range b.runs {
		o.beside = o.beside || len(b.runs) > 1
	}
	log := "lane"
	if r.rec != nil {
		log = r.rec.ID.Name()
	}
	go func() {
		defer r.cancel()
		r.verdict, r.err = r.test(ctx, log)
		b.over <- r
	}()
}

// test runs the tests.
func (r *run) test(ctx context.Context, log string) (*testrun.Verdict, error) {
	if err := r.bed.make(ctx); err != nil {
		return nil, err
	}
	if err := r.bed.checkOut(ctx, r.job.Tip.Commit, r.manifests); err != nil {
		return nil, err
	}
	key, err := r.bed.key(r.job.Tip.Tree)
	if err != nil {
		return nil, err
	}
	return r.bed.run(ctx, key, log)
}

// count adds up how long how many runs went on at once. Call it before their number changes.
func (b *beds) count() {
	at := time.Now()
	for _, r := range b.runs {
		r.shared += time.Duration(len(b.runs)) * at.Sub(b.at)
	}
	b.at = at
}

// company returns how many runs, itself included, went on at once on average during this one.
func (r *run) company() float64 {
	return max(1, float64(r.shared)/float64(max(time.Since(r.since), 1)))
}

// remove forgets a run that is over, and what cars.start noted of it.
func (b *beds) remove(r *run) error {
	b.count()
	b.runs = slices.DeleteFunc(b.runs, func(o *run) bool { return o == r })
	k := slices.Index(b.list, r.bed) + 1
	err := b.change(func(note *trainNote) { delete(note.Tests, k) })
	if r.rec == nil {
		err = errors.Join(err, b.attempts.Control.NoteQueueWork(""))
	}
	return err
}

// going returns the runs that are still wanted.
func (b *beds) going() []train.Job {
	var jobs []train.Job
	for _, r := range b.runs {
		if !r.ended {
			jobs = append(jobs, r.job)
		}
	}
	return jobs
}

// end cancels the run of a tree, and doesn't wait for its end.
func (b *beds) end(tree string) {
	for _, r := range b.runs {
		if r.job.Tip.Tree == tree && !r.ended {
			r.ended = true
			r.cancel()
		}
	}
}

// drain ends all runs, and waits until they are over.
func (b *beds) drain() error {
	for _, r := range b.runs {
		r.ended = true
		r.cancel()
	}
	var errs []error
	for len(b.runs) > 0 {
		errs = append(errs, b.remove(<-b.over))
	}
	return errors.Join(errs...)
}

// ready returns how many of the first beds are set up, at most width.
func (b *beds) ready(width int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for n < width && b.note.Manifests[n+1] != "" {
		n++
	}
	return n
}

// mayFollow reports whether another preparation may begin: p is over, and nothing was in its way.
func (p *preparation) mayFollow() bool {
	if p == nil {
		return true
	}
	select {
	case <-p.done:
		return p.err == nil
	default:
		return false
	}
}

// prepare begins to set up those of the first beds that are new, one after the other and at low
// priority. It goes on after ctx, the cars' that are tested now: leave ends it.
func (b *beds) prepare(ctx context.Context, width int) {
	n := b.ready(width)
	if n == width || !b.preparation.mayFollow() {
		return
	}
	b.bed(width)
	list := slices.DeleteFunc(slices.Clone(b.list[n:width]), b.inUse)
	p := &preparation{left: slices.Clone(list), done: make(chan struct{})}
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	b.preparation = p
	go func() {
		defer close(p.done)
		for _, bed := range list {
			bed.low = true
			p.err = bed.make(ctx)
			bed.low = false
			b.mu.Lock()
			p.left = p.left[1:]
			if p.err != nil {
				p.left = nil
			}
			b.mu.Unlock()
			if p.err != nil {
				break
			}
		}
		if p.err != nil && ctx.Err() == nil {
			b.tell("testing fewer merges side by side: %v", p.err)
		}
	}()
}

// leave gives up the worktrees.
func (b *beds) leave() error {
	if b.preparation != nil {
		b.preparation.cancel()
		<-b.preparation.done
		b.preparation = nil
	}
	var errs []error
	for _, bed := range b.list {
		errs = append(errs, bed.leave())
	}
	b.list = nil
	return errors.Join(errs...)
}

// endTests ends the tests that a worker left running when it was killed.
func (b *beds) endTests() error {
	if _, err := durable.Stat(b.path()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	b.open()
	if len(b.note.Tests) == 0 {
		return nil
	}
	errs := make(chan error)
	for k, id := range b.note.Tests {
		go func() { errs <- b.make(k).end(*id) }()
	}
	var failed []error
	for range b.note.Tests {
		failed = append(failed, <-errs)
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return b.change(func(note *trainNote) { note.Tests = map[int]*proc.ID{} })
}

// newBeds returns the beds of a turn.
func (q *Queue) newBeds(t *turn) *beds {
	b := &beds{attempts: t.project.Runs, over: make(chan *run), tell: q.tells()}
	b.make = func(k int) *bed {
		return &bed{
			project: t.project, repo: t.repo, self: q.Self, environ: q.Environ,
			commands: t.commands, fleet: t.fleet, tell: q.tells(), name: "lane-" + strconv.Itoa(k),
			lineage: func(ctx context.Context) (*worktree.Lineage, error) {
				return t.repo.Lineages.Car(ctx, k)
			},
			trees: &trees{repo: t.repo},
		}
	}
	b.open()
	return b
}
