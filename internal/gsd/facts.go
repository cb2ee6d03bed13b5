package gsd

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"greenlight/internal/durable"
	"greenlight/internal/paths"
	"greenlight/internal/plan"
)

// Counts is how far a milestone is.
type Counts struct{ TotalPhases, CompletedPhases, TotalPlans, CompletedPlans int }

// Percent is the progress by these counts; false where there is nothing to count.
func (c Counts) Percent() (int, bool) {
	return Percent(c.CompletedPlans, c.TotalPlans, c.CompletedPhases, c.TotalPhases)
}

// Facts is what ROADMAP.md and the phase directories say about the current milestone.
type Facts struct {
	Milestone, MilestoneName string // "" where ROADMAP.md doesn't say
	Moved                    bool   // Current Position is in this milestone, the frontmatter still names an earlier one

	HasRoadmap, HasPhases bool // ROADMAP.md and the directory phases exist
	Unbounded             bool // ROADMAP.md doesn't say which phases are the milestone's, so they can't be counted
	Undefined             bool // ROADMAP.md doesn't have the milestone yet: STATE.md is ahead of it
	Counts
	Unknown bool       // a phase that the roadmap calls complete has left no plans: the plans are at least so many
	Untold  int        // phases of which neither the roadmap nor a directory says anything, and which are past
	Dirs    []PhaseDir // the milestone's; where it is unbounded, all
}

// Empty says whether there is nothing to count: a milestone that hasn't been planned, or has been archived.
func (f *Facts) Empty() bool { return f.TotalPhases == 0 }

// A standing is where STATE.md says that the project is.
type standing struct {
	milestone string // by the frontmatter
	position  string // the milestone that Current Position names; "" for none
	phase     string // key of the phase that Current Position names; "" for none
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
	s.defining = p.defining.MatchString(field("Phase")) || s.phase == "" && p.defining.MatchString(status)
	s.executing = p.executing.MatchString(field("Phase") + "\n" + field("Status"))
	s.over = p.over.MatchString(status) || p.over.MatchString(field("Phase")) ||
		s.phase == "" && NormalizeStatus(d.stored("status"), "", false) == Completed
	return s
}

var standingWords = sync.OnceValue(func() (p struct{ defining, over, executing *regexp.Regexp }) {
	p.defining = regexp.MustCompile(`(?i)\bdefining\s+(?:the\s+)?(?:requirements|milestone)\b`)
	p.executing = regexp.MustCompile(`\bEXECUTING\b|(?m)^Executing Phase \d`)
	p.over = regexp.MustCompile(`(?i)\ball\s+(?:\d+\s+)?phases\s+(?:are\s+)?(?:complete|done|executed|shipped)|\bmilestone\W+(?:v?[\d.]+\W+)?(?:is\s+)?(?:complete|shipped|archived|done)|` +
		`\bv\d+(?:\.\d+)+\s+(?:milestone\s+)?(?:complete|shipped|archived)|\bproject\s+(?:is\s+)?complete`)
	return p
})

// ReadFacts reads what is beside STATE.md. In compat mode phases are counted as GSD's own tools do: see countAsGSD.
func ReadFacts(p Place, state *Doc, compat bool) Facts {
	text, err := durable.ReadFile(p.Roadmap())
	var road *Roadmap
	if err == nil {
		road = ParseRoadmap(string(text))
	}
	f := newFacts(road, ScanPhases(p.Phases()), standingOf(state))
	f.HasPhases = paths.IsDir(p.Phases())
	if compat && f.HasPhases {
		f.countAsGSD(p.Phases(), string(text), string(state.Src))
	}
	return f
}

// newFacts counts the phases of the milestone that the project is at. road is nil where there is no roadmap. A roadmap
// without milestones is one milestone.
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

// onePerPhase leaves one directory of each phase, the one with plans, and none of the backlog's.
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

// undefined is the milestone that STATE.md is at and that the roadmap doesn't have yet: it names the phases of earlier ones
// still. "" where the roadmap has it, and where the project works on a phase of it all the same.
func (r *Roadmap) undefined(at standing) string {
	for _, version := range []string{at.position, roadmapPatterns().version.FindString(at.milestone)} {
		if version == "" {
			continue
		}
		switch i := r.find(version, at.phase); {
		case i >= 0:
			later := func(p Phase) bool {
				return p.milestone >= 0 && olderVersion(version, r.Milestones[p.milestone].Version)
			}
			if at.defining && !slices.ContainsFunc(r.Phases, func(p Phase) bool { return p.milestone == i }) {
				return version
			}
			if len(r.of(i)) == 0 && r.Milestones[i].section && !r.Milestones[i].Shipped && !slices.ContainsFunc(r.Phases, later) {
				return version
			}
			return ""
		case at.defining:
			return version
		case len(r.Milestones) > 0 && !r.mentions[version] && !r.isOpen(at.phase) && !slices.ContainsFunc(r.Milestones, func(m Milestone) bool { return !olderVersion(m.Version, version) }):
			return version
		}
	}
	return ""
}

// isOpen reports whether the roadmap has the phase and doesn't say that it is complete.
func (r *Roadmap) isOpen(key string) bool {
	return slices.ContainsFunc(r.Phases, func(p Phase) bool { return p.Key == key && !p.CarriedOut })
}

// only leaves the directories of these phases. A phase that was put in between, 4.1, has its directory before it has its
// line in the roadmap: it belongs to where 4 belongs. Of a milestone without phases in a roadmap that has others, nobody
// knows which directories are its.
func (f *Facts) only(road *Roadmap, phases []*Phase) {
	in := map[string]bool{}
	for _, p := range phases {
		in[p.Key] = true
	}
	dirs := f.Dirs[:0:0]
	for _, d := range f.Dirs {
		whole, _, _ := strings.Cut(d.Key, ".")
		if in[d.Key] || !road.has(d.Key) && !road.struck[d.Key] && (in[whole] || len(road.Phases) == 0) {
			dirs = append(dirs, d)
		}
	}
	f.Dirs = dirs
}

// count counts the milestone's phases and plans. What the roadmap calls complete is complete, with all of its plans: the
// files of a phase may be archived or deleted.
func (f *Facts) count(phases []*Phase, at standing) {
	f.Counts, f.Unknown = Counts{TotalPhases: max(len(f.Dirs), len(phases))}, false
	said := map[string]*Phase{}
	for _, p := range phases {
		said[p.Key] = p
	}
	for i := range f.Dirs {
		d := &f.Dirs[i]
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
	for _, p := range said { // without a directory
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

// CarriedOut reports whether all plans of a phase have been carried out, by the roadmap or by the files. Both may be nil.
// It is the one measure of what counts as completed; whether the result has been verified is another question. What has
// passed its verification has been carried out, whatever has become of its files.
func (d *PhaseDir) CarriedOut(p *Phase) bool {
	return p != nil && p.CarriedOut || d != nil && (d.Complete() || d.Verification == "passed")
}

// current is the index of the milestone that the project is at, -1 where the roadmap doesn't have it. Current Position
// counts more than the frontmatter, which commands forget; without either it is the one that is marked as being worked
// on, or the first that is open.
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
	return len(r.Milestones) - 1 // all are over
}

// find is the milestone of that version, -1 for none. Of two with one version it is the one that has the phase, or else
// is open.
func (r *Roadmap) find(version, phase string) int {
	if version == "" {
		return -1
	}
	in, found := r.milestoneOf(phase), -1
	for i, m := range r.Milestones {
		if sameVersion(m.Version, version) && (found < 0 || i == in || r.Milestones[found].Shipped && !m.Shipped && found != in) {
			found = i
		}
	}
	return found
}

// sameVersion reports whether two texts name one milestone. v2.0-code-quality is v2.0.
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

// of are the phases of a milestone. One that is known only by a line such as "Phases 1-2" also has those that belong to
// no other: the roadmap has grown since that line was written.
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
