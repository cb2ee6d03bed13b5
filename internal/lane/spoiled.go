package lane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"

	"greenlight/internal/git"
	"greenlight/internal/guard"
	"greenlight/internal/text/conflict"
)

// spoiled says why work isn't green whatever its tests say: conflict marks that were committed, or tests and the runner's
// configuration changed after they were handed over. It is "" for nothing. changed are the paths that the merge has otherwise than
// its base.
func (l *Lane) spoiled(ctx context.Context, w *work, changed []string) (string, error) {
	files, err := l.files(ctx, w.base, w.tree)
	if err != nil {
		return "", err
	}
	base, merged := files[0], files[1]
	if marked, err := l.marked(ctx, base, merged, changed); err != nil || len(marked) > 0 {
		return "conflict marks are left in " + some(marked), err
	}
	handed, err := l.Repo.HandedOver(ctx, w.lineage)
	if err != nil {
		return "", err
	}
	want, free := base, map[string]bool{}
	if handed != "" {
		if want, free, err = l.promised(ctx, w, handed); err != nil {
			return "", err
		}
	}
	var touched []string
	for p, was := range want {
		is, there := merged[p]
		switch {
		case free[p] || there && is == was:
		case guard.IsTest(p) && (handed != "" || !there):
			touched = append(touched, p)
		case configures(p):
			same, err := l.sameConfiguration(ctx, p, was, is)
			if err != nil {
				return "", err
			}
			if !same {
				touched = append(touched, p)
			}
		}
	}
	if len(touched) == 0 {
		return "", nil
	}
	slices.Sort(touched)
	if handed == "" {
		return "tests were deleted, or their runner's configuration was changed: " + some(touched), nil
	}
	return "changed after the tests were handed over: " + some(touched), nil
}

// files lists what is in each of the trees.
func (l *Lane) files(ctx context.Context, trees ...string) ([]map[string]git.File, error) {
	all := make([]map[string]git.File, len(trees))
	for i, t := range trees {
		var err error
		if all[i], err = git.Files(ctx, l.Repo.Common, t); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// marked lists the changed files that have the marks of an unfinished merge, and hadn't.
func (l *Lane) marked(ctx context.Context, base, merged map[string]git.File, changed []string) ([]string, error) {
	var list []string
	for _, p := range changed {
		f, there := merged[p]
		if !there || !f.IsRegular() {
			continue
		}
		text, err := git.Blob(ctx, l.Repo.Common, f.ID)
		if err != nil {
			return nil, err
		}
		if line, _ := conflict.Find(string(text)); line == 0 || bytes.IndexByte(text, 0) >= 0 {
			continue
		}
		if was, there := base[p]; there {
			text, err := git.Blob(ctx, l.Repo.Common, was.ID)
			if err != nil {
				return nil, err
			}
			if line, _ := conflict.Find(string(text)); line > 0 { // a test of merges, say
				continue
			}
		}
		list = append(list, p)
	}
	return list, nil
}

// promised is what tests and configuration have to be: as they were handed over, with what has landed since merged in. A path is as it was
// when it was handed over first. Free are the paths about which nothing can be said, because the two don't merge there.
func (l *Lane) promised(ctx context.Context, w *work, handed string) (want map[string]git.File, free map[string]bool, err error) {
	chain, err := git.FirstParents(ctx, l.Repo.Common, handed) // the newest first
	if err != nil {
		return nil, nil, err
	}
	first := map[string]git.File{}
	for _, c := range chain {
		files, err := git.Files(ctx, l.Repo.Common, c)
		if err != nil {
			return nil, nil, err
		}
		for p, f := range files {
			if guard.IsTest(p) || configures(p) {
				first[p] = f // an older one wins
			}
		}
	}
	// A merge in memory needs a history: the hand-over as a commit on what the slice began with.
	started, err := git.Files(ctx, l.Repo.Common, w.lineage.Base)
	if err != nil {
		return nil, nil, err
	}
	for p := range started {
		if _, kept := first[p]; !kept && (guard.IsTest(p) || configures(p)) {
			first[p] = git.File{} // removed before they were handed over
		}
	}
	tree, err := git.TreeWith(ctx, l.Repo.Common, w.lineage.Base, first)
	if err != nil {
		return nil, nil, err
	}
	commit, err := git.CommitTree(ctx, l.Repo.Common, git.NewCommit{Tree: tree, Parents: []string{w.lineage.Base}, Message: "gl: tests of " + w.Slice})
	if err != nil {
		return nil, nil, err
	}
	merged, conflicts, err := git.MergeTree(ctx, l.Repo.Common, w.base, commit, isState)
	if err != nil {
		return nil, nil, err
	}
	free = map[string]bool{}
	if len(conflicts) == 0 {
		want, err = git.Files(ctx, l.Repo.Common, merged)
		return want, free, err
	}
	for _, p := range conflicts {
		free[p] = true
	}
	want = map[string]git.File{}
	base, err := git.Files(ctx, l.Repo.Common, w.base)
	if err != nil {
		return nil, nil, err
	}
	for p, f := range first {
		switch was, is := started[p], base[p]; {
		case was == is && f != (git.File{}):
			want[p] = f
		case was == f && is != (git.File{}):
			want[p] = is
		}
	}
	return want, free, nil
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

// sameConfiguration says whether a file that configures a runner says the same. A new one may say anything: then nothing was promised.
func (l *Lane) sameConfiguration(ctx context.Context, p string, was, is git.File) (bool, error) {
	if path.Base(p) != "package.json" {
		return was == is, nil
	}
	a, errA := l.scripts(ctx, was)
	b, errB := l.scripts(ctx, is)
	return a == b, errors.Join(errA, errB)
}

// scripts is what a package.json runs, "" where it can't be read.
func (l *Lane) scripts(ctx context.Context, f git.File) (string, error) {
	if !f.IsRegular() {
		return "", nil
	}
	text, err := git.Blob(ctx, l.Repo.Common, f.ID)
	if err != nil {
		return "", err
	}
	var doc struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal(text, &doc) != nil {
		return "", nil
	}
	var b strings.Builder
	for _, key := range sorted(doc.Scripts) {
		if key == "test" || strings.HasPrefix(key, "test:") || key == "pretest" || key == "posttest" {
			b.WriteString(key + "\x00" + doc.Scripts[key] + "\x00")
		}
	}
	return b.String(), nil
}
