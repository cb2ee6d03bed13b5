package git

import (
	"context"
	"errors"
	"strings"
)

// A File is what a tree has at a path. Two are equal if content and mode are.
type File struct{ Mode, ID string }

// IsRegular says whether it is a file with content: neither a link nor a submodule.
func (f File) IsRegular() bool { return strings.HasPrefix(f.Mode, "100") }

// Files lists what is in a commit or tree, by path.
func Files(ctx context.Context, common, treeish string) (map[string]File, error) {
	out, err := at(ctx, common, long, "", "ls-tree", "-r", "-z", "--full-tree", treeish)
	if err != nil {
		return nil, err
	}
	files := map[string]File{}
	for _, line := range split(out) { // MODE TYPE ID\tPATH
		head, p, _ := strings.Cut(line, "\t")
		f := strings.Fields(head)
		if len(f) == 3 {
			files[p] = File{f[0], f[2]}
		}
	}
	return files, nil
}

// Blob is the content of a file.
func Blob(ctx context.Context, common, id string) ([]byte, error) {
	out, err := at(ctx, common, long, "", "cat-file", "blob", id)
	return []byte(out), err
}

// FirstParents lists a commit and its first parents, the newest first.
func FirstParents(ctx context.Context, common, commit string) ([]string, error) {
	out, err := at(ctx, common, long, "", "rev-list", "--first-parent", commit)
	return strings.Fields(out), err
}

// IsAncestor says whether the commit old is contained in the commit tip.
func IsAncestor(ctx context.Context, common, old, tip string) (bool, error) {
	_, err := at(ctx, common, long, "", "merge-base", "--is-ancestor", old, tip)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// TreeWith is the tree of a commit or tree, by its hash, with other files at some paths. The zero File removes a path.
func TreeWith(ctx context.Context, common, treeish string, files map[string]File) (tree string, err error) {
	s, err := newScratchTrees(common)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.q.remove()) }()
	var list []change
	for p, f := range files {
		c := change{f.Mode, f.ID, p}
		if f == (File{}) {
			c.mode, c.id = "0", strings.Repeat("0", len(treeish))
		}
		list = append(list, c)
	}
	if tree, err = s.with(ctx, treeish, list); err != nil {
		return "", err
	}
	return tree, s.q.release()
}
