package cli

import (
	"fmt"
	"strings"
	"time"

	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/tracker"
)

// projectState is where the project that dir belongs to stands, in the words of each system that keeps its state; "" where
// there is none.
func projectState(getenv func(string) string, dir string, compact bool) string {
	root, err := project.Find(dir, getenv)
	if err != nil {
		return project.Position(dir, getenv, compact)
	}
	pr, err := project.Open(root)
	if err != nil {
		return project.Position(dir, getenv, compact)
	}
	var states []string
	for _, view := range pr.Views() {
		if s := stateOf(view, compact); s != "" {
			states = append(states, s)
		}
	}
	return strings.Join(states, separator)
}

// stateOf is "18/36 done | 4 running | 1 needs you". A tracker may have other words in the place of the counts:
// "shop/cart building 1/3 | 1 running".
func stateOf(pr *project.Project, compact bool) string {
	line := pr.Tracker.Line(compact)
	var parts []string
	if line.Text != "" {
		parts = append(parts, line.Text)
	}
	switch line.Rest {
	case tracker.WithPlan:
		p, err := pr.Plan(time.Now(), pr.Options())
		if err != nil {
			break
		}
		if line.Text == "" {
			parts = append(parts, fmt.Sprintf("%d/%d done", p.Done, p.Total))
		}
		parts = append(parts, concerns(p)...)
	case tracker.WithRunning:
		if n, ok := runningAttempts(pr); ok {
			parts = append(parts, fmt.Sprintf("%d running", n))
		}
	}
	return strings.Join(parts, " | ")
}

// runningAttempts counts the attempts that run; false where there are no records of any.
func runningAttempts(pr *project.Project) (n int, ok bool) {
	live, _, err := pr.Runs.Live()
	if err != nil || len(live) == 0 {
		return 0, false
	}
	for _, r := range live {
		if r.Phase != plan.Ended {
			n++
		}
	}
	return n, true
}

// concerns are what runs, what needs a person, and a hold.
func concerns(p *plan.Plan) []string {
	var parts []string
	if n := len(p.Running); n > 0 {
		parts = append(parts, fmt.Sprintf("%d running", n))
	}
	switch n := len(p.Failed) + len(p.Stalled) + len(p.Waiting) + len(p.Unknown); n {
	case 0:
	case 1:
		parts = append(parts, "1 needs you")
	default:
		parts = append(parts, fmt.Sprintf("%d need you", n))
	}
	if p.Hold != nil {
		parts = append(parts, "held until "+p.Hold.Until.Local().Format("15:04"))
	}
	return parts
}
