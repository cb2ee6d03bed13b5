// Package workdoc has the JSON documents about the work on a slice: its diff and the log of an
// attempt. gl diff and gl logs print them, and the pages of gl web have them at their addresses.
package workdoc

import (
	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/paths"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
)

// A Diff is what a slice has changed.
type Diff struct {
	SchemaVersion int    `json:"schema_version"`
	Slice         string `json:"slice"`
	// location of the work
	Of lane.DiffOf `json:"of" jsonschema:"enum=worktree,enum=branch,enum=landed"`
	// null for merged work
	Branch *string `json:"branch"`
	// commit
	From string `json:"from"`
	// tree; its differences from the commit's tree are what the slice changed
	To string `json:"to"`
	// some of it isn't committed
	Uncommitted bool `json:"uncommitted"`
	Files       int  `json:"files"`
	Insertions  int  `json:"insertions"`
	Deletions   int  `json:"deletions"`
}

// NewDiff returns the document of a diff.
func NewDiff(d *lane.Diff) Diff {
	return Diff{1, d.Slice, d.Of, jsondoc.OrNull(d.Branch), d.From, d.To,
		d.Uncommitted, d.Stat.Files, d.Stat.Insertions, d.Stat.Deletions}
}

// A Log is an attempt and its log so far, or a part of it.
type Log struct {
	SchemaVersion int          `json:"schema_version"`
	Slice         string       `json:"slice"` // or the id of a task
	Attempt       attempt.Info `json:"attempt"`
	File          string       `json:"file"`   // the log, relative to the root; it may be gone
	Events        []Event      `json:"events"` // so far, if the attempt is running
}

// An Event is what the agent did or said.
type Event struct {
	Kind agent.Kind `json:"kind"`
	Text string     `json:"text"` // control characters are escaped
	By   *string    `json:"by"`   // the sub-agent; null for the agent itself
}

// NewLog returns the document of an attempt's log, without events.
func NewLog(pr *project.Project, rec *attempt.Record) Log {
	path := pr.Runs.Files.Log(rec.ID.Slice, rec.ID.N)
	return Log{1, rec.ID.Slice, rec.Info(), paths.Relative(pr.Root, path), []Event{}}
}

// Add adds an event.
func (l *Log) Add(ev agent.Event) {
	l.Events = append(l.Events, Event{ev.Kind, ev.Text, jsondoc.OrNull(ev.By)})
}
