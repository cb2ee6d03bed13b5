package gsd

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/paths"
	"greenlight/internal/plan"
	"greenlight/internal/roadmap"
	"greenlight/internal/statedir"
	"greenlight/internal/tracker"
)

// A Tracker is the phases of one project. It keeps nothing between calls; several goroutines may use it.
type Tracker struct {
	tracker.Defaults

	Now func() time.Time // the clock of the stamps that are written

	root   string
	getenv func(string) string
}

var _ tracker.Tracker = (*Tracker)(nil)

// Open returns the tracker of the project at root, an absolute path. The environment chooses the workstream. It reads
// nothing yet.
func Open(root string) *Tracker { return &Tracker{Now: time.Now, root: root, getenv: os.Getenv} }

// Traits implements tracker.Tracker. Phases are built one after the other, for STATE.md has one Current Position, and two
// commands at once overwrite it for each other.
func (t *Tracker) Traits() tracker.Traits {
	traits := tracker.Traits{Format: "gsd", Noun: "phase", Serial: "GSD's phases share one Current Position in STATE.md",
		Skills: "it comes with GSD: run npx get-shit-done-cc@latest"}
	if part := t.Part(); part != "" { // an agent's session has none stored
		traits.Part, traits.Env = part, []string{workstreamKey + "=" + part}
	}
	return traits
}

// Part is the workstream; "" in a project without. In gives a tracker that keeps to it.
func (t *Tracker) Part() string {
	if p := t.place(); filepath.Base(filepath.Dir(p.Planning)) == "workstreams" {
		return filepath.Base(p.Planning)
	}
	return ""
}

// In is the tracker of that workstream, whatever is chosen meanwhile.
func (t *Tracker) In(part string) *Tracker {
	in := *t
	in.getenv = func(key string) string {
		if key == workstreamKey && part != "" {
			return part
		}
		return t.getenv(key)
	}
	return &in
}

// workstreamKey is the variable that names the workstream.
const workstreamKey = "GSD_WORKSTREAM"

// place is where the files are. A project without a STATE.md may still have a roadmap.
func (t *Tracker) place() Place {
	planning := filepath.Join(t.root, ".planning")
	if !paths.IsFile(filepath.Join(planning, "STATE.md")) && hasDirs(filepath.Join(planning, "workstreams")) {
		return workstream(t.root, planning, t.getenv)
	}
	return Place{Root: t.root, Planning: planning}
}

// Watch lists the directories in which plans, summaries and reports appear.
func (t *Tracker) Watch() []string {
	p := t.place()
	dirs := []string{p.Planning}
	if paths.IsDir(p.Phases()) {
		dirs = append(dirs, p.Phases())
	}
	list, _ := durable.ReadDir(p.Phases())
	for _, d := range list {
		if path := filepath.Join(p.Phases(), d.Name()); d.IsDir() {
			dirs = append(dirs, path)
			if nested := filepath.Join(path, "plans"); paths.IsDir(nested) {
				dirs = append(dirs, nested)
			}
		}
	}
	return dirs
}

// Roadmap implements tracker.Tracker. GSD's milestones are known by their versions; the phases know which is theirs.
func (t *Tracker) Roadmap() (*roadmap.Roadmap, error) {
	p := t.place()
	return roadmap.Read(t.root, p.rel(p.Roadmap()), t.begin(p), func(text string) (r roadmap.Roadmap) {
		for _, m := range ParseRoadmap(text).Milestones {
			status := ""
			if m.Shipped {
				status = "shipped"
			}
			r.Milestones = append(r.Milestones, roadmap.Milestone{Name: m.Version, Status: status})
		}
		return r
	})
}

// begin is what leads to a roadmap where there is none.
func (t *Tracker) begin(p Place) string {
	if p.NoWorkstream {
		return p.choose()
	}
	return "type " + t.slash("new-project") + " in Claude Code to plan one"
}

// Line implements tracker.Tracker: the position, which GSD's own status line shows.
func (t *Tracker) Line(compact bool) tracker.Line {
	p, _ := t.place().Position()
	return tracker.Line{Text: p.Line(compact), Rest: tracker.Alone}
}

// Load reads the roadmap, the phase directories and STATE.md.
func (t *Tracker) Load() (*tracker.Contents, error) {
	claims, err := t.readClaims()
	s := t.survey()
	c := &tracker.Contents{Items: plan.Pointers(s.items(claims)), Unsure: s.unsure, Evidence: s.gone(), Warnings: s.warnings, Waves: s.waves(), Progress: s.progress()}
	if s.unsure != "" {
		c.Warnings = append(c.Warnings, plan.Warning{Path: s.place.rel(s.place.Roadmap()), Message: s.unsure})
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
		if paths.IsFile(filepath.Join(dir, "commands", "gsd", name+".md")) {
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
	return statedir.Locked(ctx, t.root, func() error { return f(&tx{t: t}) })
}

// A tx is one holding of the lock.
type tx struct {
	t    *Tracker
	seen tracker.Seen
}

// Load implements tracker.Tx.
func (x *tx) Load() (*tracker.Contents, error) {
	c, err := x.t.Load()
	if err == nil {
		x.seen.All(c.Items)
	}
	return c, err
}

// Item implements tracker.Tx.
func (x *tx) Item(id string) (plan.Item, error) {
	it, err := x.t.item(id)
	if err == nil {
		x.seen.One(id, it.Session)
	}
	return it, err
}

func (t *Tracker) item(id string) (plan.Item, error) {
	c, err := t.Load()
	if err != nil {
		return plan.Item{}, err
	}
	for _, it := range c.Items {
		if it.ID == id {
			return *it, nil
		}
	}
	p := t.place()
	return plan.Item{}, fmt.Errorf("%w: %q is no phase of %s", tracker.ErrNotFound, id, p.rel(p.Roadmap()))
}

// Claim implements tracker.Tx. GSD has no word for it: the token is in a file of ours. STATE.md only says which phase it is.
func (x *tx) Claim(id, token string) error {
	if _, err := x.t.item(id); err != nil {
		return err
	}
	c := claim{Session: token, Started: x.t.Now().UTC().Format(time.DateOnly)}
	begin := x.t.begun(id, &c)
	if err := x.t.setClaim(id, c); err != nil {
		return err
	}
	begin()
	x.seen.One(id, token)
	return nil
}

// Settle implements tracker.Tx. What the attempt did is in GSD's files, and how it failed in its record: only the token
// goes, or comes back.
func (x *tx) Settle(id string, e tracker.Effect, before tracker.Before) (plan.Mark, error) {
	it, err := x.t.item(id)
	if err != nil {
		return plan.Mark{}, err
	}
	if x.seen.Lost(id, it.Session) {
		return mark(it), nil
	}
	var c claim
	if e == tracker.Restore && before.Session != "" {
		c = claim{Session: before.Session, Started: before.Started}
	}
	if c.Session == "" {
		claims, err := x.t.readClaims()
		if err != nil {
			return plan.Mark{}, err
		}
		x.t.ended(id, claims[x.t.claimKey(id)], e == tracker.Restore) // first: a claim that is gone isn't settled again
	}
	if err := x.t.setClaim(id, c); err != nil {
		return plan.Mark{}, err
	}
	it, err = x.Item(id)
	return mark(it), err
}

// PutBack implements tracker.Tx: that a phase failed is in the attempt's record alone.
func (x *tx) PutBack(id string, was plan.Mark, _ bool) error {
	it, err := x.Item(id)
	if err == nil && mark(it) != was {
		err = fmt.Errorf("phase %s: %w", id, tracker.ErrChanged)
	}
	return err
}

func mark(it plan.Item) plan.Mark {
	return plan.Mark{Status: it.Status, Step: it.Step, Session: it.Session}
}

// waves are the plans of the phases that have any, by wave.
func (s *survey) waves() []tracker.Wave {
	var list []tracker.Wave
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
