package lane

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"sync"

	"greenlight/internal/git"
	"greenlight/internal/guard"
	"greenlight/internal/statedir"
	"greenlight/internal/text/conflict"
)

// spoiled says why work isn't green whatever its tests say: conflict marks that were committed, or tests, contracts and the runner's
// configuration changed after they were handed over. It is "" for nothing. changed are the paths that the merge has otherwise than
// its base. What it couldn't compare is in the work's caveats.
func (l *Lane) spoiled(ctx context.Context, w *work, changed []string) (string, error) {
	base, err := l.files(ctx, w.base)
	if err != nil {
		return "", err
	}
	merged, err := l.files(ctx, w.tree)
	if err != nil {
		return "", err
	}
	if marked, err := l.marked(ctx, base, merged, changed); err != nil || len(marked) > 0 {
		return "conflict marks are left in " + some(marked), err
	}
	p, err := l.promised(ctx, w, base)
	if err != nil {
		return "", err
	}
	w.caveats = p.caveats()
	touched, err := l.broken(ctx, p, merged)
	if err != nil || len(touched) == 0 {
		return "", err
	}
	if !p.handed {
		return "tests were deleted, or their runner's configuration was changed: " + some(touched), nil
	}
	return "changed after the tests were handed over: " + some(touched), nil
}

// broken lists the paths, sorted, where a tree doesn't keep what was promised.
func (l *Lane) broken(ctx context.Context, p *promise, tree map[string]git.File) ([]string, error) {
	var touched []string
	var packages [][2]git.File
	var packaged []string
	for name, was := range p.want {
		is, there := tree[name]
		switch {
		case p.free[name] || there && is == was || statedir.InState(name):
		case !there && guard.IsLock(l.inProject(name)) && p.unlocks != nil && p.unlocks():
		case path.Base(name) == packageFile: // of it the scripts alone
			packages, packaged = append(packages, [2]git.File{was, is}), append(packaged, name)
		case configures(name), l.isTest(name) && (p.handed || !there), p.handed && (guard.IsTestData(l.inProject(name)) || l.isContracts(name)):
			touched = append(touched, name)
		}
	}
	if p.tests { // they were seen to run without it
		for name := range tree {
			if _, promised := p.want[name]; !promised && !p.free[name] && configures(name) && !mayBeNew(name) {
				touched = append(touched, name)
			}
		}
	}
	same, err := l.sameScripts(ctx, packages)
	for i, name := range packaged {
		if err == nil && !same[i] {
			touched = append(touched, name)
		}
	}
	slices.Sort(touched)
	return touched, err
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
	return (l.isTest(p) || configures(p) || guard.IsTestData(l.inProject(p)) || l.isContracts(p)) && !statedir.InState(p)
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
	if len(p.free) > 0 {
		list = append(list, "tests that don't merge with what has landed couldn't be compared: "+some(sorted(p.free)))
	}
	return list
}

// promised is the promise of the work; base are the files of what it is merged into.
func (l *Lane) promised(ctx context.Context, w *work, base map[string]git.File) (*promise, error) {
	p := &promise{want: base, free: map[string]bool{}, unlocks: w.unlocks}
	handed, err := l.Repo.HandedOver(ctx, w.lineage)
	if err != nil || handed == "" {
		return p, err
	}
	p.handed = true
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

// runnerFiles configure runners of tests: who changes them can have any tests pass.
var runnerFiles = []string{
	"pytest.ini", "tox.ini", "conftest.py", "setup.cfg", "noxfile.py", ".coveragerc",
	"jest.config.*", "vitest.config.*", "vitest.workspace.*", "karma.conf.*", "playwright.config.*", "cypress.config.*", ".mocharc*",
	"phpunit.xml*", ".rspec", "codeception.yml", "nextest.toml",
}

// configures says whether a file configures a runner. Of package.json only the scripts do.
func configures(p string) bool {
	name := path.Base(p)
	return name == "package.json" || slices.ContainsFunc(runnerFiles, func(pattern string) bool {
		ok, _ := path.Match(pattern, name) // the patterns are sound
		return ok
	})
}

// packageFile runs tests by its scripts.
const packageFile = "package.json"

// mayBeNew says whether a file that configures a runner is there for other things, too.
func mayBeNew(p string) bool {
	return slices.Contains([]string{packageFile, "tox.ini", "setup.cfg", "noxfile.py"}, path.Base(p))
}

// sameScripts says of each pair of package.json whether they run tests in the same way.
func (l *Lane) sameScripts(ctx context.Context, pairs [][2]git.File) ([]bool, error) {
	var ids []string
	for _, pair := range pairs {
		for _, f := range pair {
			if f.IsRegular() {
				ids = append(ids, f.ID)
			}
		}
	}
	said := map[string]string{}
	err := git.Blobs(ctx, l.Repo.Common, ids, markedBytes, func(id string, text []byte) error {
		said[id] = scripts(text)
		return nil
	})
	same := make([]bool, len(pairs))
	for i, pair := range pairs {
		was, is := said[pair[0].ID], said[pair[1].ID]
		same[i] = was == is || was == "" // then nothing was promised
	}
	return same, err
}

// scripts is what a package.json runs as tests, "" where it can't be read, and for what npm init writes, which always fails.
func scripts(text []byte) string {
	var doc struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal(text, &doc) != nil {
		return ""
	}
	var b strings.Builder
	for _, key := range sorted(doc.Scripts) {
		told := key == "test" || strings.HasPrefix(key, "test:") || key == "pretest" || key == "posttest"
		if told && !strings.Contains(doc.Scripts[key], "no test specified") {
			b.WriteString(key + "\x00" + doc.Scripts[key] + "\x00")
		}
	}
	return b.String()
}
