// Package slice owns Greenlight's native state: one Markdown file per slice with flat front
// matter, GRAPH.json for the dependencies, project-state.json for what belongs to no slice, and
// STATE.md, the view generated from them. It owns how these files are read, edited byte by byte
// and rendered. Store is the tracker.
//
// Package legacy, the tracker of the older format, shares Dir, StateMD and the ids; MigrateFrom
// converts such a project to slice files.
//
// Every change happens under the project's kernel lock, which orders gl processes. Just before
// writing, it also compares the file with what it read, to detect agents and editors that take
// no lock. The lock is never held while a process runs.
//
// The package doesn't own what the state means (package plan), who may change it when (package
// attempt), or how bytes reach the disk (package durable).
package slice
