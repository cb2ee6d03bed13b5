package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
)

// Options control an installation.
type Options struct {
	Version  string // version of this gl
	Conflict Conflict
	Force    bool // overwrite files that the user has modified, keeping a copy
	DryRun   bool

	// also install into settings.json; without it, existing entries stay
	Hooks, StatusLine bool
	// rules for settings.json, see Rules; without any, existing ones stay
	Permissions []string
}

// A Deed is an action on a file.
type Deed string

const (
	Write   Deed = "write"   // a new file
	Upgrade Deed = "upgrade" // one of ours that is unmodified
	Save    Deed = "save"    // a copy of the user's file
	Remove  Deed = "remove"  // one of ours
	Restore Deed = "restore" // the user's original file
	Edit    Deed = "edit"    // our part of a user's file
	Keep    Deed = "keep"    // nothing: the file is the user's, or the user has modified it
)

// A Step is one action on one file, done or planned.
type Step struct {
	Do   Deed
	Path string // relative to the target's root
	Note string // the reason or the destination; "" for none
}

// A Result describes an installation or a removal.
type Result struct {
	Steps []Step
	Found bool   // there was an installation before
	From  string // version of that installation
}

// Changed returns the number of steps that change something.
func (r *Result) Changed() int {
	n := 0
	for _, s := range r.Steps {
		if s.Do != Keep {
			n++
		}
	}
	return n
}

// A job is a planned installation or removal. Until it runs, it only reads.
type job struct {
	t     Target
	o     Options
	old   *manifest
	text  []byte // of the old manifest
	next  *manifest
	steps []Step
	do    []func() error // in order; each compares before it overwrites

	locked bool // the lock is held, so a directory that contains only the lock is ours
}

// step plans one action; f is nil if there is nothing to do.
func (j *job) step(do Deed, path, note string, f func() error) {
	j.steps = append(j.steps, Step{do, path, note})
	if f != nil {
		j.do = append(j.do, f)
	}
}

func (j *job) result() *Result {
	r := &Result{Steps: j.steps, Found: j.old != nil}
	if j.old != nil {
		r.From = j.old.Version
	}
	return r
}

// Install installs or updates the content, or completes an interrupted installation. If
// everything is up to date, it writes nothing. After any error other than a read error, the
// next Install continues from the resulting state.
func (t Target) Install(ctx context.Context, c Content, o Options) (*Result, error) {
	j, err := t.planInstall(c, o, false)
	if err != nil || o.DryRun || !j.changes() {
		return j.result(), err
	}
	missing := j.next.Dirs // the lock creates the first of them
	err = t.locked(ctx, func() error {
		if j, err = t.planInstall(c, o, true); err != nil { // another process may have been faster
			return err
		}
		j.next.makes(missing...)
		return j.install()
	})
	return j.result(), err
}

func (j *job) changes() bool {
	// left by a killed process, or held by a running one
	_, err := os.Lstat(j.t.Path(path.Join(j.t.Home, lockName)))
	return len(j.do) > 0 || !j.old.complete() ||
		string(j.next.text()) != string(j.text) || err == nil
}

func (t Target) planInstall(c Content, o Options, locked bool) (*job, error) {
	j := &job{t: t, o: o, locked: locked}
	var err error
	if j.old, j.text, err = readManifest(t); err != nil {
		return j, err
	}
	files, err := t.Files(c)
	if err != nil {
		return j, err
	}
	j.next = &manifest{SchemaVersion: schemaVersion, Agent: t.Agent, Version: o.Version,
		State: installed, Dirs: []string{}, Files: []entry{}}
	if t.Memory != "" && len(c.Memory) > 0 {
		beside, err := j.planMemory(c.Memory)
		if err != nil {
			return j, err
		}
		if beside {
			files = append(files, File{t.beside(), c.Memory})
		}
	}
	for _, f := range files {
		if err := j.planFile(f); err != nil {
			return j, err
		}
	}
	if err := j.planStale(); err != nil {
		return j, err
	}
	if err := j.planSettings(c); err != nil {
		return j, err
	}
	j.planDirs()
	return j, nil
}

// planFile compares one file with its installed version.
func (j *job) planFile(f File) error {
	cur, err := j.t.read(f.Path)
	if err != nil {
		return err
	}
	e, want, have := j.old.entry(f.Path), hash(f.Data), hash(cur)
	n := entry{Path: f.Path, SHA256: want}
	if e != nil {
		n.Before, n.Saved = e.Before, e.Saved
	}
	put := func() error { return j.put(f.Path, cur, f.Data) }
	switch {
	case cur == nil:
		j.step(Write, f.Path, "", put)
	case have == want:
		if e == nil {
			n.Before = have // it was there first, so it stays on removal
		}
	case e == nil || !j.old.complete() && have == e.Before: // the user's original
		n.Before = have
		if err := j.save(&n, cur); err != nil {
			return err
		}
		j.step(Write, f.Path, "yours is saved as "+n.Saved, put)
	case e.ours(have):
		if n.Before != "" && n.Saved == "" {
			if err := j.save(&n, cur); err != nil {
				return err
			}
		}
		j.step(Upgrade, f.Path, "", put)
	case j.o.Force:
		j.step(Upgrade, f.Path, "yours is saved as "+j.copy(j.t.backup(f.Path), cur), put)
	default:
		n.SHA256 = e.SHA256 // what we last wrote, so that the file still shows as modified
		j.step(Keep, f.Path, "you have changed it", nil)
	}
	j.next.Files = append(j.next.Files, n)
	return nil
}

// copy plans a copy of the user's modified version of our file, which then belongs to the user
// and stays.
func (j *job) copy(to string, cur []byte) string {
	to = j.t.free(to)
	j.step(Save, to, "", func() error { return j.put(to, nil, cur) })
	return to
}

// save plans a copy of the user's original file, unless it exists.
func (j *job) save(n *entry, cur []byte) error {
	if n.Saved != "" {
		saved, err := j.t.read(n.Saved)
		if err != nil || hash(saved) == n.Before {
			return err
		}
	}
	n.Saved = j.t.free(j.t.backup(n.Path))
	to := n.Saved
	j.step(Save, to, "", func() error { return j.put(to, nil, cur) })
	return nil
}

// planStale removes files of an older version that this one doesn't have.
func (j *job) planStale() error {
	if j.old == nil {
		return nil
	}
	for i := range j.old.Files {
		if e := &j.old.Files[i]; j.next.entry(e.Path) == nil {
			if err := j.planRemoval(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// planDirs records the missing directories, since we will own them.
func (j *job) planDirs() {
	if j.old != nil {
		j.next.Dirs = append(j.next.Dirs, j.old.Dirs...)
	}
	paths := []string{j.t.manifestPath()}
	for _, e := range j.next.Files {
		paths = append(paths, e.Path)
		if e.Saved != "" {
			paths = append(paths, e.Saved)
		}
	}
	for _, p := range paths {
		for _, dir := range parents(p) {
			if _, err := os.Lstat(j.t.Path(dir)); errors.Is(err, fs.ErrNotExist) {
				j.next.makes(dir)
			}
		}
	}
	// created by an installation that was killed before it wrote a manifest
	if j.old == nil && !j.locked && j.t.untouched() {
		for _, dir := range parents(j.t.manifestPath()) {
			entries, err := os.ReadDir(j.t.Path(dir))
			if err == nil && (dir == j.t.Home || len(entries) == 1) {
				j.next.makes(dir)
			}
		}
	}
}

// makes records directories as ours.
func (m *manifest) makes(dirs ...string) {
	for _, dir := range dirs {
		if !slices.Contains(m.Dirs, dir) {
			m.Dirs = append(m.Dirs, dir)
		}
	}
	slices.Sort(m.Dirs) // sorts parents first
}

// parents returns the directories above a path, topmost first.
func parents(p string) []string {
	var all []string
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		all = append(all, dir)
	}
	slices.Reverse(all)
	return all
}

// untouched reports whether our own directory exists and contains only what a killed gl leaves.
func (t Target) untouched() bool {
	entries, err := os.ReadDir(t.Path(t.Home))
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() != lockName && !isTemp(e.Name())
	})
}

func isTemp(name string) bool { return path.Ext(name) == ".tmp" }

// install writes its intent to the manifest, carries it out, then marks the manifest as
// complete.
func (j *job) install() error {
	intent := *j.next
	intent.State = installing
	intent.Files = slices.Clone(j.next.Files)
	for i, e := range intent.Files {
		intent.Files[i] = e.since(j.old.entry(e.Path))
	}
	if j.old != nil {
		for _, e := range j.old.Files {
			if intent.entry(e.Path) == nil {
				intent.Files = append(intent.Files, e)
			}
		}
	}
	intent.Memory, intent.Settings = j.next.Memory.since(j.old), j.next.Settings.with(j.old)
	text := j.text
	if len(j.do) > 0 || !j.old.complete() {
		text = intent.text()
		if err := j.put(j.t.manifestPath(), j.text, text); err != nil {
			return err
		}
	}
	for _, f := range j.do {
		if err := f(); err != nil {
			return fmt.Errorf("%w; run the same command again to complete the installation", err)
		}
	}
	j.dropDirs()
	return j.put(j.t.manifestPath(), text, j.next.text()) // writes nothing if nothing changed
}

// put writes a file, creating missing directories.
func (j *job) put(rel string, old, data []byte) error {
	if err := j.t.contains(rel); err != nil {
		return err
	}
	if err := os.MkdirAll(j.t.Path(path.Dir(rel)), 0o755); err != nil {
		return fmt.Errorf("make %s: %w", j.t.Path(path.Dir(rel)), unpath(err))
	}
	return j.t.write(rel, old, data)
}

// locked runs f while no other gl works on the same target. The lock leaves no file behind.
func (t Target) locked(ctx context.Context, f func() error) error {
	lock := t.Path(path.Join(t.Home, lockName))
	held, err := t.lock(ctx, lock)
	for range 10 { // uninstall removes the directory
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		held, err = t.lock(ctx, lock)
	}
	if err != nil {
		return err
	}
	t.sweep()
	err = f()
	// a process waiting for the lock notices the removal and creates a new file
	_ = os.Remove(lock)
	return errors.Join(err, held.Unlock())
}

func (t Target) lock(ctx context.Context, file string) (*durable.Held, error) {
	if err := t.contains(path.Join(t.Home, lockName)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(t.Path(t.Home), 0o755); err != nil {
		return nil, fmt.Errorf("make %s: %w", t.Path(t.Home), unpath(err))
	}
	return durable.Lock(ctx, file)
}

// sweep removes temporary files left by a killed gl.
func (t Target) sweep() {
	paths := []string{t.manifestPath(), t.Memory, t.Settings}
	if m, _, err := readManifest(t); err == nil && m != nil {
		for _, e := range m.Files {
			paths = append(paths, e.Path, e.Saved)
		}
		if m.Memory != nil {
			paths = append(paths, m.Memory.Saved)
		}
	}
	for _, p := range paths {
		if p == "" || t.contains(p) != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(t.Path(p))
		if err != nil {
			real = t.Path(p)
		}
		temps, _ := durable.Abandoned(filepath.Dir(real), time.Now())
		for _, temp := range temps {
			if strings.HasPrefix(filepath.Base(temp), "."+filepath.Base(real)+".") {
				_ = os.Remove(temp)
			}
		}
	}
}
