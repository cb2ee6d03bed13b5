package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// Lineages reads and writes the lineage files of a project, and compares them with what git has.
type Lineages struct {
	at     *Layout
	common string
	queue  *Queue
}

// Get reads a slice's lineage. The error is fs.ErrNotExist if there is none, and a *BadLineage if
// it can't be used.
func (ls *Lineages) Get(system, slice string) (*Lineage, error) {
	l, err := ls.read(ls.at.file(system, slice))
	if err != nil {
		return nil, err
	}
	if l.System != system || l.Slice != slice {
		return nil, &BadLineage{Path: ls.at.file(system, slice),
			Err: fmt.Errorf("says it is %q of system %q", l.Slice, l.System)}
	}
	return l, nil
}

func (ls *Lineages) read(path string) (*Lineage, error) {
	info, err := durable.Stat(path)
	if err != nil {
		return nil, err
	}
	l := new(Lineage)
	if info.Size() > largestFile {
		return nil, &BadLineage{Path: path,
			Err: fmt.Errorf("is larger than %d MB, the most that gl writes", largestFile>>20)}
	}
	data, err := durable.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err = json.Unmarshal(data, l); err == nil {
		err = ls.at.check(l)
	}
	if err == nil && filepath.Base(path) != fileName(l.System, l.Slice)+".json" {
		err = fmt.Errorf("says it is %q of system %q", l.Slice, l.System)
	}
	if err != nil {
		return nil, &BadLineage{Path: path, Keep: errors.As(err, new(errForeign)), Err: err}
	}
	return l, nil
}

// All reads the lineages of all slices, and lists the files that can't be used.
func (ls *Lineages) All() ([]*Lineage, []*BadLineage, error) {
	entries, err := durable.ReadDir(ls.at.dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	var all []*Lineage
	var bad []*BadLineage
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		l, readErr := ls.read(filepath.Join(ls.at.dir(), e.Name()))
		if b := new(BadLineage); errors.As(readErr, &b) {
			bad = append(bad, b)
		} else if readErr == nil {
			all = append(all, l)
		} else if !errors.Is(readErr, fs.ErrNotExist) {
			err = errors.Join(err, readErr)
		}
	}
	return all, bad, err
}

// Save writes the lineage's file.
func (ls *Lineages) Save(l *Lineage) error {
	if err := durable.MkdirPrivate(ls.at.dir()); err != nil {
		return err
	}
	return durable.WriteJSON(ls.at.file(l.System, l.Slice), l)
}

// step records that the lineage has reached a phase.
func (ls *Lineages) step(l *Lineage, to Phase) error {
	l.Phase = to
	return ls.Save(l)
}

// Plan returns the lineage that the next attempt at a slice belongs to: the open one or, if there
// is none or fresh is set, a new one that begins at base. It writes only the lineage's file. The
// caller holds the project's lock.
func (ls *Lineages) Plan(ctx context.Context, system, slice, base string,
	fresh bool) (*Lineage, error) {
	l, err := ls.Get(system, slice)
	bad := new(BadLineage)
	switch {
	case errors.As(err, &bad) && !bad.Keep:
		if err := ls.setAside(bad); err != nil {
			return nil, err
		}
		l = nil
	case errors.Is(err, fs.ErrNotExist):
		l = nil
	case err != nil:
		return nil, err
	}
	if l != nil && !fresh {
		if open, err := ls.open(ctx, l); err != nil || open {
			return l, err
		}
	}
	n := 0
	if l != nil {
		n = l.N
	}
	if n, err = ls.number(ctx, system, slice, n); err != nil {
		return nil, err
	}
	l = &Lineage{SchemaVersion: schemaVersion, System: system, Slice: slice, N: n,
		Branch: ls.at.branches(system, slice) + "/" + strconv.Itoa(n),
		Path:   ls.at.path(system, slice, n), Base: base, Phase: Planned}
	if l.IsLane() {
		l.Branch = ""
	}
	if err := ls.at.check(l); err != nil {
		return nil, fmt.Errorf("the worktree of slice %s: %w", slice, err)
	}
	return l, ls.Save(l)
}

// open reports whether work on the lineage can go on.
func (ls *Lineages) open(ctx context.Context, l *Lineage) (bool, error) {
	if l.Phase == Gone {
		return false, nil
	}
	if l.Phase == Planned {
		// The names may be taken by now.
		state, err := ls.look(ctx, l)
		if err != nil || state == taken {
			return false, err
		}
		lost, err := ls.BaseLost(ctx, l)
		if err == nil && lost {
			err = ls.dropBranch(ctx, l)
		}
		return !lost, err
	}
	return lost(l.Path) || ls.ours(l) == nil, nil
}

// number returns the least number above last that no ref, worktree or file of the slice has.
func (ls *Lineages) number(ctx context.Context, system, slice string, last int) (int, error) {
	branches, wips, tests := ls.at.branches(system, slice), ls.at.wips(system, slice),
		ls.at.tests(system, slice)
	blocking, err := git.Present(ctx, ls.common, append(parents(branches), wips, tests)...)
	if err != nil {
		return 0, err
	}
	if len(blocking) > 0 {
		return 0, &Refused{fmt.Sprintf("the branch %s is in the way of branches like %s/1",
			short(blocking[0]), short(branches)), "git branch -m it"}
	}
	for _, dir := range []string{branches, wips, tests} {
		refs, err := git.RefsBelow(ctx, ls.common, dir)
		if err != nil {
			return 0, err
		}
		for _, ref := range refs {
			digits, _, _ := strings.Cut(strings.TrimPrefix(ref.Name, dir+"/"), "/")
			if n, err := strconv.Atoi(digits); err == nil {
				last = max(last, n)
			}
		}
	}
	linked, err := git.ListLinked(ls.common)
	if err != nil {
		return 0, err
	}
	for n := last + 1; n <= mostLineages; n++ {
		path := ls.at.path(system, slice, n)
		if gone(path) &&
			!slices.ContainsFunc(linked, func(l git.Linked) bool { return l.Path == path }) {
			return n, nil
		}
	}
	return 0, errors.New("there are too many worktrees")
}

// setAside moves a file that can't be used to runs/bad.
func (ls *Lineages) setAside(bad *BadLineage) error {
	dir := statedir.Path(ls.at.root, "runs", "bad")
	if err := durable.MkdirPrivate(dir); err != nil {
		return err
	}
	to := filepath.Join(dir, "lineage."+filepath.Base(bad.Path))
	for n := 2; paths.Exists(to); n++ {
		to = filepath.Join(dir, "lineage."+filepath.Base(bad.Path)+"."+strconv.Itoa(n))
	}
	for _, p := range []string{bad.Path, to} {
		if err := durable.CheckPath(p); err != nil {
			return err
		}
	}
	return os.Rename(bad.Path, to)
}

// ours returns an error unless git has the lineage's worktree as one of gl's.
func (ls *Lineages) ours(l *Lineage) error {
	if err := ls.at.Worktree(l).Check(); err != nil {
		return err
	}
	reason, err := durable.ReadFile(filepath.Join(l.Admin, "locked"))
	if err != nil || strings.TrimSuffix(string(reason), "\n") != git.LockReason(l.Path) {
		return fmt.Errorf("the worktree %s isn't locked for gl: %w", l.Path,
			errors.Join(err, git.ErrNotLinked))
	}
	return nil
}

// Retire ends a lineage, so that the slice's next attempt begins a new one. Its worktree, its
// branch and its snapshots stay. A lineage that isn't the slice's last has already ended. The
// caller holds the project's lock.
func (ls *Lineages) Retire(system, slice string, n int) error {
	l, err := ls.Get(system, slice)
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*BadLineage)) ||
		err == nil && (l.N != n || l.Phase == Gone) {
		return nil
	}
	if err != nil {
		return err
	}
	return ls.step(l, Gone)
}

// PutBack writes a note's lineage if its file is gone.
func (ls *Lineages) PutBack(n Note) error {
	_, err := ls.Get(n.Lineage.System, n.Lineage.Slice)
	if errors.Is(err, fs.ErrNotExist) {
		return ls.Save(n.Lineage)
	}
	return err
}

// fileName returns the name of a slice's lineage file without its ending. The system's part has no
// dot.
func fileName(system, slice string) string {
	return strings.ReplaceAll(part(system), ".", "%2e") + "." + idPart(slice)
}

// gone reports whether there is nothing at path.
func gone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
