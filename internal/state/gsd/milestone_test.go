package gsd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Real roadmaps: their milestones, and the phases over which the current one is counted.
func TestMilestones(t *testing.T) {
	for _, test := range []struct {
		name, road, state string
		milestones        []string
		current           string // version and name
		phases            string // the counted ones
		moved, unbounded  bool
	}{
		{name: "two of one version", state: "milestone: v1.0\n",
			road:       "## ✅ v1.0 MVP (Shipped)\n### Phase 1: A\n## 🚧 v1.0 Hardening\n### Phase 2: B\n### Phase 3: C\n",
			milestones: []string{"v1.0 MVP shipped", "v1.0 Hardening active"}, current: "v1.0 Hardening", phases: "2 3"},
		{name: "one whose phases are in two sections", state: "milestone: v1.0\n",
			road:       "## v1.0 MVP\n- [x] **Phase 1: A**\n## v1.0 (Phase Details)\n### Phase 1: A\n### Phase 2: B\n",
			milestones: []string{"v1.0 MVP"}, current: "v1.0 MVP", phases: "1 2"},
		{name: "a sentence in a block quote",
			road:       "# Roadmap\n> **v2.0** was folded into this one, see Phases 4-6 below.\n\n### Phase 4: A\n### Phase 5: B\n",
			milestones: []string{}, current: " ", phases: "4 5"},
		{name: "a sentence in a paragraph",
			road:       "# Roadmap\nThe former v2.0 covered phases 4-6.\n\n### Phase 4: A\n### Phase 5: B\n",
			milestones: []string{}, current: " ", phases: "4 5"},
		{name: "a version in parentheses", state: "milestone: v1.1\n",
			road:       "# Roadmap: Shop (v1.1)\n\n### Phase 1: A\n",
			milestones: []string{"v1.1 "}, current: "v1.1 ", phases: "1"},
		{name: "a frontmatter that lags behind the position", state: "milestone: v1.0\n", moved: true,
			road: "- ✅ **v1.0 MVP** - Phases 1-2 (shipped)\n- 🚧 **v1.1 More** - Phases 3-4\n\n" +
				"### Phase 1: A\n### Phase 2: B\n### Phase 3: C\n### Phase 4: D\n",
			milestones: []string{"v1.0 MVP shipped", "v1.1 More active"}, current: "v1.1 More", phases: "3 4"},
		{name: "a position in the milestone that it names", state: "milestone: v1.1\n",
			road:       "## v1.0 MVP (shipped)\n### Phase 1: A\n## v1.1 More\n### Phase 3: C\n### Phase 4: D\n",
			milestones: []string{"v1.0 MVP shipped", "v1.1 More"}, current: "v1.1 More", phases: "3 4"},
		{name: "a phase outside the range", state: "milestone: v1.0\n",
			road:       "- 🚧 **v1.0 MVP** - Phases 1-2\n\n- [x] **Phase 1: A**\n- [ ] **Phase 2: B**\n- [ ] **Phase 3: C**\n",
			milestones: []string{"v1.0 MVP active"}, current: "v1.0 MVP", phases: "1 2 3"},
		{name: "numbers that begin anew", state: "milestone: v2.0\n",
			road: "<details>\n<summary>✅ v1.0 MVP (Phases 1-2) - SHIPPED</summary>\n\n- [x] Phase 1: Old (3/3 plans) — completed 2026-01-01\n- [x] Phase 2: Older\n</details>\n\n" +
				"### 🚧 v2.0 Next\n\n- [ ] Phase 1: New\n- [ ] Phase 2: Newer\n",
			milestones: []string{"v1.0 MVP shipped", "v2.0 Next active"}, current: "v2.0 Next", phases: "1 2"},
		{name: "one that the roadmap doesn't have", state: "milestone: v9.0\n", unbounded: true,
			road: "## v1.0 MVP\n### Phase 1: A\n", milestones: []string{"v1.0 MVP"}, current: "v9.0 "},
		{name: "without a version in the state, the one that is marked",
			road:       "## v1.0 MVP\n### Phase 1: A\n## 🚧 v1.1 More\n### Phase 5: B\n",
			milestones: []string{"v1.0 MVP", "v1.1 More active"}, current: "v1.1 More", phases: "5"},
		{name: "not started isn't started",
			road:       "## v2.0 Later (Not started)\n### Phase 5: B\n## v1.1 Now (in progress)\n### Phase 1: A\n",
			milestones: []string{"v2.0 Later", "v1.1 Now active"}, current: "v1.1 Now", phases: "1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			position := "\n## Current Position\n\nPhase: 3 of 4 (C)\n"
			if !strings.Contains(test.road, "Phase 3") {
				position = ""
			}
			road := parseRoadmap(test.road)
			if d := cmp.Diff(test.milestones, milestones(road)); d != "" {
				t.Errorf("milestones (-want +got):\n%s", d)
			}
			at := standingOf(Parse([]byte("---\nstatus: executing\n" + test.state + "---\n" + position)))
			f := newFacts(road, nil, at)
			var phases []string
			if !f.Unbounded {
				for _, p := range road.of(road.current(at)) {
					phases = append(phases, p.ID)
				}
			}
			if got := f.Milestone + " " + f.MilestoneName; got != test.current || strings.Join(phases, " ") != test.phases || f.Moved != test.moved || f.Unbounded != test.unbounded {
				t.Errorf("%q phases %v moved %v unbounded %v, want %q %s", got, phases, f.Moved, f.Unbounded, test.current, test.phases)
			}
		})
	}
}

// Headings and names as people decorate them.
func TestDecoratedPhases(t *testing.T) {
	road := parseRoadmap("### ✅ Phase 1: Base\n### 🚧 Phase 2: Cart (IN PROGRESS)\n#### Phase 3: Orders ✅\n- [x] Phase 4: Pay (3/3 plans) — completed 2026-01-02\n" +
		"- [ ] 📋 **Phase 5: Ship** - later\n- ✅ **Phase 6: Last** — done 2026-01-03\n### Phase 7: What is done — and what isn't\n### Phase 0: Zero\n")
	want := []string{"0 Zero [] <- ", "1 Base [] <- 0 done", "2 Cart [] <- 1", "3 Orders [] <- 2 done", "4 Pay [] <- 3 done", "5 Ship [] <- 4", "6 Last [] <- 5 done",
		"7 What is done — and what isn't [] <- 6"}
	if d := cmp.Diff(want, outline(road)); d != "" {
		t.Error(d)
	}
}

// A project that has moved on isn't stopped by an outdated milestone in the front matter, and
// the next write that moves it updates the milestone.
func TestMovedOn(t *testing.T) {
	s := planning{
		"ROADMAP.md": "- ✅ **v1.0 MVP** - Phases 1-1 (shipped)\n- 🚧 **v1.1 More** - Phases 2-3\n\n- [x] **Phase 1: A**\n- [ ] **Phase 2: B**\n- [ ] **Phase 3: C**\n",
		"STATE.md":   "---\nmilestone: v1.0\nmilestone_name: MVP\n---\n\n## Current Position\n\nPhase: 2 of 3 (B)\nStatus: Ready to execute\n",
	}.store(t)
	tr := Open(s.Root)
	tr.getenv = func(string) string { return "" }
	if d := cmp.Diff([]string{"1 complete complete", "2 pending plan", "3 pending plan"}, shown(t, tr)); d != "" {
		t.Error(d)
	}
	if _, err := s.BeginPhase(ctx, BeginPhase{Phase: "2"}); err != nil {
		t.Fatal(err)
	}
	d := Parse([]byte(s.text(t)))
	if got := d.stored("milestone") + " " + d.stored("milestone_name"); got != "v1.1 More" {
		t.Errorf("the milestone is %s", got)
	}
}

// A dependency is done if its files say so, whatever has become of its line in the roadmap.
func TestDependencyThatLeftTheRoadmap(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"the directory is there":    {".planning/phases/03-c/03-01-PLAN.md": "", ".planning/phases/03-c/03-01-SUMMARY.md": ""},
		"the directory is archived": {".planning/milestones/v1.0-phases/03-c/03-01-PLAN.md": "", ".planning/milestones/v1.0-phases/03-c/03-01-SUMMARY.md": ""},
		"it isn't complete":         {".planning/phases/03-c/03-01-PLAN.md": ""},
	} {
		files[".planning/ROADMAP.md"] = "### Phase 2: B\n### Phase 5: E\n**Depends on**: Phase 3\n"
		c, err := project(t, files).Load()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := c.Evidence["3"] == "complete", name != "it isn't complete"; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
