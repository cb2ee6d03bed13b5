package gsd

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var ctx = context.Background()

// A planning maps file names below .planning to their content.
type planning map[string]string

func (p planning) store(t testing.TB) *Store {
	t.Helper()
	return p.storeIn(t, t.TempDir())
}

func (p planning) storeIn(t failer, root string) *Store {
	t.Helper()
	write(t, filepath.Join(root, ".planning"), p)
	s, err := OpenStore(root, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	s.Now = fixedTime
	return s
}

func fixedTime() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC) }

func (s *Store) text(t failer) string {
	t.Helper()
	src, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

// changes returns the lines that one text lacks and the other has, in order: `-old` and `+new`.
func changes(old, new string) []string {
	a, b := strings.SplitAfter(old, "\n"), strings.SplitAfter(new, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || length[i+1][j] >= length[i][j+1]):
			out, i = append(out, "-"+strings.TrimSuffix(a[i], "\n")), i+1
		default:
			out, j = append(out, "+"+strings.TrimSuffix(b[j], "\n")), j+1
		}
	}
	return out
}

// usual is a file made from GSD's template, with what people and other tools leave in it: a
// comment, an unknown key, a hard line break, a rule in an odd place.
const usual = `---
gsd_state_version: '1.0'  # placeholder
milestone: v1.0
milestone_name: Bench
# ours
owner: "kim \"k\" lee"
status: planning
progress:
  total_phases: 3
  completed_phases: 1
  total_plans: 5
  completed_plans: 2
  percent: 33
---

# Project State

**Core value:** Costs $1 & more
**Current focus:** Phase 1

## Current Position

Phase: 2 of 3 (Core)  
Plan: 1 of 3 in current phase
Status: Ready to execute
Last activity: 2026-01-01 — Planned

Progress: [███░░░░░░░] 33% of v1.0

## Performance Metrics

**Velocity:**
- Total plans completed: 2
- Average duration: 4 min
- Total execution time: 0.1 hours

**Recent Trend:**
- Last 5 plans: 4min, 4min
- Trend: Stable

| Plan | Duration | Tasks | Files |
|------|----------|-------|-------|
| Phase 1 P1 | 4min | 2 tasks | 3 files |
| Phase 1 P2 | 4 min | 2 tasks | 3 files |

## Accumulated Context

### Decisions

Recent:

- [Phase 1]: Go, not Rust
- [Phase 2]: Nonesuch
### Blockers/Concerns

None yet.

## Archive
---
**Status:** Complete
Stopped at: long ago

## Session Continuity

Last session: 2026-01-01
Stopped at: "Phase 1" done
Resume file: None
`

func usualProject() planning {
	return planning{"STATE.md": usual,
		"ROADMAP.md":                    "# Roadmap\n\n### Phase 1: Setup\n\n### Phase 2: Core\n\n### Phase 3: UI\n",
		"phases/01-setup/01-01-PLAN.md": "p", "phases/01-setup/01-01-SUMMARY.md": "s",
		"phases/01-setup/01-02-PLAN.md": "p", "phases/01-setup/01-02-SUMMARY.md": "s",
		"phases/02-core/02-01-PLAN.md": "p", "phases/02-core/02-02-PLAN.md": "p", "phases/02-core/02-03-PLAN.md": "p"}
}

const written = `+last_updated: "2026-01-02T03:04:05.006Z"`

// derivedNew returns what the first write derives into usual's front matter, around its status.
func derivedNew(status []string, date, desc string, body ...string) []string {
	out := []string{"+current_phase: \"2\"", "+current_phase_name: Core"}
	out = append(out, status...)
	out = append(out, "+stopped_at: '\"Phase 1\" done'", written, `+last_activity: "`+date+`"`, "+last_activity_desc: "+desc)
	return append(out, body...)
}

func TestVerbs(t *testing.T) {
	plans, name := 3, "x.md"
	for _, test := range []struct {
		name string
		run  func(*Store) (Result, error)
		doc  string
		raw  string // "" for the document
		want []string
	}{
		{"update", func(s *Store) (Result, error) { return s.Update(ctx, "status", "Verifying $1 & $$") },
			`{"updated":true}`, "",
			derivedNew([]string{"-status: planning", "+status: verifying"}, "2026-01-01", "Planned",
				"-Status: Ready to execute", "+Status: Verifying $1 & $$")},
		{"update of nothing", func(s *Store) (Result, error) { return s.Update(ctx, "Nope", "x") },
			`{"updated":false,"reason":"Field \"Nope\" not found in STATE.md"}`, "", nil},
		{"update to what it is", func(s *Store) (Result, error) { return s.Update(ctx, "Status", "Ready to execute") },
			`{"updated":true}`, "", nil},
		{"patch", func(s *Store) (Result, error) {
			return s.Patch(ctx, []Field{{"Plan", "2 of 3"}, {"owner", "al"}, {"percent", "9"}, {"status", "Ready to plan"}})
		}, `{"updated":["Plan","owner","status"],"failed":["percent"]}`, "true",
			slicesOf(`+current_phase: "2"`, "+current_phase_name: Core", `-owner: "kim \"k\" lee"`, `+owner: "al"`,
				"+stopped_at: '\"Phase 1\" done'", written, `+last_activity: "2026-01-01"`, "+last_activity_desc: Planned",
				"-Plan: 1 of 3 in current phase", "-Status: Ready to execute", "+Plan: 2 of 3", "+Status: Ready to plan")},
		{"begin-phase", func(s *Store) (Result, error) {
			return s.BeginPhase(ctx, BeginPhase{Phase: "2", Name: "Core", Plans: 3})
		}, `{"updated":["Status","Last Activity","Current focus","Current Position"],"phase":"2","phase_name":"Core","plan_count":3}`, "true",
			derivedNew([]string{"-status: planning", "+status: executing"}, "2026-01-02", "Phase 2 execution started",
				"-**Current focus:** Phase 1", "+**Current focus:** Phase 2 — Core",
				"-Phase: 2 of 3 (Core)  ", "-Plan: 1 of 3 in current phase", "-Status: Ready to execute", "-Last activity: 2026-01-01 — Planned",
				"+Phase: 2 of 3 (Core) — EXECUTING  ", "+Plan: 1 of 3", "+Status: Executing Phase 2",
				"+Last activity: 2026-01-02 — Phase 2 execution started")},
		{"advance-plan", func(s *Store) (Result, error) { return s.AdvancePlan(ctx) },
			`{"advanced":true,"previous_plan":1,"current_plan":2,"total_plans":3}`, "true",
			derivedNew(nil, "2026-01-01", "Planned", "-Plan: 1 of 3 in current phase", "+Plan: 2 of 3 in current phase")},
		{"planned-phase", func(s *Store) (Result, error) { return s.PlannedPhase(ctx, PlannedPhase{Phase: "3", Plans: &plans}) },
			`{"updated":[],"phase":"3","plan_count":3,"warning":"STATE.md has none of the fields that this sets (Status:, Total Plans in Phase:, Last activity:), or they hold what a person wrote: nothing was changed"}`,
			"false", nil},
		{"complete-phase", func(s *Store) (Result, error) { return s.CompletePhase(ctx, "2") },
			`{"updated":["Status","Last Activity","Current Position"],"phase":"2"}`, "true",
			derivedNew([]string{"-status: planning", "+status: completed"}, "2026-01-02", "Phase 2 marked complete",
				"-Phase: 2 of 3 (Core)  ", "+Phase: 2 of 3 (Core) — COMPLETE  ",
				"-Status: Ready to execute", "-Last activity: 2026-01-01 — Planned",
				"+Status: Phase 2 complete", "+Last activity: 2026-01-02 — Phase 2 marked complete")},
		{"record-metric", func(s *Store) (Result, error) {
			return s.RecordMetric(ctx, Metric{Phase: "2", Plan: "1", Duration: "1h 1min", Tasks: "3", Files: "a|b"})
		}, `{"recorded":true,"phase":"2","plan":"1","duration":"1h 1min"}`, "true",
			derivedNew(nil, "2026-01-01", "Planned",
				"-- Total plans completed: 2", "-- Average duration: 4 min", "-- Total execution time: 0.1 hours",
				"+- Total plans completed: 3", "+- Average duration: 23 min", "+- Total execution time: 1.1 hours",
				"-- Last 5 plans: 4min, 4min", "-- Trend: Stable", "+- Last 5 plans: 4min, 4 min, 1h 1min", "+- Trend: Degrading",
				`+| Phase 2 P1 | 1h 1min | 3 tasks | a\|b files |`)},
		{"update-progress", func(s *Store) (Result, error) { return s.UpdateProgress(ctx) },
			`{"updated":true,"percent":33,"plan_percent":40,"completed":2,"total":5,"bar":"[███░░░░░░░] 33%"}`, "[███░░░░░░░] 33%", nil},
		{"add-decision", func(s *Store) (Result, error) {
			return s.AddDecision(ctx, Decision{Summary: "Costs $& and $1\n## no heading", Rationale: "why"})
		}, `{"added":true,"decision":"- [Phase 2]: Costs $& and $1 ## no heading — why"}`, "true",
			derivedNew(nil, "2026-01-01", "Planned", "+- [Phase 2]: Costs $& and $1 ## no heading — why")},
		{"add-blocker", func(s *Store) (Result, error) { return s.AddBlocker(ctx, Blocker{Text: "None of these work"}) },
			`{"added":true,"blocker":"None of these work"}`, "true",
			derivedNew(nil, "2026-01-01", "Planned", "-None yet.", "+- None of these work")},
		{"resolve-blocker of none", func(s *Store) (Result, error) { return s.ResolveBlocker(ctx, "e", false) },
			`{"resolved":false,"reason":"no blocker has this text in it"}`, "false", nil},
		{"record-session", func(s *Store) (Result, error) {
			return s.RecordSession(ctx, Session{StoppedAt: "Plan 2", ResumeFile: &name})
		}, `{"recorded":true,"updated":["Last session","Stopped At","Resume File"]}`, "true",
			slicesOf(`+current_phase: "2"`, "+current_phase_name: Core", "+stopped_at: Plan 2", written,
				`+last_activity: "2026-01-01"`, "+last_activity_desc: Planned",
				"-Last session: 2026-01-01", `-Stopped at: "Phase 1" done`, "-Resume file: None",
				"+Last session: 2026-01-02T03:04:05.006Z", "+Stopped at: Plan 2", "+Resume file: x.md")},
		{"sync", func(s *Store) (Result, error) { return s.Sync(ctx, false) },
			`{"synced":true,"changes":[],"dry_run":false}`, "", nil},
		{"sync of counts alone", func(s *Store) (Result, error) {
			if err := os.WriteFile(s.file("phases/02-core/02-01-SUMMARY.md"), nil, 0o644); err != nil {
				return Result{}, err
			}
			return s.Sync(ctx, false)
		}, `{"synced":true,"changes":["Frontmatter: progress"],"dry_run":false}`, "",
			derivedNew(nil, "2026-01-01", "Planned", "-  completed_plans: 2", "+  completed_plans: 3")},
		{"set-lifecycle", func(s *Store) (Result, error) {
			return s.SetLifecycle(ctx, Lifecycle{NextAction: "execute-phase", NextPhases: []string{"4.5", "10"}})
		}, `{"updated":["next_action","next_phases"],"active_phase":null,"next_action":"execute-phase","next_phases":["4.5","10"],"paused_at":null,"status":"planning"}`,
			"true", derivedNew([]string{"+next_action: execute-phase", `+next_phases: ["4.5", "10"]`}, "2026-01-01", "Planned")},
		{"set-lifecycle that clears what isn't there", func(s *Store) (Result, error) { return s.SetLifecycle(ctx, Lifecycle{Clear: true}) },
			`{"updated":[],"active_phase":null,"next_action":null,"next_phases":null,"paused_at":null,"status":"planning"}`, "false", nil},
		{"milestone-switch", func(s *Store) (Result, error) { return s.MilestoneSwitch(ctx, "v2.0", "Next: more") },
			`{"switched":true,"version":"v2.0","name":"Next: more","status":"planning"}`, "true",
			slicesOf("-milestone: v1.0", "-milestone_name: Bench", "+milestone: v2.0", `+milestone_name: "Next: more"`,
				written, "+last_activity: 2026-01-02",
				"-  total_phases: 3", "-  completed_phases: 1", "-  total_plans: 5", "-  completed_plans: 2", "-  percent: 33",
				"+  total_phases: 0", "+  completed_phases: 0", "+  total_plans: 0", "+  completed_plans: 0", "+  percent: 0",
				"-Phase: 2 of 3 (Core)  ", "-Plan: 1 of 3 in current phase", "-Status: Ready to execute", "-Last activity: 2026-01-01 — Planned",
				"+Phase: Not started (defining requirements)  ", "+Plan: —", "+Status: Defining requirements",
				"+Last activity: 2026-01-02 — Milestone v2.0 started",
				"-Progress: [███░░░░░░░] 33% of v1.0", "+Progress: [░░░░░░░░░░] 0% of v1.0")},
		{"add-roadmap-evolution", func(s *Store) (Result, error) {
			return s.AddRoadmapEvolution(ctx, Evolution{Phase: "4", Action: "added", After: "2", Note: "a\nb", Urgent: true})
		}, `{"added":true,"entry":"- Phase 4 added after Phase 2: a b (URGENT)","subsection_created":true}`, "true",
			derivedNew(nil, "2026-01-01", "Planned", "+", "+### Roadmap Evolution", "+", "+- Phase 4 added after Phase 2: a b (URGENT)")},
		{"prune", func(s *Store) (Result, error) { return s.Prune(ctx, 1, false) },
			`{"pruned":true,"cutoff_phase":1,"keep_recent":1,"sections":[{"section":"Decisions","entries_archived":1}],"total_archived":1,"archive_file":"STATE-ARCHIVE.md"}`,
			"true", derivedNew(nil, "2026-01-01", "Planned", "-- [Phase 1]: Go, not Rust")},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := usualProject().store(t)
			r, err := test.run(s)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := encode(r.Doc)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.doc, string(doc)); d != "" {
				t.Errorf("document (-want +got):\n%s", d)
			}
			if raw := deref(r.Raw); raw != test.raw {
				t.Errorf("raw %q, want %q", raw, test.raw)
			}
			if d := cmp.Diff(test.want, changes(usual, s.text(t))); d != "" {
				t.Errorf("lines (-want +got):\n%s", d)
			}
			if left, _ := filepath.Glob(filepath.Join(s.Planning, "*.lock*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// Where there is nothing on the disk to compare, validate says so.
func TestValidateWithoutADirectory(t *testing.T) {
	for phase, want := range map[string]string{
		"Not started (defining requirements)": "STATE.md names no current phase, so none was compared with the disk",
		"2 of 3 (Core)":                       "phase 2 has no directory in .planning/phases, so it wasn't compared with the disk",
		"1 of 3 (Setup)":                      "",
	} {
		p := usualProject()
		for name := range p {
			if strings.HasPrefix(name, "phases/02") {
				delete(p, name)
			}
		}
		p["STATE.md"] = strings.Replace(usual, "2 of 3 (Core)", phase, 1)
		r, err := p.store(t).Validate()
		if err != nil {
			t.Fatal(err)
		}
		if doc := r.Doc.(validDoc); doc.Valid != (want != "") || strings.Join(doc.Notes, "\n") != want {
			t.Errorf("phase %q: %+v", phase, doc)
		}
	}
}

func slicesOf(lines ...string) []string { return lines }

// doc returns a result as the map that its reader sees.
func (r Result) doc(t testing.TB) map[string]any {
	t.Helper()
	text, err := encode(r.Doc)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
