package gsd

import "math"

// Counts is how far a milestone is. A total of 0 is one that isn't known.
type Counts struct {
	TotalPhases, CompletedPhases int
	TotalPlans, CompletedPlans   int
}

// Percent is the progress that the file, its bar and every command show: the smaller of the two fractions, plans and
// phases, rounded and at most 100. It is false where neither total is known; a total that isn't known limits nothing.
func (c Counts) Percent() (int, bool) {
	if c.TotalPlans <= 0 && c.TotalPhases <= 0 {
		return 0, false
	}
	return round(min(fraction(c.CompletedPlans, c.TotalPlans), fraction(c.CompletedPhases, c.TotalPhases))), true
}

// PlanPercent is the fraction of the plans alone, which GSD's update-progress prints; false without plans.
func (c Counts) PlanPercent() (int, bool) {
	if c.TotalPlans <= 0 {
		return 0, false
	}
	return round(fraction(c.CompletedPlans, c.TotalPlans)), true
}

func fraction(done, total int) float64 {
	if total <= 0 {
		return 1
	}
	return float64(max(done, 0)) / float64(total)
}

// round rounds half up in floating point, as JavaScript does: 57 of 200 are 28 there, and so here.
func round(f float64) int { return int(min(100, math.Floor(f*100+0.5))) }
