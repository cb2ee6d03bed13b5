package attempt

import (
	"context"
	"errors"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

const (
	keepTries = 3
	keepPause = time.Second // between the first two tries; it doubles
)

// keepAll fetches the attempt's work, so that everything in its worktree that git doesn't ignore is
// under a ref before the attempt is judged. The record tells what can't be kept; then the worktree
// stays. The agent, and what it has started, must be gone: this tree lands.
func (s *Settler) keepAll(ctx context.Context, r *Record) {
	if r.Place.Lineage == 0 || !r.Life.Phase.Begun() {
		return
	}
	why := "gl: snapshot of " + r.ID.Work() + " at the end of attempt " + itoa(r.ID.N)
	pause := keepPause
	for try := 1; ; try++ {
		snap, err := s.snapshot(ctx, r,
			worktree.SnapshotOptions{Last: true, Why: why, Stashes: r.Place.Stashes})
		if err == nil {
			if snap != nil {
				r.Place.Saved, r.Place.Unsaved = snap.Prefix, notKept(snap.Failed)
				if snap.Linked != "" {
					r.Place.Strayed = append(r.Place.Strayed, sanitize.Text(snap.Linked))
				}
				if len(snap.Failed) == 0 {
					r.Place.Tree, r.Place.Head = snap.Whole, snap.Tip
				}
			}
			return
		}
		r.Place.Unsaved = sanitize.Text(err.Error())
		if try == keepTries || errors.Is(err, context.Canceled) || isFinal(err) {
			return
		}
		time.Sleep(pause)
		pause *= 2
	}
}

// isFinal reports whether trying again won't help.
func isFinal(err error) bool {
	return errors.As(err, new(*git.StuckError)) || errors.As(err, new(*git.TooBigError)) ||
		errors.As(err, new(*git.SpaceError))
}

// notKept names the first file that a snapshot couldn't take, with the reason, and counts the
// others.
func notKept(failed []git.Failure) string {
	if len(failed) == 0 {
		return ""
	}
	return sanitize.Text(failed[0].Path+": "+failed[0].Why) + words.More(len(failed)-1)
}

// snapshot fetches what is at the attempt's place now.
func (s *Settler) snapshot(
	ctx context.Context, r *Record, o worktree.SnapshotOptions,
) (*worktree.Snapshot, error) {
	place := func(ctx context.Context) (*worktree.Repo, *worktree.Lineage, error) {
		repo, err := s.Worktrees(ctx)
		if err != nil {
			return nil, nil, err
		}
		l, err := r.lineage(repo)
		return repo, l, err
	}
	return s.Executor.Fetch(ctx, place, o)
}

// A keeper takes snapshots beside a running agent, one at a time.
type keeper struct {
	settler *Settler
	rec     *Record
	tick    <-chan time.Time // nil without a worktree
	ticker  *time.Ticker
	busy    chan struct{} // closed when the last one is over
	failed  chan error
	cancel  context.CancelFunc
}

func newKeeper(s *Settler, r *Record, every time.Duration) *keeper {
	k := &keeper{settler: s, rec: r, failed: make(chan error, 1)}
	if r.Place.Lineage != 0 && every > 0 {
		k.ticker = time.NewTicker(every)
		k.tick = k.ticker.C
	}
	return k
}

// take begins a snapshot, unless one is still being taken. A failed one is only noted: the next one
// follows.
func (k *keeper) take(ctx context.Context) {
	if k.busy != nil {
		select {
		case <-k.busy:
		default:
			return
		}
	}
	rec, busy := *k.rec, make(chan struct{})
	ctx, k.cancel = context.WithCancel(ctx)
	k.busy = busy
	go func() {
		defer close(busy)
		why := "gl: snapshot of " + rec.ID.Work() + " in attempt " + itoa(rec.ID.N)
		o := worktree.SnapshotOptions{Why: why, Stashes: rec.Place.Stashes}
		if _, err := k.settler.snapshot(ctx, &rec, o); err != nil && ctx.Err() == nil {
			k.report(err)
		}
	}()
}

// report passes an error to the loop that writes the log, unless one is waiting there already.
func (k *keeper) report(err error) {
	select {
	case k.failed <- err:
	default:
	}
}

// stop cancels the snapshot that is being taken, and waits for its end.
func (k *keeper) stop() {
	if k.ticker != nil {
		k.ticker.Stop()
	}
	if k.busy != nil {
		k.cancel()
		<-k.busy
	}
}
