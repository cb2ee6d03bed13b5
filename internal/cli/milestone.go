package cli

import (
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/suggest"
	"greenlight/internal/core/plan"
)

// knownMilestone refuses a milestone that no slice has, and names the existing ones.
func knownMilestone(p *plan.Plan, m string) error {
	if m == "" {
		return nil
	}
	known := p.Milestones()
	switch {
	case slices.Contains(known, m):
		return nil
	case len(known) == 0:
		return fmt.Errorf("no slice belongs to milestone %q or to any other", m)
	}
	hint := ""
	if meant := suggest.Match(m, known); meant != "" {
		hint = ", did you mean " + meant + "?"
	}
	return fmt.Errorf("no slice belongs to milestone %q%s (known: %s)", m, hint,
		strings.Join(known, ", "))
}
