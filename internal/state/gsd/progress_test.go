package gsd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stateWith returns a STATE.md with this progress block: completed and total phases, completed
// and total plans, percent.
func stateWith(front string, n ...int) string {
	keys := []string{"completed_phases", "total_phases", "completed_plans", "total_plans", "percent"}
	text := "---\n" + front + "status: executing\nprogress:\n"
	for i, k := range n {
		text += fmt.Sprintf("  %s: %d\n", keys[i], k)
	}
	return text + "---\n\n## Current Position\n\nPhase: 2 of 3 (B)\nPlan: 1 of 2\nStatus: Executing Phase 2\n" +
		"Last activity: 2026-01-01\nProgress: [███░░░░░░░] 33%\n\n### Decisions\n\nNone yet.\n\n### Blockers\n\nNone\n"
}

// stored returns the counts in the file, in the order of stateWith.
func stored(text string) []int {
	d := Parse([]byte(text))
	var n []int
	for _, key := range []string{"completed_phases", "total_phases", "completed_plans", "total_plans", "percent"} {
		k, ok := d.storedCount(key)
		if !ok {
			k = -1
		}
		n = append(n, k)
	}
	return n
}

// Real projects with their right counts, and those that a naive count would give.
func countedProjects() []struct {
	name  string
	files planning
	want  []int // percent follows the formula
} {
	type project = struct {
		name  string
		files planning
		want  []int
	}
	ticks := "# Roadmap\n\n- [x] **Phase 1: A** - first\n- [x] **Phase 2: B**\n- [ ] **Phase 3: C**\n"
	const plan, summary = "p", "s"
	return []project{
		{"files say it all", planning{"ROADMAP.md": ticks, "phases/01-a/01-01-PLAN.md": plan, "phases/01-a/01-01-SUMMARY.md": summary,
			"phases/02-b/02-01-PLAN.md": plan, "phases/02-b/02-01-SUMMARY.md": summary, "phases/03-c/03-01-PLAN.md": plan}, []int{2, 3, 2, 3, 67}},
		{"phases that were done have been archived", planning{"ROADMAP.md": ticks + "\n## Progress\n\n| Phase | Plans Complete | Status | Completed |\n|---|---|---|---|\n" +
			"| 1. A | 4/4 | Complete | 2026-01-01 |\n| 2. B | 2/2 | Complete | 2026-01-02 |\n| 3. C | 0/1 | Not started | - |\n",
			"phases/03-c/03-01-PLAN.md": plan}, []int{2, 3, 6, 7, 67}},
		{"their plans are in the checklist", planning{"ROADMAP.md": "- [x] Phase 1: A (4/4 plans) — completed 2026-01-01\n- [x] **Phase 2: B** (2/2 plans)\n- [ ] Phase 3: C\n",
			"phases/03-c/": ""}, []int{2, 3, 6, 6, 67}},
		{"nobody knows their plans any more", planning{"ROADMAP.md": ticks, "phases/": ""}, []int{2, 3, 9, 11, 67}},
		{"there are no directories", planning{"ROADMAP.md": ticks}, []int{2, 3, 9, 11, 67}},
		{"summaries were never written", planning{"ROADMAP.md": ticks, "phases/01-a/01-01-PLAN.md": plan, "phases/02-b/02-01-PLAN.md": plan,
			"phases/02-b/02-02-PLAN.md": plan}, []int{2, 3, 3, 3, 67}},
		{"the table alone tells", planning{"ROADMAP.md": "### Phase 1: A\n### Phase 2: B\n### Phase 3: C\n\n| Phase | Plans | Status |\n|---|---|---|\n" +
			"| 1. A | 1/1 | ✅ Complete |\n| **2. B** | 1/1 plans | Done |\n| 3. C | 0/2 | Planned |\n", "phases/": ""}, []int{2, 3, 2, 2, 67}},
		{"headings tell nothing, the project is past them", planning{"ROADMAP.md": "### Phase 1: A\n### Phase 2: B\n### Phase 3: C\n",
			"phases/02-b/02-01-PLAN.md": plan}, []int{1, 3, 4, 5, 33}},
		{"an archived milestone", planning{"ROADMAP.md": "## Milestones\n\n- ✅ **v1.0 MVP** — Phases 1-4 ([archive](milestones/v1.0-ROADMAP.md))\n", "phases/": "",
			"STATE.md": stateWith("milestone: v1.0\n", 4, 4, 8, 8, 100)}, []int{4, 4, 8, 8, 100}},
		{"a milestone that the roadmap doesn't have", planning{"ROADMAP.md": "## v1.0 A\n### Phase 1: A\n", "phases/01-a/01-01-PLAN.md": plan,
			"STATE.md": stateWith("milestone: v3.0\n", 4, 4, 8, 8, 90)}, []int{4, 4, 8, 8, 90}},
		{"a milestone that has no phases yet, among others", planning{"ROADMAP.md": "- ✅ **v1.0 MVP** - Phases 1-2 (shipped)\n- 🚧 **v2.0 Field** - hardening\n\n### Phase 1: A\n### Phase 2: B\n\n## v2.0 Field\n",
			"phases/01-a/01-01-PLAN.md": plan, "phases/07-x/07-01-PLAN.md": plan, "STATE.md": stateWith("milestone: v2.0\n", 36, 57, 107, 111, 63)}, []int{36, 57, 107, 111, 63}},
		{"a percent that somebody wrote", planning{"ROADMAP.md": ticks, "phases/": "", "STATE.md": stateWith("", 2, 3, 9, 11, 42)}, []int{2, 3, 9, 11, 42}},
		{"more completed than there are phases", planning{"ROADMAP.md": ticks, "phases/01-a/01-01-PLAN.md": plan, "phases/01-a/01-01-SUMMARY.md": summary,
			"phases/1.1-x/1.1-01-PLAN.md": plan, "phases/1.1-x/1.1-01-SUMMARY.md": summary}, []int{3, 3, 9, 11, 82}},
		{"phase 0, which GSD doesn't count", planning{"ROADMAP.md": "- [x] **Phase 0: Zero**\n- [x] **Phase 0.1: More**\n- [x] **Phase 1: A**\n- [ ] **Phase 2: B**\n",
			"phases/00-zero/00-01-PLAN.md": plan, "phases/01-a/01-01-PLAN.md": plan}, []int{1, 2, 1, 1, 50}},
	}
}

// status, doctor and every write agree, and none loses completed work.
func TestCountsAgree(t *testing.T) {
	for _, p := range countedProjects() {
		if p.files["STATE.md"] == "" {
			p.files["STATE.md"] = stateWith("", p.want...)
		}
		t.Run(p.name, func(t *testing.T) {
			for _, w := range writers() {
				if w.name == "milestone-switch" {
					continue
				}
				s := p.files.storeIn(t, memory(t))
				if _, err := w.run(s, "Executing Phase 2"); err != nil {
					t.Fatalf("%s: %v", w.name, err)
				}
				want := p.want
				// their purpose is the percent
				if want[4] == 42 && (w.name == "sync" || w.name == "update-progress") {
					want = append(want[:4:4], 67)
				}
				if d := cmp.Diff(want, stored(s.text(t))); d != "" {
					t.Errorf("%s (-want +got):\n%s", w.name, d)
				}
				tr := Open(s.Root)
				tr.getenv = func(string) string { return "" }
				if c, err := tr.Load(); err != nil || c.Progress == nil || c.Progress.Done != want[0] || c.Progress.Total != want[1] ||
					c.Progress.PartsDone != want[2] || c.Progress.PartsAll != want[3] || c.Progress.Percent == nil || *c.Progress.Percent != want[4] {
					t.Errorf("after %s status shows %+v (%v)", w.name, c.Progress, err)
				}
				for _, c := range tr.Check() {
					if strings.Contains(c.Message, "counts") {
						t.Errorf("after %s doctor says: %s %s", w.name, c.Path, c.Message)
					}
				}
			}
		})
	}
}

// doctor finds outdated counts, and its advice corrects them.
func TestCountsAreCorrected(t *testing.T) {
	for _, p := range countedProjects() {
		if p.files["STATE.md"] != "" {
			continue
		}
		p.files["STATE.md"] = stateWith("", 0, 1, p.want[2], p.want[3], 0)
		t.Run(p.name, func(t *testing.T) {
			s := p.files.storeIn(t, memory(t))
			tr := Open(s.Root)
			tr.getenv = func(string) string { return "" }
			if list := tr.Check(); len(list) == 0 || !strings.Contains(list[0].Message, "counts 0 of 1 phases as completed") {
				t.Fatalf("doctor says %+v", list)
			}
			if _, err := s.Sync(ctx, false); err != nil {
				t.Fatal(err)
			}
			if got := stored(s.text(t)); got[1] != p.want[1] {
				t.Errorf("%v, want %v", got, p.want)
			}
			if list := tr.Check(); len(list) != 0 {
				t.Errorf("after a sync doctor says %+v", list)
			}
		})
	}
}
