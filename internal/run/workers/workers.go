// Package workers has what gl serve last knew of the workers that have joined, in
// runs/hub/workers.json: for the scheduler, which places attempts on them, and for people. It
// talks to none of them.
package workers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/attempt"
	"greenlight/internal/workspace/include"
)

const schemaVersion = 1

// A List is the workers as a gl serve knows them.
type List struct {
	SchemaVersion int      `json:"schema_version"`
	Server        proc.ID  `json:"server"` // of gl serve
	Workers       []Worker `json:"workers"`
}

// A Worker is one that has joined.
type Worker struct {
	Name     string       `json:"name"`
	Hello    remote.Hello `json:"hello"`            // what it last said of itself
	Seen     time.Time    `json:"seen,omitzero"`    // the last contact
	Silent   bool         `json:"silent,omitempty"` // no contact for a while, or none yet
	Draining bool         `json:"draining,omitempty"`
	Revoked  bool         `json:"revoked,omitempty"`
	Refused  string       `json:"refused,omitempty"` // why it gets no work: of another version, say
}

// Dir is the directory of everything that gl serve keeps of its workers.
func Dir(runs string) string { return filepath.Join(runs, "hub") }

func file(runs string) string { return filepath.Join(Dir(runs), "workers.json") }

// Read returns the list in a project's directory of runs; an empty one where no gl serve has been.
func Read(runs string) (*List, error) {
	l := &List{}
	err := durable.ReadJSON(file(runs), l)
	if errors.Is(err, fs.ErrNotExist) {
		return &List{}, nil
	}
	if err != nil || l.SchemaVersion != schemaVersion {
		return &List{}, err // of another version: nothing is placed
	}
	return l, nil
}

// Write replaces the list.
func Write(runs string, l *List) error {
	l.SchemaVersion = schemaVersion
	if err := durable.MkdirPrivate(Dir(runs)); err != nil {
		return err
	}
	return durable.WriteJSON(file(runs), l)
}

// Serving reports whether the gl serve that wrote the list is there.
func (l *List) Serving() bool { return l.Server.PID != 0 && l.Server.State() == proc.Alive }

// Find returns the worker of that name; nil for none.
func (l *List) Find(name string) *Worker {
	i := slices.IndexFunc(l.Workers, func(w Worker) bool { return w.Name == name })
	if i < 0 {
		return nil
	}
	return &l.Workers[i]
}

// Without returns the list without a worker.
func (l *List) Without(name string) *List {
	rest := *l
	rest.Workers = slices.DeleteFunc(slices.Clone(l.Workers),
		func(w Worker) bool { return w.Name == name })
	return &rest
}

// Slots returns how many jobs the workers that can be given any run at once.
func (l *List) Slots() (n int) {
	if !l.Serving() {
		return 0
	}
	for i := range l.Workers {
		if l.Workers[i].takes() {
			n += l.Workers[i].Hello.Slots
		}
	}
	return n
}

// takes reports whether the worker accepts jobs.
func (w *Worker) takes() bool { return w.Barred() == "" }

// Barred returns why the worker gets no jobs; "" if it does.
func (w *Worker) Barred() string {
	switch {
	case w.Revoked:
		return "its key is refused"
	case w.Refused != "":
		return w.Refused
	case w.Silent:
		return "it has no contact"
	case w.Draining:
		return "it gets no new jobs: gl workers drain --off " + w.Name
	case w.Hello.Draining:
		return "it is about to end"
	case w.Hello.Full:
		return "its disk is used up to its limit"
	case w.Hello.Slots < 1:
		return "it has no slots"
	}
	return ""
}

// Obstacle returns why no worker can get a job that needs that, even once all are idle; the zero
// Obstacle if one can.
func (l *List) Obstacle(needs remote.Needs) plan.Obstacle {
	if !l.Serving() {
		return plan.Obstacle{Cause: "no worker: gl serve isn't running", Next: "gl serve"}
	}
	var each []string
	for i := range l.Workers {
		w := &l.Workers[i]
		if w.Revoked {
			continue
		}
		why := w.Barred()
		if why == "" {
			why = string(remote.Fit(&w.Hello, needs))
		}
		if why == "" {
			return plan.Obstacle{}
		}
		each = append(each, w.Name+": "+why)
	}
	if len(each) == 0 {
		return plan.Obstacle{Cause: "no worker: none has joined", Next: "gl workers invite"}
	}
	const shown = 4
	return plan.Obstacle{Cause: "no worker fits: " + strings.Join(each[:min(shown, len(each))], "; ") +
		words.More(len(each)-shown), Next: "gl workers"}
}

// returns reports whether the worker may accept jobs again by itself, if it doesn't now.
func (w *Worker) returns() bool { return !w.Draining && !w.Revoked && w.Refused == "" }

// Keeps reports whether the worker still has a lineage's worktree, and its agent's conversation.
func (w *Worker) Keeps(lineage string) bool { return slices.Contains(w.Hello.Lineages, lineage) }

// LineageName names a lineage's worktree to workers.
func LineageName(system, work string, n int) string {
	return remote.AttemptName(system, work, n, "w"+strconv.Itoa(n))
}

// mostFiles is how many files outside of git a job may need.
const mostFiles = 1000

// Files returns the files outside of git that jobs need, which a worker has from gl worker
// --include: those that .worktreeinclude names at the repository's top. They are never sent.
func Files(ctx context.Context, top string) ([]string, error) {
	files, err := include.Named(ctx, top)
	if err == nil && len(files) > mostFiles {
		err = fmt.Errorf("%s names %d files, and a job on a worker may need %d", include.PatternsFile,
			len(files), mostFiles)
	}
	return files, err
}

// Busy counts the jobs of each worker, by the records of open attempts and the tests that run.
func Busy(runs string, live []*attempt.Record) map[string]int {
	busy := map[string]int{}
	for _, t := range Testings(runs) {
		busy[t.Worker]++
	}
	for _, r := range live {
		if r.Life.Remote != nil && r.Life.Phase != plan.Queued && r.Life.Phase != plan.Ended {
			busy[r.Life.Remote.Worker]++
		}
	}
	return busy
}

// Choose returns the worker for a job, nil for none now; c says why.
func (l *List) Choose(wish remote.Wish, busy map[string]int) (w *Worker, c remote.Choice) {
	all := make([]remote.Candidate, len(l.Workers))
	for i := range l.Workers {
		all[i] = l.Workers[i].candidate(busy)
		if !l.Serving() {
			all[i].Barred, all[i].Returns = "gl serve isn't running", l.Workers[i].returns()
		}
	}
	c = remote.DefaultPolicy.Choose(all, wish)
	return l.Find(c.Worker), c
}

func (w *Worker) candidate(busy map[string]int) remote.Candidate {
	c := remote.Candidate{Name: w.Name, Kept: w.Hello.Lineages, Used: busy[w.Name],
		Barred: remote.Text(w.Barred()), Returns: w.returns()}
	if w.Hello.Boot > 0 { // otherwise it wasn't heard of since gl serve began
		c.Hello = &w.Hello
	}
	return c
}
