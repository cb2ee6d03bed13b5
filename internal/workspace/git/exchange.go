package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
)

// An Exchange is a bare repository of gl's own through which commits travel between a project and
// workers on other machines. It has its own copy of every object: an alternate would let a push
// name, and a fetch get, what nothing in the exchange refers to. Neither the person's
// configuration of git nor the machine's counts there.
type Exchange struct {
	Dir string
}

// alone makes a git use no configuration but the repository's.
var alone = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
	"GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1"}

// ExchangeName is the name of an exchange's directory.
const ExchangeName = "exchange.git"

// OpenExchange makes the exchange of a project's repository in dir, unless it exists. A kill while
// it is made leaves a directory beside it, which the next call removes.
func OpenExchange(ctx context.Context, dir, common string) (Exchange, error) {
	x := Exchange{dir}
	if _, err := os.Lstat(dir); err == nil {
		return x, copyShallow(ctx, common, dir, "--git-dir="+common)
	} else if !errors.Is(err, os.ErrNotExist) {
		return x, err
	}
	half := dir + ".new"
	if err := os.RemoveAll(half); err != nil {
		return x, err
	}
	format, err := run(ctx, common, "--git-dir="+common, "rev-parse", "--show-object-format")
	if err != nil {
		return x, err
	}
	if err := os.MkdirAll(half, 0o700); err != nil {
		return x, err
	}
	// HEAD names no branch that could come to exist, so no fetch is shown one.
	c := call{dir: half, limit: deadline, env: alone}
	if _, _, err := c.run(ctx, "init", "-q", "--bare", "--template=", "-b", "none",
		"--object-format="+strings.TrimSpace(format)); err != nil {
		return x, err
	}
	if err := copyShallow(ctx, common, half, "--git-dir="+common); err != nil {
		return x, err
	}
	return x, durable.MoveDir(half, dir)
}

// Take copies a commit of a repository, with its history, and makes it a ref of the exchange.
func (x Exchange) Take(ctx context.Context, common, commit, ref string) error {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	refs, err := Refs(ctx, x.Dir, "refs/")
	if err != nil {
		return err
	}
	has, err := among(ctx, common, refs)
	if err != nil {
		return err
	}
	if err := copyThin(ctx, common, x.Dir, commit, has); err != nil {
		return err
	}
	if _, err := reachable(ctx, x.Dir, commit+"\n", has); err != nil {
		return fmt.Errorf("copy %s to the exchange: %w", commit, err)
	}
	return ChangeRefs(ctx, x.Dir, "gl: published", RefChange{Name: ref, New: commit, Force: true})
}

// Give copies what a ref of the exchange has into a repository and makes it the ref into there. It
// returns the commit, "" if the exchange has no such ref. Objects that git's checks refuse, whose
// history isn't complete, or that would be too large in a worktree (ErrUnpacked), are refused with
// what refers to them. base are refs of the exchange
// whose commits came from the repository.
func (x Exchange) Give(ctx context.Context, common, ref, into string,
	base ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	from, err := Refs(ctx, x.Dir, append([]string{ref}, base...)...)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(from, func(r Ref) bool { return r.Name == ref })
	if i < 0 {
		return "", nil
	}
	commit, err := ResolveCommit(ctx, x.Dir, from[i].Commit)
	if err != nil || commit != from[i].Commit {
		return "", errors.Join(fmt.Errorf("%s is no commit", ref), err)
	}
	has, err := among(ctx, common, slices.Delete(from, i, i+1))
	if err != nil {
		return "", err
	}
	began := ""
	if len(has) > 0 {
		began = has[0]
	}
	if err := x.checkSize(ctx, commit, began, has); err != nil {
		return "", err
	}
	if err := copyThin(ctx, x.Dir, common, commit, has, "--strict"); err != nil {
		return "", err
	}
	old, err := ResolveCommit(ctx, common, into)
	if err != nil || old == commit {
		return commit, err
	}
	return commit, ChangeWhole(ctx, common, "gl: from a worker", has,
		RefChange{Name: into, New: commit, Old: old})
}

// among returns the commits of the refs that the repository has, too.
func among(ctx context.Context, common string, refs []Ref) ([]string, error) {
	var ids []string
	for _, r := range refs {
		ids = append(ids, r.Commit)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	gone, err := missing(ctx, common, ids)
	return slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(gone, id) }), err
}

// copyThin copies a commit with what it has beyond the commits that both repositories have. With
// "--strict" the objects are checked.
func copyThin(ctx context.Context, src, dst, commit string, has []string, checks ...string) error {
	from, err := command(ctx, src, "--git-dir="+src, "pack-objects", "--revs", "--stdout", "-q",
		"--thin", "--delta-base-offset")
	if err != nil {
		return err
	}
	to, err := command(ctx, dst, slices.Concat([]string{"--git-dir=" + dst, "index-pack", "--stdin",
		"--fix-thin"}, checks)...)
	if err != nil {
		return err
	}
	var in strings.Builder
	in.WriteString(commit + "\n")
	for _, id := range has {
		in.WriteString("^" + id + "\n")
	}
	from.Stdin = strings.NewReader(in.String())
	return pipePack(ctx, from, to)
}

// Drop deletes the refs that are one of the names, or below one.
func (x Exchange) Drop(ctx context.Context, names ...string) error {
	refs, err := Refs(ctx, x.Dir, names...)
	if err != nil || len(refs) == 0 {
		return err
	}
	var changes []RefChange
	for _, r := range refs {
		changes = append(changes, RefChange{Name: r.Name, Old: r.Commit})
	}
	return ChangeRefs(ctx, x.Dir, "gl: forgotten", changes...)
}

// mostPacks is how many packs an exchange may have before Tidy makes one of them: each publication
// and push adds one, and each slows down all that follow.
const mostPacks = 50

// Tidy makes one pack of many, without what no ref has. The caller knows that nothing else uses
// the exchange meanwhile: git would remove the objects of a push that has no ref yet.
func (x Exchange) Tidy(ctx context.Context) error {
	entries, err := os.ReadDir(filepath.Join(x.Dir, "objects", "pack"))
	if err != nil || len(entries) < 2*mostPacks { // a pack is two files or more
		return err
	}
	_, _, err = call{dir: x.Dir, limit: long, env: alone}.run(ctx, "--git-dir="+x.Dir, "repack", "-adq")
	return err
}
