package debugreport

import (
	"greenlight/internal/base/jsondoc"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
)

// A Task is the part of gl debug about a task.
type Task struct {
	ID       string        `json:"id"`
	Attempts []TaskAttempt `json:"attempts"` // the last attempts, newest first
	Log      Log           `json:"log"`      // of the newest attempt
}

// A TaskAttempt is an attempt at a task.
type TaskAttempt struct {
	attempt.Info
	Prompt  string  `json:"prompt"`
	Summary *string `json:"summary"` // file for its summary, relative to the root
	// state of the attempt's gl process; null once the attempt is settled
	Process *string `json:"process"`
}

func newTask(pr *project.Project, id string, recs []*attempt.Record) *Task {
	t := &Task{ID: id, Attempts: []TaskAttempt{}, Log: *newLog(pr, recs[0])}
	for _, r := range recs {
		a := TaskAttempt{Info: r.Info(), Prompt: r.Job.Prompt, Summary: jsondoc.OrNull(r.Task.Summary)}
		if r.Life.Phase != plan.Settled {
			a.Process = jsondoc.OrNull(r.Life.State().String())
		}
		t.Attempts = append(t.Attempts, a)
	}
	return t
}
