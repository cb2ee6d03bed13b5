package gsd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const shopRoad = `# Roadmap: Shop

## Phases

- [ ] **Phase 1: Ledger** - Books
- [ ] **Phase 2: Export** - Files

## Phase Details

### Phase 1: Ledger
**Goal**: Books are kept
**Depends on**: Nothing (first phase)
**Requirements**: [BOOK-01, BOOK-02]  <!-- brackets optional -->
**Plans**: TBD

### Phase 2: Export
**Goal**: Files
**Depends on**: Phase 1
**Requirements**: FILE-01
**Plans**: 3 plans, and a talk with Ann

Plans:
- [ ] 02-01: Write
- [ ] **02-02**: Read

## Progress

| Phase | Plans Complete | Status | Completed |
|-------|----------------|--------|-----------|
| 1. Ledger | 0/TBD | Not started | - |
| 2. Export | 0/3 | Not started | - |
`

const shopRequirements = `# Requirements: Shop

- [ ] **BOOK-01**: Entries
- [ ] **BOOK-02**: Sums
- [ ] **FILE-01**: Files

## Out of Scope

| Feature | Reason |
|---------|--------|
| FILE-01 | Pending |

## Traceability

| Requirement | Phase | Status |
|-------------|-------|--------|
| BOOK-01 | Phase 1 | Pending |
| BOOK-02 | Phase 1 | Blocked by Ann |
| FILE-01 | Phase 2 | Gaps Found |
`

const shopState = `---
gsd_state_version: '1.0'
milestone: v1.0
milestone_name: Books
status: executing
progress:
  total_phases: 2
  completed_phases: 0
  total_plans: 6
  completed_plans: 3
  percent: 0
---

# Project State

## Current Position

Phase: 1 of 2 (Ledger) — EXECUTING
Plan: 3 of 3 in current phase
Status: Phase complete — ready for verification
Last activity: 2026-01-01 — Phase 1 execution started

Progress: [░░░░░░░░░░] 0%

## Session Continuity

Last session: 2026-01-01
Stopped at: Plan 3
Resume file: None
`

// shop is a project of two phases with three plans each, of which those of the first are carried
// out and verified.
func shop() planning {
	files := planning{"ROADMAP.md": shopRoad, "REQUIREMENTS.md": shopRequirements, "STATE.md": shopState,
		"config.json": "{}", "PROJECT.md": "# Shop\n",
		"phases/01-ledger/01-VERIFICATION.md": "---\nstatus: passed\n---\n"}
	for _, dir := range []string{"01-ledger", "02-export"} {
		for plan := 1; plan <= 3; plan++ {
			stem := fmt.Sprintf("phases/%s/%s-%02d-", dir, dir[:2], plan)
			files[stem+"PLAN.md"] = fmt.Sprintf("---\nphase: %s\nplan: %02d\nwave: %d\nmust_haves:\n  truths:\n"+
				"    - \"Sums are exact\"\n    - Own %d\n  artifacts:\n    - path: a.go\n---\n", dir, plan, (plan+1)/2, plan)
			if dir == "01-ledger" {
				files[stem+"SUMMARY.md"] = fmt.Sprintf("---\nphase: %s\nplan: %02d\n---\n\n# Summary\n\n**Did %d**\n", dir, plan, plan)
			}
		}
	}
	return files
}

func of(s *Store) *Project { return &Project{s} }

// read returns a file below .planning; "" for none.
func (s *Store) read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(s.file(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func done(t testing.TB, r Result, err error) Result {
	t.Helper()
	if err != nil || r.Failed {
		t.Fatalf("%+v: %v", r.Doc, err)
	}
	return r
}

// A verified phase is completed in the roadmap, the requirements and STATE.md. What a person
// wrote or decided, and what is of the other phase, stays.
func TestFinishPhase(t *testing.T) {
	s := shop().store(t)
	r, err := of(s).FinishPhase(ctx, "01")
	doc := done(t, r, err).Doc.(phaseCompleteDoc)
	if *doc.NextPhase != "2" || doc.IsLastPhase || !strings.Contains(strings.Join(doc.Warnings, ""), "BOOK-02") {
		t.Errorf("%+v", doc)
	}
	want := map[string][]string{
		"ROADMAP.md": {"-- [ ] **Phase 1: Ledger** - Books", "+- [x] **Phase 1: Ledger** - Books (completed 2026-01-02)",
			"-**Plans**: TBD", "+**Plans**: 3/3 plans complete", "+- [x] 01-01-PLAN.md", "+- [x] 01-02-PLAN.md", "+- [x] 01-03-PLAN.md", "+",
			"-| 1. Ledger | 0/TBD | Not started | - |", "+| 1. Ledger | 3/3   | Complete    | 2026-01-02 |"},
		"REQUIREMENTS.md": {"-- [ ] **BOOK-01**: Entries", "+- [x] **BOOK-01**: Entries",
			"-| BOOK-01 | Phase 1 | Pending |", "+| BOOK-01 | Phase 1 | Complete |"},
	}
	for name, old := range map[string]string{"ROADMAP.md": shopRoad, "REQUIREMENTS.md": shopRequirements} {
		if diff := cmp.Diff(want[name], changes(old, s.read(t, name))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	for _, line := range []string{"Phase: 2 of 2 (Export)\n", "Plan: Not started\n", "Status: Ready to plan\n", "\nstatus: planning\n",
		"Last activity: 2026-01-02 — Phase 1 complete, transitioned to Phase 2\n", "Progress: [█████░░░░░] 50%\n",
		"Stopped at: Phase 1 complete, ready to plan Phase 2\n", "  completed_phases: 1\n", "current_phase_name: Export\n"} {
		if !strings.Contains(s.text(t), line) {
			t.Errorf("STATE.md lacks %q:\n%s", line, s.text(t))
		}
	}
	tree := s.tree(t)
	r, err = of(s).FinishPhase(ctx, "1")
	done(t, r, err)
	if diff := cmp.Diff(tree, s.tree(t)); diff != "" {
		t.Errorf("once more:\n%s", diff)
	}
}

// tree returns all files below .planning, without the time of STATE.md's last change.
func (s *Store) tree(t testing.TB) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(s.Planning, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(s.Planning, path)
			files[rel] = s.read(t, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A phase isn't completed before its plans are carried out and verified, and nothing is written
// then.
func TestFinishPhaseRefuses(t *testing.T) {
	for _, test := range []struct{ name, id, file, text, want string }{
		{name: "no verification", id: "1", file: "phases/01-ledger/01-VERIFICATION.md", text: "---\nstatus: gaps_found\n---\n", want: "gaps_found"},
		{name: "a test is open", id: "1", file: "phases/01-ledger/01-UAT.md", text: "---\nstatus: testing\n---\n", want: "UAT.md has tests without a result"},
		{name: "a plan is open", id: "1", file: "phases/01-ledger/01-04-PLAN.md", text: "---\n---\n", want: "01-04-PLAN.md"},
		{name: "nothing carried out", id: "2", want: "3 plan(s) have no completion record"},
		{name: "no directory", id: "7", want: "Phase 7 not found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := shop()
			if test.file != "" {
				files[test.file] = test.text
			}
			s := files.store(t)
			before := s.tree(t)
			r, err := of(s).FinishPhase(ctx, test.id)
			if reason, _ := r.Doc.(failure); err != nil || !r.Failed || !strings.Contains(reason.Error, test.want) {
				t.Errorf("%+v, %v", r.Doc, err)
			}
			if diff := cmp.Diff(before, s.tree(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := of(shop().store(t)).FinishPhase(ctx, "../x"); err == nil {
		t.Error("../x is a phase")
	}
}

// If the verb is killed between two files, repeating it leads to the same as once through. Once
// STATE.md is at a later phase, it stays there, with the new counts.
func TestFinishPhaseAgain(t *testing.T) {
	whole := shop().store(t)
	r, err := of(whole).FinishPhase(ctx, "1")
	done(t, r, err)
	for _, written := range [][]string{{"ROADMAP.md"}, {"ROADMAP.md", "REQUIREMENTS.md"}} {
		files := shop()
		for _, name := range written {
			files[name] = whole.read(t, name)
		}
		s := files.store(t)
		r, err := of(s).FinishPhase(ctx, "1")
		done(t, r, err)
		if diff := cmp.Diff(whole.tree(t), s.tree(t)); diff != "" {
			t.Errorf("after %v:\n%s", written, diff)
		}
	}
	files := shop()
	files["STATE.md"] = strings.ReplaceAll(strings.ReplaceAll(shopState, "Phase: 1 of 2 (Ledger)", "Phase: 2 of 2 (Export)"),
		"Status: Phase complete — ready for verification", "Status: Executing Phase 2")
	s := files.store(t)
	r, err = of(s).FinishPhase(ctx, "1")
	done(t, r, err)
	if text := s.text(t); !strings.Contains(text, "Phase: 2 of 2 (Export) — EXECUTING\nPlan: 3 of 3 in current phase\nStatus: Executing Phase 2\n") ||
		!strings.Contains(text, "completed_phases: 1") {
		t.Error(text)
	}
}

// The executor's prose stays in the body, and the status of the front matter follows.
func TestFinishPhaseKeepsProse(t *testing.T) {
	files := shop()
	files["STATE.md"] = strings.Replace(shopState, "Status: Phase complete — ready for verification", "Status: Waiting for Ann's numbers", 1)
	s := files.store(t)
	r, err := of(s).FinishPhase(ctx, "1")
	done(t, r, err)
	if text := s.text(t); !strings.Contains(text, "Status: Waiting for Ann's numbers\n") || !strings.Contains(text, "\nstatus: planning\n") {
		t.Error(text)
	}
}

// Edits of a roadmap concern one phase of the current milestone, in whatever form it is written.
func TestRoadmapEdits(t *testing.T) {
	files := []planFile{{"01-01-PLAN.md", 1, true}, {"01-02-PLAN.md", 1, false}}
	table := "| Phase | Milestone | Plans Complete | Status | Completed |\n|---|---|---|---|---|\n"
	for _, test := range []struct {
		name, milestone, id, road string
		want                      []string
	}{
		{name: "numbers that begin anew", milestone: "v2.0", id: "1",
			road: "<details>\n<summary>✅ v1.0 MVP - SHIPPED</summary>\n\n- [ ] Phase 1: Old\n\n### Phase 1: Old\n**Plans**: 1 plan\n\n" +
				"</details>\n\n## v2.0 Next\n\n- [ ] Phase 1: New\n\n### Phase 1: New\n**Plans**: 2 plans\n",
			want: []string{"-- [ ] Phase 1: New", "+- [x] Phase 1: New (completed 2026-01-02)", "-**Plans**: 2 plans",
				"+**Plans**: 1/2 plans complete", "+", "+- [x] 01-01-PLAN.md", "+- [ ] 01-02-PLAN.md"}},
		{name: "a decimal phase and its whole", id: "2.1",
			road: "- [ ] Phase 2: A\n- [ ] Phase 2.1: B (INSERTED)\n- [ ] Phase 2.10: C\n",
			want: []string{"-- [ ] Phase 2.1: B (INSERTED)", "+- [x] Phase 2.1: B (INSERTED) (completed 2026-01-02)"}},
		{name: "phase 0", id: "0", road: "- [ ] **Phase 0: Setup**\n- [ ] **Phase 10: Later**\n\n" + strings.Replace(table, "Milestone | ", "", 1) +
			"| 0. Setup | 0/1 | In progress |  |\n| 10. Later | 0/1 | Not started | - |\n",
			want: []string{"-- [ ] **Phase 0: Setup**", "+- [x] **Phase 0: Setup** (completed 2026-01-02)",
				"-| 0. Setup | 0/1 | In progress |  |", "+| 0. Setup | 1/2 | Complete    | 2026-01-02 |"}},
		{name: "the row of another milestone", milestone: "v1.1", id: "1",
			road: "## v1.1 More\n### Phase 1: New\n## Progress\n" + table + "| 1. New | v1.1 | 0/2 | Not started | - |\n",
			want: []string{"-| 1. New | v1.1 | 0/2 | Not started | - |", "+| 1. New | v1.1 | 1/2 | Complete    | 2026-01-02 |"}},
		{name: "a person's words, a fence and a comment", id: "1",
			road: "```\n- [ ] Phase 1: A\n```\n<!--\n- [ ] Phase 1: A\n-->\n### Phase 1: A\n**Plans**: when Ann is back\n",
			want: []string{"+", "+- [x] 01-01-PLAN.md", "+- [ ] 01-02-PLAN.md"}},
		{name: "the plans that are listed", id: "1",
			road: "### Phase 1: A\r\nPlans:\r\n- [ ] 01-01: One\r\n### Phase 2: B\r\nPlans:\r\n- [ ] 01-01: no\r\n",
			want: []string{"-- [ ] 01-01: One\r", "+- [x] 01-01: One\r", "+- [ ] 01-02-PLAN.md\r"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			edits := openRoadmap(test.road, standing{milestone: test.milestone}, PhaseKey(test.id))
			edits.tick("2026-01-02")
			edits.setRow("1/2", "Complete", "2026-01-02")
			edits.setCount("1/2 plans complete")
			edits.listPlans(files)
			if diff := cmp.Diff(test.want, changes(test.road, edits.String())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The list of plans is grouped by waves once, with what several plans must keep.
func TestAnnotateRoadmap(t *testing.T) {
	s := shop().store(t)
	r, err := of(s).RoadmapProgress(ctx, "2")
	done(t, r, err)
	before := s.read(t, "ROADMAP.md")
	r, err = of(s).AnnotateRoadmap(ctx, "2")
	done(t, r, err)
	want := []string{"+**Wave 1**", "+", "+", "+**Wave 2** *(blocked on Wave 1 completion)*", "+",
		"+", "+**Cross-cutting constraints:**", "+", "+- Sums are exact"}
	if diff := cmp.Diff(want, changes(before, s.read(t, "ROADMAP.md"))); diff != "" {
		t.Errorf("%s\n%s", diff, s.read(t, "ROADMAP.md"))
	}
	before = s.read(t, "ROADMAP.md")
	r, err = of(s).AnnotateRoadmap(ctx, "2")
	done(t, r, err)
	if s.read(t, "ROADMAP.md") != before {
		t.Error("annotated twice")
	}
}

// A milestone is archived once all of its phases are complete; after that nothing is ready, and
// the numbers of phases may begin anew.
func TestCompleteMilestone(t *testing.T) {
	s := finished(t)
	before := s.tree(t)
	open := MilestoneEnd{Version: "v1.0", Name: "Books", Confirm: true}
	dry := MilestoneEnd{Version: "v1.0", Name: "Books"}
	r, err := of(s).CompleteMilestone(ctx, dry)
	done(t, r, err)
	if diff := cmp.Diff(before, s.tree(t)); diff != "" {
		t.Errorf("a dry run wrote:\n%s", diff)
	}
	r, err = of(s).CompleteMilestone(ctx, open)
	done(t, r, err)
	for name, want := range map[string]string{
		"MILESTONES.md":                                     "## v1.0 Books (Shipped: 2026-01-02)\n\n**Phases completed:** 2 phases, 6 plans\n\n**Key accomplishments:**\n\n- Did 1\n",
		"milestones/v1.0-ROADMAP.md":                        before["ROADMAP.md"],
		"milestones/v1.0-REQUIREMENTS.md":                   "**Status:** SHIPPED\n",
		"milestones/v1.0-phases/01-ledger/01-01-PLAN.md":    "plan: 01",
		"milestones/v1.0-phases/02-export/02-03-SUMMARY.md": "Did 3",
		"STATE.md": "Phase: Milestone v1.0 complete\nPlan: —\nStatus: Awaiting next milestone\n",
	} {
		if !strings.Contains(s.read(t, name), want) {
			t.Errorf("%s lacks %q:\n%s", name, want, s.read(t, name))
		}
	}
	tree := s.tree(t)
	r, err = of(s).CompleteMilestone(ctx, open)
	done(t, r, err)
	if diff := cmp.Diff(tree, s.tree(t)); diff != "" {
		t.Errorf("once more:\n%s", diff)
	}
	r, err = s.Sync(ctx, false)
	done(t, r, err)
	if text := s.text(t); strings.Contains(text, "percent:") || strings.Contains(text, "%") ||
		!strings.Contains(text, "total_plans: 6") {
		t.Errorf("a percent is left, or comes back, or the counts are gone:\n%s", text)
	}
	tr := Open(s.Root)
	tr.getenv = func(string) string { return "" }
	for _, line := range shown(t, tr) {
		if !strings.HasSuffix(strings.TrimPrefix(line, "! "), " complete complete") {
			t.Errorf("after the milestone: %s", line)
		}
	}
	r, err = s.MilestoneSwitch(ctx, "v1.1", "Pay")
	done(t, r, err)
	for _, line := range shown(t, tr) {
		if strings.Contains(line, " pending ") && !strings.Contains(line, "a roadmap") {
			t.Errorf("between two milestones: %s", line)
		}
	}
}

// finished returns the shop with both phases complete.
func finished(t *testing.T) *Store {
	t.Helper()
	files := shop()
	files["phases/02-export/02-VERIFICATION.md"] = "---\nstatus: passed\n---\n"
	for plan := 1; plan <= 3; plan++ {
		files[fmt.Sprintf("phases/02-export/02-%02d-SUMMARY.md", plan)] = fmt.Sprintf("---\none-liner: Did %d\n---\n", plan)
	}
	s := files.store(t)
	for _, id := range []string{"1", "2"} {
		r, err := of(s).FinishPhase(ctx, id)
		done(t, r, err)
	}
	if text := s.text(t); !strings.Contains(text, "Status: All phases complete\n") || !strings.Contains(text, "\nstatus: completed\n") {
		t.Fatal(text)
	}
	return s
}

// Open phases, an unknown milestone and a version that is no name are refused.
func TestCompleteMilestoneRefuses(t *testing.T) {
	for _, version := range []string{"v1.0", "v3.0", "../v1.0", "", "v1..0"} {
		s := shop().store(t)
		before := s.tree(t)
		r, err := of(s).CompleteMilestone(ctx, MilestoneEnd{Version: version, Confirm: true})
		if err == nil && !r.Failed {
			t.Errorf("%q: %+v", version, r.Doc)
		}
		if diff := cmp.Diff(before, s.tree(t)); diff != "" {
			t.Error(diff)
		}
	}
}

// The phases' directories go to the archive of STATE.md's milestone, beside what is there; the
// backlog stays.
func TestClearPhases(t *testing.T) {
	files := shop()
	files["phases/999.1-idea/999.1-CONTEXT.md"] = "x"
	files["milestones/v1.0-phases/01-ledger/old.md"] = "x"
	s := files.store(t)
	for _, c := range []PhasesClear{{}, {Confirm: true, Dirty: []string{"?? x"}}} {
		if r, err := of(s).ClearPhases(ctx, c); err != nil || !r.Failed {
			t.Errorf("%+v: %+v, %v", c, r.Doc, err)
		}
	}
	r, err := of(s).ClearPhases(ctx, PhasesClear{Confirm: true})
	if done(t, r, err).Doc.(clearedDoc).Cleared != 2 {
		t.Errorf("%+v", r.Doc)
	}
	for _, name := range []string{"milestones/v1.0-phases/01-ledger.1/01-01-PLAN.md", "milestones/v1.0-phases/01-ledger/old.md",
		"milestones/v1.0-phases/02-export/02-01-PLAN.md", "phases/999.1-idea/999.1-CONTEXT.md"} {
		if s.read(t, name) == "" {
			t.Errorf("%s is missing", name)
		}
	}
}

// An idea becomes a file of its own, once, and STATE.md counts it.
func TestAddTodo(t *testing.T) {
	files := shop()
	files["STATE.md"] += "\n### Pending Todos\n\nNone yet.\n"
	s := files.store(t)
	for _, area := range []string{"reports", "files", "reports"} {
		r, err := of(s).AddTodo(ctx, Todo{Title: "Export: as \"CSV\"", Area: area})
		done(t, r, err)
	}
	if !strings.Contains(s.text(t), "\n2 pending — see .planning/todos/pending/\n") {
		t.Error(s.text(t))
	}
	for name, area := range map[string]string{"2026-01-02-export-as-csv.md": "reports", "2026-01-02-export-as-csv-2.md": "files"} {
		if text := s.read(t, "todos/pending/"+name); !strings.HasPrefix(text,
			"---\ncreated: 2026-01-02T03:04:05.006Z\ntitle: 'Export: as \"CSV\"'\narea: "+area+"\n---\n") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if text := s.read(t, "todos/pending/2026-01-02-export-as-csv-3.md"); text != "" {
		t.Errorf("the same idea twice: %s", text)
	}
	if _, err := of(s).AddTodo(ctx, Todo{Title: "…"}); err == nil {
		t.Error("a title without letters")
	}
}
