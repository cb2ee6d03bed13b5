package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/plan"
	"greenlight/internal/sanitize"
	"greenlight/internal/suggest"
)

// milestonesIn are the milestones that slices belong to, in their order.
func milestonesIn(p *plan.Plan) []string {
	var list []string
	seen := map[string]bool{"": true}
	for i := range p.States {
		if m := p.States[i].Milestone; !seen[m] {
			seen[m] = true
			list = append(list, m)
		}
	}
	return list
}

// knownMilestone refuses a milestone that no slice has, naming those there are.
func knownMilestone(p *plan.Plan, m string) error {
	if m == "" {
		return nil
	}
	known := milestonesIn(p)
	switch {
	case slices.Contains(known, m):
		return nil
	case len(known) == 0:
		return fmt.Errorf("no slice belongs to milestone %q, nor to any other", m)
	}
	hint := ""
	if meant := suggest.Match(m, known); meant != "" {
		hint = ", did you mean " + meant + "?"
	}
	return fmt.Errorf("no slice belongs to milestone %q%s (there are: %s)", m, hint, strings.Join(known, ", "))
}

// milestones completes --milestone.
func (e *env) milestones() []string {
	pr, err := e.project()
	if err != nil {
		return nil
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil
	}
	list := milestonesIn(p)
	for i, m := range list {
		list[i] = sanitize.Text(m)
	}
	return list
}
