package install

import (
	"context"
	"os"
	"path"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
)

// Uninstall removes what was installed and restores what was there before. It keeps and names
// files that the user has modified. If nothing is installed, it does nothing.
func (t Target) Uninstall(ctx context.Context, dryRun bool) (*Result, error) {
	j, err := t.planUninstall(dryRun)
	if err != nil || dryRun {
		return j.result(), err
	}
	if j.old == nil {
		t.tidy()
		return j.result(), nil
	}
	err = t.locked(ctx, func() error {
		if j, err = t.planUninstall(false); err != nil || j.old == nil {
			return err
		}
		return j.uninstall()
	})
	switch {
	case err == nil && j.old == nil: // another process was faster
		t.tidy()
	case err == nil:
		j.dropDirs() // the directories of the manifest and the lock
	}
	return j.result(), err
}

func (t Target) planUninstall(dryRun bool) (*job, error) {
	j := &job{t: t, o: Options{DryRun: dryRun}}
	var err error
	if j.old, j.text, err = readManifest(t); err != nil || j.old == nil {
		return j, err
	}
	for i := range j.old.Files {
		if err := j.planRemoval(&j.old.Files[i]); err != nil {
			return j, err
		}
	}
	if err := j.planMemoryRemoval(); err != nil {
		return j, err
	}
	return j, j.planSettingsRemoval()
}

// planRemoval removes one file, and restores the user's original.
func (j *job) planRemoval(e *entry) error {
	cur, err := j.t.read(e.Path)
	if err != nil {
		return err
	}
	var saved []byte
	if e.Saved != "" {
		if saved, err = j.t.read(e.Saved); err != nil {
			return err
		}
	}
	dropSaved := func() error { return j.t.remove(e.Saved) }
	switch have := hash(cur); {
	case cur != nil && have == e.Before && e.Before != "":
		// it is the user's, or was already restored
		if saved != nil && hash(saved) == e.Before {
			j.step(Remove, e.Saved, "", dropSaved)
		}
	case cur != nil && !e.ours(have):
		note := "you have changed it"
		if saved != nil {
			note += "; what was there before gl is " + e.Saved
		}
		j.step(Keep, e.Path, note, nil)
	case saved != nil:
		j.step(Restore, e.Path, "", func() error { return j.put(e.Path, cur, saved) })
		j.step(Remove, e.Saved, "", dropSaved)
	case cur != nil:
		j.step(Remove, e.Path, "", func() error { return j.t.remove(e.Path) })
	}
	return nil
}

// uninstall marks the manifest, removes the files, and removes the manifest last.
func (j *job) uninstall() error {
	mark := *j.old
	mark.State = removing
	if err := j.t.write(j.t.manifestPath(), j.text, mark.text()); err != nil {
		return err
	}
	for _, f := range j.do {
		if err := f(); err != nil {
			return err
		}
	}
	j.dropDirs()
	return j.t.remove(j.t.manifestPath())
}

// dropDirs removes empty directories that we created and no longer need.
func (j *job) dropDirs() {
	if j.old == nil {
		return
	}
	for _, dir := range slices.Backward(j.old.Dirs) {
		if j.next != nil && j.next.needs(dir) {
			continue
		}
		info, err := os.Lstat(j.t.Path(dir))
		if err == nil && info.IsDir() && j.t.contains(dir) == nil &&
			os.Remove(j.t.Path(dir)) == nil && j.next != nil {
			j.next.Dirs = slices.DeleteFunc(j.next.Dirs, func(d string) bool { return d == dir })
		}
	}
}

// needs reports whether the installation has files in that directory.
func (m *manifest) needs(dir string) bool {
	return slices.ContainsFunc(m.Files, func(e entry) bool {
		return strings.HasPrefix(e.Path, dir+"/") || strings.HasPrefix(e.Saved, dir+"/")
	})
}

// tidy removes our own directory if a killed gl left it without a manifest, and the agent's
// directory if it is empty.
func (t Target) tidy() {
	if t.contains(path.Join(t.Home, lockName)) != nil || !t.untouched() {
		return
	}
	home := t.Path(t.Home)
	held, err := durable.TryLock(path.Join(home, lockName))
	if err != nil {
		return // another process is about to install
	}
	defer held.Unlock()
	entries, _ := os.ReadDir(home)
	for _, e := range entries {
		_ = os.Remove(path.Join(home, e.Name()))
	}
	if os.Remove(home) == nil {
		_ = os.Remove(path.Dir(home)) // fails unless it is empty
	}
}
