package lane

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"

	"greenlight/internal/attempt"
	"greenlight/internal/gate"
	"greenlight/internal/git"
	"greenlight/internal/guard"
	"greenlight/internal/statedir"
	"greenlight/internal/text/conflict"
)

// inspect finds what isn't as it must be in a work: conflict marks that were committed, and tests, contracts and the runner's configuration
// that differ from what was handed over, or from the base. changed are the paths that the merge has otherwise than its base.
func (l *Lane) inspect(ctx context.Context, w *work, changed []string) error {
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
	if l.runs, err = l.commandFiles(ctx, base, merged); err != nil {
		return err
	}
	p, err := l.promised(ctx, w, base)
	if err != nil {
		return err
	}
	w.caveats, w.unseen, w.compared, w.found = p.caveats(), p.unseen(), p.compared(w.base), nil
	for _, name := range marked {
		w.found = append(w.found, gate.Item{Kind: gate.Marks, Name: name, ID: merged[name].ID, Red: true})
	}
	broken, err := l.broken(ctx, p, merged)
	if err != nil {
		return err
	}
	w.found = append(w.found, broken...)
	handed, err := l.handedChanges(ctx, p, base, merged)
	if err != nil {
		return err
	}
	w.found = append(w.found, handed...)
	told := func(name string) bool {
		lock := guard.IsLock(l.inProject(name)) && p.unlocks != nil && p.unlocks()
		return lock || slices.ContainsFunc(w.found, func(i gate.Item) bool { return i.Name == name })
	}
	gone, err := l.gone(ctx, base, merged, changed, told)
	w.found = append(w.found, gone...)
	w.allow(l)
	return err
}

// broken lists, by path, where a tree doesn't keep what was promised.
func (l *Lane) broken(ctx context.Context, p *promise, tree map[string]git.File) ([]gate.Item, error) {
	var items []gate.Item
	var parts []string
	add := func(kind gate.Kind, name string, red bool) {
		items = append(items, gate.Item{Kind: kind, Name: name, ID: tree[name].ID, Red: red})
	}
	kind := gate.Runner
	if p.handed {
		kind = gate.Changed
	}
	for name, was := range p.want {
		is, there := tree[name]
		switch {
		case p.free[name] || there && is == was || statedir.InState(name):
		case !there && guard.IsLock(l.inProject(name)) && p.unlocks != nil && p.unlocks():
		case guard.HasRunnerPart(name), l.isRun(name):
			parts = append(parts, name)
		case guard.RunnerConfig(name):
			add(kind, name, true)
		case p.handed && (l.isTest(name) || guard.IsTestData(l.inProject(name)) || l.isContracts(name)):
			add(gate.Changed, name, true)
		}
	}
	for name := range tree {
		_, promised := p.want[name]
		switch {
		case promised || p.free[name] || statedir.InState(name):
		case l.isRun(name), guard.HasRunnerPart(name) && path.Base(name) != guard.PackageFile:
			parts = append(parts, name)
		case guard.RunnerConfig(name) && path.Base(name) != guard.PackageFile:
			add(gate.Runner, name, p.tests) // with tests that were seen to run without it, its agent is to put it right
		}
	}
	changed, err := l.parts(ctx, p, tree, parts)
	items = append(items, changed...)
	slices.SortFunc(items, func(a, b gate.Item) int { return strings.Compare(a.Name, b.Name) })
	return items, err
}

// parts lists those of the paths in which what decides how tests run isn't as was promised.
func (l *Lane) parts(ctx context.Context, p *promise, tree map[string]git.File, names []string) ([]gate.Item, error) {
	var items []gate.Item
	var ids []string
	for _, name := range names {
		for _, f := range []git.File{p.want[name], tree[name]} {
			if f.IsRegular() {
				ids = append(ids, f.ID)
			}
		}
	}
	if err := l.fetch(ctx, ids); err != nil {
		return nil, err
	}
	for _, name := range names {
		was, err := l.runPart(ctx, name, p.want[name])
		if err != nil {
			return nil, err
		}
		is, err := l.runPart(ctx, name, tree[name])
		if err != nil {
			return nil, err
		}
		script := l.isRun(name) && l.runs[l.inProject(name)]
		i := gate.Item{Kind: gate.Runner, Name: name, ID: tree[name].ID, Red: was != "" || p.tests}
		switch {
		case was == is, was == "" && path.Base(name) == guard.PackageFile: // then nothing was promised
			continue
		case l.isRun(name) && !guard.RunnerConfig(name):
			i.Kind, i.Red = gate.Command, p.handed && script
		case p.handed:
			i.Kind = gate.Changed
		}
		items = append(items, i)
	}
	return items, nil
}

// handedChanges lists what was handed over otherwise than it was before, and decides how tests run: its agent may have weakened it by that.
func (l *Lane) handedChanges(ctx context.Context, p *promise, base, merged map[string]git.File) ([]gate.Item, error) {
	if !p.handed {
		return nil, nil
	}
	var names, ids []string
	for name, was := range base {
		is := merged[name]
		if is == was || p.want[name] != is || p.free[name] || !l.isRun(name) && !guard.RunnerConfig(name) || statedir.InState(name) {
			continue
		}
		names = append(names, name)
		for _, f := range []git.File{was, is} {
			if f.IsRegular() {
				ids = append(ids, f.ID)
			}
		}
	}
	if err := l.fetch(ctx, ids); err != nil {
		return nil, err
	}
	var items []gate.Item
	slices.Sort(names)
	for _, name := range names {
		before, err := l.runPart(ctx, name, base[name])
		if err != nil {
			return nil, err
		}
		after, err := l.runPart(ctx, name, merged[name])
		if err != nil {
			return nil, err
		}
		if before == after || before == "" {
			continue
		}
		kind := gate.Runner
		if l.isRun(name) {
			kind = gate.Command
		}
		items = append(items, gate.Item{Kind: kind, Name: name, ID: merged[name].ID})
	}
	return items, nil
}

// runPart is what of a file decides how tests run; "" for nothing, and for no file.
func (l *Lane) runPart(ctx context.Context, name string, f git.File) (string, error) {
	if !f.IsRegular() {
		return f.Mode + f.ID, nil
	}
	text, err := l.text(ctx, f.ID)
	switch {
	case err != nil:
		return "", err
	case l.isRun(name):
		return guard.RunText(name, l.Project.Config.Test.Command.Line, text) + guard.RunnerPart(name, text), nil
	case guard.HasRunnerPart(name):
		return guard.RunnerPart(name, text), nil
	}
	return f.ID, nil
}

// isRun reports whether the test command runs a file.
func (l *Lane) isRun(name string) bool {
	_, runs := l.runs[l.inProject(name)]
	return runs && l.inProject(name) != name == (l.Repo.Prefix != "")
}

// commandFiles are the files that the test command runs, in one tree or the other, by their paths in the project, and whether they are scripts.
func (l *Lane) commandFiles(ctx context.Context, trees ...map[string]git.File) (map[string]bool, error) {
	runs := map[string]bool{}
	if l.Project == nil || !l.Project.Config.Test.Command.IsSet() {
		return runs, nil
	}
	var failed error
	for _, files := range trees {
		for _, c := range guard.CommandFiles(l.Project.Config.Test.Command.Line, func(rel string) ([]byte, bool) {
			f := files[path.Join(l.Repo.Prefix, rel)]
			if !f.IsRegular() {
				return nil, false
			}
			text, err := l.text(ctx, f.ID)
			failed = errors.Join(failed, err)
			return text, err == nil
		}) {
			runs[c.Path] = runs[c.Path] || c.Script
		}
	}
	return runs, failed
}

// mostTexts is how many contents of files are kept: those that the test command runs are asked for with each work.
const mostTexts = 64

// text is the content of a file by its id.
func (l *Lane) text(ctx context.Context, id string) ([]byte, error) {
	err := l.fetch(ctx, []string{id})
	return l.contents[id], err
}

// fetch reads the contents of files that aren't known.
func (l *Lane) fetch(ctx context.Context, ids []string) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, known := l.contents[id]; return known })
	if len(ids) == 0 {
		return nil
	}
	if l.contents == nil || len(l.contents) >= mostTexts {
		l.contents = map[string][]byte{}
	}
	return git.Blobs(ctx, l.Repo.Common, ids, markedBytes, func(id string, text []byte) error {
		l.contents[id] = slices.Clone(text)
		return nil
	})
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

// inProject is a path as the project in the repository knows it. Paths relative to the repository's top may look like those of tests
// because of where the project is. What lies outside of it is named from the top.
func (l *Lane) inProject(p string) string {
	if rel, inside := strings.CutPrefix(p, l.Repo.Prefix+"/"); inside && l.Repo.Prefix != "" {
		return rel
	}
	return p
}

func (l *Lane) isTest(p string) bool { return guard.IsTest(l.inProject(p)) }

// isContracts: who may change what was promised needs no test to pass.
func (l *Lane) isContracts(p string) bool { return guard.IsContracts(l.inProject(p)) }

// protects says whether a path is to stay as it was when the tests were handed over.
func (l *Lane) protects(p string) bool {
	return (l.isTest(p) || guard.RunnerConfig(p) || l.isRun(p) || guard.IsTestData(l.inProject(p)) || l.isContracts(p)) && !statedir.InState(p)
}

// markedBytes is how long a file may be that is looked at for marks.
const markedBytes = 16 << 20

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
	err := git.Blobs(ctx, l.Repo.Common, ids, markedBytes, func(id string, text []byte) error {
		if bytes.Contains(text, []byte("<<<<<<<")) && bytes.IndexByte(text, 0) < 0 {
			line, _ := conflict.Find(string(text))
			have[id] = line > 0
		}
		return nil
	})
	return have, err
}

// A promise is what tests, what they compare with, their runner's configuration and the contracts have to be: as they were handed over, with what has
// landed since merged in. A path is as it was when it was handed over first.
type promise struct {
	commit  string              // of the hand-over; "" for none
	handed  bool                // there was a hand-over; else only deletions of tests count
	tests   bool                // and it brought tests
	want    map[string]git.File // also what needn't stay
	unlocks func() bool         // tests that lock wrapped code may be gone; nil for no
	free    map[string]bool     // about which nothing can be said, because the two don't merge there
}

// caveats are what isn't proven, for people.
func (p *promise) caveats() (list []string) {
	if !p.tests {
		list = append(list, "no tests were handed over: only deletions of tests and changes of their runner's configuration count")
	}
	return append(list, p.unseen()...)
}

// unseen are the caveats about what couldn't be compared.
func (p *promise) unseen() []string {
	if len(p.free) == 0 {
		return nil
	}
	return []string{"tests that don't merge with what has landed couldn't be compared: " + some(sorted(p.free))}
}

// compared says with what tests are compared.
func (p *promise) compared(base string) string {
	if !p.handed {
		return "the base " + short(base) + "; no tests were handed over"
	}
	return "the base " + short(base) + " and the hand-over " + short(p.commit)
}

// promised is the promise of the work; base are the files of what it is merged into.
func (l *Lane) promised(ctx context.Context, w *work, base map[string]git.File) (*promise, error) {
	p := &promise{want: base, free: map[string]bool{}, unlocks: w.unlocks}
	handed, err := l.handedOver(ctx, w.lineage)
	if err != nil || handed == "" {
		return p, err
	}
	p.handed, p.commit = true, handed
	chain, err := git.FirstParents(ctx, l.Repo.Common, handed) // the newest first
	if err != nil {
		return nil, err
	}
	first := map[string]git.File{}
	for _, c := range chain {
		files, err := git.Files(ctx, l.Repo.Common, c)
		if err != nil {
			return nil, err
		}
		for name, f := range files {
			if l.protects(name) {
				first[name] = f // an older one wins
			}
		}
	}
	started, err := git.Files(ctx, l.Repo.Common, w.lineage.Base)
	if err != nil {
		return nil, err
	}
	for name := range started {
		if _, kept := first[name]; !kept && l.protects(name) {
			first[name] = git.File{} // removed before they were handed over
		}
	}
	var both []string // changed on both sides, differently
	p.want = map[string]git.File{}
	for name, is := range base {
		p.want[name] = is
	}
	for name, f := range first {
		was, is := started[name], base[name]
		p.tests = p.tests || f != was && f != (git.File{}) && l.isTest(name)
		switch {
		case is == was:
			p.want[name] = f
		case f != was && f != is:
			both = append(both, name)
		}
		if p.want[name] == (git.File{}) {
			delete(p.want, name)
		}
	}
	return p, l.mergeBoth(ctx, w, p, base, first, both)
}

// mergeBoth merges what was handed over where something has landed at the same paths. A merge in memory needs a history: the hand-over
// as a commit on what the slice began with.
func (l *Lane) mergeBoth(ctx context.Context, w *work, p *promise, base, first map[string]git.File, both []string) error {
	for len(both) > 0 {
		tree, err := git.TreeWith(ctx, l.Repo.Common, w.lineage.Base, first)
		if err != nil {
			return err
		}
		commit, err := git.CommitTree(ctx, l.Repo.Common, git.NewCommit{Tree: tree, Parents: []string{w.lineage.Base}, Message: "gl: tests of " + w.Work()})
		if err != nil {
			return err
		}
		merged, conflicts, err := git.MergeTree(ctx, l.Repo.Common, w.base, commit, statedir.InState)
		if err != nil {
			return err
		}
		if len(conflicts) == 0 {
			p.want, err = git.Files(ctx, l.Repo.Common, merged)
			return err
		}
		for _, name := range conflicts {
			p.free[name] = true
		}
		rest := slices.DeleteFunc(slices.Clone(both), func(name string) bool { return p.free[name] })
		if len(rest) == len(both) { // they conflict under another name
			for _, name := range both {
				p.free[name] = true
			}
			return nil
		}
		for _, name := range both {
			if p.free[name] {
				first[name] = base[name]
			}
		}
		both = rest
	}
	return nil
}
