package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/statcache"
)

// A branch that is checked out nowhere is moved without a checkout. A git that is about to check it
// out may have read it before. It writes the files and the index of the old commit, and then points
// HEAD at the branch, which is at the new one. To the person it looks as if they had taken back
// what was merged, and their next commit would do it. So gl checks for that, and makes the checkout
// follow.

const (
	// movedFile is in the common directory: a branch that was moved without a checkout, and the
	// commits where it has been since it was last seen in one, the newest last.
	movedFile = "gl-moved"
	mostMoved = 8

	// lookFor is longer than a git takes from reading a branch to writing HEAD, apart from its work
	// on the files.
	lookFor   = 100 * time.Millisecond
	lookEvery = 10 * time.Millisecond
)

// mostCheckout is longer than a git usually takes to check out a branch.
const mostCheckout = 2 * time.Second

// lookLonger is how long gl waits for a git that is working on the files. Tests don't wait.
var lookLonger = 2 * time.Second

// moveBeside moves a branch that is checked out nowhere. If it is checked out meanwhile, and edits
// there are in the way, the branch moves back. The caller holds the committing lock.
func moveBeside(ctx context.Context, common, branch, from, to string) error {
	if err := noteMove(common, branch, from, to); err != nil {
		return err
	}
	if err := ChangeRefs(ctx, common, "gl: merge",
		RefChange{Name: branch, New: to, Old: from}); err != nil {
		return err
	}
	awaitCheckout(ctx, common, branch)
	back := func() error {
		return ChangeRefs(ctx, common, "gl: it is being checked out",
			RefChange{Name: branch, New: from, Old: to})
	}
	err := settle(ctx, common, branch, false, back)
	// A git stash pop that follows the checkout takes the lock for an instant, several times.
	for begun := time.Now(); errors.As(err, new(*LockedError)) && ctx.Err() == nil &&
		time.Since(begun) < lookLonger; time.Sleep(lookEvery) {
		err = settle(ctx, common, branch, false, back)
	}
	if errors.As(err, new(*BusyError)) || errors.As(err, new(*LockedError)) {
		return nil // the next Settle handles it
	}
	return err
}

// awaitCheckout waits as long as a git may still check out what it has read before, or until one
// has.
func awaitCheckout(ctx context.Context, common, branch string) {
	for begun := time.Now(); ctx.Err() == nil; time.Sleep(lookEvery) {
		all, err := places(common)
		if err != nil {
			return
		}
		there, atWork := false, false
		for _, p := range all {
			have, err := p.worktree().Branch()
			if err != nil || p.top == "" {
				continue
			}
			there = there || have == branch
			atWork = atWork || p.locked() != nil
		}
		if took := time.Since(begun); took > lookLonger || !atWork && (there || took > lookFor) {
			return
		}
	}
}

// noteMove records that a branch is about to be moved.
func noteMove(common, branch, from, to string) error {
	commits := []string{from}
	if b, before := readMoved(common); b == branch && before[len(before)-1] == from {
		commits = before[max(0, len(before)-mostMoved+1):]
	}
	return durable.WriteFile(filepath.Join(common, movedFile),
		[]byte(branch+" "+strings.Join(append(commits, to), " ")+"\n"), 0o644)
}

// readMoved returns what movedFile has: at least two commits, or none.
func readMoved(common string) (branch string, commits []string) {
	data, err := durable.ReadFile(filepath.Join(common, movedFile))
	f := strings.Fields(string(data))
	if err != nil || len(f) < 3 ||
		slices.ContainsFunc(f[1:], func(s string) bool { return !isID(s) }) {
		return "", nil
	}
	return f[0], f[1:]
}

// A BehindError says that a checkout has files from before its branch was moved, and can't follow
// since some of them are edited.
type BehindError struct {
	Where, Branch, From string
	Paths               []string // that are edited
}

func (e *BehindError) Error() string {
	name, files := strings.TrimPrefix(e.Branch, "refs/heads/"), strings.Join(e.Paths, " ")
	return fmt.Sprintf("%s was merged into while it was checked out in %s, which has the files of %.10s, with edits: there, "+
		"git diff %.10s -- %s >FILE, git checkout %s -- %s, gl land, git apply -3 FILE", name,
		e.Where, e.From, e.From, files, name, files)
}

// Settle repairs checkouts after an interrupted gl: files of a git merge that was killed, and a
// checkout of the branch that was made while gl moved the branch, and so has old files. What the
// person has staged or edited stays. The errors are *BehindError, *BusyError, *LockedError: then
// nothing has changed.
func Settle(ctx context.Context, common, branch string) error {
	half, err := broken(common)
	if err != nil {
		return err
	}
	if b, _ := readMoved(common); b != branch && len(half) == 0 {
		return nil
	}
	lock, err := durable.Lock(ctx, filepath.Join(common, committingLock))
	if err != nil {
		return err
	}
	defer lock.Unlock()
	ctx = Inherit(ctx, lock.File())
	_, commits := readMoved(common)
	known := false
	for _, p := range half {
		data, err := durable.ReadFile(filepath.Join(p.gitDir, delivering))
		if err := p.recover(ctx, branch); err != nil {
			return err
		}
		if p.locked() != nil { // by another git, which is at work: the next call does it
			continue
		}
		known = known || err == nil && commits != nil &&
			strings.HasSuffix(string(data), " "+commits[len(commits)-1]+"\n")
		if err := p.takeBack(ctx, common); err != nil {
			return err
		}
	}
	err = settle(ctx, common, branch, known, nil)
	if overlap := new(OverlapError); errors.As(err, &overlap) {
		return &BehindError{overlap.Where, branch, commits[0], overlap.Paths}
	}
	return err
}

// settle makes the checkout of the branch follow. known means that gl had already begun to. Where
// edits are in the way, back moves the branch back, unless it is nil.
func settle(ctx context.Context, common, branch string, known bool, back func() error) error {
	b, commits := readMoved(common)
	if b != branch {
		return nil
	}
	where, err := checkoutOf(common, branch)
	if err != nil || where == nil {
		return err
	}
	if err := where.recover(ctx, branch); err != nil {
		return err
	}
	if err := where.locked(); err != nil {
		return err
	}
	if err := where.takeBack(ctx, common); err != nil {
		return err
	}
	// The person's git may be at work, as a git stash pop after the checkout: it writes the index
	// before or after.
	var m *missed
	var overlap error
	followed := false
	err = where.onCopy(func(copied place) (bool, error) {
		moved := move{copied, common, branch, commits}
		m, err = moved.missed(ctx)
		if err != nil || m == nil || !known && !moved.before(ctx, m) {
			return false, err
		}
		if followed = len(m.edited) == 0; followed {
			return true, moved.follow(ctx, m)
		}
		overlap = &OverlapError{Where: where.top, Paths: m.edited}
		if back == nil {
			return false, nil
		}
		if err := back(); err != nil {
			return false, err
		}
		return true, copied.putIndex(ctx, slices.Concat(m.index, m.over))
	})
	if err == nil && followed {
		err = errors.Join(where.withdraw(), where.fillLFS(ctx, common, m.list))
	}
	if err != nil || overlap != nil && back == nil ||
		overlap == nil && (move{*where, common, branch, commits}).stashes(ctx) {
		return errors.Join(overlap, err)
	}
	return errors.Join(overlap, ignoreMissing(os.Remove(filepath.Join(common, movedFile))))
}

// A missed is a move of its branch that a checkout hasn't followed.
type missed struct {
	from, to string
	list     []change // what it changes
	// behind are the paths that are as before, in the files and in the index, or in the files
	// alone.
	behind []string
	index  []change // those that are as before in the files alone, as they are there
	edited []string // the paths that are neither as before nor as they are to be
	over   []change // those that are edited, and as they are to be in the index, as before
}

// A move is one of its branch that a checkout may not have followed: movedFile has the commits.
type move struct {
	place          place
	common, branch string
	commits        []string
}

// missed determines, from its files, which of the moves the checkout hasn't followed; nil for none.
func (v move) missed(ctx context.Context) (*missed, error) {
	p, common, to := v.place, v.common, v.commits[len(v.commits)-1]
	tip, err := ResolveCommit(ctx, common, v.branch)
	if err != nil || tip == "" {
		return nil, err
	}
	if in, err := IsAncestor(ctx, common, to, tip); err != nil || !in {
		return nil, err
	}
	run := func(args ...string) (string, error) { return at(ctx, common, long, "", args...) }
	since, err := changes(objectsOf(common), to, tip, run)
	if err != nil {
		return nil, err
	}
	// A file with only stale times in the index isn't edited.
	if _, err := p.ask(ctx, "", "update-index", "-q", "--unmerged", "--refresh"); err != nil &&
		exitCode(err) != 1 {
		return nil, err
	}
	var best *missed
	for _, from := range v.commits[:len(v.commits)-1] {
		list, err := changes(objectsOf(common), from, to, run)
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(c change) bool {
			return slices.ContainsFunc(since, func(s change) bool { return s.path == c.path })
		})
		m, err := p.compare(ctx, common, from, to, list)
		if err != nil {
			return nil, err
		}
		if len(m.behind) > 0 && (best == nil || len(m.edited) < len(best.edited)) {
			best = m
		}
	}
	return best, nil
}

// compare determines for each change whether the checkout has it.
func (p place) compare(ctx context.Context, common, from, to string,
	list []change) (*missed, error) {
	m := &missed{from: from, to: to, list: list}
	out, err := p.ask(ctx, "", "ls-files", "-z", "-v", "-s")
	if err != nil {
		return nil, err
	}
	entries, err := readEntries(out)
	if err != nil {
		return nil, err
	}
	staged := map[string]entry{}
	for _, e := range entries {
		staged[e.path] = e
	}
	if out, err = p.ask(ctx, "", "diff-files", "--no-renames", "--ignore-submodules=none",
		"--name-only", "-z"); err != nil {
		return nil, err
	}
	differs := split(out)
	back, err := changes(objectsOf(common), to, from,
		func(args ...string) (string, error) { return at(ctx, common, long, "", args...) })
	if err != nil {
		return nil, err
	}
	old := map[string]change{}
	for _, c := range back {
		old[c.path] = c
	}
	files, err := p.files(ctx, back)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		was, e := old[c.path], staged[c.path]
		there := paths.Exists(filepath.Join(p.top, filepath.FromSlash(c.path)))
		isOld, isNew := was.mode == e.mode && was.id == e.id || was.gone() && e.path == "",
			c.mode == e.mode && c.id == e.id || c.gone() && e.path == ""
		switch clean := !slices.Contains(differs, c.path) && there == (e.path != ""); {
		case isOld && clean:
			m.behind = append(m.behind, c.path)
		case isNew && (files[c.path] || was.gone() && !there):
			m.behind, m.index = append(m.behind, c.path), append(m.index, was)
		case isNew && clean:
		case isNew:
			m.edited, m.over = append(m.edited, c.path), append(m.over, was)
		default:
			m.edited = append(m.edited, c.path)
		}
	}
	return m, nil
}

// before reports whether all files that are as before the move existed before HEAD was written. A
// git that checks out a branch writes HEAD last. A person who takes back what was merged, and
// hasn't committed that, writes files after it, but so does a git stash pop. Missing files are
// ignored.
func (v move) before(ctx context.Context, m *missed) bool {
	p := v.place
	if v.stashed(ctx) {
		return true
	}
	head, err := statcache.Stat(filepath.Join(p.gitDir, "HEAD"))
	if err != nil {
		return false
	}
	told := false
	for _, path := range m.behind {
		s, err := statcache.Stat(filepath.Join(p.top, filepath.FromSlash(path)))
		if err == nil && s.Ctime > head.Ctime {
			return false
		}
		told = told || err == nil
	}
	if told {
		return true
	}
	for _, path := range m.behind { // only new files: none was removed from the places of others
		dir := filepath.Dir(path)
		for dir != "." && !paths.Exists(filepath.Join(p.top, dir)) {
			dir = filepath.Dir(dir)
		}
		if s, err := statcache.Stat(filepath.Join(p.top, dir)); err != nil || s.Ctime > head.Ctime {
			return false
		}
	}
	return true
}

// stashed reports whether a git stash may have written files that are as before the move after
// HEAD: it has, since the checkout of the branch, and that came so soon after the move that it may
// have begun before. What the stash took from such a checkout comes back with it.
func (v move) stashed(ctx context.Context) bool {
	head, err := statcache.Stat(filepath.Join(v.place.gitDir, "HEAD"))
	if err != nil {
		return false
	}
	moved, err := statcache.Stat(filepath.Join(v.common, movedFile))
	if err != nil || head.Ctime < moved.Mtime || head.Ctime > moved.Mtime+int64(mostCheckout) {
		return false
	}
	const lately = "50"
	out, err := v.place.ask(ctx, "", "log", "-g", "-n", lately, "--no-show-signature",
		"--format=%gs", "HEAD", "--")
	if err != nil {
		return false
	}
	for what := range strings.Lines(out) { // the newest first
		switch {
		case strings.HasPrefix(what, "reset: moving to HEAD"):
			return true
		case strings.HasPrefix(what, "checkout: "):
			return false
		}
	}
	return false
}

// stashes reports whether there is a stash that may bring files from before the move back: it was
// made after the checkout.
func (v move) stashes(ctx context.Context) bool {
	stash, err := statcache.Stat(filepath.Join(v.common, "refs", "stash"))
	if err != nil {
		return false
	}
	head, err := statcache.Stat(filepath.Join(v.place.gitDir, "HEAD"))
	return err == nil && stash.Mtime > head.Ctime && v.stashed(ctx)
}

// follow updates the copied index, and the files, as git merge does.
func (v move) follow(ctx context.Context, m *missed) error {
	p := v.place
	if len(m.index) > 0 { // a kill leaves a checkout whose index is as before, too
		if err := p.putIndex(ctx, m.index); err != nil {
			return err
		}
		if err := errors.Join(p.install(), p.copyIndex()); err != nil {
			return err
		}
	}
	if err := p.noteDelivery(m.from, m.to); err != nil {
		return err
	}
	if _, words, err := p.git(ctx, nil, "", "read-tree", "-m", "-u", m.from, m.to); err != nil {
		return p.refused(words, err) // the next Settle takes back what it has written
	}
	return nil
}

// LostByReset reports whether a git reset to HEAD took the commit out of the branch. Such a reset,
// which each git stash runs, keeps the branch where it is, unless gl has moved the branch since
// that git read it: then the reset moves it back, though no one asked for that. The branch's reflog
// tells; without one the answer is no.
func LostByReset(ctx context.Context, common, branch, commit string) bool {
	const lately = "50"
	out, err := at(ctx, common, long, "", "log", "-g", "-n", lately, "--no-show-signature",
		"--format=%H %gs", branch)
	if err != nil {
		return false
	}
	entries := strings.Split(strings.TrimSpace(out), "\n") // the newest first
	for i, e := range entries[:len(entries)-1] {
		before, _, _ := strings.Cut(entries[i+1], " ")
		if had, err := IsAncestor(ctx, common, commit, before); err != nil {
			return false
		} else if had {
			return strings.HasSuffix(e, "moving to HEAD")
		}
	}
	return false
}
