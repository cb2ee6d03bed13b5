package drain

import (
	"os"
	"time"

	"greenlight/internal/run/attempt"
	"greenlight/internal/run/notify"
	"greenlight/internal/state/journal"
)

// goodbye is how long the end of a drain waits for the last notifications.
const goodbye = 3 * time.Second

// startNotifier begins to tell people what the journal says. One that leads also tells what a killed drain hasn't told.
func (d *drain) startNotifier() {
	if len(d.cfg.Output.Channels) == 0 {
		return
	}
	n, err := notify.Start(notify.Config{Journal: d.cfg.Project.Runs.Journal(), Root: d.cfg.Project.Root, Kinds: d.cfg.Project.Config.Notify.Events,
		Channels: d.cfg.Output.Channels, Past: d.cfg.Mode.Lead, Mine: d.tells})
	if err != nil {
		d.report(Report{Warnings: []string{"no notifications: " + err.Error()}})
		return
	}
	d.notifier = n
}

// tells says whether an event is for this drain to tell. One that leads tells all; one that was started for slices or a task tells
// theirs. The end of a drain is its own.
func (d *drain) tells(e journal.Event) bool {
	switch {
	case e.Kind == journal.DrainEnded:
		return e.PID == os.Getpid() && !e.Time.Before(d.began.Add(-time.Second))
	case d.cfg.Mode.Lead:
		return d.leadership.ours
	case e.Slice == "" || e.Kind == journal.Held:
		return true
	case d.cfg.Scope.Task != nil:
		return e.Slice == attempt.TaskID(d.cfg.Scope.Task.Name)
	}
	return d.tried[e.Slice]
}

// notify has told what has happened since it was called last.
func (d *drain) notify(r *Report) {
	if d.notifier == nil || !d.leadership.ours {
		return
	}
	if err := d.notifier.Look(); err != nil && err.Error() != d.journalErr {
		d.journalErr = err.Error()
		r.Warnings = append(r.Warnings, "no notifications, since the journal can't be read: "+err.Error())
	}
	r.Warnings = append(r.Warnings, d.notifier.Trouble()...)
}

// stopNotifier tells the rest.
func (d *drain) stopNotifier() {
	if d.notifier == nil {
		return
	}
	var r Report
	d.notify(&r)
	d.notifier.Close(goodbye)
	if r.Warnings = append(r.Warnings, d.notifier.Trouble()...); len(r.Warnings) > 0 {
		d.report(r)
	}
}
