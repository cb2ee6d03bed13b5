package attempt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"greenlight/internal/core/gate"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// In worktree isolation an agent's "complete" is a claim: its attempt is queued for the lane
// (package lane), which merges and tests the work, and only then makes the slice complete.
// docs/design/merge-queue.md is the design.

// A Landing is how far a queued attempt is. Commits are full hashes.
type Landing struct {
	Queued time.Time `json:"queued"`           // UTC
	Target string    `json:"target,omitempty"` // refs/heads/…
	Tip    string    `json:"tip,omitempty"`    // the slice's work, all of it committed
	Base   string    `json:"base,omitempty"`   // what it is merged into
	// where the lane is then, if Base has commits of the target that it hasn't
	From string `json:"from,omitempty"`
	// what lands: once the lane has it, the slice has landed
	Commit string `json:"commit,omitempty"`
	// the shape of what lands: "merge", "rebase", "squash"; "" is a merge
	As string `json:"as,omitempty"`
	// all that land, the last of them Commit, where they are more than one
	Commits []string `json:"commits,omitempty"`
	Batch   *Batch   `json:"batch,omitempty"` // with which others it was tested, and lands
	// the tests with which what lands was compared; nil for none
	Handed *Handed `json:"handed,omitempty"`
	// by how many more pass than before; missing if unknown
	Tests *int `json:"tests,omitempty"`
	// what is being done with it, in a word: "merging", "testing"
	Step string `json:"step,omitempty"`
	// about how many seconds the step takes, 0 for unknown
	Takes float64 `json:"takes,omitempty"`
	// where it is among those that are tested side by side; nil if it isn't
	Train *plan.InTrain `json:"train,omitempty"`
	// the base on which it couldn't land: tried again once the lane has moved,
	Tried string `json:"tried,omitempty"`
	// where the tests fail in the same way: its agent can't put that right
	Alike bool `json:"alike,omitempty"`
	// or this slice has resolved a conflict in the same paths
	Behind string   `json:"behind,omitempty"`
	Paths  []string `json:"paths,omitempty"` // in conflict
	// the merge with the conflict isn't begun in the worktree: the next attempt's place begins it
	Unmade  bool   `json:"unmade,omitempty"`
	Problem string `json:"problem,omitempty"` // why it isn't green whatever its tests say
	// of older versions: the problem that a person knows and accepts, of Tip
	Despite string `json:"despite,omitempty"`
	// what a person knows and accepts that isn't as it must be
	Approved []gate.Item   `json:"approved,omitempty"`
	Verified plan.Verified `json:"verified,omitempty"` // of what lands
	Caveats  []string      `json:"caveats,omitempty"`  // what the verdict doesn't prove, in words
	Reason   string        `json:"reason,omitempty"`   // what it waits for, in words
	// Reason is that a person hasn't allowed a command
	Barred bool `json:"barred,omitempty"`
	// a person has changed the slice through gl: it leaves the queue
	Taken bool `json:"taken,omitempty"`
	// for the agent that is to put it right: a sentence,
	Why    string `json:"why,omitempty"`
	Output string `json:"output,omitempty"` // and the output of the tests or of git
}

// Again is how an agent says that its work is to be looked at once more.
func (id *Identity) Again() string {
	if id.IsTask() {
		return "commit, and finish the task again"
	}
	return "commit, and call the slice complete again"
}

// Head is the commit whose tests gl ran for what lands: of a batch, the last one's.
func (l *Landing) Head() string {
	if l.Batch != nil {
		return l.Batch.Head
	}
	return l.Commit
}

// A Handed is the hand-over of a lineage's tests.
type Handed struct {
	Commit string `json:"commit"`
	Began  string `json:"began"` // the commit at which the lineage began
}

// A Batch is several attempts whose work was tested as one, and lands as one.
type Batch struct {
	// names of the records, in the order in which they land
	Members []string `json:"members"`
	Base    string   `json:"base"` // where the lane was,
	// unless it was here: then Base has commits of the target that it hadn't
	From string `json:"from,omitempty"`
	Head string `json:"head"` // and where it is to be: the commit that was tested
}

// Has reports whether a queued record is one of the batch, and lands by it.
func (b *Batch) Has(r *Record) bool {
	return slices.Contains(b.Members, r.ID.Name()) && r.Landing != nil && r.Landing.Batch != nil &&
		r.Landing.Batch.Head == b.Head && r.Landing.Commit != ""
}

// Slices are the ids of its members.
func (b *Batch) Slices() []string {
	ids := make([]string, len(b.Members))
	for i, name := range b.Members {
		ids[i] = name[:max(strings.LastIndexByte(name, '.'), 0)]
	}
	return ids
}

// awaitsLane reports whether the lane has to say if the attempt is done.
func (r *Record) awaitsLane(o outcome.Outcome) bool {
	return o == outcome.Done && r.Place.Lineage != 0 && r.Landing == nil
}

// withdraw takes the agent's "complete" back out of the slice's file: nothing but the lane says
// it there.
func (s *Settler) withdraw(tx tracker.Tx, r *Record, it plan.Item) error {
	lander, ok := tx.(tracker.Lander)
	if !ok || plan.Classify(it.Status) != plan.Done ||
		it.Session != r.ID.Token && it.Session != "" {
		return nil
	}
	_, err := lander.Enqueue(r.ID.Slice)
	return err
}

// Queue is the attempts that await the lane, in the order in which their agents ended.
func (s *Store) Queue() ([]*Record, error) {
	live, _, err := s.Live()
	if err != nil {
		return nil, err
	}
	queue := slices.DeleteFunc(live, func(r *Record) bool { return r.Life.Phase != plan.Queued })
	slices.SortStableFunc(queue, func(a, b *Record) int {
		return a.Landing.Queued.Compare(b.Landing.Queued)
	})
	return queue, nil
}

// Proceed changes what a queued attempt says of its way, its Landing and its Verdict, under the
// lock, if it is still queued and no person has taken its slice out of the queue. Otherwise it
// returns nil, and the attempt has been settled if need be. The error is an *AwayError if the
// slice's file can't be read.
func (s *Settler) Proceed(ctx context.Context, r *Record,
	change func(*Record)) (now *Record, err error) {
	err = s.Tracker.Do(ctx, func(tx tracker.Tx) error {
		disk, _, err := s.queued(tx, r)
		if disk == nil || err != nil {
			return err
		}
		change(disk)
		now = disk
		return s.Store.Within(tx.Held()).Put(disk)
	})
	return now, err
}

// Wait notes why a queued attempt can't move now, also where its slice's file can't be read.
func (s *Settler) Wait(ctx context.Context, r *Record, change func(*Landing)) error {
	return s.Tracker.Do(ctx, func(tx tracker.Tx) error {
		disk, _, err := s.queued(tx, r)
		if away := new(AwayError); disk == nil || err != nil && !errors.As(err, &away) {
			return err
		}
		change(disk.Landing)
		return s.Store.Within(tx.Held()).Put(disk)
	})
}

// MarkTaken notes that a person has changed a slice while it is in the merge queue, so that it
// leaves the queue.
func (w *Writer) MarkTaken(slice string, n int) error {
	r, err := w.store.Get(slice, n)
	if err != nil || r.Life.Phase != plan.Queued {
		return err
	}
	r.Landing.Taken = true
	return w.Put(r)
}

// An AwayError says that the file of a queued slice is gone or can't be read, as after a git
// checkout or in the middle of a git stash pop. The slice waits until the file is back.
type AwayError struct {
	Slice string
	Err   error
}

func (e *AwayError) Error() string {
	return fmt.Sprintf("its slice file can't be read: %v. Restore it with git, or take the slice out of the queue: gl stop %s", e.Err, e.Slice)
}
func (e *AwayError) Unwrap() error { return e.Err }

// queued reads a queued attempt afresh, with its item. It is nil for one that isn't queued any
// more, and for one that a person has taken out of the queue: that one is settled, and the
// slice left alone. Of anything else that the file says git is the reason: a stash or a
// checkout has brought it back as it was, so the record decides. With an *AwayError the record
// is there, and no item.
func (s *Settler) queued(tx tracker.Tx, r *Record) (*Record, plan.Item, error) {
	disk, err := s.Store.Get(r.ID.Slice, r.ID.N)
	if errors.Is(err, fs.ErrNotExist) { // runs/ was removed: there is nothing to settle
		return nil, plan.Item{}, nil
	}
	if err != nil || disk.Life.Phase != plan.Queued || disk.ID.Token != r.ID.Token {
		return nil, plan.Item{}, err
	}
	tx = disk.Tx(tx)
	it, err := tx.Item(r.ID.Slice)
	if err == nil {
		err = s.withdraw(tx, disk, it)
	}
	if err == nil {
		it, err = tx.Item(r.ID.Slice)
	}
	if err == nil && it.Corrupt != "" {
		err = fmt.Errorf("%s: %s", it.File, it.Corrupt)
	}
	switch mark := it.Mark(); {
	case err != nil:
		return disk, it, &AwayError{r.ID.Slice, err}
	case disk.Landing.Taken:
		disk = disk.ended(outcome.Interrupted,
			"interrupted: a person has changed the slice while it was in the merge queue")
		disk.Judged.After = &mark
		_, err = s.done(tx, disk)
		return nil, it, err
	case mark != *disk.Judged.Seen:
		disk.Judged.Seen = &mark
	}
	return disk, it, nil
}

// ended is the record, judged.
func (r *Record) ended(o outcome.Outcome, detail string) *Record {
	r.Life.Phase, r.Judged.Outcome, r.Judged.Detail, r.Judged.Effect = plan.Ended, o, detail,
		o.Traits().Effect
	return r
}

// A LandingResult is what the lane says of a queued attempt.
type LandingResult struct {
	Outcome  outcome.Outcome
	Detail   string
	Effect   *tracker.Effect // nil for the outcome's
	Verified plan.Verified   // of a complete one
	Tests    *int            // that it has brought; nil where only its agent knows
}

// EndLanding takes an attempt out of the queue and settles it. It returns nil for one that
// isn't there any more.
func (s *Settler) EndLanding(ctx context.Context, r *Record,
	res LandingResult) (final *Record, err error) {
	err = s.Tracker.Do(ctx, func(tx tracker.Tx) error {
		disk, it, err := s.queued(tx, r)
		if away := new(AwayError); errors.As(err, &away) && res.Outcome == outcome.Interrupted {
			// a person stops it
			final, err = s.recordOnly(tx, disk.ended(res.Outcome, res.Detail), it, away.Err)
			return err
		}
		if disk == nil || err != nil {
			return err
		}
		if it, err = disk.verifying(tx, it); err != nil {
			return err
		}
		disk.ended(res.Outcome, res.Detail)
		disk.Judged.Verified = res.Verified
		if res.Effect != nil {
			disk.Judged.Effect = *res.Effect
		}
		disk.Landing.Tests, disk.Landing.Train = res.Tests, nil
		if err := s.Store.Within(tx.Held()).Put(disk); err != nil {
			return err
		}
		final, err = s.apply(disk.Tx(tx), disk, it)
		return err
	})
	if err == nil {
		s.unnote(ctx, r)
	}
	return final, err
}

// verifying makes the item that of a queued slice again, if git has brought its file back as it
// was before.
func (r *Record) verifying(tx tracker.Tx, it plan.Item) (plan.Item, error) {
	lander, ok := r.Tx(tx).(tracker.Lander)
	if !ok || it.Status == tracker.Verifying && it.Step == tracker.Verifying {
		return it, nil
	}
	if _, err := lander.Enqueue(r.ID.Slice); err != nil {
		return it, err
	}
	it, err := r.Tx(tx).Item(r.ID.Slice)
	mark := it.Mark()
	r.Judged.Seen = &mark
	return it, err
}

// stopQueued takes an attempt out of the queue for gl stop, unless it has all but landed.
func (s *Settler) stopQueued(ctx context.Context, r *Record) (*Record, error) {
	if r.Landing.Commit != "" {
		return nil, fmt.Errorf("%s has passed its tests and is being merged: it can't be stopped any more", r.ID.Label())
	}
	release := tracker.Release
	if r.Accepted() {
		release = tracker.Ask
	}
	return s.EndLanding(ctx, r, LandingResult{Outcome: outcome.Interrupted,
		Detail: "interrupted in the merge queue", Effect: &release})
}

// stepLanding is the step of an attempt whose tests have passed.
const stepLanding = "landing"

// InQueue is how far an attempt is that nothing has been done with.
const InQueue = "queued"

// Text is how far a queued attempt is, in a few words; "" for one that isn't queued. Where
// commands were missing their permission, project.Project.LandingText knows whether they still
// are.
func (l *Landing) Text() string {
	switch {
	case l == nil:
		return ""
	case l.Reason != "":
		return l.Reason
	case l.Step == stepLanding:
		return "merging"
	case l.Step != "" && l.Takes >= 1:
		return fmt.Sprintf("%s; about %s", l.Step,
			plan.Age(time.Duration(l.Takes*float64(time.Second))))
	case l.Step != "":
		return l.Step
	}
	return InQueue
}
