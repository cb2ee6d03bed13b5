// Package slice is Greenlight's own state: one Markdown file per slice with flat frontmatter, GRAPH.json for the
// dependencies, project-state.json for what belongs to no slice, and STATE.md, the view generated from them. It owns how
// these files are read, edited byte by byte and rendered. Store is the tracker.
//
// Dir, StateMD and the ids are what package legacy, the tracker of the older format, shares with it; MigrateFrom turns
// such a project into one of slice files.
//
// Every change is made under the project's kernel lock, which orders the processes of gl, and compares what it read with
// what is there just before it writes, which notices agents and editors that take no lock. No lock is held while a
// process runs.
//
// The package doesn't own what the state means (package plan), who may change it when (package attempt), or how bytes
// get onto the disk (package durable).
package slice
