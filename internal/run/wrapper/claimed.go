package wrapper

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/proc"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/tracker"
)

const giveUpNote = "gl can't write its state, and tries again: "

var (
	// ErrLate means that the claim isn't the wrapper's any more: it was given back, or another
	// process has made it.
	ErrLate = errors.New("the claim was given back before the agent started")
	// errEnding means that the attempt is being ended, so that its agent isn't started again.
	errEnding = errors.New("the attempt is being ended")
)

// claimed is the attempt that this process works on: its record, as this process knows it, its
// log, and what writes the record on disk.
type claimed struct {
	settler *attempt.Settler
	rec     *attempt.Record
	log     *logFile
	handoff handoff
	anew    bool // the agent is started a second time: its conversation was gone
	over    bool // another process has settled the attempt
}

// note writes gl's own note into the log.
func (c *claimed) note(text string) { c.log.Note(logfile.Gl, text) }

// begin writes phase started. Only after that may the agent run.
func (c *claimed) begin(ctx context.Context, id proc.ID) error {
	return c.advance(ctx, func(r *attempt.Record) {
		now := c.settler.Now().UTC()
		r.Life.Phase, r.Life.StartedAt, r.Life.Process = plan.Started, &now, nil
		if id.PID != 0 {
			r.Life.Process = &id
		}
	})
}

// advance writes how far the attempt is, with this process's identity, if the claim is still its
// own and no agent has begun.
func (c *claimed) advance(ctx context.Context, change func(*attempt.Record)) error {
	store := c.settler.Store
	// A stopped process may hold the lock; giving up would fail the slice.
	ctx = durable.Patiently(ctx, nil)
	return c.settler.Tracker.Do(ctx, func(tx tracker.Tx) error {
		disk, err := store.Get(c.rec.ID.Slice, c.rec.ID.N)
		if c.anew && errors.Is(err, fs.ErrNotExist) { // removed by git clean -x
			disk, err = c.rec, store.Files.Prepare()
		}
		if err != nil || disk.Life.Phase.Begun() != c.anew || disk.Life.Phase != c.rec.Life.Phase ||
			disk.ID.Token != c.rec.ID.Token {
			return ErrLate
		}
		if c.anew && disk.Life.Ending != "" {
			c.rec.Life.Ending, c.rec.Life.EndingDetail = disk.Life.Ending, disk.Life.EndingDetail
			return errEnding
		}
		it, err := c.rec.Tx(tx).Item(c.rec.ID.Slice)
		if err != nil {
			return err
		}
		if it.Session != c.rec.ID.Token {
			return ErrLate
		}
		self := proc.Self()
		c.rec.Life.Wrapper, c.rec.Life.Ending = &self, disk.Life.Ending // it may be being stopped
		change(c.rec)
		err = store.Within(tx.Held()).Put(c.rec)
		if err == nil {
			store.Tell(c.rec)
		}
		return err
	})
}

// adopt takes the record of a remote attempt over from a gl serve that is gone.
func (c *claimed) adopt(ctx context.Context) error {
	store := c.settler.Store
	ctx = durable.Patiently(ctx, nil)
	return c.settler.Tracker.Do(ctx, func(tx tracker.Tx) error {
		disk, err := store.Get(c.rec.ID.Slice, c.rec.ID.N)
		if err != nil || disk.Life.Phase != plan.Started || disk.ID.Token != c.rec.ID.Token ||
			disk.Life.Wrapper != nil && disk.Life.Wrapper.State() != proc.Dead &&
				*disk.Life.Wrapper != proc.Self() {
			return ErrLate
		}
		self := proc.Self()
		disk.Life.Wrapper = &self
		*c.rec = *disk
		return store.Within(tx.Held()).Put(c.rec)
	})
}

// end records why the attempt is being ended, before the first signal: the verdict is then right
// even if this process doesn't live to give it.
func (c *claimed) end(ctx context.Context, why, detail string) {
	c.rec.Life.Ending, c.rec.Life.EndingDetail = why, detail
	if err := c.settler.Store.MarkEnding(ctx, c.settler.Tracker, c.rec, why, detail); err != nil {
		c.note(giveUpNote + err.Error())
	}
}

// keepRecord writes the record again if it was removed (git clean -x). Without it, the slice
// looks claimed by an unknown session.
func (c *claimed) keepRecord(ctx context.Context) {
	store := c.settler.Store
	if c.over || store.IsOpen(c.rec.ID.Name()) {
		return
	}
	err := c.settler.Tracker.Do(ctx, func(tx tracker.Tx) error {
		_, err := store.Get(c.rec.ID.Slice, c.rec.ID.N)
		if !errors.Is(err, fs.ErrNotExist) { // settled, or the number is another attempt's now
			c.over = err == nil
			return err
		}
		if err := store.Files.Prepare(); err != nil {
			return err
		}
		return store.Within(tx.Held()).Put(c.rec)
	})
	if err == nil {
		err = c.log.reopen()
	}
	if err != nil {
		c.note(giveUpNote + err.Error())
	}
}

// item returns the slice as the attempt sees it.
func (c *claimed) item(ctx context.Context) (it plan.Item, err error) {
	err = c.settler.Tracker.Do(ctx, func(tx tracker.Tx) error {
		it, err = c.rec.Tx(tx).Item(c.rec.ID.Slice)
		return err
	})
	return it, err
}

// unfinished reports whether the agent has work left to do.
func (c *claimed) unfinished(ctx context.Context) bool {
	it, err := c.item(ctx)
	return err == nil && c.rec.Life.Unfinished(it)
}

// calledComplete reports whether the slice's file calls it complete.
func (c *claimed) calledComplete(ctx context.Context) bool {
	complete := false
	err := c.settler.Tracker.Do(ctx, func(tx tracker.Tx) error {
		it, err := tx.Item(c.rec.ID.Slice)
		complete = err == nil && it.Corrupt == "" && plan.Classify(it.Status) == plan.Done
		return err
	})
	return err == nil && complete
}

// settle settles the attempt. It retries if the disk is full or a stopped process holds the
// lock: only this process knows how its agent ended.
func (c *claimed) settle(ctx context.Context, root string,
	stop <-chan os.Signal) (*attempt.Record, error) {
	wait := 100 * time.Millisecond
	for {
		final, err := c.settler.Settle(ctx, c.rec)
		if err == nil {
			return final, nil
		}
		if _, gone := os.Stat(root); errors.Is(gone, fs.ErrNotExist) {
			return nil, err // nothing is left to settle
		}
		c.note(giveUpNote + err.Error())
		select {
		case <-time.After(wait):
			wait = min(2*wait, 5*time.Second)
		case <-stop:
			return nil, err
		}
	}
}
