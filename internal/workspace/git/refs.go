package git

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/durable"
)

// A Ref is a name for a commit.
type Ref struct {
	Name   string    // in full
	Commit string    // what it names: not always a commit
	Target string    // of a symbolic ref: the ref that it names
	Time   time.Time // of the commit; zero for what isn't one
}

var (
	// ErrRefExists says that a ref to be made already exists, or one below or above it.
	ErrRefExists = errors.New("the ref already exists")
	// ErrRefMoved says that a ref isn't where it was.
	ErrRefMoved = errors.New("the ref has changed")
	// ErrRefLocked says that another git is changing a ref, or was killed while it did.
	ErrRefLocked = errors.New("the ref is locked")
)

// Refs lists the refs that are one of the names, or below one. A name that ends in "/" lists only
// what is below it. Refs whose object git lacks are left out.
func Refs(ctx context.Context, gitDir string, names ...string) ([]Ref, error) {
	list := func(format string) ([]Ref, error) {
		out, err := run(ctx, gitDir, append([]string{"--git-dir=" + gitDir, "for-each-ref",
			"--format=" + format}, names...)...)
		return readRefLines(out), err
	}
	const plain = "%(objectname) %(refname) %(symref)"
	refs, err := list(plain + " %(committerdate:unix)")
	if err == nil || ctx.Err() != nil || exitCode(err) <= 0 {
		return refs, err
	}
	// Git reads a commit for its time, and a single missing commit makes the list fail.
	if refs, err = list(plain); err != nil {
		return nil, err
	}
	ids := make([]string, len(refs))
	for i, r := range refs {
		ids[i] = r.Commit
	}
	gone, err := missing(ctx, gitDir, ids)
	if err != nil {
		return nil, err
	}
	refs = slices.DeleteFunc(refs, func(r Ref) bool { return slices.Contains(gone, r.Commit) })
	times, err := CommitTimes(ctx, gitDir,
		slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(gone, id) })...)
	for i := range refs {
		refs[i].Time = times[refs[i].Commit]
	}
	return refs, err
}

// readRefLines reads the lines OBJECT REF SYMREF TIME, the last of which may be left out.
func readRefLines(out string) (refs []Ref) {
	for line := range strings.Lines(out) {
		f := append(strings.Split(strings.TrimSuffix(line, "\n"), " "), "", "", "")
		r := Ref{Commit: f[0], Name: f[1], Target: f[2]}
		if seconds, err := strconv.ParseInt(f[3], 10, 64); err == nil {
			r.Time = time.Unix(seconds, 0)
		}
		refs = append(refs, r)
	}
	return refs
}

// Present returns those of the names that are refs, of branches or of gl. Names below an existing
// ref are also present if they differ only in case, since a file system may ignore case.
func Present(ctx context.Context, common string, names ...string) ([]string, error) {
	var there, ask []string
	for _, name := range names {
		below := slices.Contains(names, name[:max(0, strings.LastIndexByte(name, '/'))])
		switch found, known := findRef(common, name, below); {
		case !known:
			ask = append(ask, name)
		case found != "":
			there = append(there, found)
		}
	}
	if len(ask) == 0 {
		return there, ctx.Err()
	}
	refs, err := Refs(ctx, common, ask...)
	for _, r := range refs {
		if slices.ContainsFunc(ask,
			func(name string) bool { return strings.EqualFold(r.Name, name) }) {
			there = append(there, r.Name)
		}
	}
	return there, err
}

// RefsBelow lists the branches, or refs of gl, below a name, without their times.
func RefsBelow(ctx context.Context, common, name string) ([]Ref, error) {
	if refs, known := readRefs(common, name); known {
		return refs, ctx.Err()
	}
	return Refs(ctx, common, name+"/")
}

// CommitTimes returns the times of commits, by their ids. A missing commit is an error.
func CommitTimes(ctx context.Context, common string, ids ...string) (map[string]time.Time, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := at(ctx, common, time.Minute, strings.Join(ids, "\n")+"\n", "rev-list",
		"--no-walk=unsorted", "--timestamp", "--stdin")
	times := map[string]time.Time{}
	for line := range strings.Lines(out) {
		at, id, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if seconds, err := strconv.ParseInt(at, 10, 64); err == nil {
			times[id] = time.Unix(seconds, 0)
		}
	}
	return times, err
}

// A RefChange makes a ref (Old is ""), deletes it (New is ""), or moves it. A ref to be changed
// must be at Old, and one to be made must not exist, or the error is ErrRefMoved or ErrRefExists.
// With Force it is made or moved wherever it is.
type RefChange struct {
	Name, New, Old string
	Force          bool
}

// ChangeRefs makes all of the changes, or none. The reason is for the reflogs.
func ChangeRefs(ctx context.Context, gitDir, reason string, changes ...RefChange) error {
	var input strings.Builder
	for _, c := range changes {
		switch {
		case c.Force:
			fmt.Fprintf(&input, "update %s %s\n", c.Name, c.New)
		case c.Old == "":
			fmt.Fprintf(&input, "create %s %s\n", c.Name, c.New)
		case c.New == "":
			fmt.Fprintf(&input, "delete %s %s\n", c.Name, c.Old)
		default:
			fmt.Fprintf(&input, "update %s %s %s\n", c.Name, c.New, c.Old)
		}
	}
	if !slices.ContainsFunc(changes, func(c RefChange) bool { return !agentsRef(c.Name) }) {
		gitDir = withoutLogs(gitDir)
	}
	_, err := runInput(ctx, gitDir, input.String(), "--git-dir="+gitDir, "update-ref", "--no-deref",
		"-m", reason, "--stdin")
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "reference already exists"),
		strings.Contains(err.Error(), "' exists; cannot create '"):
		return fmt.Errorf("%w: %w", ErrRefExists, err)
	case strings.Contains(err.Error(), "but expected"),
		strings.Contains(err.Error(), "unable to resolve reference"):
		return fmt.Errorf("%w: %w", ErrRefMoved, err)
	case strings.Contains(err.Error(), ".lock': File exists"):
		return fmt.Errorf("%w: %w", ErrRefLocked, err)
	case strings.Contains(err.Error(), "with nonexistent object"):
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return err
}

// UnlockRef removes the lock that a git left which was killed while it changed the ref. The caller
// knows that no other git is changing it.
func UnlockRef(common, name string) error {
	return ignoreMissing(durable.Unlink(filepath.Join(common, filepath.FromSlash(name)+".lock")))
}

// SymbolicRef returns the ref that a symbolic one names, "" if there is no such ref or it isn't
// symbolic.
func SymbolicRef(ctx context.Context, gitDir, name string) (string, error) {
	if _, target, known := readRef(gitDir, name); known {
		return target, ctx.Err()
	}
	return quiet(ctx, gitDir, "--git-dir="+gitDir, "symbolic-ref", "-q", name)
}

// SetSymbolicRef makes a symbolic ref, or points it elsewhere.
func SetSymbolicRef(ctx context.Context, gitDir, name, target, reason string) error {
	_, err := run(ctx, gitDir, "--git-dir="+gitDir, "symbolic-ref", "-m", reason, name, target)
	return err
}

// ResolveCommit returns the commit that a revision names, "" for none.
func ResolveCommit(ctx context.Context, gitDir, revision string) (string, error) {
	if id, known := readCommit(gitDir, revision); known {
		return id, ctx.Err()
	}
	return quiet(ctx, gitDir, "--git-dir="+gitDir, "rev-parse", "-q", "--verify",
		"--end-of-options", revision+"^{commit}")
}

// ValidRef reports whether git accepts the name as a ref's full name.
func ValidRef(ctx context.Context, name string) (bool, error) {
	if plainName().MatchString(name) {
		return true, ctx.Err()
	}
	_, err := run(ctx, "", "check-ref-format", name)
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

// plainName matches names of refs that are certainly valid.
var plainName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^refs(/[A-Za-z0-9_]+)+$`) })

// Mirrors returns the remotes to which git push sends every ref.
func Mirrors(ctx context.Context, dir string) ([]string, error) {
	out, err := quiet(ctx, dir, "config", "--type=bool", "--get-regexp", `^remote\..*\.mirror$`)
	var names []string
	for line := range strings.Lines(out) {
		if key, ok := strings.CutSuffix(strings.TrimSuffix(line, "\n"), " true"); ok {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(key, "remote."), ".mirror"))
		}
	}
	return names, err
}
