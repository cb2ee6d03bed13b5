package lane

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"greenlight/internal/base/text/conflict"
	"greenlight/internal/core/gate"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/contracts"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/drift"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// An inspector finds what a work has changed of its tests, of the contracts and of the runner's
// configuration. It reads git's objects and moves nothing.
type inspector struct {
	project  *project.Project // nil in tests: no command, nothing allowed
	repo     *worktree.Repo
	trees    *trees
	compares *drift.Comparer // see comparer
}

// inspect finds committed conflict marks, and tests, contracts and configuration of the runner that
// differ from the hand-over or from the base. changed are the paths in which the merge differs from
// its base.
func (ins *inspector) inspect(ctx context.Context, w *work, changed []string) error {
	handed, err := ins.handedOver(ctx, w.lineage)
	if err != nil {
		return err
	}
	return ins.inspectAgainst(ctx, w, changed, handed)
}

// inspectAgainst is inspect with a hand-over, "" for none.
func (ins *inspector) inspectAgainst(ctx context.Context, w *work, changed []string,
	handed string) error {
	base, err := ins.trees.files(ctx, w.base)
	if err != nil {
		return err
	}
	merged, err := ins.trees.files(ctx, w.tree)
	if err != nil {
		return err
	}
	marked, err := ins.marked(ctx, base, merged, changed)
	if err != nil {
		return err
	}
	c := ins.comparer()
	if err := c.UseCommand(ctx, base, merged); err != nil {
		return err
	}
	p, err := ins.promised(ctx, w, base, handed)
	if err != nil {
		return err
	}
	w.caveats, w.survey.unseen, w.survey.compared, w.survey.handed, w.survey.found = p.caveats(),
		p.unseen(), p.compared(w.base), p.commit, nil
	for _, name := range marked {
		w.survey.found = append(w.survey.found, gate.Item{Kind: gate.Marks, Name: name,
			ID: merged[name].ID, Red: true})
	}
	found, err := c.Find(ctx, &p.Promise, base, merged, changed, w.survey.found)
	w.survey.found = append(w.survey.found, found...)
	if w.survey.allowed = nil; ins.project != nil {
		w.survey.allowed = drift.Allowed(ins.project.Config.Test.Removable, w.survey.found,
			ins.repo.Git.Prefix)
	}
	return err
}

// comparer returns what compares states of the project by its test command.
func (ins *inspector) comparer() *drift.Comparer {
	if ins.compares == nil {
		ins.compares = &drift.Comparer{Prefix: ins.repo.Git.Prefix,
			Read: func(ctx context.Context, ids []string, most int64,
				f func(string, []byte) error) error {
				return git.Blobs(ctx, ins.repo.Git.Common, ids, most, f)
			}}
	}
	ins.compares.Command = ""
	if ins.project != nil {
		ins.compares.Command = ins.project.Config.Test.Command.Line
	}
	return ins.compares
}

// unlocks returns a function that reports whether a slice replaces wrapped code. A project that
// can't be read unlocks nothing.
func (ins *inspector) unlocks(id string) func() bool {
	return sync.OnceValue(func() bool {
		p, err := ins.project.Plan(now(), ins.project.Options())
		if err != nil {
			return false
		}
		st := p.State(id)
		return st != nil && len(st.Wraps) > 0
	})
}

// unlocksOf is unlocks for an attempt: its claim has recorded the answer.
func (ins *inspector) unlocksOf(r *attempt.Record) func() bool {
	if r.Conditions.Terms == nil {
		return ins.unlocks(r.ID.Slice)
	}
	return func() bool { return r.Conditions.Terms.Wraps }
}

// marked lists the changed files that have the marks of an unfinished merge and didn't have them in
// the base.
func (ins *inspector) marked(ctx context.Context, base, merged map[string]git.File,
	changed []string) ([]string, error) {
	paths := slices.DeleteFunc(slices.Clone(changed),
		func(p string) bool { return !merged[p].IsRegular() })
	now, err := ins.haveMarks(ctx, merged, paths)
	if err != nil {
		return nil, err
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return !now[merged[p].ID] })
	before, err := ins.haveMarks(ctx, base, slices.DeleteFunc(slices.Clone(paths),
		func(p string) bool { return !base[p].IsRegular() }))
	// a test of merges, say
	return slices.DeleteFunc(paths, func(p string) bool { return before[base[p].ID] }), err
}

// haveMarks returns the ids of the files that have marks.
func (ins *inspector) haveMarks(ctx context.Context, files map[string]git.File,
	paths []string) (map[string]bool, error) {
	ids := make([]string, len(paths))
	for i, p := range paths {
		ids[i] = files[p].ID
	}
	have := map[string]bool{}
	err := git.Blobs(ctx, ins.repo.Git.Common, ids, drift.MostBytes,
		func(id string, text []byte) error {
			if bytes.Contains(text, []byte("<<<<<<<")) && bytes.IndexByte(text, 0) < 0 {
				line, _ := conflict.Find(string(text))
				have[id] = line > 0
			}
			return nil
		})
	return have, err
}

// A promise is a drift.Promise with the hand-over that it is from. Each path is as it was when it
// was first handed over.
type promise struct {
	drift.Promise

	commit string // of the hand-over; "" for none
}

// caveats returns what isn't proven, for people.
func (p *promise) caveats() (list []string) {
	if !p.Tests {
		list = append(list, "no tests were handed over, so gl only looked for deleted tests and changes of their runner's configuration")
	}
	return append(list, p.unseen()...)
}

// unseen returns the caveats about what couldn't be compared.
func (p *promise) unseen() []string {
	if len(p.Free) == 0 {
		return nil
	}
	return []string{"tests that conflict with merged work couldn't be compared: " +
		some(sorted(p.Free))}
}

// compared names what the tests are compared with.
func (p *promise) compared(base string) string {
	if !p.Handed {
		return "the base " + short(base) + "; no tests were handed over"
	}
	return "the base " + short(base) + " and the hand-over " + short(p.commit)
}

// promised returns the promise of the work; base are the files it is merged into, handed is the
// commit of the hand-over, "" for none.
func (ins *inspector) promised(ctx context.Context, w *work, base map[string]git.File,
	handed string) (*promise, error) {
	p := &promise{Promise: drift.Promise{Want: base, Free: map[string]bool{}, Unlocks: w.unlocks}}
	if handed == "" {
		return p, nil
	}
	p.Handed, p.commit = true, handed
	chain, err := git.FirstParents(ctx, ins.repo.Git.Common, handed) // the newest first
	if err != nil {
		return nil, err
	}
	started, err := git.Files(ctx, ins.repo.Git.Common, w.lineage.Base)
	if err != nil {
		return nil, err
	}
	p.Later = drift.Files{}
	first, err := ins.firstHanded(ctx, chain, started, p.Later)
	if err != nil {
		return nil, err
	}
	var both []string // changed on both sides, differently
	p.Want = map[string]git.File{}
	for name, is := range base {
		p.Want[name] = is
	}
	for name, f := range first {
		was, is := started[name], base[name]
		p.Tests = p.Tests || f != was && f != (git.File{}) && ins.comparer().IsTest(name)
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
	return p, ins.mergeBoth(ctx, w, p, base, first, both)
}

// firstHanded returns the protected files as they were when they were first handed over, by the
// commits of the hand-overs, the newest first. What started had and the hand-overs lack is empty.
func (ins *inspector) firstHanded(ctx context.Context, chain []string,
	started map[string]git.File, later drift.Files) (map[string]git.File, error) {
	first := map[string]git.File{}
	for i, c := range chain {
		files, err := git.Files(ctx, ins.repo.Git.Common, c)
		if err != nil {
			return nil, err
		}
		for name, f := range files {
			if ins.comparer().Protects(name) {
				first[name] = f // an older one wins
			}
		}
		if i == len(chain)-1 {
			ins.heldBack(first, started, files, later)
		}
	}
	for name := range started {
		if _, kept := first[name]; !kept && ins.comparer().Protects(name) {
			first[name] = git.File{} // removed before they were handed over
		}
	}
	return first, nil
}

// heldBack moves from first to later what decides how tests run and was neither in the oldest
// hand-over nor where the work started. The tests had run without it, so the agent may have added
// it to make them pass.
func (ins *inspector) heldBack(first, started, oldest, later map[string]git.File) {
	for name, f := range first {
		_, before := started[name]
		_, there := oldest[name]
		if !before && !there && ins.comparer().Runs(name) {
			later[name] = f
			delete(first, name)
		}
	}
}

// mergeBoth merges the hand-over with what has landed at the same paths. A merge in memory needs a
// history, so the hand-over becomes a commit on the start of the work.
func (ins *inspector) mergeBoth(ctx context.Context, w *work, p *promise,
	base, first map[string]git.File, both []string) error {
	for len(both) > 0 {
		tree, err := git.TreeWith(ctx, ins.repo.Git.Common, w.lineage.Base, first)
		if err != nil {
			return err
		}
		commit, err := git.CommitTree(ctx, ins.repo.Git.Common,
			git.NewCommit{Tree: tree, Parents: []string{w.lineage.Base},
				Message: "gl: tests of " + w.lineage.Slice})
		if err != nil {
			return err
		}
		merged, conflicts, err := git.MergeTree(ctx, ins.repo.Git.Common, w.base, commit,
			statedir.InState)
		if err != nil {
			return err
		}
		if len(conflicts) == 0 {
			p.Want, err = git.Files(ctx, ins.repo.Git.Common, merged)
			return err
		}
		for _, name := range conflicts {
			p.Free[name] = true
		}
		rest := slices.DeleteFunc(slices.Clone(both), func(name string) bool {
			return p.Free[name]
		})
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

// needsReview returns why a person has to review a work before it lands, "" if none has to.
func (ins *inspector) needsReview(w *work) (string, error) {
	if w.rec.Accepted() || w.rec.ID.IsTask() {
		return "", nil
	}
	return ins.project.Approvals().OfAttempt(w.rec, contracts.ReadBook(ins.project.Root),
		contracts.ReadBook(ins.repo.Layout.Dir(w.lineage)))
}

// survey finds how the tests differ, and whether a person has to review.
func (ins *inspector) survey(ctx context.Context, w *work, changed []string) error {
	if err := ins.inspect(ctx, w, changed); err != nil {
		return err
	}
	var err error
	w.survey.review, err = ins.needsReview(w)
	return err
}

// handedOver returns the commit of the tests that were handed over, "" for none. Agents can write
// git's note of it, so gl's own note of the first hand-over counts, and what builds on that.
func (ins *inspector) handedOver(ctx context.Context, lineage *worktree.Lineage) (string, error) {
	commit, err := ins.repo.Snapshots.HandedOver(ctx, lineage)
	if err != nil || ins.project == nil {
		return commit, err
	}
	first := ins.project.Runs.Proofs.Handed(lineage.System, lineage.Slice, lineage.N)
	if first == "" || first == commit {
		return commit, nil
	}
	if commit == "" {
		return first, nil
	}
	chain, err := git.FirstParents(ctx, ins.repo.Git.Common, commit)
	if err != nil || !slices.Contains(chain, first) {
		return first, nil
	}
	return commit, nil
}
