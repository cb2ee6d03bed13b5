// Package drift finds how the tests of a project, their runner's configuration and the files that
// the test command runs differ between two states of the project's files. Package gate decides what
// that means.
package drift

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"greenlight/internal/core/gate"
	"greenlight/internal/state/guard"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// Files are the files of a state, by path relative to the repository's top.
type Files = map[string]git.File

// A Comparer compares states of one project's files.
type Comparer struct {
	Prefix  string // of the project below the repository's top; "" for the top
	Command string // the test command; "" for none
	Read    Reader

	runs     map[string]bool   // files that the test command runs: see UseCommand
	contents map[string][]byte // of some files, by id
}

// A Reader calls f with the content of each file that has one of the ids. Those of more than most
// bytes are left out.
type Reader func(ctx context.Context, ids []string, most int64,
	f func(id string, text []byte) error) error

// A Promise is how tests, what they compare with, their runner's configuration and the contracts
// have to be: as they were handed over, merged with what was merged before since.
type Promise struct {
	Handed  bool        // there was a hand-over; else only deletions of tests count
	Tests   bool        // and it brought tests
	Want    Files       // also what needn't stay
	Unlocks func() bool // tests that lock wrapped code may be gone; nil for no
	// Free are paths that may be anything: the handover and what has landed don't merge there.
	Free map[string]bool
	// Later decides how tests run and was first handed over later: a person has to review it.
	Later Files
}

// breaks reports whether a new file that decides how tests run makes the work red. One from a later
// handover doesn't.
func (p *Promise) breaks(name string, is git.File) bool { return p.Tests && p.Later[name] != is }

// unlocked reports whether a file is a lock file that may be missing.
func (c *Comparer) unlocked(p *Promise, name string) bool {
	return guard.IsLock(c.InProject(name)) && p.Unlocks != nil && p.Unlocks()
}

// Find lists the differences from the promise, and from the base. changed are the paths that differ
// between base and now. except are items that were found otherwise: their files aren't searched for
// missing tests.
func (c *Comparer) Find(ctx context.Context, p *Promise, base, now Files, changed []string,
	except []gate.Item) ([]gate.Item, error) {
	found, err := c.Broken(ctx, p, now)
	if err != nil {
		return nil, err
	}
	handed, err := c.handedChanges(ctx, p, base, now)
	if err != nil {
		return nil, err
	}
	found = append(found, handed...)
	told := slices.Concat(except, found)
	gone, err := c.gone(ctx, base, now, changed, func(name string) bool {
		return c.unlocked(p, name) ||
			slices.ContainsFunc(told, func(i gate.Item) bool { return i.Name == name })
	})
	return append(found, gone...), err
}

// Broken lists, by path, where a tree doesn't keep a promise.
func (c *Comparer) Broken(ctx context.Context, p *Promise, tree Files) ([]gate.Item, error) {
	var items []gate.Item
	var parts []string
	add := func(kind gate.Kind, name string, red bool) {
		items = append(items, gate.Item{Kind: kind, Name: name, ID: tree[name].ID, Red: red})
	}
	kind := gate.Runner
	if p.Handed {
		kind = gate.Changed
	}
	for name, was := range p.Want {
		is, there := tree[name]
		switch {
		case p.Free[name] || there && is == was || statedir.InState(name):
		case !there && c.unlocked(p, name):
		case guard.HasRunnerPart(name), c.isRun(name):
			parts = append(parts, name)
		case guard.RunnerConfig(name):
			add(kind, name, true)
		case p.Handed &&
			(c.IsTest(name) || guard.IsTestData(c.InProject(name)) || c.isContracts(name)):
			add(gate.Changed, name, true)
		}
	}
	for name := range tree {
		_, promised := p.Want[name]
		switch {
		case promised || p.Free[name] || statedir.InState(name):
		case c.isRun(name), guard.HasRunnerPart(name) && path.Base(name) != guard.PackageFile:
			parts = append(parts, name)
		case guard.RunnerConfig(name) && path.Base(name) != guard.PackageFile:
			// Tests were seen to run without it, so its agent is to put it right.
			add(gate.Runner, name, p.breaks(name, tree[name]))
		}
	}
	changed, err := c.parts(ctx, p, tree, parts)
	items = append(items, changed...)
	slices.SortFunc(items, func(a, b gate.Item) int { return strings.Compare(a.Name, b.Name) })
	return items, err
}

// parts lists the paths in which the part that decides how tests run isn't as promised.
func (c *Comparer) parts(ctx context.Context, p *Promise, tree Files,
	names []string) ([]gate.Item, error) {
	var items []gate.Item
	var ids []string
	for _, name := range names {
		for _, f := range []git.File{p.Want[name], tree[name]} {
			if f.IsRegular() {
				ids = append(ids, f.ID)
			}
		}
	}
	if err := c.fetch(ctx, ids); err != nil {
		return nil, err
	}
	for _, name := range names {
		was, err := c.runPart(ctx, name, p.Want[name])
		if err != nil {
			return nil, err
		}
		is, err := c.runPart(ctx, name, tree[name])
		if err != nil {
			return nil, err
		}
		script := c.isRun(name) && c.runs[c.InProject(name)]
		i := gate.Item{Kind: gate.Runner, Name: name, ID: tree[name].ID, Red: was != "" ||
			p.breaks(name, tree[name])}
		switch {
		case was == is, was == "" && path.Base(name) == guard.PackageFile: // nothing was promised
			continue
		// A new one counts, too: it decides what "verified" means for later work.
		case c.isRun(name) && !guard.RunnerConfig(name):
			i.Kind, i.Red = gate.Command, p.Handed && script
		case p.Handed:
			i.Kind = gate.Changed
		}
		items = append(items, i)
	}
	return items, nil
}

// handedChanges lists what decides how tests run and was changed by the handover: its agent may
// have weakened it.
func (c *Comparer) handedChanges(ctx context.Context, p *Promise, base,
	merged Files) ([]gate.Item, error) {
	if !p.Handed {
		return nil, nil
	}
	var names, ids []string
	for name, was := range base {
		is := merged[name]
		if is == was || p.Want[name] != is || p.Free[name] || !c.Runs(name) ||
			statedir.InState(name) {
			continue
		}
		names = append(names, name)
		for _, f := range []git.File{was, is} {
			if f.IsRegular() {
				ids = append(ids, f.ID)
			}
		}
	}
	if err := c.fetch(ctx, ids); err != nil {
		return nil, err
	}
	var items []gate.Item
	slices.Sort(names)
	for _, name := range names {
		before, err := c.runPart(ctx, name, base[name])
		if err != nil {
			return nil, err
		}
		after, err := c.runPart(ctx, name, merged[name])
		if err != nil {
			return nil, err
		}
		if before == after || before == "" {
			continue
		}
		kind := gate.Runner
		if c.isRun(name) {
			kind = gate.Command
		}
		items = append(items, gate.Item{Kind: kind, Name: name, ID: merged[name].ID})
	}
	return items, nil
}

// runPart returns the part of a file that decides how tests run; "" for nothing, and for no file.
func (c *Comparer) runPart(ctx context.Context, name string, f git.File) (string, error) {
	if !f.IsRegular() {
		return f.Mode + f.ID, nil
	}
	text, err := c.text(ctx, f.ID)
	switch {
	case err != nil:
		return "", err
	case c.isRun(name):
		return guard.RunText(name, c.Command, text) + guard.RunnerPart(name, text), nil
	case guard.HasRunnerPart(name):
		return guard.RunnerPart(name, text), nil
	}
	return f.ID, nil
}

// isRun reports whether the test command runs a file.
func (c *Comparer) isRun(name string) bool {
	_, runs := c.runs[c.InProject(name)]
	return runs && c.InProject(name) != name == (c.Prefix != "")
}

// Runs reports whether a file decides how tests run: the runner's configuration, or what the test
// command runs.
func (c *Comparer) Runs(name string) bool { return c.isRun(name) || guard.RunnerConfig(name) }

// UseCommand finds the files that the test command runs in any of the states, by their paths in the
// project, and whether they are scripts.
func (c *Comparer) UseCommand(ctx context.Context, states ...Files) error {
	c.runs = map[string]bool{}
	var failed error
	for _, files := range states {
		for _, f := range guard.CommandFiles(c.Command, func(rel string) ([]byte, bool) {
			f := files[path.Join(c.Prefix, rel)]
			if !f.IsRegular() {
				return nil, false
			}
			text, err := c.text(ctx, f.ID)
			failed = errors.Join(failed, err)
			return text, err == nil
		}) {
			c.runs[f.Path] = c.runs[f.Path] || f.Script
		}
	}
	return failed
}

// mostTexts bounds how many contents of files are kept: those that the test command runs are needed
// for each work.
const mostTexts = 64

// text returns the content of a file by its id.
func (c *Comparer) text(ctx context.Context, id string) ([]byte, error) {
	err := c.fetch(ctx, []string{id})
	return c.contents[id], err
}

// fetch reads the contents of files that aren't known yet.
func (c *Comparer) fetch(ctx context.Context, ids []string) error {
	ids = slices.DeleteFunc(slices.Clone(ids),
		func(id string) bool { _, known := c.contents[id]; return known })
	if len(ids) == 0 {
		return nil
	}
	if c.contents == nil || len(c.contents) >= mostTexts {
		c.contents = map[string][]byte{}
	}
	return c.Read(ctx, ids, MostBytes, func(id string, text []byte) error {
		c.contents[id] = slices.Clone(text)
		return nil
	})
}

// InProject returns a path as the project in the repository knows it. A path relative to the
// repository's top may look like that of a test because of where the project is. Paths outside of
// the project are relative to the top.
func (c *Comparer) InProject(p string) string {
	if rel, inside := strings.CutPrefix(p, c.Prefix+"/"); inside && c.Prefix != "" {
		return rel
	}
	return p
}

// IsTest reports whether a path is a test's.
func (c *Comparer) IsTest(p string) bool { return guard.IsTest(c.InProject(p)) }

// isContracts reports whether a path is the file of contracts. It is protected: an agent that could
// change what was promised would need no test to pass.
func (c *Comparer) isContracts(p string) bool { return guard.IsContracts(c.InProject(p)) }

// Protects reports whether a path must stay as it was when the tests were handed over.
func (c *Comparer) Protects(p string) bool {
	return (c.IsTest(p) || guard.RunnerConfig(p) || c.isRun(p) ||
		guard.IsTestData(c.InProject(p)) || c.isContracts(p)) && !statedir.InState(p)
}

// MostBytes is the size of the largest file that is searched for marks.
const MostBytes = 16 << 20
