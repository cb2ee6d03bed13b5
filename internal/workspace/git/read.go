package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A File is a file of a tree. Two are equal if content and mode are.
type File struct{ Mode, ID string }

// IsRegular reports whether it is a file with content: neither a link nor a submodule.
func (f File) IsRegular() bool { return strings.HasPrefix(f.Mode, "100") }

// Files lists the files of a commit or tree, by path.
func Files(ctx context.Context, common, treeish string) (map[string]File, error) {
	store, files := objectsOf(common), map[string]File{}
	if tree, known := store.treeOf(treeish); known && store.files(files, "", tree) {
		return files, ctx.Err()
	}
	out, err := at(ctx, common, long, "", "ls-tree", "-r", "-z", "--full-tree", treeish)
	if err != nil {
		return nil, err
	}
	clear(files)
	for _, line := range split(out) { // MODE TYPE ID\tPATH
		head, p, _ := strings.Cut(line, "\t")
		f := strings.Fields(head)
		if len(f) == 3 {
			files[p] = File{f[0], f[2]}
		}
	}
	return files, nil
}

// Blobs calls f with the content of each of the blobs, in their order. Blobs of more than most
// bytes are left out. It runs git once.
func Blobs(ctx context.Context, common string, ids []string, most int64,
	f func(id string, text []byte) error) error {
	if len(ids) == 0 {
		return nil
	}
	if read, err := objectsOf(common).blobs(ids, most, f); read {
		return errors.Join(err, ctx.Err())
	}
	in, out := io.Pipe()
	read := make(chan error, 1)
	go func() {
		err := readBlobs(bufio.NewReader(in), len(ids), most, f)
		in.CloseWithError(err) // git then ends, too
		read <- err
	}()
	c := call{dir: common, limit: long, stdin: strings.NewReader(strings.Join(ids, "\n") + "\n"),
		stdout: out}
	_, _, err := c.run(ctx, append(steady[:len(steady):len(steady)], "--git-dir="+common,
		"cat-file", "--batch")...)
	out.Close()
	if failed := <-read; failed != nil && !errors.Is(failed, io.ErrUnexpectedEOF) {
		return failed
	} else if err == nil {
		err = failed
	}
	return err
}

// readBlobs reads what git cat-file --batch prints: ID TYPE SIZE, the content, and a line feed.
func readBlobs(in *bufio.Reader, n int, most int64, f func(id string, text []byte) error) error {
	for range n {
		head, err := in.ReadString('\n')
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		fields := strings.Fields(head)
		if len(fields) != 3 || fields[1] != "blob" {
			return fmt.Errorf("git cat-file says %q", strings.TrimSpace(head))
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return fmt.Errorf("git cat-file says %q", strings.TrimSpace(head))
		}
		if size > most {
			if _, err := io.CopyN(io.Discard, in, size+1); err != nil {
				return io.ErrUnexpectedEOF
			}
			continue
		}
		text := make([]byte, size+1)
		if _, err := io.ReadFull(in, text); err != nil {
			return io.ErrUnexpectedEOF
		}
		if err := f(fields[0], text[:size]); err != nil {
			return err
		}
	}
	return nil
}

// A DiffStat counts the differences of two trees.
type DiffStat struct{ Files, Insertions, Deletions int }

// Stat compares two trees, except for the paths that are left out.
func Stat(ctx context.Context, common, a, b string, but func(path string) bool) (DiffStat, error) {
	var s DiffStat
	out, err := at(ctx, common, time.Minute, "", "diff-tree", "-r", "-z", "--no-renames",
		"--numstat", a+"^{tree}", b+"^{tree}")
	if err != nil {
		return s, err
	}
	for _, line := range split(out) { // INSERTIONS\tDELETIONS\tPATH; of a binary file -
		f := strings.SplitN(line, "\t", 3)
		if len(f) != 3 {
			return s, fmt.Errorf("git diff-tree says %.200q", line)
		}
		if but(f[2]) {
			continue
		}
		added, _ := strconv.Atoi(f[0])
		removed, _ := strconv.Atoi(f[1])
		s.Files, s.Insertions, s.Deletions = s.Files+1, s.Insertions+added, s.Deletions+removed
	}
	return s, nil
}

// FirstParents lists a commit and its first parents, the newest first.
func FirstParents(ctx context.Context, common, commit string) ([]string, error) {
	out, err := at(ctx, common, long, "", "rev-list", "--first-parent", commit)
	return strings.Fields(out), err
}

// IsAncestor reports whether the commit old is contained in the commit tip. A commit that no longer
// exists, since git prune has removed it, is contained in nothing.
func IsAncestor(ctx context.Context, common, old, tip string) (bool, error) {
	contained, err := descends(ctx, common, old, tip)
	if err == nil {
		return contained, nil
	}
	if there, e := HasCommit(ctx, common, old); e == nil && !there {
		return false, nil
	}
	return false, err
}

// descends reports whether the commit tip is or contains the commit old. A missing commit is an
// error.
func descends(ctx context.Context, common, old, tip string) (bool, error) {
	if yes, known := objectsOf(common).contains(old, tip); known {
		return yes, ctx.Err()
	}
	_, err := at(ctx, common, long, "", "merge-base", "--is-ancestor", old, tip)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// HasCommit reports whether the repository has a commit, by its hash.
func HasCommit(ctx context.Context, common, commit string) (bool, error) {
	if _, there := objectsOf(common).commit(commit); there {
		return true, ctx.Err()
	}
	return Has(ctx, common, commit+"^{commit}")
}

// Has reports whether the repository has an object.
func Has(ctx context.Context, common, object string) (bool, error) {
	_, err := at(ctx, common, long, "", "cat-file", "-e", object)
	if code := exitCode(err); code == 1 || code == 128 {
		return false, nil
	}
	return err == nil, err
}

// Visited reports whether HEAD of the worktree at dir was recently at a commit, by its log. Without
// a log the answer is true.
func Visited(ctx context.Context, dir, commit string) bool {
	const lately = "50"
	out, err := run(ctx, dir, "log", "-g", "-n", lately, "--no-show-signature", "--format=%H",
		"HEAD")
	return err != nil || out == "" || slices.Contains(strings.Fields(out), commit)
}

// InBranch reports whether a ref of the repository around dir contains a commit. A missing ref
// contains nothing.
func InBranch(ctx context.Context, dir, commit, ref string) (bool, error) {
	tip, err := quiet(ctx, dir, "rev-parse", "-q", "--verify", "--end-of-options", ref+"^{commit}")
	if err != nil || tip == "" {
		return false, err
	}
	_, err = run(ctx, dir, "merge-base", "--is-ancestor", commit, tip)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// TreeWith returns the tree of a commit or tree, by its hash, with other files at some paths. The
// zero File removes a path.
func TreeWith(ctx context.Context, common, treeish string,
	files map[string]File) (tree string, err error) {
	s, err := newScratchTrees(common)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.q.remove()) }()
	var list []change
	for p, f := range files {
		c := change{mode: f.Mode, id: f.ID, path: p}
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
