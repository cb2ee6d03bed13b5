package gsd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/text/markdown"
	"greenlight/internal/base/text/textline"
)

// A MilestoneEnd describes a milestone to be completed.
type MilestoneEnd struct {
	Version, Name string
	Confirm       bool // without it, only what would be done is reported
	Force         bool // although phases are open
}

type milestoneDoc struct {
	DryRun           bool          `json:"dry_run,omitempty"`
	Version          string        `json:"version"`
	Name             string        `json:"name"`
	Date             string        `json:"date"`
	Phases           int           `json:"phases"`
	Plans            int           `json:"plans"`
	OpenRequirements []string      `json:"open_requirements"`
	Accomplishments  []string      `json:"accomplishments"`
	Archived         archivedFiles `json:"archived"`
	MilestonesUpdate bool          `json:"milestones_updated"`
	StateUpdated     bool          `json:"state_updated"`
}

type archivedFiles struct {
	Roadmap      bool `json:"roadmap"`
	Requirements bool `json:"requirements"`
	Phases       bool `json:"phases"`
}

// versionLabel is the form of a version that becomes the name of a directory.
var versionLabel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
})

func checkVersion(version string) error {
	if !versionLabel().MatchString(version) || strings.Contains(version, "..") {
		return usagef("%q isn't a version: expected one such as v1.0", version)
	}
	return nil
}

// A milestoneEnding is a milestone being completed, with what was read of it under the lock.
type milestoneEnding struct {
	MilestoneEnd
	s    *Store
	dirs []PhaseDir // the milestone's that are still in phases
	open []string   // ids of phases that aren't complete
	doc  milestoneDoc
}

// CompleteMilestone archives a milestone whose phases are complete: ROADMAP.md, REQUIREMENTS.md
// and the phases' directories go to milestones/, MILESTONES.md gets an entry, and STATE.md waits
// for the next milestone. ROADMAP.md and REQUIREMENTS.md themselves stay until that begins.
// Repeating it completes what a crash has left.
func (p *Project) CompleteMilestone(ctx context.Context, m MilestoneEnd) (r Result, err error) {
	s := p.Store
	m.Version = strings.TrimSpace(m.Version)
	m.Name = cmp.Or(strings.TrimSpace(m.Name), m.Version)
	if err := errors.Join(checkVersion(m.Version), checkText("--name", m.Name)); err != nil {
		return Result{}, err
	}
	err = locked(ctx, s, func() error {
		e := &milestoneEnding{MilestoneEnd: m, s: s}
		if err := e.read(); err != nil {
			return err
		}
		r = reported(e.doc, true)
		if !m.Confirm {
			return nil
		}
		if err := e.mayEnd(); err != nil {
			return err
		}
		err := e.end()
		r = reported(e.doc, true)
		return err
	})
	var reason *phaseError
	if errors.As(err, &reason) {
		return failed("%s", reason), nil
	}
	return r, err
}

// read finds out what belongs to the milestone.
func (e *milestoneEnding) read() error {
	state, err := e.s.load()
	if err != nil {
		return err
	}
	at := standingOf(state)
	at.milestone, at.position = e.Version, e.Version
	text, err := durable.ReadFile(placeOf(e.s).Roadmap())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	road := parseRoadmap(string(text))
	if len(road.Milestones) == 0 {
		// one milestone, which only STATE.md names
		if stored := state.stored("milestone"); stored != "" && !sameVersion(stored, e.Version) {
			return phaseErrorf("no phases found for milestone %s in ROADMAP.md: STATE.md is at %s",
				e.Version, stored)
		}
	} else if road.find(e.Version, "") < 0 {
		return phaseErrorf("no phases found for milestone %s in ROADMAP.md", e.Version)
	}
	f := newFacts(road, ScanPhases(placeOf(e.s).Phases()), at)
	e.dirs = f.Dirs
	cfg := ReadConfig(placeOf(e.s))
	for _, p := range road.of(road.current(at)) {
		i := slices.IndexFunc(e.dirs, func(d PhaseDir) bool { return d.Key == p.Key })
		done := p.Done || i >= 0 && e.dirs[i].Complete() && e.dirs[i].verified(cfg)
		if !done && !p.Deferred {
			e.open = append(e.open, p.ID)
		}
	}
	e.doc = milestoneDoc{DryRun: !e.Confirm, Version: e.Version, Name: e.Name,
		Date: localDate(e.s.Now()), Phases: f.TotalPhases, Plans: f.TotalPlans,
		OpenRequirements: []string{}, Accomplishments: e.accomplishments()}
	if text, err := durable.ReadFile(e.s.file(requirementsFile)); err == nil {
		e.doc.OpenRequirements = openRequirements(string(text))
	}
	return nil
}

func (e *milestoneEnding) mayEnd() error {
	if n := len(e.open); n > 0 && !e.Force {
		return phaseErrorf("Cannot mark milestone complete: %d phase(s) of %s are open (%s). "+
			"Run gl why %s, or repeat it with --force",
			n, e.Version, strings.Join(e.open, ", "), e.open[0])
	}
	return nil
}

// accomplishments returns the one line of each summary.
func (e *milestoneEnding) accomplishments() []string {
	list := []string{}
	for _, d := range e.dirs {
		dir := filepath.Join(placeOf(e.s).Phases(), d.Name)
		files, _ := durable.ReadDir(dir)
		for _, f := range files {
			if !isSummary(f.Name(), false) {
				continue
			}
			if line := oneLiner(readFront(filepath.Join(dir, f.Name()))); line != "" {
				list = append(list, line)
			}
		}
	}
	return list
}

// oneLiner returns a summary's one-liner: from its front matter, or its first bold line.
func oneLiner(d *Doc) string {
	if line := cmp.Or(d.stored("one-liner"), d.stored("one_liner")); line != "" {
		return textline.Join(line)
	}
	for l := range markdown.Lines(string(d.Body())) {
		text := strings.TrimSpace(l.Text)
		if inner, ok := strings.CutPrefix(text, "**"); ok && !l.Code {
			if line, ok := strings.CutSuffix(inner, "**"); ok && !strings.Contains(line, "**") &&
				!strings.HasSuffix(line, ":") {
				return line
			}
		}
	}
	return ""
}

// end writes the archives, then MILESTONES.md and STATE.md, and moves the directories last:
// they are what the steps before are computed from.
func (e *milestoneEnding) end() error {
	dir := e.s.file("milestones")
	if err := durable.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	header := fmt.Sprintf("# Requirements Archive: %s\n\n**Archived:** %s\n**Status:** SHIPPED\n\n"+
		"For current requirements, see `.planning/REQUIREMENTS.md`.\n\n---\n\n",
		e.title(), e.doc.Date)
	var err error
	if e.doc.Archived.Roadmap, err = e.archive("ROADMAP.md", ""); err != nil {
		return err
	}
	if e.doc.Archived.Requirements, err = e.archive(requirementsFile, header); err != nil {
		return err
	}
	if e.doc.MilestonesUpdate, err = e.enter(); err != nil {
		return err
	}
	e.doc.StateUpdated, err = e.s.compareAndWrite(writing{also: true}, func(d *draft) error {
		e.endState(d)
		return nil
	})
	if err != nil {
		return err
	}
	names := make([]string, len(e.dirs))
	for i, d := range e.dirs {
		names[i] = d.Name
	}
	n, err := archivePhases(e.s, e.Version, names)
	e.doc.Archived.Phases = n > 0
	return err
}

// title is the milestone with its name: "v1.0 Books".
func (e *milestoneEnding) title() string {
	if e.Name == e.Version {
		return e.Version
	}
	return e.Version + " " + e.Name
}

// archive copies a file to milestones/, below a header. A copy that is there is of the same
// milestone, and is replaced.
func (e *milestoneEnding) archive(name, header string) (bool, error) {
	data, err := durable.ReadFile(e.s.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	to := filepath.Join(e.s.file("milestones"), e.Version+"-"+name)
	old, err := durable.ReadFile(to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, durable.Replace(to, old, append([]byte(header), data...))
}

// enter adds the milestone to MILESTONES.md, above the earlier ones.
func (e *milestoneEnding) enter() (bool, error) {
	path := e.s.file("MILESTONES.md")
	old, err := durable.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	at := 0
	for l := range markdown.Lines(string(old)) {
		if l.Level == 2 && strings.HasPrefix(l.Title+" ", e.Version+" ") {
			return false, nil
		}
		if l.Level == 1 && at == 0 {
			at = l.Next
		}
	}
	lines := "- (none recorded)\n"
	if len(e.doc.Accomplishments) > 0 {
		lines = "- " + strings.Join(e.doc.Accomplishments, "\n- ") + "\n"
	}
	entry := fmt.Sprintf("## %s (Shipped: %s)\n\n**Phases completed:** %d phases, %d plans\n\n"+
		"**Key accomplishments:**\n\n%s\n---\n",
		e.title(), e.doc.Date, e.doc.Phases, e.doc.Plans, lines)
	if at == 0 && len(strings.TrimSpace(string(old))) == 0 {
		return true, durable.Replace(path, old, []byte("# Milestones\n\n"+entry))
	}
	rest := strings.TrimLeft(string(old[at:]), "\r\n")
	head := string(old[:at])
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	if head != "" {
		head += "\n"
	}
	if rest != "" {
		entry += "\n"
	}
	return true, durable.Replace(path, old, []byte(head+entry+rest))
}

// endState records that the milestone is complete and the next one isn't planned yet. Its percent
// goes, as with GSD: once the directories are archived, it can't be counted.
func (e *milestoneEnding) endState(d *draft) {
	activity := "Milestone " + e.Version + " completed and archived"
	today := localDate(e.s.Now())
	d.inPosition("Phase", always("Milestone "+e.Version+" complete"))
	d.inPosition("Plan", always("—"))
	d.lead("Status", always("Awaiting next milestone"))
	d.lead("Last Activity", dated(today+" — "+activity))
	d.inPosition("Last activity", always(today+" — "+activity))
	d.inSession("Stopped at", activity)
	d.inPosition("Progress", withoutBar)
	d.keepCounts, d.uncounted = true, true
	d.exact("status", Completed)
	for _, key := range []string{"active_phase", "next_action", "next_phases"} {
		_, there := d.doc.Get(key)
		if d.doc.stored(key) != "" || key == "next_phases" && there {
			d.set = append(d.set, change{key, "null"})
		}
	}
}

// archivePhases moves directories from phases to the archive of a milestone, and returns how
// many. A name that is taken there gets a number.
func archivePhases(s *Store, version string, names []string) (int, error) {
	if len(names) == 0 {
		return 0, nil
	}
	to := filepath.Join(s.file("milestones"), version+"-phases")
	if err := durable.MkdirAll(to, 0o755); err != nil {
		return 0, err
	}
	for i, name := range names {
		path := filepath.Join(to, name)
		for n := 1; paths.Exists(path); n++ {
			path = filepath.Join(to, fmt.Sprintf("%s.%d", name, n))
		}
		if err := durable.MoveDir(filepath.Join(placeOf(s).Phases(), name), path); err != nil {
			return i, err
		}
	}
	return len(names), nil
}

// A PhasesClear archives what is left in phases before a new milestone.
type PhasesClear struct {
	Confirm bool
	Version string   // whose archive it goes to; "" for STATE.md's milestone
	Dirty   []string // uncommitted changes in phases, which it refuses to move
}

type clearedDoc struct {
	Cleared int    `json:"cleared"`
	Reason  string `json:"reason,omitempty"`
}

// ClearPhases moves all phases' directories, except the backlog's, to a milestone's archive.
func (p *Project) ClearPhases(ctx context.Context, c PhasesClear) (r Result, err error) {
	s := p.Store
	if c.Version != "" {
		if err := checkVersion(c.Version); err != nil {
			return Result{}, err
		}
	}
	err = locked(ctx, s, func() error {
		var names []string
		for _, d := range ScanPhases(placeOf(s).Phases()) {
			if info, err := os.Lstat(filepath.Join(placeOf(s).Phases(), d.Name)); err == nil &&
				info.IsDir() && !sentinel(d.Key) {
				names = append(names, d.Name)
			}
		}
		switch n := len(names); {
		case n > 0 && !c.Confirm:
			r = refused(clearedDoc{Reason: fmt.Sprintf("phases clear would archive %d phase "+
				"directories. Pass --confirm to proceed", n)})
			return nil
		case n > 0 && len(c.Dirty) > 0:
			r = refused(clearedDoc{Reason: fmt.Sprintf("phases clear aborted: %d uncommitted "+
				"change(s) in phase directories. Commit them first, or pass --force", len(c.Dirty))})
			return nil
		}
		n, err := archivePhases(s, cmp.Or(c.Version, archiveLabel(s)), names)
		r = result(clearedDoc{Cleared: n}, fmt.Sprintf("%d phase directories cleared", n))
		return err
	})
	return r, err
}

// archiveLabel returns STATE.md's milestone, or the date if a directory can't have that name.
func archiveLabel(s *Store) string {
	if doc, err := s.load(); err == nil {
		if v := doc.stored("milestone"); v != "" && checkVersion(v) == nil {
			return v
		}
	}
	return "archived-" + s.Now().Format("20060102")
}
