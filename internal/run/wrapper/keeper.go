package wrapper

import (
	"context"
	"strconv"
	"time"

	"greenlight/internal/run/attempt"
	"greenlight/internal/workspace/worktree"
)

// A keeper takes snapshots beside a running agent, one at a time.
type keeper struct {
	settler *attempt.Settler
	rec     *attempt.Record
	tick    <-chan time.Time // nil without a worktree
	ticker  *time.Ticker
	busy    chan struct{} // closed when the last one is over
	failed  chan error
	cancel  context.CancelFunc
}

func newKeeper(s *attempt.Settler, r *attempt.Record, every time.Duration) *keeper {
	k := &keeper{settler: s, rec: r, failed: make(chan error, 1)}
	if r.Place.Lineage != 0 && every > 0 && !isRemote(r) { // a worker takes its own
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
		why := "gl: snapshot of " + rec.ID.Work() + " in attempt " + strconv.Itoa(rec.ID.N)
		o := worktree.SnapshotOptions{Why: why, Stashes: rec.Place.Stashes}
		if _, err := k.settler.Snapshot(ctx, &rec, o); err != nil && ctx.Err() == nil {
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
