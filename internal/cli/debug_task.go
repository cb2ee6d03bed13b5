package cli

import (
	"context"
	"fmt"
	"time"

	"greenlight/internal/attempt"
	"greenlight/internal/attemptlog"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/jsondoc"
	"greenlight/internal/paths"
	"greenlight/internal/plan"
	"greenlight/internal/term"
)

// A debugTask is what gl debug reports about a task.
type debugTask struct {
	ID       string             `json:"id"`
	Attempts []debugTaskAttempt `json:"attempts"` // the last ones, the newest first
	Log      debugLog           `json:"log"`      // of the newest
}

type debugTaskAttempt struct {
	attempt.Info
	Prompt  string  `json:"prompt"`
	Summary *string `json:"summary"` // where its summary belongs, relative to the root
	Process *string `json:"process"` // state of the attempt's gl process; null once it is settled
}

// runDebugTask is gl debug @quick, or @quick.2 for one attempt. It needs no state.
func runDebugTask(ctx context.Context, app *cmdutil.App, id string, n int, asJSON bool) error {
	x := &debugging{app: app, now: time.Now()}
	var err error
	if x.pr, err = app.AnyProject(); err != nil {
		return err
	}
	recs, err := x.taskRecords(id, n)
	if err != nil {
		return err
	}
	doc := debugDoc{SchemaVersion: 1, Root: x.pr.Root, Task: x.task(id, recs), Git: x.git(ctx, "", nil)}
	if h := x.pr.Runs.Hold(); h != nil && x.now.Before(h.Until) {
		doc.Hold = h
	}
	doc.Tests = x.testCommand()
	if asJSON {
		return app.IO.JSON(doc)
	}
	app.IO.Printf("%s\n", app.IO.Paint(term.Bold, id))
	x.section("Attempts")
	for _, r := range recs {
		st := &plan.State{Attempt: &plan.Attempt{N: r.N, Dead: r.Dead()}}
		x.line("%s: %s", r.Prompt, attemptText(st, r, x.now))
		if r.HasSummary(x.pr.Root) {
			x.line("  summary: %s", r.Summary)
		}
	}
	x.line("the end of %s:", doc.Task.Log.File)
	for _, l := range doc.Task.Log.Lines {
		x.line("    %s", l)
	}
	if doc.Hold != nil {
		x.section("Held")
		x.line("%s", heldText(doc.Hold, x.now))
	}
	x.tellGit(&doc)
	return nil
}

// taskRecords are the last attempts at a task, newest first; or the one with the number.
func (x *debugging) taskRecords(id string, n int) ([]*attempt.Record, error) {
	if n > 0 {
		rec, err := findAttempt(x.app, x.pr, id, n)
		return []*attempt.Record{rec}, err
	}
	all, err := x.pr.Runs.Last(id)
	if err == nil && len(all[id]) == 0 {
		err = fmt.Errorf("no attempt here is called %s", id)
	}
	return all[id], err
}

func (x *debugging) task(id string, recs []*attempt.Record) *debugTask {
	t := &debugTask{ID: id, Attempts: []debugTaskAttempt{}}
	for _, r := range recs {
		a := debugTaskAttempt{Info: r.Info(), Prompt: r.Prompt, Summary: jsondoc.OrNull(r.Summary)}
		if r.Phase != plan.Settled {
			a.Process = jsondoc.OrNull(r.State().String())
		}
		t.Attempts = append(t.Attempts, a)
	}
	t.Log = debugLog{Attempt: recs[0].N, File: paths.Relative(x.pr.Root, x.pr.Runs.LogPath(id, recs[0].N)),
		Lines: jsondoc.OrEmpty(attemptlog.End(x.pr.Runs.LogPath(id, recs[0].N), recs[0].Stream, debugLines))}
	return t
}
