// Package gsd owns the state of the GSD workflow: .planning/STATE.md with its loose front
// matter and Markdown body, ROADMAP.md, and the phase directories beside them.
//
// Reading never fails: it returns what it understands and ignores the rest. Writing changes
// only the necessary bytes, under the lock that GSD's own tools use.
//
// The package doesn't own what a phase's state means for a run (package plan), and prints
// nothing.
package gsd
