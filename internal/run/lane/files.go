package lane

import (
	"context"
	"maps"

	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// What is in a commit is asked at each step of a landing, and most of these commits differ by the one work that lands. So the files of the
// last few are kept, by the ids of commits and trees.

// A listing is what is in a commit or tree.
type listing struct {
	id    string
	files map[string]git.File
}

// mostListed is how many are kept: base, merge, candidate and landing commit of two works.
const mostListed = 8

// files lists what is in a commit or tree, by its id. Nobody changes the list.
func (l *Lane) files(ctx context.Context, id string) (map[string]git.File, error) {
	if files := l.known(id); files != nil {
		return files, nil
	}
	files, err := git.Files(ctx, l.Repo.Git.Common, id)
	if err == nil {
		l.list(id, files)
	}
	return files, err
}

func (l *Lane) list(id string, files map[string]git.File) {
	l.listed = append(l.listed[max(0, len(l.listed)-mostListed+1):], listing{id, files})
}

// known are the files of a commit or tree if they were listed; nil otherwise.
func (l *Lane) known(id string) map[string]git.File {
	for _, k := range l.listed {
		if k.id == id {
			return k.files
		}
	}
	return nil
}

// sameFiles notes that a commit has the files of a tree.
func (l *Lane) sameFiles(commit, tree string) {
	if files := l.known(tree); files != nil {
		l.list(commit, files)
	}
}

// merge merges the work into its base, in memory. changed are the paths, sorted, that the merge has otherwise.
func (l *Lane) merge(ctx context.Context, w *work) (changed, conflicts []string, err error) {
	base, err := l.files(ctx, w.base)
	if err != nil {
		return nil, nil, err
	}
	m, err := git.MergeInto(ctx, l.Repo.Git.Common, w.base, base, w.tip, statedir.InState)
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
	l.list(w.tree, merged)
	return sorted(m.Changed), nil, nil
}

// contentOf is the id of a commit's tree without state: it names what is tested.
func (l *Lane) contentOf(ctx context.Context, commit string) (string, error) {
	files, err := l.files(ctx, commit)
	if err != nil {
		return "", err
	}
	content := maps.Clone(files)
	maps.DeleteFunc(content, func(p string, _ git.File) bool { return statedir.InState(p) })
	return git.TreeID(content, commit), nil
}
