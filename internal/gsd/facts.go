package gsd

import (
	"strings"

	"greenlight/internal/durable"
	"greenlight/internal/paths"
)

// Counts is how far a milestone is.
type Counts struct{ TotalPhases, CompletedPhases, TotalPlans, CompletedPlans int }

// Percent is the progress by these counts; false where there is nothing to count.
func (c Counts) Percent() (int, bool) {
	return Percent(c.CompletedPlans, c.TotalPlans, c.CompletedPhases, c.TotalPhases)
}

func countPhases(dirs []PhaseDir) Counts {
	c := Counts{TotalPhases: len(dirs)}
	for i := range dirs {
		c.TotalPlans += dirs[i].Plans
		c.CompletedPlans += dirs[i].Summaries
		if dirs[i].Complete() {
			c.CompletedPhases++
		}
	}
	return c
}

// Facts is what ROADMAP.md and the phase directories say about the current milestone.
type Facts struct {
	Milestone, MilestoneName string // "" where ROADMAP.md doesn't say

	HasRoadmap, HasPhases bool // ROADMAP.md and the directory phases exist
	Unbounded             bool // ROADMAP.md doesn't say which phases are the milestone's: no percent
	Counts
	Dirs []PhaseDir // the milestone's; where it is unbounded, all
}

// ReadFacts reads what is beside STATE.md. milestone is the version that STATE.md names, "" for none: then it is the first
// of the roadmap that hasn't been shipped. A roadmap without milestones is one milestone, but not in compat mode: GSD's
// own tools give no percent then.
func ReadFacts(p Place, milestone string, compat bool) Facts {
	all := ScanPhases(p.Phases())
	f := Facts{HasPhases: paths.IsDir(p.Phases())}
	for _, d := range all {
		switch same := len(f.Dirs) > 0 && f.Dirs[len(f.Dirs)-1].Key == d.Key; {
		case sentinel(d.Key):
		case !same:
			f.Dirs = append(f.Dirs, d)
		case !f.Dirs[len(f.Dirs)-1].Had: // two directories of one phase: the one with plans counts
			f.Dirs[len(f.Dirs)-1] = d
		}
	}
	text, err := durable.ReadFile(p.Roadmap())
	if f.Counts = countPhases(f.Dirs); err != nil {
		return f
	}
	f.HasRoadmap = true
	road := ParseRoadmap(string(text))
	current, known := road.current(milestone)
	f.Milestone, f.MilestoneName = current.Version, current.Name
	if f.Unbounded = milestone != "" && !known && (len(road.Milestones) > 0 || compat); f.Unbounded {
		f.Milestone, f.MilestoneName = milestone, ""
		return f
	}
	f.only(road, current.Version)
	return f
}

// current is the milestone of that version, or the first that is open; known is false where the roadmap doesn't have it.
func (r *Roadmap) current(version string) (m Milestone, known bool) {
	for _, m := range r.Milestones {
		if strings.EqualFold(m.Version, version) || version == "" && !m.Shipped {
			return m, true
		}
	}
	return Milestone{Version: version}, false
}

// only leaves the phases of one milestone. A phase that was put in between, 4.1, has its directory before it has its line
// in the roadmap: it belongs to where 4 belongs.
func (f *Facts) only(road *Roadmap, version string) {
	in := map[string]bool{}
	total := 0
	for _, p := range road.Phases {
		if len(road.Milestones) == 0 || p.Milestone == version {
			in[p.Key] = true
			total++
		}
	}
	if total > 0 {
		dirs := f.Dirs[:0:0]
		for _, d := range f.Dirs {
			whole, _, _ := strings.Cut(d.Key, ".")
			if in[d.Key] || in[whole] && !road.has(d.Key) {
				dirs = append(dirs, d)
			}
		}
		f.Dirs = dirs
	}
	f.Counts = countPhases(f.Dirs)
	f.TotalPhases = max(f.TotalPhases, total)
}

func (r *Roadmap) has(key string) bool {
	for i := range r.Phases {
		if r.Phases[i].Key == key {
			return true
		}
	}
	return false
}
