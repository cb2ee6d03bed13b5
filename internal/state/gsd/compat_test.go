package gsd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// done and open add the files of a phase with a plan that is, or isn't, carried out.
func (p planning) done(dirs ...string) planning {
	for _, dir := range dirs {
		p["phases/"+dir+"/01-01-PLAN.md"], p["phases/"+dir+"/01-01-SUMMARY.md"] = "p", "s"
	}
	return p
}

func (p planning) open(dirs ...string) planning {
	for _, dir := range dirs {
		p["phases/"+dir+"/01-01-PLAN.md"] = "p"
	}
	return p
}

// compatTree returns a project at a milestone; "" for none.
func compatTree(milestone string, roadmap ...string) planning {
	state := "# State\n\n## Current Position\n\nPhase: 1 of 9 (A)\nStatus: Executing\nProgress: [███] 31%\n"
	if milestone != "" {
		state = "---\nmilestone: " + milestone + "\nstatus: executing\n---\n" + state
	}
	return planning{"STATE.md": state, "ROADMAP.md": strings.Join(roadmap, "\n") + "\n"}
}

type compatCase struct {
	name string
	tree planning
	want string // progress from GSD's own `state json`: total, done of phases; of plans; percent
}

func compatCases() []compatCase {
	all := []compatCase{
		{"ticks and tables don't count", compatTree("v1.0", "# Roadmap", "## v1.0 MVP", "- [x] **Phase 1: A**", "- [x] **Phase 2: B**",
			"### Phase 1: A", "### Phase 2: B", "| Phase | Plans | Status |", "|---|---|---|", "| 1. A | 3/3 | Complete |").done("02-b"),
			"2 1 1 1 50"},
		{"a flat roadmap is one milestone, but its bounds aren't known", compatTree("v1.0", "# Roadmap", "### Phase 1: A", "### Phase 2: B").done("01-a"),
			"2 1 1 1 -"},
		{"a flat roadmap without a milestone in STATE.md", compatTree("", "# Roadmap", "### Phase 1: A", "### Phase 2: B").done("01-a"), "2 1 1 1 -"},
		{"no heading names the milestone", compatTree("v2.0", "## v1.0 Old", "### Phase 1: A", "### Phase 2: B").done("01-a"), "1 1 1 1 -"},
		{"a version in quotes is another one", compatTree(`"v1.0"`, "## v1.0 MVP", "### Phase 1: A", "### Phase 2: B").done("01-a"), "1 1 1 1 -"},
		{"a title names the milestone", compatTree("v1.0", "# Roadmap: Shop (v1.0)", "## Phases", "- [ ] **Phase 1: A**", "### Phase 1: A", "### Phase 2: B").done("01-a"),
			"2 1 1 1 50"},
		{"the section ends at a marked heading", compatTree("v1.0", "## v1.0 MVP", "### Phase 1: A", "## Notes", "### Phase 2: B", "## 📋 Later", "### Phase 3: C").done("01-a", "03-c"),
			"2 1 1 1 50"},
		{"a lower heading with another version doesn't end it", compatTree("v1.0", "## v1.0 MVP", "### Phase 1: A", "### v1.0.1 Fixes", "#### Phase 2: B").done("01-a"),
			"2 1 1 1 50"},
		{"a version also names longer ones", compatTree("v1.1", "## v1.1.2 Fixes", "### Phase 5: A", "## v1.2 Next", "### Phase 6: B").done("05-a", "06-b"),
			"1 1 1 1 100"},
		{"of two headings the one that isn't closed", compatTree("v1.0", "## ✅ v1.0 A (SHIPPED)", "### Phase 1: A", "## v1.0 B", "### Phase 2: B", "### Phase 3: C").done("01-a", "02-b"),
			"2 1 1 1 50"},
		{"phases before all milestones count, where the section has none", compatTree("v1.0", "## Phases", "### Phase 1: A", "### Phase 2: B", "## Progress v1.0", "notes").done("01-a"),
			"2 1 1 1 50"},
		{"and else they don't", compatTree("v1.0", "### Phase 1: A", "## v1.0 MVP", "### Phase 2: B").done("01-a", "02-b"),
			"1 1 1 1 100"},
		{"the list before all milestones counts directories", compatTree("v1.0", "- [x] **Phase 1: A**", "## v1.0 MVP", "### Phase 2: B").done("01-a").open("02-b"),
			"2 1 2 1 50"},
		{"phase details in a section of their own", compatTree("v1.1", "## v1.1 New", "- [ ] **Phase 2: B**", "## v1.2 Next", "### Phase 9: X",
			"## v1.1 New (Phase Details)", "### Phase 2: B", "### Phase 3: C").done("02-b"),
			"2 1 1 1 50"},
		{"a milestone in a fold", compatTree("v1.0", "# Roadmap", "<details>", "<summary>✅ v1.0 MVP</summary>", "### Phase 1: A", "### Phase 2: B", "</details>",
			"### Phase 3: C").done("01-a", "03-c"),
			"2 1 1 1 -"},
		{"a fold isn't read", compatTree("", "# Shop v1.0", "<details>", "### Phase 1: A", "</details>", "### Phase 2: B").done("01-a").open("02-b"),
			"1 0 1 0 0"},
		{"an open fold is", compatTree("", "# Shop v1.0", "<details open>", "### Phase 1: A", "</details>", "### Phase 2: B").done("01-a").open("02-b"),
			"2 1 2 1 50"},
		{"the milestone that is going on", compatTree("", "- 🚧 **v1.1 New** - Phases 2-3", "## v1.0 Old", "### Phase 1: A", "## v1.1 New", "### Phase 2: B", "### Phase 3: C").done("01-a", "02-b"),
			"2 1 1 1 50"},
		{"headings in code count, their directories don't", compatTree("v1.0", "## v1.0 MVP", "### Phase 1: A", "```", "### Phase 2: B", "```").done("01-a", "02-b"),
			"2 1 1 1 50"},
		{"a heading without a colon is no phase, so all directories count", compatTree("v1.0", "## v1.0 MVP", "### Phase 1 - A").done("01-a", "07-x", "notes"),
			"3 3 3 3 100"},
		{"phases that are struck through", compatTree("v1.0", "## v1.0 MVP", "- [x] ~~**Phase 2: B**~~ folded into 1", "### Phase 1: A", "### Phase 2: B").done("01-a").open("02-b"),
			"1 1 1 1 100"},
		{"phase 0 and the backlog", compatTree("v1.0", "## v1.0 MVP", "### Phase 0: Z", "### Phase 1: A", "### Phase 999.1: L").done("01-a").open("00-z", "999.1-l"),
			"1 1 1 1 100"},
		{"decimals, letters and codes", compatTree("v1.0", "## v1.0 MVP", "### Phase 1: A", "### Phase 1.10: B", "### Phase 3A: C", "### Phase APP-04: D").
			done("01-a", "1.10-b", "03a-c", "APP-04-d").open("01.1-x"),
			"4 4 4 4 100"},
		{"ids with hyphens", compatTree("v2.0", "## v2.0 New", "### Phase 2-01: A", "### Phase 2-02: B").done("02-01-a").open("02-03-x"),
			"2 1 1 1 50"},
		{"a code stands for its number", compatTree("v1.0", "## v1.0 MVP", "### Phase 4: D").done("APP-04-d"), "1 1 1 1 100"},
		{"two directories of one phase: the newer", compatTree("v1.0", "## v1.0 MVP", "### Phase 1: A").done("01-a").open("1-b"), "1 0 1 0 0"},
		{"a phase is counted as often as its heading is there", compatTree("v1.0", "## v1.0 MVP", "### Phase 1: A", "### Phase 1: A").done("01-a"), "2 1 1 1 50"},
		{"without a roadmap the directories", planning{"STATE.md": compatTree("v1.0")["STATE.md"]}.done("01-a").open("02-b"), "2 1 2 1 50"},
		{"without directories the body's percent", compatTree("v1.0", "## v1.0 MVP", "### Phase 1: A"), "- - - - 31"},
		{"with nothing to count the body's percent", planning{"STATE.md": compatTree("v1.0")["STATE.md"], "phases/x.md": ""}, "0 0 0 0 31"},
		{"plans with a title", compatTree("v1.0", "## v1.0 MVP", "### Phase 1: A").with("phases/01-a/01-01-setup-PLAN.md", "phases/01-a/01-01-SUMMARY.md"), "1 1 1 1 100"},
	}
	more := compatTree("v1.0", "## v1.0 MVP", "### Phase 1: A").done("01-a")
	more["STATE.md"] = strings.Replace(more["STATE.md"], "status:",
		"progress:\n  total_phases: 9\n  completed_phases: 4\n  total_plans: 9\n  completed_plans: 4\n  percent: 44\nstatus:", 1)
	return append(all, compatCase{"more is stored than was counted", more, "9 4 9 4 44"})
}

func (p planning) with(files ...string) planning {
	for _, f := range files {
		p[f] = "x"
	}
	return p
}

// The expected values are what the tools of GSD 1.10 return for these trees.
func TestCompatProgress(t *testing.T) {
	for _, test := range compatCases() {
		t.Run(test.name, func(t *testing.T) {
			s := test.tree.store(t)
			s.Compat = true
			newer := filepath.Join(s.Planning, "phases", "1-b")
			if _, err := os.Stat(newer); err == nil {
				if err := os.Chtimes(newer, time.Time{}, time.Now().Add(time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
			r, err := s.JSON()
			if err != nil {
				t.Fatal(err)
			}
			data, _ := encode(r.Doc)
			var doc struct{ Progress map[string]json.Number }
			if err := json.Unmarshal(data, &doc); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, key := range []string{"total_phases", "completed_phases", "total_plans", "completed_plans", "percent"} {
				n, ok := doc.Progress[key]
				if !ok {
					n = "-"
				}
				got = append(got, n.String())
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// Any roadmap gives a result with a valid percent.
func FuzzCompat(f *testing.F) {
	for _, test := range compatCases() {
		f.Add(test.tree["ROADMAP.md"], test.tree["STATE.md"])
	}
	f.Add("## Phase 1 <details> v1.0 <summary>v1.0</summary>", "milestone: v1.0")
	root := filepath.Join(f.TempDir(), "phases")
	write(f, root, planning{"01-a/PLAN.md": "", "01-a/SUMMARY.md": "", "APP-02-b/PLAN.md": "", "3-01-c/PLAN.md": "", "notes/x": ""})
	f.Fuzz(func(t *testing.T, roadmap, state string) {
		facts := Facts{HasRoadmap: true, HasPhases: true}
		facts.countAsGSD(root, roadmap, state)
		if n, ok := facts.Percent(); facts.TotalPhases < len(facts.Dirs) || ok && (n < 0 || n > 100) {
			t.Errorf("%+v", facts.Counts)
		}
	})
}

// gl gsd state patch gets its JSON from a script.
func FuzzParsePatch(f *testing.F) {
	for _, s := range []string{`{"Status": "done", "Phase": 4.10, "x": null, "y": [1, {"z": 2}]}`, `{"a": 1`, `[1]`, `{"a": 1} {`, ``} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fields, err := ParsePatch(text)
		if err == nil && len(fields) > len(text)/4 {
			t.Fatalf("%q has %d fields", text, len(fields))
		}
	})
}
