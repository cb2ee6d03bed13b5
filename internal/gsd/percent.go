package gsd

import "math"

// Percent is the progress that the file, its bar and every command show: the smaller of the two fractions, plans and
// phases, rounded and at most 100. It is false where neither total is known (0); such a total limits nothing.
func Percent(completedPlans, totalPlans, completedPhases, totalPhases int) (int, bool) {
	if totalPlans <= 0 && totalPhases <= 0 {
		return 0, false
	}
	return round(min(fraction(completedPlans, totalPlans), fraction(completedPhases, totalPhases))), true
}

// PlanPercent is the fraction of the plans alone, which GSD's update-progress prints; false without plans.
func PlanPercent(completed, total int) (int, bool) {
	if total <= 0 {
		return 0, false
	}
	return round(fraction(completed, total)), true
}

func fraction(done, total int) float64 {
	if total <= 0 {
		return 1
	}
	return float64(max(done, 0)) / float64(total)
}

// round rounds half up in floating point, as JavaScript does: 57 of 200 are 28 there, and so here.
func round(f float64) int { return int(min(100, math.Floor(f*100+0.5))) }
