// Package gsd is the state of the GSD workflow: .planning/STATE.md with its loose frontmatter and Markdown body,
// ROADMAP.md, and the phase directories beside them.
//
// Reading never fails: whatever is in the file, what can be understood is returned and the rest is left alone. Writing
// changes the bytes it must and no other, under the lock that GSD's own tools take.
//
// The package doesn't own what a phase's state means for a run (package plan), and prints nothing.
package gsd
