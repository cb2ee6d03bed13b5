// Package worktree owns the git worktrees in which agents work: their names and places, their
// lineage files; it makes, inspects, saves and removes them, and lists leftovers. It doesn't know
// the state of a slice or how an attempt ended: it is given an id and a commit.
// docs/design/worktrees.md is the design.
//
// After a kill, the next call determines from git's own files how far things are. A person's
// checkout is only read.
package worktree

import (
	"cmp"
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
	Dir string // absolute: where worktrees are made; "" for beside the repository
	// Target is the branch that the work is for; "" for the recorded one, or the one that is
	// checked out.
	Target     string
	Prefix     string // of the branches; "" for "gl"
	SnapshotMB int    // a larger snapshot isn't taken; 0 for 64

	// Filters decides which filters of the repository's configuration git runs; nil for all.
	Filters git.FilterJudge
}

// A Repo is a project's repository, in which worktrees are made.
type Repo struct {
	Git       git.Checkout // the main checkout
	Layout    *Layout
	Queue     *Queue
	Lineages  *Lineages
	Snapshots *Snapshots
	Archive   *Archive
	Cleaner   *Cleaner

	parts *parts
}

// assemble builds a Repo from its lowest part up.
func assemble(at *Layout, limit int64) *Repo {
	p := &parts{at: at, common: at.git.Common}
	p.queue = &Queue{at: at, common: p.common, target: target{at}}
	p.lineages = &Lineages{at: at, common: p.common, queue: p.queue}
	p.snapshots = &Snapshots{at: at, common: p.common, queue: p.queue, lineages: p.lineages,
		limit: limit}
	return &Repo{Git: at.git, Layout: at, Queue: p.queue, Lineages: p.lineages,
		Snapshots: p.snapshots,
		Archive:   &Archive{p}, Cleaner: &Cleaner{p}, parts: p}
}

// Unavailable says why there can't be worktrees here at all. The work can be done in the checkout.
type Unavailable struct {
	Reason       string
	NoRepository bool
}

func (e *Unavailable) Error() string {
	if e.NoRepository {
		return e.Reason + ": this needs one (run " + BeginRepository + ")"
	}
	return "no worktrees: " + e.Reason
}

// BeginRepository makes a repository that worktrees can begin in.
const BeginRepository = "git init && git add . && git commit -m start"

// Refused says why worktrees can't be made now, and what helps. Until then nothing is started.
type Refused struct{ Reason, Help string }

// ErrNoCommit refuses a repository without a commit.
var ErrNoCommit = &Refused{"the repository has no commit yet, and a worktree begins at one",
	"run git add . && git commit -m start (git may ask for your name and address first)"}

func (e *Refused) Error() string { return e.Reason + ": " + e.Help }

// oldest is the first git with merge-tree --write-tree.
var oldest = [2]int{2, 38}

// Open opens the repository of the project at root, and refuses what is in the way of new
// worktrees. It changes nothing but the note of where the state is.
func Open(ctx context.Context, root string, o Options) (*Repo, error) {
	r, err := Attach(ctx, root, o)
	if none := (*Unavailable)(nil); errors.As(err, &none) && none.NoRepository {
		return nil, err // whatever the version
	}
	// If git is too old, that is why it didn't find the checkout.
	if err := CheckGit(ctx); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	if err := r.CheckNew(ctx); err != nil {
		return nil, err
	}
	return r, r.noteRoot()
}

// CheckNew refuses what is in the way of new worktrees. It changes nothing.
func (r *Repo) CheckNew(ctx context.Context) error {
	if err := r.CheckTarget(ctx); err != nil {
		return err
	}
	if err := r.checkPrefix(ctx); err != nil {
		return err
	}
	return checkPlace(ctx, r.Git, r.Layout.base, r.Layout.chosen)
}

// Attach is Open for work on existing lineages: to make, inspect, save and remove their worktrees,
// whatever is in the way of new ones. It changes nothing.
func Attach(ctx context.Context, root string, o Options) (*Repo, error) {
	at, err := git.FindCheckout(ctx, root)
	if errors.Is(err, git.ErrNone) {
		return nil, &Unavailable{Reason: root + " is in no git repository", NoRepository: true}
	}
	if err != nil {
		return nil, unavailable(err)
	}
	if !paths.Exists(filepath.Join(at.Common, git.RootFile)) {
		// Otherwise a git that was new enough has made worktrees here. Its version takes a run
		// of git in each of the many gl of a night.
		if err := CheckGit(ctx); err != nil {
			return nil, err
		}
	}
	layout := &Layout{git: at, root: root, project: part(at.Prefix), prefix: cmp.Or(o.Prefix, "gl")}
	if o.Filters != nil {
		git.JudgeFilters(at.Common, o.Filters)
	}
	layout.base, layout.chosen = choosePlace(at, o.Dir), o.Dir != ""
	layout.place = filepath.Join(layout.base, name(at.Prefix))
	layout.target, err = findTarget(ctx, layout, o.Target)
	return assemble(layout, cmp.Or(int64(o.SnapshotMB)<<20, 64<<20)), err
}

// unavailable returns the reason why no worktrees can be made here. A git that was killed isn't
// one: agents would then work in the checkout.
func unavailable(err error) error {
	if git.WasKilled(err) {
		return err
	}
	return &Unavailable{Reason: err.Error()}
}

// CheckGit returns an *Unavailable if git is missing, or too old for worktrees.
func CheckGit(ctx context.Context) error {
	version, err := git.Version(ctx)
	if err != nil {
		return unavailable(err)
	}
	if !atLeast(version, oldest) {
		return &Unavailable{Reason: fmt.Sprintf("git is %s, and at least %d.%d is needed", version,
			oldest[0], oldest[1])}
	}
	return nil
}

func atLeast(version string, want [2]int) bool {
	f := append(strings.SplitN(version, ".", 3), "", "")
	major, _ := strconv.Atoi(f[0])
	minor, _ := strconv.Atoi(f[1])
	return major > want[0] || major == want[0] && minor >= want[1]
}

// CheckTarget refuses a repository in which no work can begin.
func (r *Repo) CheckTarget(ctx context.Context) error { return r.Queue.target.check(ctx) }

// Target returns the full name of the branch that the work is for.
func (r *Repo) Target() string { return r.Layout.target }

// checkPrefix finds branches in the way of gl's refs: git can't have a branch gl beside a branch
// gl/s/….
func (r *Repo) checkPrefix(ctx context.Context) error {
	const help = "git branch -m it, or choose another prefix with gl settings set git.branch_prefix NAME"
	if ok, err := git.ValidRef(ctx, "refs/heads/"+r.Layout.prefix+"/s"); err != nil || !ok ||
		r.Layout.prefix[0] == '-' {
		return errors.Join(err, &Refused{fmt.Sprintf("git can't have branches that begin with %q",
			r.Layout.prefix), "choose another prefix with gl settings set git.branch_prefix NAME"})
	}
	blocking := append(parents("refs/heads/"+r.Layout.prefix+"/s/"+r.Layout.project),
		parents(r.Layout.lanes())...)
	blocking = append(blocking, "refs/gl", "refs/gl/wip", "refs/gl/wip/"+r.Layout.project,
		"refs/gl/target", "refs/gl/tests", "refs/gl/tests/"+r.Layout.project)
	there, err := git.Present(ctx, r.Git.Common, blocking...)
	if err == nil && len(there) > 0 {
		err = &Refused{fmt.Sprintf("the branch %s is in the way of branches like %s/s/…",
			short(there[0]), r.Layout.prefix), help}
	}
	return err
}

// parents returns the ref and those above it, without refs/heads.
func parents(ref string) []string {
	var list []string
	for ; ref != "refs/heads"; ref = ref[:strings.LastIndexByte(ref, '/')] {
		list = append(list, ref)
	}
	return list
}

func short(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }

// noteRoot records which checkout has the state, for project.Find and git.MainCheckout.
func (r *Repo) noteRoot() error {
	file := filepath.Join(r.Git.Common, git.RootFile)
	other := git.MainCheckout(r.Git.Common)
	if other != "" && other != r.Git.Top &&
		(paths.Exists(file) || paths.IsDir(filepath.Join(other, r.Git.Prefix, statedir.Name))) {
		return &Refused{fmt.Sprintf("the state of this repository's projects is in %s, not in %s",
			other, r.Git.Top), "call gl there"}
	}
	old, err := durable.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		old = nil
	} else if err != nil {
		return err
	}
	text := r.Git.Top + "\n"
	if string(old) == text {
		return nil
	}
	if err := durable.WriteFile(file, []byte(text), 0o644); err != nil {
		return &Refused{fmt.Sprintf("the repository can't be written: %v", err), "make it writable"}
	}
	return nil
}

// Branches returns the short names of the repository's branches that may go through the merge
// queue; none if git fails.
func (r *Repo) Branches(ctx context.Context) []string {
	refs, err := git.Refs(ctx, r.Git.Common, "refs/heads/")
	if err != nil {
		return nil
	}
	var names []string
	for _, ref := range refs {
		if !r.Layout.IsOurs(ref.Name) && ref.Name != r.Layout.target {
			names = append(names, short(ref.Name))
		}
	}
	return names
}
