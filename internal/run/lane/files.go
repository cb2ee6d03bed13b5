package lane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"

	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A listing is what is in a commit or tree.
type listing struct {
	id    string
	files map[string]git.File
}

// mostListed is how many listings are kept: base, merge, candidate and landing commit of two works.
const mostListed = 8

// trees reads and merges the trees of commits, in memory. Each step of a landing asks what is in
// a commit, and most of these commits differ by the one work that lands: so the files of the last
// few are kept, by the ids of commits and trees.
type trees struct {
	repo   *worktree.Repo
	listed []listing // the newest last
}

// files returns what is in a commit or tree, by its id. Callers don't change it.
func (t *trees) files(ctx context.Context, id string) (map[string]git.File, error) {
	if files := t.known(id); files != nil {
		return files, nil
	}
	files, err := git.Files(ctx, t.repo.Git.Common, id)
	if err == nil {
		t.list(id, files)
	}
	return files, err
}

func (t *trees) list(id string, files map[string]git.File) {
	t.listed = append(t.listed[max(0, len(t.listed)-mostListed+1):], listing{id, files})
}

// known returns the files of a commit or tree that was listed, nil otherwise.
func (t *trees) known(id string) map[string]git.File {
	for _, k := range t.listed {
		if k.id == id {
			return k.files
		}
	}
	return nil
}

// sameFiles notes that a commit has the files of a tree.
func (t *trees) sameFiles(commit, tree string) {
	if files := t.known(tree); files != nil {
		t.list(commit, files)
	}
}

// merge merges the work into its base, in memory. changed are the sorted paths in which the merge
// differs from the base.
func (t *trees) merge(ctx context.Context, w *work) (changed, conflicts []string, err error) {
	base, err := t.files(ctx, w.base)
	if err != nil {
		return nil, nil, err
	}
	m, err := git.MergeInto(ctx, t.repo.Git.Common, w.base, base, w.tip, statedir.InState)
	if err != nil {
		return nil, nil, err
	}
	if len(m.Conflicts) > 0 {
		return nil, m.Conflicts, nil
	}
	w.tree = m.Tree
	merged := maps.Clone(base)
	for p, f := range m.Changed {
		if merged[p] = f; f == (git.File{}) {
			delete(merged, p)
		}
	}
	t.list(w.tree, merged)
	return sorted(m.Changed), nil, nil
}

// contentOf returns the id of a commit's tree without state, which names what is tested.
func (t *trees) contentOf(ctx context.Context, commit string) (string, error) {
	files, err := t.files(ctx, commit)
	if err != nil {
		return "", err
	}
	content := maps.Clone(files)
	maps.DeleteFunc(content, func(p string, _ git.File) bool { return statedir.InState(p) })
	return git.TreeID(content, commit), nil
}

// manifests returns a hash of a commit's manifests.
func (t *trees) manifests(ctx context.Context, commit string) (string, error) {
	files, err := t.files(ctx, commit)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, p := range sorted(files) {
		if slices.ContainsFunc(manifestNames, func(pattern string) bool {
			ok, _ := path.Match(pattern, path.Base(p))
			return ok
		}) {
			fmt.Fprintf(sum, "%q %s\n", p, files[p].ID)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// manifestNames are the files that tell setup commands what to install.
var manifestNames = []string{
	"package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock",
	"bun.lock", "bun.lockb", "deno.lock",
	"requirements*.txt", "pyproject.toml", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile",
	"Pipfile.lock", "setup.py", "environment.yml",
	"Gemfile", "Gemfile.lock", "go.mod", "go.sum", "go.work", "Cargo.toml", "Cargo.lock",
	"composer.json", "composer.lock", "mix.exs", "mix.lock",
	"pom.xml", "build.gradle", "build.gradle.kts", "gradle.lockfile", "pubspec.yaml",
	"pubspec.lock", "Makefile", "justfile", ".tool-versions", "mise.toml",
	".nvmrc", ".node-version", ".python-version", ".ruby-version", "rust-toolchain*", "flake.nix",
	"flake.lock", ".gitmodules",
}
