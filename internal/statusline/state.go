package statusline

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/specwright"
)

// projectState is where the project that dir belongs to stands, in the words of each system that it uses; "" if there is no
// project.
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
		if s := viewState(view, dir, compact, getenv); s != "" {
			states = append(states, s)
		}
	}
	return strings.Join(states, separator)
}

// viewState is where the project stands as one system sees it: "18/36 done | 4 running | 1 needs you". A system with better
// words than the counts has those: "shop/cart building 1/3 | 1 running".
func viewState(view *project.Project, dir string, compact bool, getenv func(string) string) string {
	if view.Slices != nil && large(view.Root) {
		return roughCounts(view)
	}
	text, complete := ownWords(view, dir, compact, getenv)
	if complete {
		return text
	}
	p, err := view.Plan(time.Now(), view.Options())
	if err != nil {
		return text
	}
	if text == "" {
		text = fmt.Sprintf("%d/%d done", p.Done, p.Total)
	}
	return strings.Join(append([]string{text}, concerns(p)...), " | ")
}

// ownWords is where the project stands in the words of the view's system; "" if it has none. If they are complete, nothing
// is added to them.
func ownWords(view *project.Project, dir string, compact bool, getenv func(string) string) (text string, complete bool) {
	if view.Tracker.Format() == "gsd" {
		return project.Position(dir, getenv, compact), true
	}
	store, ok := view.Tracker.(*specwright.Store)
	if !ok {
		return "", false
	}
	st, err := store.Read()
	if err != nil {
		return filepath.Base(specwright.StateFile) + " can't be understood", true
	}
	return st.Line(view.Root, specwright.ReadConfig(view.Root), time.Now(), compact), false
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
