package gsd

import "math"

// Percent returns the progress shown in the file, its bar and every command: the smaller of the
// fractions of plans and of phases, rounded, at most 100. A total of 0 is unknown and ignored;
// Percent returns false if both are unknown.
func Percent(completedPlans, totalPlans, completedPhases, totalPhases int) (int, bool) {
	if totalPlans <= 0 && totalPhases <= 0 {
		return 0, false
	}
	return round(min(fraction(completedPlans, totalPlans), fraction(completedPhases, totalPhases))),
		true
}

// planPercent returns the fraction of the plans alone, which GSD's update-progress prints;
// false without plans.
func planPercent(completed, total int) (int, bool) {
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

// round rounds half up in floating point, as JavaScript does, so that 57 of 200 give 28 in
// both.
func round(f float64) int { return int(min(100, math.Floor(f*100+0.5))) }
