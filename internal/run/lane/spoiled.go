package lane

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"greenlight/internal/base/text/conflict"
	"greenlight/internal/core/gate"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/drift"
	"greenlight/internal/workspace/git"
)

// inspect finds what isn't as it must be in a work: conflict marks that were committed, and tests, contracts and the runner's configuration
// that differ from what was handed over, or from the base. changed are the paths that the merge has otherwise than its base.
func (l *Lane) inspect(ctx context.Context, w *work, changed []string) error {
	handed, err := l.handedOver(ctx, w.lineage)
	if err != nil {
		return err
	}
	return l.inspectAgainst(ctx, w, changed, handed)
}

// inspectAgainst is inspect with a hand-over, "" for none.
func (l *Lane) inspectAgainst(ctx context.Context, w *work, changed []string, handed string) error {
	base, err := l.files(ctx, w.base)
	if err != nil {
		return err
	}
	merged, err := l.files(ctx, w.tree)
	if err != nil {
		return err
	}
	marked, err := l.marked(ctx, base, merged, changed)
	if err != nil {
		return err
	}
	c := l.comparer()
	if err := c.UseCommand(ctx, base, merged); err != nil {
		return err
	}
	p, err := l.promised(ctx, w, base, handed)
	if err != nil {
		return err
	}
	w.caveats, w.unseen, w.compared, w.handed, w.found = p.caveats(), p.unseen(), p.compared(w.base), p.commit, nil
	for _, name := range marked {
		w.found = append(w.found, gate.Item{Kind: gate.Marks, Name: name, ID: merged[name].ID, Red: true})
	}
	found, err := c.Find(ctx, &p.Promise, base, merged, changed, w.found)
	w.found = append(w.found, found...)
	if w.allowed = nil; l.Project != nil {
		w.allowed = drift.Allowed(l.Project.Config.Test.Removable, w.found, l.Repo.Git.Prefix)
	}
	return err
}

// comparer compares states of the project by its test command.
func (l *Lane) comparer() *drift.Comparer {
	if l.compares == nil {
		l.compares = &drift.Comparer{Prefix: l.Repo.Git.Prefix, Read: func(ctx context.Context, ids []string, most int64, f func(string, []byte) error) error {
			return git.Blobs(ctx, l.Repo.Git.Common, ids, most, f)
		}}
	}
	l.compares.Command = ""
	if l.Project != nil {
		l.compares.Command = l.Project.Config.Test.Command.Line
	}
	return l.compares
}

// unlocks says, once it is asked, whether a slice replaces wrapped code. A project that can't be read unlocks nothing.
func (l *Lane) unlocks(id string) func() bool {
	return sync.OnceValue(func() bool {
		p, err := l.Project.Plan(now(), l.Project.Options())
		if err != nil {
			return false
		}
		st := p.State(id)
		return st != nil && len(st.Wraps) > 0
	})
}

// unlocksOf is unlocks for an attempt: what counts is how the slice stood when it was claimed.
func (l *Lane) unlocksOf(r *attempt.Record) func() bool {
	if r.Terms == nil {
		return l.unlocks(r.Slice)
	}
	return func() bool { return r.Terms.Wraps }
}

// marked lists the changed files that have the marks of an unfinished merge, and hadn't.
func (l *Lane) marked(ctx context.Context, base, merged map[string]git.File, changed []string) ([]string, error) {
	paths := slices.DeleteFunc(slices.Clone(changed), func(p string) bool { return !merged[p].IsRegular() })
	now, err := l.haveMarks(ctx, merged, paths)
	if err != nil {
		return nil, err
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return !now[merged[p].ID] })
	before, err := l.haveMarks(ctx, base, slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !base[p].IsRegular() }))
	return slices.DeleteFunc(paths, func(p string) bool { return before[base[p].ID] }), err // a test of merges, say
}

// haveMarks are the ids of those of the files that have marks.
func (l *Lane) haveMarks(ctx context.Context, files map[string]git.File, paths []string) (map[string]bool, error) {
	ids := make([]string, len(paths))
	for i, p := range paths {
		ids[i] = files[p].ID
	}
	have := map[string]bool{}
	err := git.Blobs(ctx, l.Repo.Git.Common, ids, drift.MostBytes, func(id string, text []byte) error {
		if bytes.Contains(text, []byte("<<<<<<<")) && bytes.IndexByte(text, 0) < 0 {
			line, _ := conflict.Find(string(text))
			have[id] = line > 0
		}
		return nil
	})
	return have, err
}

// A promise is a drift.Promise with the hand-over that it is from. A path is as it was when it was handed over first.
type promise struct {
	drift.Promise

	commit string // of the hand-over; "" for none
}

// caveats are what isn't proven, for people.
func (p *promise) caveats() (list []string) {
	if !p.Tests {
		list = append(list, "no tests were handed over: only deletions of tests and changes of their runner's configuration count")
	}
	return append(list, p.unseen()...)
}

// unseen are the caveats about what couldn't be compared.
func (p *promise) unseen() []string {
	if len(p.Free) == 0 {
		return nil
	}
	return []string{"tests that don't merge with what has landed couldn't be compared: " + some(sorted(p.Free))}
}

// compared says with what tests are compared.
func (p *promise) compared(base string) string {
	if !p.Handed {
		return "the base " + short(base) + "; no tests were handed over"
	}
	return "the base " + short(base) + " and the hand-over " + short(p.commit)
}

// promised is the promise of the work; base are the files of what it is merged into, handed is the commit of the hand-over, "" for none.
func (l *Lane) promised(ctx context.Context, w *work, base map[string]git.File, handed string) (*promise, error) {
	p := &promise{Promise: drift.Promise{Want: base, Free: map[string]bool{}, Unlocks: w.unlocks}}
	if handed == "" {
		return p, nil
	}
	p.Handed, p.commit = true, handed
	chain, err := git.FirstParents(ctx, l.Repo.Git.Common, handed) // the newest first
	if err != nil {
		return nil, err
	}
	started, err := git.Files(ctx, l.Repo.Git.Common, w.lineage.Base)
	if err != nil {
		return nil, err
	}
	first := map[string]git.File{}
	p.Later = drift.Files{}
	for i, c := range chain {
		files, err := git.Files(ctx, l.Repo.Git.Common, c)
		if err != nil {
			return nil, err
		}
		for name, f := range files {
			if l.comparer().Protects(name) {
				first[name] = f // an older one wins
			}
		}
		if i == len(chain)-1 {
			l.heldBack(first, started, files, p.Later)
		}
	}
	for name := range started {
		if _, kept := first[name]; !kept && l.comparer().Protects(name) {
			first[name] = git.File{} // removed before they were handed over
		}
	}
	var both []string // changed on both sides, differently
	p.Want = map[string]git.File{}
	for name, is := range base {
		p.Want[name] = is
	}
	for name, f := range first {
		was, is := started[name], base[name]
		p.Tests = p.Tests || f != was && f != (git.File{}) && l.comparer().IsTest(name)
		switch {
		case is == was:
			p.Want[name] = f
		case f != was && f != is:
			both = append(both, name)
		}
		if p.Want[name] == (git.File{}) {
			delete(p.Want, name)
		}
	}
	return p, l.mergeBoth(ctx, w, p, base, first, both)
}

// heldBack moves from first to later what decides how tests run and wasn't in the oldest hand-over, nor where the work started. Tests had been
// seen to run without it, and its agent may have made them pass by it.
func (l *Lane) heldBack(first, started, oldest, later map[string]git.File) {
	for name, f := range first {
		_, before := started[name]
		_, there := oldest[name]
		if !before && !there && l.comparer().Runs(name) {
			later[name] = f
			delete(first, name)
		}
	}
}

// mergeBoth merges what was handed over where something has landed at the same paths. A merge in memory needs a history: the hand-over
// as a commit on what the slice began with.
func (l *Lane) mergeBoth(ctx context.Context, w *work, p *promise, base, first map[string]git.File, both []string) error {
	for len(both) > 0 {
		tree, err := git.TreeWith(ctx, l.Repo.Git.Common, w.lineage.Base, first)
		if err != nil {
			return err
		}
		commit, err := git.CommitTree(ctx, l.Repo.Git.Common, git.NewCommit{Tree: tree, Parents: []string{w.lineage.Base}, Message: "gl: tests of " + w.Work()})
		if err != nil {
			return err
		}
		merged, conflicts, err := git.MergeTree(ctx, l.Repo.Git.Common, w.base, commit, statedir.InState)
		if err != nil {
			return err
		}
		if len(conflicts) == 0 {
			p.Want, err = git.Files(ctx, l.Repo.Git.Common, merged)
			return err
		}
		for _, name := range conflicts {
			p.Free[name] = true
		}
		rest := slices.DeleteFunc(slices.Clone(both), func(name string) bool { return p.Free[name] })
		if len(rest) == len(both) { // they conflict under another name
			for _, name := range both {
				p.Free[name] = true
			}
			return nil
		}
		for _, name := range both {
			if p.Free[name] {
				first[name] = base[name]
			}
		}
		both = rest
	}
	return nil
}
