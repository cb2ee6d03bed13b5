package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/tmux"
)

// Tmux runs each wrapper in a pane of the project's private tmux session. The wrapper is the same
// program as with Process, and just as independent: a pane or a server that goes away takes only
// the view along. If tmux itself fails, Process starts the wrapper: an attempt without a view is
// better than none.
type Tmux struct {
	Session *tmux.Session
	Self    string // path of gl, good for a process that tmux starts
	Root    string
	Env     []string
	Runs    *attempt.Store
	Process *Process
	Warn    func(words string) // reports an attempt that has no pane; Start calls it

	avoid time.Time // tmux isn't called before this: it didn't answer, and each call takes seconds
}

// Name returns "tmux".
func (t *Tmux) Name() string { return "tmux" }

// Exits receives an Exit for each wrapper that ended before it took its attempt over and, without
// waiting for its end, for each that did. Wrappers are tmux's children, and tmux loses exits: after
// that, only the records show the end.
func (t *Tmux) Exits() <-chan Exit { return t.Process.Exits() }

// Expect asks tmux for its panes, for a Start in some milliseconds.
func (t *Tmux) Expect() {
	if time.Now().After(t.avoid) {
		t.Session.Look(context.Background())
	}
}

// Start starts the wrapper in a pane: a dead one whose attempt is over, or a new one.
func (t *Tmux) Start(r *attempt.Record) error {
	pid, err := t.place(r)
	if err == nil {
		go t.watch(r, pid)
		return nil
	}
	if errors.Is(err, tmux.ErrSilent) {
		t.avoid = time.Now().Add(time.Minute)
	}
	t.Warn(fmt.Sprintf("%s runs without a pane: %v; gl logs -f %s shows it", r.ID.Slice, err, r.ID.Slice))
	// Should a wrapper run in a pane after all, it finds no environment there and ends. Only one
	// can take the attempt over.
	_, _ = t.Runs.Files.TakeEnv(r)
	return t.Process.Start(r)
}

// place starts the wrapper in a pane and returns the pane's process.
func (t *Tmux) place(r *attempt.Record) (pid int, err error) {
	if time.Now().Before(t.avoid) {
		return 0, errors.New("tmux didn't answer a moment ago")
	}
	if _, err := os.Stat(t.Self); err != nil {
		return 0, err // replaced while gl runs: the file is gone, but Process still has it
	}
	// Panes inherit the server's environment, and a command line is limited to 16 KB, so the
	// environment goes by file.
	if err := t.Runs.Files.PutEnv(r, WithAgentEnv(t.Env, r)); err != nil {
		return 0, err
	}
	title := r.ID.Slice
	if r.ID.Title != "" && r.ID.Title != r.ID.Slice {
		title += " " + r.ID.Title
	}
	return t.Session.Place(context.Background(), tmux.Placement{
		Tag: r.ID.Name(), Title: sanitize.Text(title),
		Argv: slices.Concat([]string{t.Self}, WrapperArgs(t.Root, r), []string{PaneFlag}),
		Dir:  t.Root, Bar: tmux.StatusBar{Program: t.Self, Root: t.Root},
	}, t.Over)
}

// Over reports whether the attempt that a pane's tag names is settled, so that the pane can be
// reused.
func (t *Tmux) Over(tag string) bool { return tag != "" && !t.Runs.IsOpen(tag) }

// The pauses between two looks at a new wrapper until it has taken its attempt over, which it does
// in some milliseconds.
const (
	firstLook = 50 * time.Millisecond
	lastLook  = time.Second
)

// watch waits until the wrapper has taken its attempt over, or is gone. One whose pane is closed in
// its first instant would otherwise keep its slot until the run gives its claim back.
func (t *Tmux) watch(r *attempt.Record, pid int) {
	id, missing := proc.Of(pid)
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		time.Sleep(pause)
		dead := missing != nil || id.Dead() // before the record: it may start and end in between
		rec, err := t.Runs.Get(r.ID.Slice, r.ID.N)
		// A record that is missing may come back: see Wrapper.keepRecord.
		taken := err == nil && (rec.Life.Phase != plan.Claimed || rec.ID.Token != r.ID.Token)
		if dead || taken {
			e := Exit{Slice: r.ID.Slice, N: r.ID.N, Token: r.ID.Token}
			if taken && rec.ID.Token == r.ID.Token {
				e.Record = rec
			}
			t.Process.exits <- e
			return
		}
	}
}

// PaneFlag tells the wrapper that it is in a pane: its environment is in the file that PutEnv
// wrote, and it prints a last line for people who look at the pane later.
const PaneFlag = "--pane"
