package runner

import (
	"context"

	"greenlight/internal/agent"
	"greenlight/internal/attempt"
	"greenlight/internal/tmux"
)

// Tmux runs each wrapper in a pane of the project's private tmux session. The wrapper is the same program as with
// Process, and just as independent: a pane or a server that goes away takes only the view along.
type Tmux struct {
	Session *tmux.Session
	Self    string // path of gl, good for a process that tmux starts
	Root    string
	Env     []string
	Runs    *attempt.Store
}

// Name is "tmux".
func (t *Tmux) Name() string { return "tmux" }

// Exits tells nothing: the wrappers are tmux's children, and tmux loses exits. The records tell.
func (t *Tmux) Exits() <-chan Exit { return nil }

// Start puts the wrapper into a pane: a dead one whose attempt is over, or a new one.
func (t *Tmux) Start(r *attempt.Record) error {
	// Panes inherit the server's environment, and a command line is limited to 16 KB: the environment goes by file.
	if err := t.Runs.PutEnv(r, t.Env); err != nil {
		return err
	}
	title := r.Slice
	if r.Title != "" && r.Title != r.Slice {
		title += " " + r.Title
	}
	return t.Session.Place(context.Background(), tmux.Placement{
		Tag: r.Name(), Title: agent.Clean(title),
		Argv: append(append([]string{t.Self}, WrapperArgs(t.Root, r)...), PaneFlag),
		Bar:  tmux.StatusBar{Program: t.Self, Root: t.Root},
	}, func(tag string) bool { return tag != "" && !t.Runs.IsOpen(tag) })
}

// PaneFlag tells the wrapper that it is in a pane: its environment is in the file that PutEnv wrote, and its last words
// are for who looks at the pane later.
const PaneFlag = "--pane"
