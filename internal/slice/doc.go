// Package slice is Greenlight's own state format: one Markdown file per slice with flat frontmatter, GRAPH.json for the
// dependencies, project-state.json for what belongs to no slice, and STATE.md, the view generated from them. It owns how
// these files are read, edited byte by byte and rendered, and it implements tracker.Tracker.
//
// It doesn't own what the state means (package plan), who may change it when (package attempt), or how bytes get onto
// the disk (package durable). Legacy projects, which have nothing but a STATE.md, are only read.
package slice
