package gsd

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/core/plan"
)

// Counts is the progress of a milestone.
type Counts struct{ TotalPhases, CompletedPhases, TotalPlans, CompletedPlans int }

// Percent returns the progress by these counts; false if there is nothing to count.
func (c Counts) Percent() (int, bool) {
	return Percent(c.CompletedPlans, c.TotalPlans, c.CompletedPhases, c.TotalPhases)
}

// Facts is the information about the current milestone in ROADMAP.md and the phase directories.
type Facts struct {
	Milestone, MilestoneName string // "" if ROADMAP.md doesn't name one
	// Current Position is in this milestone, but the front matter still names an earlier one
	Moved bool

	HasRoadmap, HasPhases bool // ROADMAP.md and the directory phases exist
	// ROADMAP.md doesn't assign phases to the milestone, so they can't be counted
	Unbounded bool
	Undefined bool // STATE.md is ahead of ROADMAP.md, which lacks the milestone
	Counts
	// a phase that the roadmap calls complete has left no plans, so the plan counts are lower
	// bounds
	Unknown bool
	Untold  int        // past phases that neither the roadmap nor a directory describes
	Dirs    []PhaseDir // the milestone's, or all if it is unbounded
}

// Empty reports whether there is nothing to count, because the milestone isn't planned yet or
// is archived.
func (f *Facts) Empty() bool { return f.TotalPhases == 0 }

// A standing is the project's position according to STATE.md.
type standing struct {
	milestone string // in the front matter
	position  string // the milestone in Current Position; "" for none
	phase     string // key of the phase in Current Position; "" for none
	defining  bool   // the requirements of the milestone are being defined
	over      bool   // all phases are complete
	executing bool   // plans of the phase are being carried out
}

func standingOf(d *Doc) standing {
	s := standing{milestone: d.stored("milestone")}
	body := d.Body()
	status := d.stored("status")
	in, ok := currentPosition(body)
	field := func(name string) string {
		if f, found := findIn(body, in.text, name); ok && found {
			return f.text(body)
		}
		return ""
	}
	s.phase = PhaseKey(readPhase(field("Phase")).id)
	s.position = roadmapPatterns().version.FindString(field("Milestone"))
	status += " " + field("Status")
	p := standingWords()
	s.defining = p.defining.MatchString(field("Phase")) ||
		s.phase == "" && p.defining.MatchString(status)
	s.executing = p.executing.MatchString(field("Phase") + "\n" + field("Status"))
	s.over = p.over.MatchString(status) || p.over.MatchString(field("Phase")) ||
		s.phase == "" && normalizeStatus(d.stored("status"), "", false) == Completed
	return s
}

var standingWords = sync.OnceValue(func() (p struct{ defining, over, executing *regexp.Regexp }) {
	p.defining = regexp.MustCompile(`(?i)\bdefining\s+(?:the\s+)?(?:requirements|milestone)\b`)
	p.executing = regexp.MustCompile(`\bEXECUTING\b|(?m)^Executing Phase \d`)
	p.over = regexp.MustCompile(`(?i)\ball\s+(?:\d+\s+)?phases\s+(?:are\s+)?(?:complete|done|executed|shipped)|\bmilestone\W+(?:v?[\d.]+\W+)?(?:is\s+)?(?:complete|shipped|archived|done)|` +
		`\bv\d+(?:\.\d+)+\s+(?:milestone\s+)?(?:complete|shipped|archived)|\bproject\s+(?:is\s+)?complete`)
	return p
})

// readFacts reads the files beside STATE.md. In compat mode it counts phases as GSD's own tools
// do: see countAsGSD.
func readFacts(p Place, state *Doc, compat bool) Facts {
	text, err := durable.ReadFile(p.Roadmap())
	var road *Roadmap
	if err == nil {
		road = parseRoadmap(string(text))
	}
	f := newFacts(road, ScanPhases(p.Phases()), standingOf(state))
	f.HasPhases = paths.IsDir(p.Phases())
	if compat && f.HasPhases {
		f.countAsGSD(p.Phases(), string(text), string(state.Src))
	}
	return f
}

// newFacts counts the phases of the project's current milestone. road is nil if there is no
// roadmap. A roadmap without milestones counts as one milestone.
func newFacts(road *Roadmap, dirs []PhaseDir, at standing) Facts {
	f := Facts{HasRoadmap: road != nil, Dirs: onePerPhase(dirs)}
	if road == nil {
		f.count(nil, at)
		return f
	}
	if version := road.undefined(at); version != "" {
		f.Milestone, f.Undefined, f.Unbounded, f.Dirs = version, true, true, nil
		return f
	}
	i := road.current(at)
	if i >= 0 {
		m := road.Milestones[i]
		f.Milestone, f.MilestoneName = m.Version, m.Name
		f.Moved = at.milestone != "" && !sameVersion(m.Version, at.milestone)
	}
	if f.Unbounded = i < 0 && at.milestone != "" && len(road.Milestones) > 0; f.Unbounded {
		f.Milestone = at.milestone
		f.count(nil, at)
		return f
	}
	phases := road.of(i)
	f.only(road, phases)
	f.count(phases, at)
	return f
}

// onePerPhase keeps one directory for each phase, preferring the one with plans, and drops the
// backlog's.
func onePerPhase(all []PhaseDir) []PhaseDir {
	var dirs []PhaseDir
	at := map[string]int{}
	for _, d := range all {
		i, twice := at[d.Key]
		switch {
		case sentinel(d.Key):
		case !twice:
			at[d.Key] = len(dirs)
			dirs = append(dirs, d)
		case !dirs[i].Had:
			dirs[i] = d
		}
	}
	return dirs
}

// undefined returns the milestone in STATE.md if the roadmap, which still lists the phases of
// earlier ones, lacks it. It returns "" if the roadmap has the milestone, or if the project is
// working on an open phase of the roadmap anyway.
func (r *Roadmap) undefined(at standing) string {
	for _, version := range []string{at.position,
		roadmapPatterns().version.FindString(at.milestone)} {
		if version == "" {
			continue
		}
		switch i := r.find(version, at.phase); {
		case i >= 0:
			later := func(p Phase) bool {
				return p.milestone >= 0 && olderVersion(version, r.Milestones[p.milestone].Version)
			}
			if at.defining && !slices.ContainsFunc(r.Phases, func(p Phase) bool {
				return p.milestone == i
			}) {
				return version
			}
			if len(r.of(i)) == 0 && r.Milestones[i].section && !r.Milestones[i].Shipped &&
				!slices.ContainsFunc(r.Phases, later) {
				return version
			}
			return ""
		case at.defining:
			return version
		case len(r.Milestones) > 0 && !r.mentions[version] && !r.isOpen(at.phase) &&
			!slices.ContainsFunc(r.Milestones,
				func(m Milestone) bool { return !olderVersion(m.Version, version) }):
			return version
		}
	}
	return ""
}

// isOpen reports whether the roadmap has the phase and doesn't mark it complete.
func (r *Roadmap) isOpen(key string) bool {
	return slices.ContainsFunc(r.Phases, func(p Phase) bool {
		return p.Key == key && !p.CarriedOut
	})
}

// only keeps the directories of these phases. An inserted phase such as 4.1 has its directory
// before its line in the roadmap, and belongs to the milestone of phase 4. If a milestone has
// no phases but others do, its directories are unknown.
func (f *Facts) only(road *Roadmap, phases []*Phase) {
	in := map[string]bool{}
	for _, p := range phases {
		in[p.Key] = true
	}
	dirs := f.Dirs[:0:0]
	for _, d := range f.Dirs {
		whole, _, _ := strings.Cut(d.Key, ".")
		if in[d.Key] ||
			!road.has(d.Key) && !road.struck[d.Key] && (in[whole] || len(road.Phases) == 0) {
			dirs = append(dirs, d)
		}
	}
	f.Dirs = dirs
}

// count counts the milestone's phases and plans. A phase that the roadmap calls complete is
// complete, with all its plans: its files may be archived or deleted.
func (f *Facts) count(phases []*Phase, at standing) {
	said := map[string]*Phase{}
	for _, p := range phases {
		if !uncounted(p.Key) {
			said[p.Key] = p
		}
	}
	dirs := slices.DeleteFunc(slices.Clone(f.Dirs), func(d PhaseDir) bool {
		return uncounted(d.Key)
	})
	f.Counts, f.Unknown = Counts{TotalPhases: max(len(dirs), len(said))}, false
	for i := range dirs {
		d := &dirs[i]
		p := said[d.Key]
		delete(said, d.Key)
		if !d.CarriedOut(p) {
			f.TotalPlans += d.Plans
			f.CompletedPlans += d.Summaries
			continue
		}
		f.CompletedPhases++
		plans := d.Plans
		if p != nil {
			plans = max(plans, p.Plans)
		}
		f.TotalPlans += plans
		f.CompletedPlans += plans
		f.Unknown = f.Unknown || plans == 0 && !d.Had
	}
	for _, p := range said { // phases without a directory
		switch {
		case p.CarriedOut:
			f.CompletedPhases++
			f.TotalPlans += p.Plans
			f.CompletedPlans += p.Plans
			f.Unknown = f.Unknown || p.Plans == 0
		case !p.told && (at.phase == "" || plan.NaturalLess(p.Key, at.phase)):
			f.Untold++
		}
	}
	f.CompletedPhases = min(f.CompletedPhases, f.TotalPhases)
}

// CarriedOut reports whether all plans of a phase have been carried out, according to the
// roadmap or the files. Both d and p may be nil. This is the only measure of completion;
// verification is separate. A phase that passed its verification was carried out, even if its
// files are gone.
func (d *PhaseDir) CarriedOut(p *Phase) bool {
	return p != nil && p.CarriedOut || d != nil && (d.Complete() || d.Verification == "passed")
}

// current returns the index of the project's milestone, -1 if the roadmap lacks it. Current
// Position takes precedence over the front matter, which commands forget to update. Without
// either, it is the milestone marked as in progress, or the first open one.
func (r *Roadmap) current(at standing) int {
	stored, position := r.find(at.milestone, at.phase), r.find(at.position, at.phase)
	if position < 0 {
		position = r.milestoneOf(at.phase)
	}
	switch {
	case at.milestone != "" && stored < 0:
		return -1
	case position >= 0 && position != stored && !r.Milestones[position].Shipped:
		return position
	case stored >= 0:
		return stored
	}
	first := -1
	for i, m := range r.Milestones {
		if m.Active {
			return i
		}
		if first < 0 && !m.Shipped {
			first = i
		}
	}
	switch {
	case first >= 0:
		return first
	case position >= 0:
		return position
	}
	return len(r.Milestones) - 1 // all are finished
}

// find returns the index of the milestone with that version, -1 for none. If two have the
// version, it is the one that contains the phase, or else is open.
func (r *Roadmap) find(version, phase string) int {
	if version == "" {
		return -1
	}
	in, found := r.milestoneOf(phase), -1
	for i, m := range r.Milestones {
		if sameVersion(m.Version, version) &&
			(found < 0 || i == in || r.Milestones[found].Shipped && !m.Shipped && found != in) {
			found = i
		}
	}
	return found
}

// sameVersion reports whether two texts name the same milestone. v2.0-code-quality is v2.0.
func sameVersion(a, b string) bool {
	bare := func(s string) string {
		if v := roadmapPatterns().version.FindString(s); v != "" {
			s = v
		}
		return strings.TrimLeft(strings.TrimSpace(s), "vV")
	}
	return strings.EqualFold(bare(a), bare(b))
}

func (r *Roadmap) milestoneOf(phase string) int {
	for i := range r.Phases {
		if phase != "" && r.Phases[i].Key == phase {
			return r.Phases[i].milestone
		}
	}
	return -1
}

// of returns the phases of a milestone. A milestone known only by a line such as "Phases 1-2"
// also gets the phases that belong to no other: the roadmap has grown since that line was
// written.
func (r *Roadmap) of(milestone int) []*Phase {
	var own, others []*Phase
	for i := range r.Phases {
		switch p := &r.Phases[i]; {
		case len(r.Milestones) == 0 || p.milestone == milestone:
			own = append(own, p)
		case p.milestone < 0:
			others = append(others, p)
		}
	}
	if milestone >= 0 && !r.Milestones[milestone].section {
		own = append(own, others...)
	}
	return own
}

func (r *Roadmap) has(key string) bool {
	for i := range r.Phases {
		if r.Phases[i].Key == key {
			return true
		}
	}
	return false
}
