package view

import (
	"strings"
	"time"

	"greenlight/internal/core/plan"
)

// Left returns how long the rest of a plan is likely to take, and what isn't included: "about 12m,
// not counting 1 failed, 3 blocked". With a silent agent, whose progress is unknown, it is "at
// least about 12m".
func Left(p *plan.Plan, left time.Duration, now time.Time) string {
	text := "about " + plan.Age(left)
	for _, id := range p.Lists.Running {
		if a := p.State(id).Attempt; a.Quiet(now) > 0 && a.Tool == "" {
			text = "at least " + text
			break
		}
	}
	if parts := without(p); len(parts) > 0 {
		text += ", not counting " + strings.Join(parts, ", ")
	}
	return text
}

// without returns the numbers of items that can't go on by themselves, by group.
func without(p *plan.Plan) (parts []string) {
	var n [len(groupNames)]int
	for _, id := range Stuck(p) {
		n[GroupOf(p.State(id))]++
	}
	for _, g := range Groups() {
		if n[g] > 0 {
			parts = append(parts, among(n[g], g))
		}
	}
	return parts
}

// Stuck returns the items that wait for a person, and those blocked by them.
func Stuck(p *plan.Plan) (ids []string) {
	stuck := map[string]bool{}
	var isStuck func(id string) bool
	isStuck = func(id string) bool {
		st := p.State(id)
		if st == nil { // nothing has the id
			return true
		}
		if known, ok := stuck[id]; ok {
			return known
		}
		stuck[id] = true // of a cycle
		switch GroupOf(st) {
		case Blocked:
			is := false
			for _, need := range st.Needs {
				is = isStuck(need) || is
			}
			stuck[id] = is
		case NeedsYou, Failed, Stopped:
		default:
			stuck[id] = false
		}
		return stuck[id]
	}
	for i := range p.States {
		if st := &p.States[i]; st.InScope && st.Class != plan.Done && isStuck(st.ID) {
			ids = append(ids, st.ID)
		}
	}
	return ids
}

// WholeSeconds rounds a duration for a document.
func WholeSeconds(d time.Duration) *int {
	n := int(d.Round(time.Second) / time.Second)
	return &n
}
