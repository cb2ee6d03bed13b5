package gsd

import (
	"cmp"
	"strconv"
	"strings"

	"greenlight/internal/base/text/frontmatter"
	"greenlight/internal/core/plan"
)

// A tally is the progress block; nil means no number.
type tally struct{ totalPhases, completedPhases, totalPlans, completedPlans, percent *int }

type countOf struct {
	key string
	n   *int
}

func (t tally) list() []countOf {
	return []countOf{{"total_phases", t.totalPhases}, {"completed_phases", t.completedPhases},
		{"total_plans", t.totalPlans}, {"completed_plans", t.completedPlans},
		{"percent", t.percent}}
}

// A recount selects how a command recounts the progress.
type recount struct {
	zero    bool // a new milestone begins
	planned *int // totals only: the phase now has this many plans
	percent bool // the command's purpose is the percent
	compat  bool
}

// of returns the progress block that follows from f and the stored one. Everything that shows,
// writes or checks the progress uses it. ok is false if nothing can be counted: then the stored
// block stays.
//
// Missing files don't undo completed work: if neither the files nor the roadmap describe a
// phase, the stored counts decide.
func (r recount) of(d *Doc, f Facts) (t tally, ok bool) {
	if r.zero {
		return tally{new(int), new(int), new(int), new(int), new(int)}, true
	}
	if r.compat && f.HasPhases {
		return f.tally(), true
	}
	if !f.HasPhases && !f.HasRoadmap || f.Empty() || f.Undefined || f.Unbounded && d.hasProgress() {
		return t, false
	}
	c := d.atLeast(f)
	if !f.HasPhases {
		done, _ := d.storedCount("completed_phases")
		summaries, _ := d.storedCount("completed_plans")
		total, _ := d.storedCount("total_plans")
		c.TotalPlans = max(c.TotalPlans, total)
		c.CompletedPhases = max(c.CompletedPhases, min(done, c.TotalPhases))
		c.CompletedPlans = max(c.CompletedPlans, min(summaries, c.TotalPlans))
	}
	if r.planned != nil && !f.HasPhases {
		c.TotalPlans = max(c.TotalPlans, *r.planned)
	}
	f.Counts = c
	t = f.tally()
	switch old, stored := d.storedCount("percent"); {
	case stored && (f.Unbounded || !r.percent && !d.gsdPercent(old)):
		t.percent = &old
	case !stored && d.hasProgress() && len(f.Dirs) == 0:
		t.percent = nil // the milestone's directories are archived
	}
	return t, true
}

// tally returns the progress block from the counts alone.
func (f Facts) tally() tally {
	c := f.Counts
	t := tally{totalPhases: &c.TotalPhases, completedPhases: &c.CompletedPhases,
		totalPlans: &c.TotalPlans, completedPlans: &c.CompletedPlans}
	if percent, known := c.Percent(); known && !f.Unbounded {
		t.percent = &percent
	}
	return t
}

// progress returns the block that a write would produce now; nil for none.
func (s *survey) progress() *plan.Progress {
	t, ok := recount{}.of(s.front, s.facts)
	if !ok {
		t = s.front.storedTally()
	}
	if t.totalPhases == nil || t.completedPhases == nil || t.totalPlans == nil ||
		t.completedPlans == nil {
		return nil
	}
	p := &plan.Progress{Milestone: cmp.Or(s.facts.Milestone, s.front.stored("milestone")),
		Parts: "plan", Percent: t.percent, Done: *t.completedPhases, Total: *t.totalPhases,
		PartsDone: *t.completedPlans, PartsAll: *t.totalPlans}
	if r := s.front.storedTally(); r.totalPhases != nil && r.completedPhases != nil &&
		r.totalPlans != nil && r.completedPlans != nil {
		p.Recorded = &plan.Recorded{Done: *r.completedPhases, Total: *r.totalPhases,
			PartsDone: *r.completedPlans, PartsAll: *r.totalPlans, Percent: r.percent}
	}
	return p
}

// storedTally returns the stored progress block.
func (d *Doc) storedTally() tally {
	number := func(key string) *int {
		if n, ok := d.storedCount(key); ok {
			return &n
		}
		return nil
	}
	return tally{number("total_phases"), number("completed_phases"), number("total_plans"),
		number("completed_plans"), number("percent")}
}

// atLeast raises the counts toward the stored ones, as far as there are phases and plans about
// which nothing is known.
func (d *Doc) atLeast(f Facts) Counts {
	c := f.Counts
	if done, ok := d.storedCount("completed_phases"); ok && done > c.CompletedPhases {
		c.CompletedPhases = min(done, c.CompletedPhases+f.Untold, c.TotalPhases)
	}
	if !f.Unknown && c.CompletedPhases == f.CompletedPhases {
		return c
	}
	total, _ := d.storedCount("total_plans")
	done, _ := d.storedCount("completed_plans")
	c.TotalPlans, c.CompletedPlans = max(c.TotalPlans, total), max(c.CompletedPlans, done)
	return c
}

// gsdPercent reports whether the stored percent follows from the stored counts by any formula
// that GSD has used. Otherwise a person set it.
func (d *Doc) gsdPercent(percent int) bool {
	var n [4]int
	for i, key := range []string{"completed_plans", "total_plans", "completed_phases",
		"total_phases"} {
		n[i], _ = d.storedCount(key)
	}
	all, ok := Percent(n[0], n[1], n[2], n[3])
	plans, hasPlans := planPercent(n[0], n[1])
	phases, hasPhases := planPercent(n[2], n[3])
	return !ok || percent == all || hasPlans && percent == plans || hasPhases && percent == phases
}

// counts returns the changes to the progress block.
func (s *settlement) counts() []change {
	if _, stored := s.doc.storedCount("percent"); s.uncounted && stored {
		return []change{{"percent", ""}}
	}
	if s.keepCounts && s.recount.planned == nil {
		return nil
	}
	r := s.recount
	r.compat = s.compat
	p, ok := r.of(s.doc, s.facts)
	if !ok {
		return nil
	}
	var out []change
	for _, c := range p.list() {
		old, there := s.doc.storedCount(c.key)
		switch {
		case c.n == nil && there && c.key == "percent":
			out = append(out, change{c.key, ""})
		case c.n != nil && (!there || old != *c.n):
			out = append(out, change{c.key, strconv.Itoa(*c.n)})
		}
	}
	return out
}

func (d *Doc) hasProgress() bool {
	v, _ := d.Get("progress")
	return v.Kind == frontmatter.Map
}

// storedCount returns a number from the progress block; ok is false for none.
func (d *Doc) storedCount(key string) (n int, ok bool) {
	p, _ := d.Get("progress")
	v, _ := p.Get(key)
	n, err := strconv.Atoi(strings.TrimSuffix(v.Text, "%"))
	return n, err == nil
}
