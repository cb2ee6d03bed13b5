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

// keepAll takes the last snapshot of the attempt's worktree, so that everything in it that git doesn't ignore is under a ref
// before anybody judges the attempt. What can't be kept is said in the record, and the worktree stays. The agent, and what
// it has started, must be gone: this tree lands.
func (s *Settler) keepAll(ctx context.Context, r *Record) {
	if r.Place.Lineage == 0 || !r.Life.Phase.Begun() {
		return
	}
	pause := keepPause
	for try := 1; ; try++ {
		snap, err := s.snapshot(ctx, r, worktree.SnapshotOptions{Last: true, Why: "gl: snapshot of " + r.ID.Work() + " at the end of attempt " + itoa(r.ID.N), Stashes: r.Place.Stashes})
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

// isFinal says that trying again won't help.
func isFinal(err error) bool {
	return errors.As(err, new(*git.StuckError)) || errors.As(err, new(*git.TooBigError)) || errors.As(err, new(*git.SpaceError))
}

// notKept says which files a snapshot couldn't take, and why it couldn't take the first.
func notKept(failed []git.Failure) string {
	if len(failed) == 0 {
		return ""
	}
	return sanitize.Text(failed[0].Path+": "+failed[0].Why) + words.More(len(failed)-1)
}

// snapshot takes one of the attempt's worktree.
func (s *Settler) snapshot(ctx context.Context, r *Record, o worktree.SnapshotOptions) (*worktree.Snapshot, error) {
	repo, err := s.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	l, err := lineageOf(r, repo)
	if err != nil {
		return nil, err
	}
	return repo.Snapshot(ctx, l, o)
}

// A keeper takes snapshots beside a running agent, one at a time.
type keeper struct {
	w      *Wrapper
	tick   <-chan time.Time // nil where there is no worktree
	ticker *time.Ticker
	busy   chan struct{} // closed when the last one is over
	failed chan error
	cancel context.CancelFunc
}

func (w *Wrapper) newKeeper() *keeper {
	k := &keeper{w: w, failed: make(chan error, 1)}
	if w.rec.Place.Lineage != 0 && w.Every > 0 {
		k.ticker = time.NewTicker(w.Every)
		k.tick = k.ticker.C
	}
	return k
}

// take begins a snapshot, unless one is still being taken. That one fails is only worth a note: the next one comes.
func (k *keeper) take(ctx context.Context) {
	if k.busy != nil {
		select {
		case <-k.busy:
		default:
			return
		}
	}
	rec, busy := *k.w.rec, make(chan struct{})
	ctx, k.cancel = context.WithCancel(ctx)
	k.busy = busy
	go func() {
		defer close(busy)
		if _, err := k.w.snapshot(ctx, &rec, worktree.SnapshotOptions{Why: "gl: snapshot of " + rec.ID.Work() + " in attempt " + itoa(rec.ID.N), Stashes: rec.Place.Stashes}); err != nil && ctx.Err() == nil {
			k.report(err)
		}
	}()
}

// report hands an error to the loop that writes the log, unless one waits there already.
func (k *keeper) report(err error) {
	select {
	case k.failed <- err:
	default:
	}
}

// stop ends what is being taken, and returns when that is over.
func (k *keeper) stop() {
	if k.ticker != nil {
		k.ticker.Stop()
	}
	if k.busy != nil {
		k.cancel()
		<-k.busy
	}
}
