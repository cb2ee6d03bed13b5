package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/gate"
	"greenlight/internal/workspace/git"
)

// What an agent can write of git's and of its worktree is replaced by what an agent can make, at
// each moment at which gl looks at it. Whatever that does to the agent's own slice: nothing outside
// is written, nothing runs, no other slice waits, and the target is what was verified.
//
// By default some of all combinations are tried, by a seed of the day; GREENLIGHT_LONG=1 tries
// each.

// writable are files and directories that an agent in a sandbox can replace, and tests in the merge
// queue's worktree car, by what they are.
func writable(r *Repo, l, car *Lineage) map[string]string {
	all := map[string]string{}
	add := func(what, top string, names ...string) {
		for _, n := range names {
			all[what+" "+n] = filepath.Join(top, n)
		}
	}
	for before, l := range map[string]*Lineage{"": l, ofTests: car} {
		add(before+"worktree", l.Path, ".git", "a.txt", "sub", "sub/b.txt", ".gitignore",
			".gitattributes", ".gitmodules", "sub/.gitignore", "nested/.git", "nested/.git/HEAD",
			"nested/.git/config", "nested/.git/index", "nested/.git/refs",
			"nested/.git/packed-refs", "nested/.git/objects")
		add(before+"admin", l.Admin, "HEAD", "index", "index.lock", "HEAD.lock", "ORIG_HEAD",
			"MERGE_HEAD", "MERGE_MSG", "gl-moving", "gl-delivering", "gl-committing", "logs", "logs/HEAD", "refs", "refs/bisect",
			"rebase-merge", "rebase-merge/head-name", "rebase-apply", "sequencer", "modules",
			"BISECT_START", "CHERRY_PICK_HEAD")
	}
	number := fmt.Sprint(l.N)
	refs := filepath.FromSlash(r.Layout.branches(l.System, l.Slice))
	add("ref", filepath.Join(r.Git.Common, refs), number, number+".lock", "99", "x")
	add("log", filepath.Join(r.Git.Common, "logs", refs), number, "99", "x/y")
	return all
}

// ofTests begins the names of what tests can replace, and of moments at which gl looks at that.
const ofTests = "tests: "

// replacements are what comes in the place of a file or directory. victim is a directory of the
// person's.
func replacements(victim string) map[string]func(path string) error {
	m := map[string]func(path string) error{
		"a link to a file":         func(p string) error { return os.Symlink(filepath.Join(victim, "precious"), p) },
		"a link to nothing":        func(p string) error { return os.Symlink(filepath.Join(victim, "new"), p) },
		"a link to a directory":    func(p string) error { return os.Symlink(victim, p) },
		"a link to itself":         func(p string) error { return os.Symlink(filepath.Base(p), p) },
		"a pipe":                   func(p string) error { return syscall.Mkfifo(p, 0o666) },
		"a directory":              func(p string) error { return os.MkdirAll(filepath.Join(p, "HEAD"), 0o755) },
		"an empty file":            func(p string) error { return os.WriteFile(p, nil, 0o644) },
		"garbage":                  func(p string) error { return os.WriteFile(p, []byte("\x00ref: ../../\xff\n[core]\nx"), 0o644) },
		"nothing":                  func(string) error { return nil },
		"the target":               func(p string) error { return os.WriteFile(p, []byte("ref: refs/heads/main\n"), 0o644) },
		"the target's name":        func(p string) error { return os.WriteFile(p, []byte("refs/heads/main\n"), 0o644) },
		"a file without rights":    func(p string) error { return os.WriteFile(p, []byte("x"), 0) },
		"a directory without them": func(p string) error { return os.Mkdir(p, 0) },
		"a huge file": func(p string) error {
			if err := os.WriteFile(p, nil, 0o644); err != nil {
				return err
			}
			return os.Truncate(p, 96<<20) // copies of it are in memory where temporary files are
		},
	}
	if runtime.GOOS == "linux" { // elsewhere root alone may
		m["a socket"] = func(p string) error { return syscall.Mknod(p, syscall.S_IFSOCK|0o666, 0) }
	}
	if os.Geteuid() == 0 {
		// zero
		m["a device"] = func(p string) error { return syscall.Mknod(p, syscall.S_IFCHR|0o666, 1<<8|5) }
	}
	return m
}

// moments are the times at which gl looks at what an agent had.
var moments = map[string]func(ctx context.Context, r *Repo, l *Lineage) error{
	"the last snapshot": func(ctx context.Context, r *Repo, l *Lineage) error {
		_, err := r.Snapshots.Take(ctx, l, SnapshotOptions{Last: true, Why: "test"})
		return err
	},
	"a snapshot beside the agent": func(ctx context.Context, r *Repo, l *Lineage) error {
		_, err := r.Snapshots.Take(ctx, l, SnapshotOptions{Why: "test"})
		return err
	},
	"the look around": func(ctx context.Context, r *Repo, l *Lineage) error {
		_, err := r.Inspect(ctx, l)
		return err
	},
	"the merge queue": func(ctx context.Context, r *Repo, l *Lineage) error {
		_, _, err := r.Layout.Worktree(l).Exclusive().CommitAll(ctx, l.Branch, "all")
		return err
	},
	"the next attempt": func(ctx context.Context, r *Repo, l *Lineage) error {
		h, err := r.Make(ctx, l, Making{})
		if err == nil {
			err = h.Release()
		}
		return err
	},
	"a removal": func(ctx context.Context, r *Repo, l *Lineage) error {
		_, err := r.Cleaner.Remove(ctx, l, RemoveOptions{})
		return err
	},
	"a worker's push": func(ctx context.Context, r *Repo, l *Lineage) error {
		if _, err := r.Inspect(ctx, l); err != nil {
			return err
		}
		_, err := r.Snapshots.Take(ctx, l, SnapshotOptions{Last: true, Why: "test"})
		w := r.Layout.Worktree(l).Exclusive()
		_ = w.Adopt(ctx, l.Branch)
		_, _, commitErr := w.CommitAll(ctx, l.Branch, "all")
		return errors.Join(err, commitErr)
	},
	"a worker's next attempt": func(ctx context.Context, r *Repo, l *Lineage) error {
		h, err := r.Make(ctx, l, Making{})
		if err == nil {
			err = errors.Join(h.Continue(ctx, l.Base), h.Release())
		}
		return err
	},
	"a worker's removal": func(ctx context.Context, r *Repo, l *Lineage) error {
		return r.Cleaner.Discard(ctx, l)
	},
	ofTests + "the next ones": func(ctx context.Context, r *Repo, _ *Lineage) error {
		l, err := r.Lineages.Car(ctx, 1)
		if err != nil {
			return err
		}
		h, err := r.Make(ctx, l, Making{})
		if err != nil {
			return err
		}
		err = h.Checkout(ctx, l.Base)
		_, differsErr := h.SetupDiffers()
		_, ignoredErr := r.Layout.Worktree(l).Ignored(ctx)
		return errors.Join(err, differsErr, ignoredErr, h.Release())
	},
	"salvage": func(ctx context.Context, r *Repo, l *Lineage) error {
		_, err := r.Archive.Kept(ctx)
		_, leftErr := r.Cleaner.Leftovers(ctx)
		return errors.Join(err, leftErr)
	},
	nothingOfItsOwn: func(context.Context, *Repo, *Lineage) error { return nil },
}

const nothingOfItsOwn = "nothing of its own"

// longestMoment is of all reads together, on a loaded machine: longestRead is of each.
const longestMoment = 2 * time.Minute

func TestReplaced(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	type combination struct{ what, by, when string }
	var all []combination
	sample, l, car := replacedBench(t)
	for what := range writable(sample, l, car) {
		for by := range replacements("") {
			for when := range moments {
				tests := strings.HasPrefix(what, ofTests)
				if when == nothingOfItsOwn || tests == strings.HasPrefix(when, ofTests) {
					all = append(all, combination{what, by, when})
				}
			}
		}
	}
	// Maps have no order, and a seed is to say what was tried.
	slices.SortFunc(all, func(a, b combination) int {
		return cmp.Or(strings.Compare(a.what, b.what), strings.Compare(a.by, b.by),
			strings.Compare(a.when, b.when))
	})
	seed := time.Now().Unix() / (24 * 60 * 60)
	rand.New(rand.NewSource(seed)).Shuffle(len(all),
		func(i, j int) { all[i], all[j] = all[j], all[i] })
	n := testfiles.Sized(6, len(all))
	if given, err := strconv.Atoi(os.Getenv("GREENLIGHT_REPLACED")); err == nil { // so many
		n = min(given, len(all))
	}
	t.Logf("%d of %d combinations, seed %d", n, len(all), seed)
	for _, c := range all[:n] {
		t.Run(fmt.Sprintf("%s by %s, then %s", c.what, c.by, c.when),
			func(t *testing.T) { replaced(t, c.what, c.by, c.when) })
	}
}

// What the attacks on 2f0f9e9 did.
func TestReplacedBefore(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	for _, c := range [][3]string{
		{"admin HEAD", "a pipe", "the last snapshot"},
		{"ref 1", "a huge file", "nothing of its own"},
		{"ref 1", "a huge file", "the merge queue"},
		{"admin HEAD", "a directory", "nothing of its own"},
		{"admin HEAD", "the target", "nothing of its own"},
		{"admin HEAD", "the target", "the merge queue"},
		{"admin rebase-merge/head-name", "the target's name", "nothing of its own"},
		{"admin index", "a link to nothing", "the merge queue"},
		{"admin logs/HEAD", "a link to a file", "the merge queue"},
		{"log 1", "a link to a file", "the merge queue"},
		{"worktree .gitignore", "a pipe", "the last snapshot"},
		{"worktree .gitattributes", "a huge file", "the last snapshot"},
		{"worktree nested/.git/HEAD", "a pipe", "the last snapshot"},
		{"worktree .gitattributes", "a device", "a removal"},
	} {
		if replacements("")[c[1]] == nil {
			continue // for root alone
		}
		t.Run(strings.Join(c[:], ", "), func(t *testing.T) { replaced(t, c[0], c[1], c[2]) })
	}
}

func replacedBench(t *testing.T) (r *Repo, l, car *Lineage) {
	t.Helper()
	root := project(t)
	r = open(t, root)
	plan(t, r, "S-1")
	l, err := r.Lineages.Get("", "S-1")
	must(t, err)
	car, err = r.Lineages.Car(t.Context(), 1)
	must(t, err)
	for _, made := range []*Lineage{l, car} {
		h, err := r.Make(t.Context(), made, Making{})
		must(t, err)
		must(t, h.Release())
	}
	return r, l, car
}

// replaced tries one combination. What took too long is tried once more: the machine may have been
// busy.
func replaced(t *testing.T, what, by, when string) {
	slow := tryReplaced(t, what, by, when)
	if len(slow) > 0 && !t.Failed() {
		t.Logf("again: %s", strings.Join(slow, "; "))
		slow = tryReplaced(t, what, by, when)
	}
	for _, s := range slow {
		t.Error(s)
	}
}

func tryReplaced(t *testing.T, what, by, when string) (slow []string) {
	r, l, car := replacedBench(t)
	for _, top := range []string{l.Path, car.Path} {
		nested := filepath.Join(top, "nested")
		must(t, os.MkdirAll(nested, 0o755))
		must(t, os.WriteFile(filepath.Join(nested, "file"), []byte("x"), 0o644))
		gitIn(t, nested, "init", "-q")
	}
	must(t, os.WriteFile(filepath.Join(l.Path, "work.txt"), []byte("work\n"), 0o644))
	victim := filepath.Join(t.TempDir(), "home")
	must(t, os.MkdirAll(victim, 0o755))
	must(t, os.WriteFile(filepath.Join(victim, "precious"), []byte("[core]\n"), 0o644))
	path := writable(r, l, car)[what]
	if path == "" {
		t.Fatalf("no place is called %s", what)
	}
	must(t, os.RemoveAll(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, replacements(victim)[by](path))
	main := gitIn(t, r.Git.Top, "rev-parse", "HEAD")

	ctx, cancel := context.WithTimeout(t.Context(), 2*longestMoment)
	defer cancel()
	watched := path
	name, _ := strings.CutPrefix(what, ofTests)
	content := by == "a huge file" &&
		(name == "worktree a.txt" || name == "worktree sub" || name == "worktree sub/b.txt")
	if content {
		// Work is read whole, to keep it: that takes its own slice as long as the disk needs.
		watched = ""
	}
	reads := watchReads(watched)
	begun := time.Now()
	if err := moments[when](ctx, r, l); err != nil {
		t.Logf("the slice itself: %v", err) // it may be held; no other is
	}
	own := time.Since(begun)
	checkOthers(ctx, t, r)
	slow = reads()
	others := time.Since(begun) - own
	if content {
		own = 0
	}
	if max(own, others) > longestMoment {
		slow = append(slow, fmt.Sprintf("it took %v, others %v", own, others))
	}
	var there []string
	must(t, filepath.WalkDir(victim, func(path string, _ fs.DirEntry, err error) error {
		there = append(there, filepath.Base(path))
		return err
	}))
	if text, err := os.ReadFile(filepath.Join(victim, "precious")); err != nil ||
		string(text) != "[core]\n" || len(there) != 2 {
		t.Errorf("outside was written: %q, %v, %q", text, err, there)
	}
	if got := gitIn(t, r.Git.Top, "rev-parse", "HEAD^"); got != main {
		t.Errorf("main has %s, not one commit more than %s", got, main)
	}
	// For the removal of the test's directory.
	_ = filepath.WalkDir(filepath.Dir(l.Path), func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return nil
	})
	return slow
}

// checkOthers goes on with another slice: its worktree is made, saved, and delivered.
func checkOthers(ctx context.Context, t *testing.T, r *Repo) {
	t.Helper()
	plan(t, r, "S-2")
	other, err := r.Lineages.Get("", "S-2")
	must(t, err)
	h, err := r.Make(ctx, other, Making{})
	if err != nil {
		t.Errorf("another slice has no worktree: %v", err)
		return
	}
	must(t, h.Release())
	must(t, os.WriteFile(filepath.Join(other.Path, "other.txt"), []byte("x\n"), 0o644))
	if _, err := r.Snapshots.Take(ctx, other,
		SnapshotOptions{Last: true, Why: "test"}); err != nil {
		t.Errorf("another slice isn't saved: %v", err)
	}
	tip, _, err := r.Layout.Worktree(other).Exclusive().CommitAll(ctx, other.Branch, "other")
	if err != nil {
		t.Errorf("another slice isn't committed: %v", err)
		return
	}
	if err := deliverTo(ctx, r, other.Base, tip); err != nil {
		t.Errorf("another slice isn't delivered: %v", err)
	}
	if _, err := r.Archive.Kept(ctx); err != nil {
		t.Errorf("salvage: %v", err)
	}
}

func deliverTo(ctx context.Context, r *Repo, from, to string) error {
	pass, err := gate.Ask(gate.Facts{Way: gate.Follow, Left: to, Lands: to}).Pass(to)
	if err != nil {
		return err
	}
	return git.FastForward(ctx, r.Git.Common, r.Target(), from, to, pass, nil)
}
