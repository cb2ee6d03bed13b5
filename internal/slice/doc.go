// Package slice is Greenlight's own state: one Markdown file per slice with flat frontmatter, GRAPH.json for the
// dependencies, project-state.json for what belongs to no slice, and STATE.md, the view generated from them; and the
// older format, in which a hand-written STATE.md is all there is. It owns how these files are read, edited byte by byte,
// rendered and migrated, and it implements tracker.Tracker for both.
//
// Every change is made under the project's kernel lock, which orders the processes of gl, and compares what it read with
// what is there just before it writes, which notices agents and editors that take no lock. No lock is held while a
// process runs.
//
// A legacy project's slice is a row: an edit changes its cells and the lines of the Current section, and keeps in
// .greenlight/runs/legacy.json what the table has no column for. What has no place in either is refused.
//
// The package doesn't own what the state means (package plan), who may change it when (package attempt), or how bytes
// get onto the disk (package durable).
package slice
