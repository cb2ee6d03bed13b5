package gsd

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/roadmap"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
)

// A Tracker manages the phases of one project. It has no state between calls and is safe for
// concurrent use.
type Tracker struct {
	tracker.Defaults

	Now func() time.Time // clock for the timestamps written

	root   string
	getenv func(string) string
}

var _ tracker.Tracker = (*Tracker)(nil)

// Open returns the tracker of the project at root, an absolute path. The environment selects
// the workstream. Open reads nothing yet.
func Open(root string) *Tracker { return &Tracker{Now: time.Now, root: root, getenv: os.Getenv} }

// Traits implements tracker.Tracker. Phases run one at a time, because STATE.md has a single
// Current Position and concurrent commands would overwrite it.
func (t *Tracker) Traits() tracker.Traits {
	traits := tracker.Traits{Format: "gsd", Noun: "phase",
		Serial: "GSD's phases share one Current Position in STATE.md",
		Skills: "run gl install --local --system gsd, then gl check"}
	if part := t.Part(); part != "" { // an agent's session has no workstream stored
		traits.Part, traits.Env = part, []string{workstreamKey + "=" + part}
	}
	return traits
}

// Part returns the workstream; "" in a project without workstreams.
func (t *Tracker) Part() string {
	if p := t.place(); filepath.Base(filepath.Dir(p.Planning)) == "workstreams" {
		return filepath.Base(p.Planning)
	}
	return ""
}

// In returns a tracker for that workstream, whichever is selected later.
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

// The variables that select a part of .planning.
const (
	projectKey    = "GSD_PROJECT"
	workstreamKey = "GSD_WORKSTREAM"
)

// place returns the location of the files. A project without a STATE.md may still have a
// roadmap.
func (t *Tracker) place() Place {
	planning := filepath.Join(t.root, ".planning")
	if !paths.IsFile(filepath.Join(planning, "STATE.md")) &&
		hasDirs(filepath.Join(planning, "workstreams")) {
		return workstream(t.root, planning, t.getenv)
	}
	return Place{Root: t.root, Planning: planning}
}

// Watch returns the directories in which plans, summaries and reports appear.
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

// Roadmap implements tracker.Tracker. GSD's milestones are identified by their versions, and
// each phase names its own.
func (t *Tracker) Roadmap() (*roadmap.Roadmap, error) {
	p := t.place()
	return roadmap.Read(t.root, p.rel(p.Roadmap()), t.begin(p),
		func(text string) (r roadmap.Roadmap) {
			for _, m := range parseRoadmap(text).Milestones {
				status := ""
				if m.Shipped {
					status = "shipped"
				}
				r.Milestones = append(r.Milestones,
					roadmap.Milestone{Name: m.Version, Status: status})
			}
			return r
		})
}

// begin returns instructions for creating a roadmap.
func (t *Tracker) begin(p Place) string {
	if p.NoWorkstream {
		return p.choose()
	}
	return "type " + t.slash("new-project") + " in Claude Code to plan one"
}

// Line implements tracker.Tracker: the position, as in GSD's own status line.
func (t *Tracker) Line(compact bool) tracker.Line {
	p, _ := t.place().Position()
	return tracker.Line{Text: p.Line(compact), Rest: tracker.Alone}
}

// Load reads the roadmap, the phase directories and STATE.md.
func (t *Tracker) Load() (*tracker.Contents, error) {
	claims, err := t.readClaims()
	s := t.survey()
	c := &tracker.Contents{Items: plan.Pointers(s.items(claims)), Unsure: s.unsure,
		Evidence: s.gone(), Warnings: s.warnings, Waves: s.waves(), Progress: s.progress()}
	if s.unsure != "" {
		c.Warnings = append(c.Warnings,
			plan.Warning{Path: s.place.rel(s.place.Roadmap()), Message: s.unsure})
	}
	if err != nil {
		c.Warnings = append(c.Warnings, plan.Warning{Path: claimsRel,
			Message: "ignored: " + err.Error() + "; claims of this project are not known"})
	}
	return c, nil
}

// Prompt returns GSD's command for the phase's step.
func (t *Tracker) Prompt(id string) string {
	s := t.survey()
	for i := range s.phases {
		if ph := &s.phases[i]; ph.ID == id {
			return s.command(ph)
		}
	}
	return t.slash("progress")
}

func (t *Tracker) slash(name string) string { return Slash(t.root, name, t.getenv) }

// Slash returns the slash command of that name as installed for the project at root or the user:
// GSD's own is /gsd-name, older installations have /gsd:name.
func Slash(root, name string, getenv func(string) string) string {
	user := getenv("CLAUDE_CONFIG_DIR")
	if user == "" {
		user = filepath.Join(getenv("HOME"), ".claude")
	}
	for _, dir := range []string{filepath.Join(root, ".claude"), user} {
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
	return statedir.Locked(ctx, t.root, func(held statedir.Held) error {
		return f(&tx{t: t, held: held})
	})
}

// A tx is one holding of the lock.
type tx struct {
	t    *Tracker
	held statedir.Held
	seen tracker.Seen
}

// Held implements tracker.Tx.
func (x *tx) Held() statedir.Held { return x.held }

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
	return plan.Item{}, fmt.Errorf("%w: %q isn't a phase of %s", tracker.ErrNotFound, id,
		p.rel(p.Roadmap()))
}

// Claim implements tracker.Tx. GSD has no notion of claims, so the token goes into a file of
// ours; STATE.md only names the phase.
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

// Settle implements tracker.Tx. The attempt's results are in GSD's files, and its failure in
// its record, so only the token changes.
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
		// must come first: a claim that is gone isn't settled again
		x.t.ended(id, claims[x.t.claimKey(id)], e == tracker.Restore)
	}
	if err := x.t.setClaim(id, c); err != nil {
		return plan.Mark{}, err
	}
	it, err = x.Item(id)
	return mark(it), err
}

// PutBack implements tracker.Tx. Only the attempt's record knows that a phase failed, so there
// is nothing to reset.
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

// waves returns, by wave, the plans of the phases that have any.
func (s *survey) waves() []tracker.Wave {
	var list []tracker.Wave
	for i := range s.phases {
		d := s.dirs[s.phases[i].Key]
		if d == nil {
			continue
		}
		for _, n := range slices.Sorted(maps.Keys(d.Waves)) {
			list = append(list, tracker.Wave{Item: s.phases[i].ID, N: n, Parts: d.Waves[n].Plans,
				Done: d.Waves[n].Done})
		}
	}
	return list
}

// rel returns a path for messages: relative to the root.
func (p Place) rel(path string) string {
	if r, err := filepath.Rel(p.Root, path); err == nil {
		return filepath.ToSlash(r)
	}
	return path
}
