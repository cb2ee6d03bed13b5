// Package worktree owns the git worktrees in which agents work: their names and places, the lineage files, how one is made,
// looked at, saved, removed, and what is left over. It knows neither what state a slice is in nor how an attempt ended: it is
// given an id and a commit. docs/worktrees.md is the design.
//
// Whatever is killed, the next call finds out by git's own files how far things are. A person's checkout is only read.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// Options are a project's settings.
type Options struct {
	Dir        string // absolute: where worktrees are made; "" for beside the repository
	Target     string // the branch that the work is for; "" for the recorded one, or the one that is checked out
	Prefix     string // of the branches; "" for "gl"
	SnapshotMB int    // a larger snapshot isn't taken; 0 for 64

	Filters git.FilterJudge // says which filters of the repository's configuration git runs; nil for all
}

// A Repo is a project's repository, as one in which worktrees are made.
type Repo struct {
	git.Checkout
	root    string // the project's
	project string // its part of a ref
	base    string // the directory of the repository's worktrees
	place   string // the directory of the project's
	prefix  string // of branches: "gl"
	target  string // the target's full name; "" where none can be told
	limit   int64  // bytes of a snapshot
}

// Unavailable says why worktrees can't be had here at all: the work can be done in the checkout.
type Unavailable struct {
	Reason       string
	NoRepository bool
}

func (e *Unavailable) Error() string { return "no worktrees: " + e.Reason }

// Refused says what is in the way of worktrees, and what helps: nothing is to be started meanwhile.
type Refused struct{ Reason, Help string }

// ErrNoCommit refuses a repository without a commit.
var ErrNoCommit = &Refused{"the repository has no commit yet, and a worktree begins at one", "git add and git commit what belongs to the project"}

func (e *Refused) Error() string { return e.Reason + ": " + e.Help }

// oldest is the first git with merge-tree --write-tree.
var oldest = [2]int{2, 38}

// Open looks at the repository of the project at root, and refuses what is in the way of new worktrees. It changes nothing
// but the note of where the state is.
func Open(ctx context.Context, root string, o Options) (*Repo, error) {
	r, err := Attach(ctx, root, o)
	if err != nil {
		return nil, err
	}
	if err := r.CheckTarget(ctx); err != nil {
		return nil, err
	}
	if err := r.checkPrefix(ctx); err != nil {
		return nil, err
	}
	if err := checkPlace(ctx, r.Checkout, r.base, o.Dir != ""); err != nil {
		return nil, err
	}
	return r, r.noteRoot()
}

// Attach is Open for work on lineages that are there: to make, look at, save and remove their worktrees. Whatever is in the
// way of new ones doesn't matter. It changes nothing.
func Attach(ctx context.Context, root string, o Options) (*Repo, error) {
	if err := CheckGit(ctx); err != nil {
		return nil, err
	}
	at, err := git.FindCheckout(ctx, root)
	if errors.Is(err, git.ErrNone) {
		return nil, &Unavailable{Reason: root + " is in no git repository", NoRepository: true}
	}
	if err != nil {
		return nil, unavailable(err)
	}
	r := &Repo{Checkout: at, root: root, project: part(at.Prefix), prefix: o.Prefix, limit: int64(o.SnapshotMB) << 20}
	if o.Filters != nil {
		git.JudgeFilters(at.Common, o.Filters)
	}
	if r.prefix == "" {
		r.prefix = "gl"
	}
	if r.limit == 0 {
		r.limit = 64 << 20
	}
	r.base = choosePlace(at, o.Dir)
	r.place = filepath.Join(r.base, name(at.Prefix))
	r.target, err = r.findTarget(ctx, o.Target)
	return r, err
}

// unavailable is the reason why no worktrees can be made here. That a git was killed is none: agents would work in the checkout for that.
func unavailable(err error) error {
	if git.WasKilled(err) {
		return err
	}
	return &Unavailable{Reason: err.Error()}
}

// CheckGit is an *Unavailable where git is missing, or too old for worktrees.
func CheckGit(ctx context.Context) error {
	version, err := git.Version(ctx)
	if err != nil {
		return unavailable(err)
	}
	if !atLeast(version, oldest) {
		return &Unavailable{Reason: fmt.Sprintf("git is %s, and at least %d.%d is needed", version, oldest[0], oldest[1])}
	}
	return nil
}

func atLeast(version string, want [2]int) bool {
	f := append(strings.SplitN(version, ".", 3), "", "")
	major, _ := strconv.Atoi(f[0])
	minor, _ := strconv.Atoi(f[1])
	return major > want[0] || major == want[0] && minor >= want[1]
}

// findTarget finds the branch that the work is for: the one that is asked for, else the one that was recorded, else the one
// that is checked out. Base records it.
func (r *Repo) findTarget(ctx context.Context, asked string) (string, error) {
	if asked != "" {
		return "refs/heads/" + strings.TrimPrefix(asked, "refs/heads/"), nil
	}
	target, err := git.SymbolicRef(ctx, r.Common, r.targetRef())
	if err == nil && target == "" {
		target, err = git.SymbolicRef(ctx, r.GitDir, "HEAD")
	}
	return target, err
}

// CheckTarget refuses a repository in which there is nothing to begin at.
func (r *Repo) CheckTarget(ctx context.Context) error {
	head, err := git.ResolveCommit(ctx, r.GitDir, "HEAD")
	switch {
	case err != nil:
		return err
	case head == "":
		return ErrNoCommit
	case r.target == "":
		return &Refused{"no branch is checked out, so it isn't known which one the work is for", "git switch to it, or name it with gl settings set git.target BRANCH"}
	}
	_, err = r.targetTip(ctx)
	return err
}

// targetTip is the target's commit.
func (r *Repo) targetTip(ctx context.Context) (string, error) {
	if r.target == "" {
		return "", &Refused{"no branch is known that the work is for", "name it with gl settings set git.target BRANCH"}
	}
	tip, err := git.ResolveCommit(ctx, r.Common, r.target)
	if err == nil && tip == "" {
		err = &Refused{fmt.Sprintf("there is no branch %s, which the work is for", short(r.target)), "name another with gl settings set git.target BRANCH"}
	}
	return tip, err
}

// Target is the full name of the branch that the work is for.
func (r *Repo) Target() string { return r.target }

// Base is the commit at which new work begins: the lane's tip, or the target's where there is no lane or the target has all of it. It records the
// target.
func (r *Repo) Base(ctx context.Context) (string, error) {
	tip, err := r.recordTarget(ctx)
	if err != nil {
		return "", err
	}
	lane, err := r.lane(ctx)
	if err != nil || lane == "" || lane == tip {
		return tip, err
	}
	if r.LaneMark().Moved(lane) { // nothing there was tested
		return tip, nil
	}
	if base, err := git.MergeBase(ctx, r.Common, lane, tip); err != nil || base == lane {
		return tip, err
	}
	return lane, nil
}

// recordTarget records the target and returns its tip.
func (r *Repo) recordTarget(ctx context.Context) (string, error) {
	tip, err := r.targetTip(ctx)
	if err != nil {
		return "", err
	}
	old, err := git.SymbolicRef(ctx, r.Common, r.targetRef())
	if err == nil && old != r.target {
		err = git.SetSymbolicRef(ctx, r.Common, r.targetRef(), r.target, "gl: target")
	}
	return tip, err
}

// checkPrefix finds what is in the way of the refs: git can't have a branch gl beside a branch gl/s/….
func (r *Repo) checkPrefix(ctx context.Context) error {
	const help = "git branch -m it, or choose another prefix with gl settings set git.branch_prefix NAME"
	if ok, err := git.ValidRef(ctx, "refs/heads/"+r.prefix+"/s"); err != nil || !ok || r.prefix[0] == '-' {
		return errors.Join(err, &Refused{fmt.Sprintf("git can't have branches that begin with %q", r.prefix), "choose another prefix with gl settings set git.branch_prefix NAME"})
	}
	blocking := append(parents("refs/heads/"+r.prefix+"/s/"+r.project), parents(r.lanes())...)
	blocking = append(blocking, "refs/gl", "refs/gl/wip", "refs/gl/wip/"+r.project, "refs/gl/target", "refs/gl/tests", "refs/gl/tests/"+r.project)
	there, err := git.Present(ctx, r.Common, blocking...)
	if err == nil && len(there) > 0 {
		err = &Refused{fmt.Sprintf("the branch %s is in the way of branches like %s/s/…", short(there[0]), r.prefix), help}
	}
	return err
}

// parents are the ref and those above it, without refs/heads.
func parents(ref string) []string {
	var list []string
	for ; ref != "refs/heads"; ref = ref[:strings.LastIndexByte(ref, '/')] {
		list = append(list, ref)
	}
	return list
}

func short(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }

// noteRoot writes down which checkout has the state, where project.Find and git.MainCheckout read it.
func (r *Repo) noteRoot() error {
	file := filepath.Join(r.Common, git.RootFile)
	other := git.MainCheckout(r.Common)
	if other != "" && other != r.Top && (paths.Exists(file) || paths.IsDir(filepath.Join(other, r.Prefix, statedir.Name))) {
		return &Refused{fmt.Sprintf("the state of this repository's projects is in %s, not in %s", other, r.Top), "call gl there"}
	}
	old, err := durable.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		old = nil
	} else if err != nil {
		return err
	}
	text := r.Top + "\n"
	if string(old) == text {
		return nil
	}
	if err := durable.WriteFile(file, []byte(text), 0o644); err != nil {
		return &Refused{fmt.Sprintf("the repository can't be written: %v", err), "make it writable"}
	}
	return nil
}
