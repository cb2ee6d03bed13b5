package statusline

import (
	"fmt"
	"strings"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/show/view"
	"greenlight/internal/state/tracker"
)

// projectState returns the state of the project that dir belongs to, in the words of each
// system that it uses; "" if there is no project.
func projectState(dir string, compact bool, getenv func(string) string) string {
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
		if s := viewState(view, compact); s != "" {
			states = append(states, s)
		}
	}
	return strings.Join(states, separator)
}

// viewState returns the project's state as one system sees it: "18/36 done | 4 running | 1
// needs you". A tracker may have better words than the counts: "shop/cart building 1/3 | 1
// running".
func viewState(view *project.Project, compact bool) string {
	line := view.Tracker.Line(compact)
	var parts []string
	if line.Text != "" {
		parts = append(parts, line.Text)
	}
	switch line.Rest {
	case tracker.WithPlan:
		p, err := view.Plan(time.Now(), view.Options())
		if err != nil {
			break
		}
		if line.Text == "" {
			parts = append(parts, fmt.Sprintf("%d/%d done", p.Done, p.Total))
		}
		parts = append(parts, concerns(p, lane.ReadStatus(view.Runs.Files.Dir()))...)
	case tracker.WithRunning:
		if n, ok := runningAttempts(view); ok {
			parts = append(parts, fmt.Sprintf("%d running", n))
		}
	}
	return strings.Join(parts, " | ")
}

// runningAttempts returns the number of running attempts; false if there are no records.
func runningAttempts(view *project.Project) (n int, ok bool) {
	live, _, err := view.Runs.Live()
	if err != nil || len(live) == 0 {
		return 0, false
	}
	for _, r := range live {
		if r.Life.Phase != plan.Ended && r.Life.Phase != plan.Queued {
			n++
		}
	}
	return n, true
}

// concerns returns what runs and merges, what is wrong, and a hold.
func concerns(p *plan.Plan, landed lane.Status) []string {
	return append(view.Count(p, landed).Trouble(), view.Held(p, time.Now())...)
}
