package gsd

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"greenlight/internal/plan"
	"greenlight/internal/statedir"
	"greenlight/internal/tracker"
)

// A Tracker is the phases of one project. It keeps nothing between calls; several goroutines may use it.
type Tracker struct {
	Now func() time.Time // the clock of the stamps that are written

	root   string
	getenv func(string) string
}

var (
	_ tracker.Tracker = (*Tracker)(nil)
	_ tracker.Serial  = (*Tracker)(nil)
	_ tracker.Checker = (*Tracker)(nil)
	_ tracker.Parted  = (*Tracker)(nil)
)

// Open returns the tracker of the project at root, an absolute path. The environment chooses the workstream. It reads
// nothing yet.
func Open(root string) *Tracker { return &Tracker{Now: time.Now, root: root, getenv: os.Getenv} }

// Format is "gsd".
func (t *Tracker) Format() string { return "gsd" }

// Serial says why phases are built one after the other: STATE.md has one Current Position, and two commands at once
// overwrite it for each other.
func (t *Tracker) Serial() string { return "GSD's phases share one Current Position in STATE.md" }

// Refresh has nothing to do: the files are the only view.
func (t *Tracker) Refresh(context.Context) error { return nil }

// Part is the workstream; "" in a project without.
func (t *Tracker) Part() string {
	if p := t.place(); filepath.Base(filepath.Dir(p.Planning)) == "workstreams" {
		return filepath.Base(p.Planning)
	}
	return ""
}

// In is the tracker of that workstream.
func (t *Tracker) In(part string) tracker.Tracker {
	in := *t
	in.getenv = func(key string) string {
		if key == workstreamKey && part != "" {
			return part
		}
		return t.getenv(key)
	}
	return &in
}

// Env tells GSD's commands which workstream they are about: an agent's session has none stored.
func (t *Tracker) Env() []string {
	if part := t.Part(); part != "" {
		return []string{workstreamKey + "=" + part}
	}
	return nil
}

// workstreamKey is the variable that names the workstream.
const workstreamKey = "GSD_WORKSTREAM"

// place is where the files are. A project without a STATE.md may still have a roadmap.
func (t *Tracker) place() Place {
	planning := filepath.Join(t.root, ".planning")
	if !isFile(filepath.Join(planning, "STATE.md")) && hasDirs(filepath.Join(planning, "workstreams")) {
		return workstream(t.root, planning, t.getenv)
	}
	return Place{Root: t.root, Planning: planning}
}

// Watch lists the directories in which plans, summaries and reports appear.
func (t *Tracker) Watch() []string {
	p := t.place()
	dirs := []string{p.Planning}
	if isDir(p.Phases()) {
		dirs = append(dirs, p.Phases())
	}
	list, _ := os.ReadDir(p.Phases())
	for _, d := range list {
		if path := filepath.Join(p.Phases(), d.Name()); d.IsDir() {
			dirs = append(dirs, path)
			if nested := filepath.Join(path, "plans"); isDir(nested) {
				dirs = append(dirs, nested)
			}
		}
	}
	return dirs
}

// RoadmapFile is the roadmap's path relative to the root, with forward slashes.
func (t *Tracker) RoadmapFile() string {
	p := t.place()
	return p.rel(p.Roadmap())
}

// Begin is what leads to a roadmap where there is none.
func (t *Tracker) Begin() string {
	if p := t.place(); p.NoWorkstream {
		return p.choose()
	}
	return "type " + t.slash("new-project") + " in Claude Code to plan one"
}

// Load reads the roadmap, the phase directories and STATE.md.
func (t *Tracker) Load() (*tracker.Contents, error) {
	claims, err := t.readClaims()
	s := t.survey()
	c := &tracker.Contents{Noun: "phase", Items: s.items(claims), Unsure: s.unsure, Evidence: s.gone(), Warnings: s.warnings}
	if s.unsure != "" {
		c.Warnings = append(c.Warnings, plan.Warning{Path: t.RoadmapFile(), Message: s.unsure})
	}
	if err != nil {
		c.Warnings = append(c.Warnings, plan.Warning{Path: claimsRel, Message: "ignored: " + err.Error() + "; claims of this project are not known"})
	}
	return c, nil
}

// Prompt is GSD's command for the phase's step.
func (t *Tracker) Prompt(id string) string {
	s := t.survey()
	for i := range s.phases {
		if ph := &s.phases[i]; ph.ID == id {
			return s.command(ph)
		}
	}
	return t.slash("progress")
}

// slash is the slash command of that name as this project or user has it installed: GSD's own is /gsd-name, older
// installations have /gsd:name.
func (t *Tracker) slash(name string) string {
	user := t.getenv("CLAUDE_CONFIG_DIR")
	if user == "" {
		user = filepath.Join(t.getenv("HOME"), ".claude")
	}
	for _, dir := range []string{filepath.Join(t.root, ".claude"), user} {
		if isFile(filepath.Join(dir, "commands", "gsd", name+".md")) {
			return "/gsd:" + name
		}
	}
	return "/gsd-" + name
}

// Do runs f with the project's lock held.
func (t *Tracker) Do(ctx context.Context, f func(tracker.Tx) error) error {
	if err := statedir.Make(t.root); err != nil {
		return err
	}
	return statedir.Locked(ctx, t.root, func() error { return f(tx{t}) })
}

// A tx is one holding of the lock.
type tx struct{ t *Tracker }

// Load implements tracker.Tx.
func (x tx) Load() (*tracker.Contents, error) { return x.t.Load() }

// Item implements tracker.Tx.
func (x tx) Item(id string) (plan.Item, error) {
	c, err := x.t.Load()
	if err != nil {
		return plan.Item{}, err
	}
	for _, it := range c.Items {
		if it.ID == id {
			return it, nil
		}
	}
	return plan.Item{}, fmt.Errorf("%w: %q is no phase of %s", tracker.ErrNotFound, id, x.t.RoadmapFile())
}

// Claim implements tracker.Tx. GSD has no word for it: the token stands in a file of ours.
func (x tx) Claim(id, token string) error {
	if _, err := x.Item(id); err != nil {
		return err
	}
	return x.t.setClaim(id, claim{Session: token, Started: x.t.Now().UTC().Format(time.DateOnly)})
}

// Settle implements tracker.Tx. What the attempt did is in GSD's files, and how it failed in its record: only the token
// goes, or comes back.
func (x tx) Settle(id string, e tracker.Effect, before tracker.Before) (plan.Mark, error) {
	var c claim
	if e == tracker.Restore && before.Session != "" {
		c = claim{Session: before.Session, Started: before.Started}
	}
	if err := x.t.setClaim(id, c); err != nil {
		return plan.Mark{}, err
	}
	it, err := x.Item(id)
	return plan.Mark{Status: it.Status, Step: it.Step, Session: it.Session}, err
}

// Waves are the plans of the phases that have any, by wave.
func (t *Tracker) Waves() []tracker.Wave {
	var list []tracker.Wave
	s := t.survey()
	for i := range s.phases {
		d := s.dirs[s.phases[i].Key]
		if d == nil {
			continue
		}
		for _, n := range slices.Sorted(maps.Keys(d.Waves)) {
			list = append(list, tracker.Wave{Item: s.phases[i].ID, N: n, Parts: d.Waves[n].Plans, Done: d.Waves[n].Done})
		}
	}
	return list
}

// rel is a path as messages name it: relative to the root.
func (p Place) rel(path string) string {
	if r, err := filepath.Rel(p.Root, path); err == nil {
		return filepath.ToSlash(r)
	}
	return path
}
