package gsd

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// at returns a STATE.md at a phase.
func at(milestone, phase, status string) string {
	return "---\nmilestone: " + milestone + "\nstatus: executing\n---\n\n## Current Position\n\nPhase: " + phase + "\nStatus: " + status + "\n"
}

// passedReport is a verification that passed.
const passedReport = "---\nstatus: passed\n---\n"

// two is a roadmap with two open phases.
const two = "### Phase 1: A\n**Depends on**: Nothing\n### Phase 2: B\n**Depends on**: Phase 1\n"

// phaseLines returns the items as formatted by shown, without the warnings.
func phaseLines(t *testing.T, files planning) []string {
	t.Helper()
	tree := map[string]string{}
	for name, text := range files {
		tree[".planning/"+name] = text
	}
	lines := shown(t, project(t, tree))
	return slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "!") })
}

// A phase that its files show as carried out isn't launched again, however they are named and
// whichever are missing.
func TestExecutedFiles(t *testing.T) {
	for _, test := range []struct{ files, want string }{
		// Summaries without plans.
		{"01-01-SUMMARY.md", "verify"},
		{"01-01-SUMMARY.md 01-02-SUMMARY.md 01-VERIFICATION.md=passed", "complete"},
		{"SUMMARY.md", "verify"},
		{"01-SUMMARY.md VERIFICATION.md=passed", "complete"},
		{"plans/SUMMARY-01.md 01-VERIFICATION.md=passed", "complete"},
		{"1-01-SUMMARY.md 01-UAT.md=complete", "complete"},
		{"01-01-SUMMARY.md=blocked", "plan"},
		{"01-RESEARCH-SUMMARY.md", "plan"},
		{"01-VERIFICATION.md=passed", "complete"},

		// Plans and summaries with different names.
		{"PLAN.md 01-01-SUMMARY.md 01-VERIFICATION.md=passed", "complete"},
		{"PLAN.md 01-01-SUMMARY.md", "verify"},
		{"01-PLAN.md 01-01-SUMMARY.md", "verify"},
		{"01-01-PLAN.md SUMMARY.md", "verify"},
		{"01-01-PLAN.md 01-SUMMARY.md", "verify"},
		{"01-1-PLAN.md 01-01-SUMMARY.md", "verify"},
		{"PLAN-01.md 01-01-SUMMARY.md", "verify"},
		{"01-02-PLAN.md 01-01-SUMMARY.md", "execute"},
		{"01-01-PLAN.md 01-02-PLAN.md 01-SUMMARY.md", "execute"},
		{"01-01-PLAN.md 01-01-SUMMARY.md=blocked", "execute"},

		// A passed report with a missing summary.
		{"01-01-PLAN.md 01-01-SUMMARY.md 01-02-PLAN.md 01-VERIFICATION.md=passed", "complete"},
		{"01-01-PLAN.md 01-VERIFICATION.md=PASS", "complete"},
		{"01-01-PLAN.md 01-VERIFICATION.md=verified", "complete"},
		{"01-01-PLAN.md 01-VERIFICATION.md=passed-with-deferrals", "complete"},
		{"01-01-PLAN.md 01-VERIFICATION.md=not_verified", "execute"},
		{"01-01-PLAN.md 01-VERIFICATION.md=gaps_found", "execute"},
		{"01-01-PLAN.md 01-01-SUMMARY.md 01-VERIFICATION.md=complete 01-UAT.md=testing", "verify: a person's test"},
		{"01-01-PLAN.md 01-01-SUMMARY.md 01-02-VERIFICATION.md=passed 01-VERIFICATION.md=gaps_found",
			"verify: a decision about the gaps that were found"},
		{"01-01-PLAN.md 01-01-SUMMARY.md 01-VERIFICATION.md=human_needed 01-UAT.md=resolved", "complete"},

		// A file about plans isn't a plan.
		{"01-PLAN-CHECK.md", "plan"},
		{"01-PLAN-REVIEW.md", "plan"},
		{"REPLAN-INPUTS.md PLANNING-NOTES.md REMEDIATION_PLAN.md", "plan"},
		{"01-PLAN-CHECK.md 01-01-PLAN.md 01-01-SUMMARY.md", "verify"},
		{"01-PLAN-02-setup.md plan.md", "execute"},
	} {
		tree := planning{"ROADMAP.md": road, "STATE.md": ""}
		for f := range strings.FieldsSeq(test.files) {
			name, status, _ := strings.Cut(f, "=")
			tree["phases/01-a/"+name] = ""
			if status != "" {
				tree["phases/01-a/"+name] = "---\nstatus: " + status + "\n---\n"
			}
		}
		if got := strings.Join(phaseLines(t, tree), "\n"); !strings.HasSuffix(got, " "+test.want) {
			t.Errorf("%s: %s, want %s", test.files, got, test.want)
		}
	}
}

// A report's status may be in its text.
func TestVerdicts(t *testing.T) {
	for text, want := range map[string]string{
		"---\nphase: 1\n---\n\n# V\n\n**Status:** PASSED (4/4 criteria)\n": "passed",
		"# V\n\n**Verdict**: ✅ **PASS**\n":                                 "passed",
		"# V\n\nstatus: passed\n":                                          "passed",
		"# V\n\n**Status: Passed**\n":                                      "passed",
		"# V\n\n**Status:** ❌ **REOPENED**\n":                              "gaps_found",
		"# V\n\n**Status:** Passed, pending UAT\n":                         "partial",
		"---\nstatus: needs_human\n---\n":                                  "human_needed",
		"---\nstatus: all_verified\n---\n":                                 "passed",
		"---\nstatus: stale\n---\n":                                        "stale",
		"# V\n\n| Criterion | Status |\n":                                  "unknown",
	} {
		root := t.TempDir()
		write(t, root, map[string]string{"V.md": text})
		if got := statusOf(root, "V.md"); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// A phase that the roadmap calls complete in a heading, a status or a table is complete.
func TestRoadmapSaysComplete(t *testing.T) {
	for _, done := range []string{
		"### Phase 1: A ✓", "### Phase 1: A ✔️", "### Phase 1: A ☑", "### ✓ Phase 1: A", "### Phase 1: A [x]", "### Phase 1 ✅: A", "### Phase 1: A — COMPLETE",
		"### Phase 1: A (Complete)", "### Phase 1 (Complete): A", "### Phase 1: A ✅ COMPLETE (2026-02-03)", "### Phase 1: A (✅ done 2026-02-03)", "### Phase 1: A COMPLETE",
		"### Phase 1: A\n**Status**: Complete", "### Phase 1: A\n**Status:** ✅ COMPLETE (archived 2026-03-30)", "### Phase 1: A\n- **Status**: Done",
		"### Phase 1: A\nStatus: Shipped", "### Phase 1: A\n\n✅ COMPLETE (2026-02-03)", "### Phase 1: A\n**✅ Complete**", "### Phase 1: A\n**Completed**: 2026-02-03",
		"- [✓] **Phase 1: A**", "1. [x] **Phase 1: A**", "## v1.0 MVP — COMPLETE ✓\n### Phase 1: A", "## v1.0 MVP\n**Status:** ✅ Shipped\n### Phase 1: A",
	} {
		if got := outline(parseRoadmap(done + "\n")); len(got) != 1 || !strings.HasPrefix(got[0], "1 A [") || !strings.HasSuffix(got[0], "<-  done") {
			t.Errorf("%q: %q", done, got)
		}
	}
	for _, open := range []string{
		"### Phase 1: Definition of Done", "### Phase 1: Complete rewrite", "### Phase 1: A — Complete redesign of B", "### Phase 1: A - Done right", "### Phase 1: What is done — and what isn't",
		"### Phase 1: A (2/3 complete)", "### Phase 1: A (complete except UAT)", "### Phase 1: A\n**Status**: Not started", "### Phase 1: A\n**Status**: Incomplete",
		"### Phase 1: A\n**Status**: In Progress", "### Phase 1: A\n**Status**: Complete (pending verification)", "### Phase 1: A\n**Completed**: -",
		"### Phase 1: A\n> **Status**: Complete", "## v1.0 Complete overhaul\n### Phase 1: A", "### Phase 1: A\n## v0.9\n**Status**: Complete",
	} {
		if got := outline(parseRoadmap(open + "\n")); len(got) != 1 || strings.HasSuffix(got[0], " done") {
			t.Errorf("%q: %q", open, got)
		}
	}
}

const progressTable = "\n| Phase | Plans Complete | Status | Completed |\n|---|---|---|---|\n"

// The progress table is trusted unless something contradicts it. If the files do, a person
// decides.
func TestProgressTable(t *testing.T) {
	plans := func(p planning, dir string, plans, summaries int) planning {
		for i := range plans {
			n := string(rune('1' + i))
			if p["phases/"+dir+"/0"+n+"-PLAN.md"] = ""; i < summaries {
				p["phases/"+dir+"/0"+n+"-SUMMARY.md"] = ""
			}
		}
		return p
	}
	tree := func(state string, rows ...string) planning {
		return planning{"STATE.md": state, "ROADMAP.md": two + progressTable + strings.Join(rows, "\n") + "\n"}
	}
	const state = "---\nstatus: executing\n---\n\n## Current Position\n\nPhase: 1 of 2 (A)\n"
	const past = "---\nstatus: executing\n---\n\n## Current Position\n\nPhase: 2 of 2 (B)\nStatus: Ready to plan\n"
	over := strings.Replace(past, "Ready to plan", "All phases completed", 1)
	for _, test := range []struct {
		name string
		tree planning
		want []string
	}{
		{"files are gone", tree(state, "| 1. A | 3/3 | Completed | 2026-01-02 |"), []string{"1 complete complete", "2 pending plan"}},
		{"with a mark", tree(state, "| **1. A** | 3/3 | ✅ Done | 2026-01-02 |"), []string{"1 complete complete", "2 pending plan"}},
		{"a mark alone", tree(state, "| 1. A | 3/3 | ✅ | 2026-01-02 |"), []string{"1 complete complete", "2 pending plan"}},
		{"no column for the status", planning{"STATE.md": state, "ROADMAP.md": two + "\n| Phase | Plans | Completed |\n|---|---|---|\n| 1. A | 3/3 | 2026-01-02 |\n"},
			[]string{"1 complete complete", "2 pending plan"}},
		{"a missing summary, and STATE.md is past it", plans(tree(past, "| 1. A | 2/2 | Completed | 2026-01-02 |"), "01-a", 2, 1),
			[]string{"1 complete complete", "2 pending plan"}},
		{"all of it over", plans(plans(tree(over, "| 1. A | 2/2 | Completed | - |", "| 2. B | 2/2 | Completed | - |"), "01-a", 2, 1), "02-b", 2, 2),
			[]string{"1 complete complete", "2 complete complete"}},
		{"a missing summary", plans(tree(state, "| 1. A | 2/2 | Complete | 2026-01-02 |"), "01-a", 2, 1),
			[]string{"1 pending verify: a decision: .planning/ROADMAP.md says that phase 1 is complete, but one of its 2 plans has no summary", "2 pending plan"}},
		{"a missing summary, without the table", plans(tree(state), "01-a", 2, 1), []string{"1 pending execute", "2 pending plan"}},
		{"carried out and not verified", plans(tree(state, "| 1. A | 2/2 | Complete | 2026-01-02 |"), "01-a", 2, 2), []string{"1 pending verify", "2 pending plan"}},
		{"still to be verified", plans(tree(past, "| 1. A | 2/2 | Complete (pending UAT) | - |"), "01-a", 2, 2), []string{"1 pending verify", "2 pending plan"}},
		{"another milestone's row", planning{"STATE.md": "---\nmilestone: v1.1\n---\n", "ROADMAP.md": "## v1.1 Now\n### Phase 1: A\n" +
			"\n| Phase | Milestone | Plans Complete | Status |\n|---|---|---|---|\n| 1. Old | v1.0 | 3/3 | Complete |\n"}, []string{"1 pending plan"}},
		{"in progress, files are gone", tree(past, "| 1. A | 3/3 | Complete | - |", "| 2. B | 2/3 | In Progress | - |"), []string{"1 complete complete",
			"2 pending plan: a decision: .planning/ROADMAP.md says that 2 of 3 plans of phase 2 were carried out, but their files are gone"}},
		{"in progress without a number", tree(state, "| 1. A | - | 🔄 In progress | - |"),
			[]string{"1 pending plan: a decision: .planning/ROADMAP.md says that phase 1 is in progress, but it has no plans", "2 pending plan"}},
		{"in progress, being planned", tree(strings.Replace(state, "status: executing", "status: planning", 1), "| 1. A | - | In progress | - |"), []string{"1 pending plan", "2 pending plan"}},
		{"not started", tree(state, "| 1. A | 0/3 | Not started | - |"), []string{"1 pending plan", "2 pending plan"}},
		{"STATE.md executes it, files are gone", tree(strings.Replace(state, "1 of 2 (A)", "1 (A) — EXECUTING", 1)),
			[]string{"1 pending plan: a decision: .planning/STATE.md says that phase 1 is being executed, but it has no plans", "2 pending plan"}},
		{"STATE.md says that all is over", plans(tree(over), "01-a", 2, 1),
			[]string{"1 pending execute: a decision: .planning/STATE.md says that all phases are complete, but one of its 2 plans has no summary", "2 pending plan"}},
		{"plans that are ticked off", planning{"STATE.md": state, "ROADMAP.md": "### Phase 1: A\nPlans:\n- [x] 01-01-PLAN.md — x\n- [x] 01-02: y\n### Phase 2: B\n- [x] 02-01: x\n- [ ] 02-02: y\n"},
			[]string{"1 complete complete", "2 pending plan: a decision: .planning/ROADMAP.md says that 1 of 2 plans of phase 2 were carried out, but their files are gone"}},
	} {
		if d := cmp.Diff(test.want, phaseLines(t, test.tree)); d != "" {
			t.Errorf("%s:\n%s", test.name, d)
		}
	}
}

// sync lowers no count that the roadmap or the files confirm.
func TestSyncKeepsWhatIsDone(t *testing.T) {
	const front = "---\nmilestone: v1.0\nstatus: executing\nprogress:\n  total_phases: 3\n  completed_phases: 2\n  total_plans: 4\n  completed_plans: 3\n  percent: 67\n---\n\n" +
		"## Current Position\n\nPhase: 3 of 3 (C)\nStatus: Ready to plan\nLast activity: 2026-01-02 — x\nProgress: [███████░░░] 67%\n"
	const phases = "## v1.0 MVP\n- [x] **Phase 1: A**\n- [ ] **Phase 2: B**\n- [ ] **Phase 3: C**\n"
	for name, tree := range map[string]planning{
		"summaries without plans": {"ROADMAP.md": phases, "phases/01-a/01-01-SUMMARY.md": "", "phases/02-b/02-01-SUMMARY.md": "", "phases/02-b/02-02-SUMMARY.md": "",
			"phases/02-b/02-VERIFICATION.md": passedReport, "phases/03-c/03-01-PLAN.md": ""},
		"a passed report and a missing summary": {"ROADMAP.md": phases, "phases/01-a/01-01-PLAN.md": "", "phases/01-a/01-01-SUMMARY.md": "", "phases/02-b/02-01-PLAN.md": "",
			"phases/02-b/02-01-SUMMARY.md": "", "phases/02-b/02-02-PLAN.md": "", "phases/02-b/02-VERIFICATION.md": passedReport, "phases/03-c/03-01-PLAN.md": ""},
		"the table and a missing summary": {"ROADMAP.md": phases + progressTable + "| 1. A | 1/1 | Complete | - |\n| 2. B | 2/2 | Completed | - |\n", "phases/01-a/01-01-PLAN.md": "",
			"phases/02-b/02-01-PLAN.md": "", "phases/02-b/02-01-SUMMARY.md": "", "phases/02-b/02-02-PLAN.md": "", "phases/03-c/03-01-PLAN.md": ""},
		"a heading and no files": {"ROADMAP.md": phases + "### Phase 2: B ✓\n" + progressTable + "| 1. A | 1/1 | Complete | - |\n| 2. B | 2/2 | - | - |\n", "phases/03-c/03-01-PLAN.md": ""},
	} {
		tree["STATE.md"] = front
		s := tree.store(t)
		if _, err := s.Sync(ctx, false); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(front, s.text(t)); d != "" {
			t.Errorf("%s: sync changed the file:\n%s", name, d)
		}
	}
}

// In prose about other phases, only needed ones count. A milestone isn't a phase.
func TestDependsInProse(t *testing.T) {
	for text, want := range map[string]string{
		"Phase 40 (baseline). Independent of Phase 42":                  "40",
		"Phase 40. Gates Phases 41–43":                                  "40",
		"Phase 40 (gates Phases 41-43)":                                 "40",
		"Phase 40; must precede Phase 42":                               "40",
		"Phase 40 must precede":                                         "40",
		"This phase must precede Phase 42":                              "",
		"Phase 40 — blocks Phase 41 and unblocks Phase 42":              "40",
		"Phase 40. Can run in parallel with any M2 phase.":              "40",
		"Phase 40, can run in parallel with Phase 41":                   "40",
		"Phase 40. Phase 41 can run in parallel. Phase 42 follows":      "40",
		"Phase 40; Phase 41 depends on this":                            "40",
		"Phase 40; in parallel once Phase 41 completes":                 "40 41",
		"Phase 40, then after Phase 41":                                 "40 41",
		"Phase 40; not dependent on Phase 41":                           "40",
		"Phase 40. Doesn't need Phase 41":                               "40",
		"Phase 40; blocked by Phase 41":                                 "40 41",
		"Phase 40, ideally Phase 41":                                    "40",
		"Phase 40; Phase 41 is optional":                                "40",
		"Independent of Phase 42":                                       "",
		"Independent of Phase 42. Needs Phase 40":                       "40",
		"None. Requires Phase 40 for its tests":                         "40",
		"None (Phase 40 is recommended)":                                "",
		"None at this time":                                             "",
		"No hard dependency on Phase 40":                                "",
		"Nothing; can start with Phase 40":                              "",
		"Standalone":                                                    "",
		"Phases 1–4":                                                    "1..4",
		"Phase 1 (x); Phase 3 (validate subcommand covers all)":         "1 3",
		"Phase 40 (2026-03-04)":                                         "40",
		"Phase 9 (report APIs exist), Phase 10 (after Phase 10 is out)": "9 10",
		"v1.0 (shipped)":                                                "",
		"v7.0 complete":                                                 "",
		"V1.0 (Shipped 2026-01-02)":                                     "",
		"v2.6":                                                          "",
		"v7.3 ESLint cleanup":                                           "",
		"Milestone v1.0":                                                "",
		"Milestone 1 complete":                                          "",
		"[v1.0](milestones/v1.0-ROADMAP.md) (shipped), Phase 40":        "40",
		"Phase 38, Stage System (v2.2)":                                 "38",
		"v1.1 Phase 3 self-consistency; v1.1 Phase 4 shared split":      "",
		"v1.1 cached stacks; Phase 40 cache integrity":                  "40",
		"Phase V1": "V1",
		"Phase 40 (v1.0 complete) or parallel with v1.7 wrap-up": "40",
	} {
		n := readDepends(text)
		if got := strings.Join(n.keys, " "); got != want || n.unread != "" {
			t.Errorf("%q: %q unread %q, want %q", text, got, n.unread, want)
		}
	}
}

// A milestone that has shipped or left the roadmap blocks nothing; an open one stands for all
// of its phases.
func TestDependsOnMilestones(t *testing.T) {
	const roadmap = "- ✅ **v1.0 MVP** - Phases 1-2 (shipped)\n## v1.1 Now\n### Phase 3: C\n**Depends on**: v1.0 (shipped)\n### Phase 4: D\n**Depends on**: v0.9\n" +
		"### Phase 5: E\n**Depends on**: v1.0 Phase 2\n## v1.2 Next\n### Phase 6: F\n**Depends on**: v1.1\n### Phase 7: G\n**Depends on**: v1.2 Phase 6; Phase 39 (complete)\n### Phase 8: H\n**Depends on**: v9.0\n"
	want := []string{"3 C [v1.1] <- ", "4 D [v1.1] <- ", "5 E [v1.1] <- ", "6 F [v1.2] <- 3,4,5", "7 G [v1.2] <- 39,6", `8 H [v1.2] <- 7 unread "v9.0"`}
	if d := cmp.Diff(want, outline(parseRoadmap(roadmap))); d != "" {
		t.Error(d)
	}
	c, err := project(t, map[string]string{".planning/ROADMAP.md": roadmap, ".planning/STATE.md": ""}).Load()
	if err != nil || c.Evidence["39"] != "complete" {
		t.Errorf("%v, %v", c.Evidence, err)
	}
}

// While a milestone is being defined, the phases of the last one don't belong to it: nothing is
// ready, and no write counts them.
func TestMilestoneWithoutARoadmap(t *testing.T) {
	const old = "## v1.0 MVP\n- [x] **Phase 1: A**\n- [ ] **Phase 2: B**\n"
	defining := at("v1.1", "Not started (defining requirements)", "Defining requirements")
	counted := strings.Replace(defining, "status: executing\n", "status: planning\nprogress:\n  total_phases: 0\n  completed_phases: 0\n  total_plans: 0\n  completed_plans: 0\n  percent: 0\n", 1)
	for _, test := range []struct{ name, road, state string }{
		{"being defined", old, defining},
		{"with counts", old, counted},
		{"a flat roadmap", "- [x] **Phase 1: A**\n- [ ] **Phase 2: B**\n", defining},
		{"ahead", old, at("v1.1", "—", "Ready to plan")},
		{"ahead by the position", old, strings.Replace(at("v1.0", "—", "Ready to plan"), "Phase:", "Milestone: v1.1 Payments\nPhase:", 1)},
		{"at a phase of its own", old, at("v2.0", "7 of 9 (Later)", "Ready to plan")},
		{"planned, without phases", "- ✅ **v0.9 Alpha**\n" + old + "## v1.1 Next\n", defining},
		{"only listed", "- **v1.0 MVP** - Phases 1-2\n- 📋 **v1.1 Next** - planned, Phases 3-9\n- [x] **Phase 1: A**\n- [ ] **Phase 2: B**\n", defining},
		{"a word behind the version", old, at("v1.1-payments", "Not started (defining requirements)", "Defining requirements")},
	} {
		files := planning{"ROADMAP.md": test.road, "STATE.md": test.state, "phases/01-a/01-01-PLAN.md": "", "phases/02-b/02-01-PLAN.md": ""}
		version := "v1.1"
		if test.name == "at a phase of its own" {
			version = "v2.0"
		}
		want := []string{"1 complete complete", "2 pending execute: a roadmap: " + version + " has no roadmap yet"}
		if d := cmp.Diff(want, phaseLines(t, files)); d != "" {
			t.Errorf("%s:\n%s", test.name, d)
		}
		s := files.store(t)
		if _, err := s.Sync(ctx, false); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(test.state, s.text(t)); d != "" {
			t.Errorf("%s: sync changed the file:\n%s", test.name, d)
		}
		if _, err := s.BeginPhase(ctx, BeginPhase{Phase: "2"}); err != nil {
			t.Fatal(err)
		}
		before, after := Parse([]byte(test.state)), Parse([]byte(s.text(t)))
		if before.storedTally() != (tally{}) != (after.storedTally() != (tally{})) || after.stored("milestone") != before.stored("milestone") {
			t.Errorf("%s: a write counted\n%s", test.name, after.Src)
		}
	}
	for name, state := range map[string]string{
		"at an open phase of the roadmap": at("v1.1", "2 of 2 (B)", "Ready to execute"),
		"an older milestone":              at("v0.9", "—", "Ready to plan"),
		"its own milestone":               at("v1.0", "Not started (defining requirements)", "Defining requirements"),
	} {
		files := planning{"ROADMAP.md": old, "STATE.md": state, "phases/02-b/02-01-PLAN.md": ""}
		if d := cmp.Diff([]string{"1 complete complete", "2 pending execute"}, phaseLines(t, files)); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
	mentioned := "**Current Milestone:** v1.1\n" + old
	if d := cmp.Diff([]string{"1 complete complete", "2 pending plan"}, phaseLines(t, planning{"ROADMAP.md": mentioned, "STATE.md": at("v1.1", "—", "Ready to plan")})); d != "" {
		t.Error(d)
	}
}

func TestVersions(t *testing.T) {
	for _, pair := range [][2]string{{"v1.9", "v1.10"}, {"v1", "v1.0.1"}, {"V1.0", "v2"}, {"v0.9", "1.0"}} {
		if !olderVersion(pair[0], pair[1]) || olderVersion(pair[1], pair[0]) || olderVersion(pair[0], pair[0]) {
			t.Error(pair)
		}
	}
}

// A name goes only with its own version, without link markup.
func TestMilestoneNames(t *testing.T) {
	for title, want := range map[string]string{
		"- ✅ **[v1.0 MVP](milestones/v1.0-ROADMAP.md)** - Phases 1-2 (shipped)": "v1.0 MVP shipped",
		"## [v1.0 MVP](milestones/v1.0-ROADMAP.md)":                             "v1.0 MVP",
		"## [v1.0] MVP":              "v1.0 MVP",
		"## v1.0 MVP, v1.1 Payments": "v1.0 MVP",
		"## v1.0 → v1.1 Payments":    "v1.0 ",
		"## v1.0 Complete":           "v1.0 ",
		"## v1.0 MVP ✓":              "v1.0 MVP shipped",
	} {
		if got := milestones(parseRoadmap(title + "\n")); len(got) == 0 || got[0] != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
	const roadmap = "- ✅ **v1.0 MVP** - Phases 1-1 (shipped)\n- 🚧 **v1.1** - Phases 2-3\n- [x] **Phase 1: A**\n- [ ] **Phase 2: B**\n- [ ] **Phase 3: C**\n"
	for verb, want := range map[string]string{"begin": "v1.1 milestone", "note": "v1.0 MVP"} {
		s := planning{"ROADMAP.md": roadmap, "STATE.md": "---\nmilestone: v1.0\nmilestone_name: MVP\n---\n\n## Current Position\n\nPhase: 2 of 3 (B)\nStatus: Ready to plan\n"}.store(t)
		_, err := s.AddBlocker(ctx, Blocker{Text: "x"})
		if verb == "begin" {
			_, err = s.BeginPhase(ctx, BeginPhase{Phase: "2"})
		}
		d := Parse([]byte(s.text(t)))
		if got := d.stored("milestone") + " " + d.stored("milestone_name"); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", verb, got, err, want)
		}
	}
	s := planning{"ROADMAP.md": strings.Replace(roadmap, "**v1.1**", "**v1.1 More**", 1), "STATE.md": "---\nmilestone: v1.0\nmilestone_name: milestone\n---\n\n## Current Position\n\nPhase: 2 of 3 (B)\n"}.store(t)
	if _, err := s.AddBlocker(ctx, Blocker{Text: "x"}); err != nil || Parse([]byte(s.text(t))).stored("milestone_name") == "More" {
		t.Errorf("v1.1's name beside v1.0: %v\n%s", err, s.text(t))
	}
}

// Lines that declare a list empty are removed when it no longer is; text written by a person
// stays.
func TestHollowLines(t *testing.T) {
	for _, line := range []string{"None", "None.", "None yet.", "None at this time.", "- None at this time", "*None currently.*", "(none)", "None active.", "None identified yet", "- None",
		"None so far", "No blockers", "No known blockers.", "No open blockers or concerns", "No active blockers yet.", "N/A", "Nothing yet", "None currently identified.", "_None for now_"} {
		s := planning{"STATE.md": "# S\n\n### Blockers/Concerns\n\n" + line + "\n\n## Session\n"}.store(t)
		if _, err := s.AddBlocker(ctx, Blocker{Text: "a key"}); err != nil {
			t.Fatal(err)
		}
		if got := s.text(t); strings.Contains(got, line) || !strings.Contains(got, "\n- a key\n") {
			t.Errorf("%q survives:\n%s", line, got)
		}
	}
	for _, line := range []string{"None of these work", "Nonesuch", "None. Next step: plan phase 7", "None blocking; see v1.2", "None — between milestones", "No blockers but a risk", "None at this time. See PROJECT.md",
		"No network in CI"} {
		s := planning{"STATE.md": "# S\n\n### Blockers\n\n- " + line + "\n"}.store(t)
		if _, err := s.AddBlocker(ctx, Blocker{Text: "a key"}); err != nil || !strings.Contains(s.text(t), "- "+line+"\n") {
			t.Errorf("%q is gone: %v", line, err)
		}
	}
}

func TestBlockerOfAPhase(t *testing.T) {
	s := planning{"STATE.md": "# S\n\n### Blockers\n\nNone\n"}.store(t)
	if _, err := s.AddBlocker(ctx, Blocker{Text: "a key", Phase: "4.5"}); err != nil || !strings.Contains(s.text(t), "\n- [Phase 4.5]: a key\n") {
		t.Errorf("%v\n%s", err, s.text(t))
	}
	if _, err := s.AddBlocker(ctx, Blocker{Text: "x", Phase: "\x1b[2J"}); err == nil {
		t.Error("a phase with an escape sequence")
	}
}

// next_action is one of GSD's commands, and a phase is a number.
func TestLifecycleWords(t *testing.T) {
	s := planning{"STATE.md": "---\nstatus: x\n---\n"}.store(t)
	for _, l := range []Lifecycle{{NextAction: "banana", NextPhases: []string{"4"}}, {NextAction: "/gsd-plan-phase", NextPhases: []string{"4"}}, {NextAction: "plan-phase", NextPhases: []string{"next"}},
		{ActivePhase: "banana"}, {ActivePhase: "4..5"}, {ActivePhase: "-4"}} {
		if _, err := s.SetLifecycle(ctx, l); err == nil {
			t.Errorf("%+v is taken", l)
		}
	}
	for _, l := range []Lifecycle{{NextAction: "verify-work", NextPhases: []string{"4", "4.10"}}, {NextAction: "discuss-phase", NextPhases: []string{"APP-05"}}, {ActivePhase: "12A"}, {ActivePhase: "2-01"},
		{ActivePhase: "05"}} {
		if _, err := s.SetLifecycle(ctx, l); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// With --compat, plans and summaries are paired by GSD's rule alone.
func TestCompatPairs(t *testing.T) {
	for _, test := range []struct {
		files         string
		plans, paired int // exactly
		done          int // otherwise
	}{
		{"01-01-PLAN.md 01-01-SUMMARY.md", 1, 1, 1},
		{"PLAN.md 01-01-SUMMARY.md", 1, 0, 1},
		{"3-PLAN-01-setup.md 3-SUMMARY-01-setup.md", 1, 0, 1},
		{"3-PLAN-01-setup.md 3-01-SUMMARY.md", 1, 1, 1},
		{"02-replan-x-PLAN.md 02-replan-x-SUMMARY.md", 1, 0, 1},
		{"plans/PLAN-01-x.md plans/SUMMARY-01-x.md", 1, 1, 1},
		{"plans/PLAN-01-x.md plans/PLAN-01-x-SUMMARY.md", 1, 0, 1},
		{"plans/01-01-PLAN.md plans/01-01-SUMMARY.md", 0, 0, 1},
		{"APP-04-01-x-PLAN.md 04-01-SUMMARY.md", 1, 1, 1},
		{"01-01-SUMMARY.md", 0, 0, 1},
		{"01-01-PLAN.md 01-01-SUMMARY.md=blocked", 1, 0, 0},
		{"01-PLAN-CHECK.md", 0, 0, 0},
		{"01-1-PLAN.md 01-01-SUMMARY.md", 1, 0, 1},
	} {
		root := t.TempDir()
		for f := range strings.FieldsSeq(test.files) {
			name, status, _ := strings.Cut(f, "=")
			write(t, root, map[string]string{name: "---\nstatus: " + status + "\n---\n"})
		}
		exact, free := scanPhase(root, "04-x", "4", true), scanPhase(root, "04-x", "4", false)
		if exact.Plans != test.plans || exact.Summaries != test.paired || free.Summaries != test.done {
			t.Errorf("%s: %d of %d exactly, %d otherwise; want %d of %d, %d", test.files, exact.Summaries, exact.Plans, free.Summaries, test.paired, test.plans, test.done)
		}
	}
}

// The recorded progress is shown unchanged, beside the counted one.
func TestRecordedProgress(t *testing.T) {
	files := map[string]string{".planning/ROADMAP.md": "## v1.0 MVP\n- [x] **Phase 1: A**\n- [ ] **Phase 2: B**\n",
		".planning/STATE.md": "---\nmilestone: v1.0\nprogress:\n  total_phases: 9\n  completed_phases: 0\n  total_plans: 4\n  completed_plans: 0\n  percent: 0\n---\n"}
	c, err := project(t, files).Load()
	if err != nil || c.Progress == nil || c.Progress.Recorded == nil || c.Progress.Recorded.Total != 9 || c.Progress.Total != 2 || c.Progress.Done != 1 {
		t.Errorf("%+v, %v", c.Progress, err)
	}
	files[".planning/STATE.md"] = "---\nmilestone: v1.0\n---\n"
	if c, err := project(t, files).Load(); err != nil || c.Progress == nil || c.Progress.Recorded != nil {
		t.Errorf("%+v, %v", c.Progress, err)
	}
}

// Text that a person wrote after a version stays, whatever a write counts.
func TestWordsBehindAVersion(t *testing.T) {
	const roadmap = "## v2.0 Code quality\n- [x] **Phase 1: A**\n- [ ] **Phase 2: B**\n"
	s := planning{"ROADMAP.md": roadmap, "STATE.md": at("v2.0-code-quality", "2 of 2 (B)", "Ready to plan")}.store(t)
	if _, err := s.BeginPhase(ctx, BeginPhase{Phase: "2"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sync(ctx, false); err != nil {
		t.Fatal(err)
	}
	if got := Parse([]byte(s.text(t))).stored("milestone"); got != "v2.0-code-quality" {
		t.Errorf("the milestone is %q", got)
	}
}
