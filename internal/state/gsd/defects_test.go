package gsd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Mistakes of GSD's own tools in these files, and what a write must do instead: the body before
// and after it, if the front matter doesn't matter.
func TestWritesWithoutDamage(t *testing.T) {
	for _, test := range []struct {
		name, before, after string
		run                 func(*Store) (Result, error)
	}{
		{"a field without a value doesn't take the next line's", "Status:\nLast activity: x\n", "Status: Done\nLast activity: x\n",
			func(s *Store) (Result, error) { return s.Update(ctx, "Status", "Done") }},
		{"an archive's field isn't the current one", "**Status:** old\n## Current Position\nStatus: now\n## Archive\n**Status:** older\n",
			"**Status:** old\n## Current Position\nStatus: later\n## Archive\n**Status:** older\n",
			func(s *Store) (Result, error) { return s.Update(ctx, "status", "later") }},
		{"a field in code is text", "```\nStatus: example\n```\nStatus: x\n", "```\nStatus: example\n```\nStatus: y\n",
			func(s *Store) (Result, error) { return s.Update(ctx, "Status", "y") }},
		{"a cell of a table", "| Status | a \\| b |\n", "| Status | c \\| d |\n",
			func(s *Store) (Result, error) { return s.Update(ctx, "Status", "c | d") }},
		{"only whole lines mean none", "### Blockers\n- Nonesuch\nNone yet, says kim\n- None of these\n",
			"### Blockers\n- Nonesuch\nNone yet, says kim\n- None of these\n- new\n",
			func(s *Store) (Result, error) { return s.AddBlocker(ctx, Blocker{Text: "new"}) }},
		{"a section without text", "## Decisions\n## Next\n", "## Decisions\n\n- [Phase ?]: x\n\n## Next\n",
			func(s *Store) (Result, error) { return s.AddDecision(ctx, Decision{Summary: "x"}) }},
		{"no section at all", "# State", "# State\n\n### Blockers\n\n- x\n",
			func(s *Store) (Result, error) { return s.AddBlocker(ctx, Blocker{Text: "x"}) }},
		{"one of several blockers", "### Blockers\n- the key\n  of B\n- the key of A\n", "### Blockers\n- the key of A\n",
			func(s *Store) (Result, error) { return s.ResolveBlocker(ctx, "THE KEY", false) }},
		{"all of several blockers", "## Blockers/Concerns\n- the key\n- a key\n\n## X\n", "## Blockers/Concerns\nNone\n\n## X\n",
			func(s *Store) (Result, error) { return s.ResolveBlocker(ctx, "key", true) }},
		{"several blockers, none exact", "### Blockers\n- a key\n- b key\n", "### Blockers\n- a key\n- b key\n",
			func(s *Store) (Result, error) { return s.ResolveBlocker(ctx, "key", false) }},
		{"what a person wrote isn't a tool's default", "## Current Position\nPlan: 2 of 2\nStatus: Waiting for kim\nLast activity: 2026-01-01 — long talk\n",
			"## Current Position\nPlan: 2 of 2\nStatus: Waiting for kim\nLast activity: 2026-01-01 — long talk\n",
			func(s *Store) (Result, error) { return s.AdvancePlan(ctx) }},
		{"the last plan", "**Current Plan:** 2\n**Total Plans in Phase:** 2\n**Status:** Executing Phase 1\n**Last Activity:** 2026-01-01\n",
			"**Current Plan:** 2\n**Total Plans in Phase:** 2\n**Status:** Phase complete — ready for verification\n**Last Activity:** 2026-01-02\n",
			func(s *Store) (Result, error) { return s.AdvancePlan(ctx) }},
		{"the plan in two places", "**Current Plan:** 1\n**Total Plans in Phase:** 3\n## Current Position\nPlan: 1 of 3 in current phase\n",
			"**Current Plan:** 2\n**Total Plans in Phase:** 3\n## Current Position\nPlan: 2 of 3 in current phase\n",
			func(s *Store) (Result, error) { return s.AdvancePlan(ctx) }},
		{"the next wave of a phase", "## Current Position\nPhase: 4.10 — EXECUTING\nPlan: 2 of 3\nStatus: Executing Phase 4.10\nLast activity: x\n",
			"## Current Position\nPhase: 4.10 — EXECUTING\nPlan: 2 of 3\nStatus: Executing Phase 4.10\nLast activity: 2026-01-02 — Phase 4.10 execution resumed (wave continue)\n",
			func(s *Store) (Result, error) { return s.BeginPhase(ctx, BeginPhase{Phase: "4.10"}) }},
		{"a name in parentheses isn't the total", "## Current Position\nPhase: 54 (third of 10 in v1.8)\nPlan: 1 of 2\n",
			"## Current Position\nPhase: 54 (third of 10 in v1.8) — COMPLETE\nPlan: 1 of 2\n",
			func(s *Store) (Result, error) { return s.CompletePhase(ctx, "54") }},
		{"a name after a dash isn't either", "## Current Position\nPhase: 2 — One of 5\nPlan: 02-01 of 3\n",
			"## Current Position\nPhase: 3 (Sums) — EXECUTING\nPlan: 1 of ?\n",
			func(s *Store) (Result, error) { return s.BeginPhase(ctx, BeginPhase{Phase: "3", Name: "Sums"}) }},
		{"a total behind the name stays", "## Current Position\nPhase: 2 (Core) of 5\n", "## Current Position\nPhase: 2 of 5 (Core) — COMPLETE\n",
			func(s *Store) (Result, error) { return s.CompletePhase(ctx, "2") }},
		{"a plan's id isn't its number", "## Current Position\nPlan: 02-01 of 3\n", "## Current Position\nPlan: 02-01 of 3\n",
			func(s *Store) (Result, error) { return s.AdvancePlan(ctx) }},
		{"phase 4.1 isn't phase 4", "## Current Position\nPhase: 4.1 of 9 (A)\nPlan: 2 of 3\nStatus: Executing Phase 4.1\n",
			"## Current Position\nPhase: 4 of 9 — EXECUTING\nPlan: 1 of ?\nStatus: Executing Phase 4\n",
			func(s *Store) (Result, error) { return s.BeginPhase(ctx, BeginPhase{Phase: "4"}) }},
		{"labels that a session lacks", "## Session Continuity\n\nStopped at: x\n\n## Next\n",
			"## Session Continuity\n\nStopped at: y\nLast session: 2026-01-02T03:04:05.006Z\n\n## Next\n",
			func(s *Store) (Result, error) { return s.RecordSession(ctx, Session{StoppedAt: "y"}) }},
		{"another section's label isn't the session's", "## Old\nStopped at: then\n## Session\n",
			"## Old\nStopped at: then\n## Session\n\n**Last session:** 2026-01-02T03:04:05.006Z\n**Stopped at:** now\n",
			func(s *Store) (Result, error) { return s.RecordSession(ctx, Session{StoppedAt: "now"}) }},
		{"a person's words about the figures", "## Performance Metrics\n- Total plans completed: 0 (v4)\n- Average duration: —\n- Trend: up and down\n- Last 5 plans: [durations]\n",
			"## Performance Metrics\n- Total plans completed: 0 (v4)\n- Average duration: 8 min\n- Trend: up and down\n- Last 5 plans: 8m\n\n**Per-Plan Metrics:**\n\n" +
				"| Plan | Duration | Tasks | Files |\n|------|----------|-------|-------|\n| Phase 1 P1 | 8m | - tasks | - files |\n",
			func(s *Store) (Result, error) {
				return s.RecordMetric(ctx, Metric{Phase: "1", Plan: "1", Duration: "8m"})
			}},
		{"an average of more plans than have rows", "## Performance Metrics\n- Total plans completed: 30\n- Average duration: 6 min\n- Total execution time: 3.0 hours\n" +
			"- Last 5 plans: 5min, 6min, 7min, 6min, 6min\n- Trend: Improving\n",
			"## Performance Metrics\n- Total plans completed: 31\n- Average duration: 7 min\n- Total execution time: 3.6 hours\n" +
				"- Last 5 plans: 6min, 7min, 6min, 6min, 37min\n- Trend: Improving\n\n**Per-Plan Metrics:**\n\n" +
				"| Plan | Duration | Tasks | Files |\n|------|----------|-------|-------|\n| Phase 9 P1 | 37min | - tasks | - files |\n",
			func(s *Store) (Result, error) {
				return s.RecordMetric(ctx, Metric{Phase: "9", Plan: "1", Duration: "37min"})
			}},
		{"an average without a total", "## Performance Metrics\n- Average duration: 6 min\n",
			"## Performance Metrics\n- Average duration: 6 min\n\n**Per-Plan Metrics:**\n\n" +
				"| Plan | Duration | Tasks | Files |\n|------|----------|-------|-------|\n| Phase 9 P1 | 37min | - tasks | - files |\n",
			func(s *Store) (Result, error) {
				return s.RecordMetric(ctx, Metric{Phase: "9", Plan: "1", Duration: "37min"})
			}},
		{"the phase's row, and rows without a header", "## Performance Metrics\n\n| Phase | Plans | Total | Avg/Plan |\n|---|---|---|---|\n| 01 | 2 | 8 min | 4 min |\n" +
			"| - | - | - | - |\n\n*Updated after each plan completion*\n| Phase 02 P01 | 5min | 2 tasks | 3 files |\n",
			"## Performance Metrics\n\n| Phase | Plans | Total | Avg/Plan |\n|---|---|---|---|\n| 01 | 2 | 8 min | 4 min |\n" +
				"| 2 | 2 | 12 min | 6 min |\n\n*Updated after each plan completion*\n| Phase 02 P01 | 5min | 2 tasks | 3 files |\n| Phase 2 P2 | 7min | - tasks | - files |\n",
			func(s *Store) (Result, error) {
				return s.RecordMetric(ctx, Metric{Phase: "2", Plan: "2", Duration: "7min"})
			}},
		{"a phase that has more plans than rows", "## Performance Metrics\n\n| Phase | Plans | Total | Avg/Plan |\n|---|---|---|---|\n| 1. Setup | 3/5 | 12 min | 4 min |\n\n" +
			"| Phase 1 P01 | 4min | 2 tasks | 3 files |\n",
			"## Performance Metrics\n\n| Phase | Plans | Total | Avg/Plan |\n|---|---|---|---|\n| 1. Setup | 3/5 | 14 min | 4.7 min |\n\n" +
				"| Phase 01 P1 | 6min | - tasks | - files |\n",
			func(s *Store) (Result, error) {
				return s.RecordMetric(ctx, Metric{Phase: "01", Plan: "1", Duration: "6min"})
			}},
		{"frontmatter that was stacked stays", "---\nstatus: x\nmilestone: v1\n---\n---\nProse\n---\nStatus: x\n",
			"---\nstatus: x\nmilestone: v1\n---\n---\nProse\n---\nStatus: y\n",
			func(s *Store) (Result, error) { return s.Update(ctx, "Status", "y") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := planning{"STATE.md": "---\nowner: kim\n---\n" + test.before}.store(t)
			if _, err := test.run(s); err != nil {
				t.Fatal(err)
			}
			_, body, _ := strings.Cut(s.text(t)[4:], "\n---\n")
			if d := cmp.Diff(test.after, body); d != "" {
				t.Error(d)
			}
		})
	}
}

// The effect of a write on the front matter.
func TestFrontmatterFollows(t *testing.T) {
	update := func(name, value string) func(*Store) (Result, error) {
		return func(s *Store) (Result, error) { return s.Update(ctx, name, value) }
	}
	for _, test := range []struct {
		name, front, body string
		run               func(*Store) (Result, error)
		// lines that the front matter has afterwards; ! marks one that it lacks
		want []string
	}{
		{"a stored status stays while the body's does", "status: verifying\n", "Status: Done\nPlan: 1\n", update("Plan", "2"), []string{"status: verifying"}},
		{"and goes with it", "status: verifying\n", "Status: Done\n", update("Status", "Executing Phase 2"), []string{"status: executing"}},
		{"a body without a status takes none away", "status: paused\n", "Plan: 1\n", update("Plan", "2"), []string{"status: paused"}},
		{"a person's own word is kept", "", "Status: x\n", update("Status", "Shipping"), []string{"status: Shipping"}},
		{"a comment is no value", "status: 'x'  # why\n", "Status: a\n", update("Status", "half # way"), []string{"status: 'half # way'  # why"}},
		{"an empty value gets one", "status: # soon\nowner:\n", "Status: a\n", update("Status", "Executing"), []string{`status: "executing" # soon`, "owner:"}},
		{"activity never goes back", "last_activity: 2027-05-05\nlast_activity_desc: future\n", "Last activity: x\nPlan: 1\n",
			update("Last activity", "2026-01-01 — past"), []string{"last_activity: 2027-05-05", "last_activity_desc: future"}},
		{"a description goes with its day", "last_activity: 2026-01-01\nlast_activity_desc: one\n", "Last activity: 2026-01-01 — one\n",
			update("Last activity", "2026-01-01 — two"), []string{"last_activity: 2026-01-01", "last_activity_desc: two"}},
		{"another phase's name goes", "current_phase: \"1\"\ncurrent_phase_name: Old\n", "## Current Position\nPhase: 1 (Old)\n",
			update("Phase", "2 of 3"), []string{`current_phase: "2"`, "!current_phase_name: Old"}},
		{"and the same one's stays", "current_phase_name: Old\n", "## Current Position\nPhase: 1 (Old)\n",
			update("Phase", "01 of 3"), []string{`current_phase: "01"`, "current_phase_name: Old"}},
		{"a phase is text", "", "Phase: 4.9\n", update("Phase", "4.10 — Ten"), []string{`current_phase: "4.10"`, "current_phase_name: Ten"}},
		{"the plan follows Plan", "current_plan: \"1\"\n", "## Current Position\nPlan: 1 of 3 in current phase\n", func(s *Store) (Result, error) {
			return s.AdvancePlan(ctx)
		}, []string{`current_plan: "2"`}},
		{"the text behind the date stays", "last_activity: 2026-01-01 — Completed quick task 7: it\n", "Status: x\nLast activity: 2026-01-01\n",
			update("Status", "y"), []string{"last_activity: 2026-01-01 — Completed quick task 7: it", "!last_activity_desc: Completed quick task 7: it"}},
		{"and moves where the date does", "last_activity: 2026-01-01 — Completed quick task\n", "Last activity: 2026-01-01\n",
			update("Last activity", "2026-01-02"), []string{"last_activity: 2026-01-02", "last_activity_desc: Completed quick task"}},
		{"until there is another", "last_activity: 2026-01-01 — Completed quick task\n", "Last activity: 2026-01-01\n",
			update("Last activity", "2026-01-02 — More"), []string{"last_activity: 2026-01-02", "last_activity_desc: More"}},
		{"a note leaves the frontmatter alone", "last_activity: 2026-01-01\nmilestone_name: Mine\npaused_at: noon\n", "Last activity: 2026-02-02 — x\n## Blockers\n- b\n",
			func(s *Store) (Result, error) { return s.AddBlocker(ctx, Blocker{Text: "c"}) },
			[]string{"last_activity: 2026-01-01", "milestone_name: Mine", "paused_at: noon", "!progress:"}},
		{"no version is no phase", "", "Phase: 1\n", update("Phase", "Milestone v0.5 complete"), []string{"!current_phase: \"5\""}},
		{"paused", "status: executing\n", "Status: Executing\n", func(s *Store) (Result, error) {
			return s.SetLifecycle(ctx, Lifecycle{Paused: "at lunch: now"})
		}, []string{"status: paused", `paused_at: "at lunch: now"`}},
		{"resumed", "status: paused\npaused_at: lunch\n", "Status: Executing\n", func(s *Store) (Result, error) {
			return s.SetLifecycle(ctx, Lifecycle{Resumed: true})
		}, []string{"status: executing", "paused_at: null"}},
		{"between phases", "active_phase: \"4\"\nnext_action: null\nnext_phases:\n- 1\n", "x\n", func(s *Store) (Result, error) {
			return s.SetLifecycle(ctx, Lifecycle{NextAction: "plan-phase", NextPhases: []string{"4.10"}})
		}, []string{"active_phase: null", "next_action: plan-phase", `next_phases: ["4.10"]`, "!- 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := planning{"STATE.md": "---\n" + test.front + "---\n" + test.body}.store(t)
			if _, err := test.run(s); err != nil {
				t.Fatal(err)
			}
			front, _, _ := strings.Cut(s.text(t)[4:], "\n---\n")
			lines := "\n" + front + "\n"
			for _, want := range test.want {
				line, absent := strings.CutPrefix(want, "!")
				if strings.Contains(lines, "\n"+line+"\n") == absent {
					t.Errorf("%q (absent: %v) in\n%s", line, absent, front)
				}
			}
		})
	}
}

// In compat mode, status and percent follow GSD, and nothing else does.
func TestCompat(t *testing.T) {
	p := usualProject()
	p["STATE.md"] = strings.Replace(usual, "Status: Ready to execute", "Status: x", 1)
	s := p.store(t)
	s.Compat = true
	if _, err := s.Update(ctx, "Status", "Feature abandoned, in_progress"); err != nil {
		t.Fatal(err)
	}
	if v, _ := Parse([]byte(s.text(t))).Get("status"); v.Text != "completed" {
		t.Errorf("status %q", v.Text)
	}
	r, err := s.UpdateProgress(ctx)
	if err != nil || deref(r.Raw) != "[████░░░░░░] 40%" {
		t.Errorf("%q, %v", deref(r.Raw), err)
	}
}

func TestReading(t *testing.T) {
	p := usualProject()
	p["STATE.md"] = strings.Replace(usual, "status: planning", "status: executing", 1)
	p["phases/02-core/02-01-SUMMARY.md"], p["phases/02-core/02-02-SUMMARY.md"], p["phases/02-core/02-03-SUMMARY.md"] = "s", "s", "s"
	s := p.store(t)
	r, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	got, _ := encode(r.Doc)
	want := `{"gsd_state_version":"1.0","milestone":"v1.0","milestone_name":"Bench","current_phase":"2","current_phase_name":"Core",` +
		`"status":"executing","stopped_at":"\"Phase 1\" done","last_updated":"2026-01-02T03:04:05.006Z","last_activity":"2026-01-01",` +
		`"last_activity_desc":"Planned","owner":"kim \"k\" lee","progress":{"total_phases":3,"completed_phases":2,"total_plans":5,"completed_plans":5,"percent":67}}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("json (-want +got):\n%s", d)
	}
	if _, err := s.Update(ctx, "Status", "Executing Phase 2"); err != nil {
		t.Fatal(err)
	}
	r, err = s.Validate()
	got, _ = encode(r.Doc)
	if want := `{"valid":false,"warnings":["All 3 plans have summaries but status is still \"Executing Phase 2\" — phase may be ready for verification"],"drift":{}}`; string(got) != want || err != nil {
		t.Errorf("validate: %s, %v", got, err)
	}
	r, err = s.Snapshot()
	if doc := r.doc(t); err != nil || doc["progress_percent"] != 33.0 || doc["current_phase"] != "2" || doc["total_phases"] != nil ||
		doc["session"].(map[string]any)["resume_file"] != "None" {
		t.Errorf("snapshot: %v, %v", doc, err)
	}
	r, err = s.Load()
	if doc := r.doc(t); err != nil || doc["roadmap_exists"] != true || !strings.HasSuffix(deref(r.Raw), "\nconfig_exists=false\nroadmap_exists=true\nstate_exists=true") {
		t.Errorf("load: %v", err)
	}
}

// When two sessions carry out two phases in one tree, the second is warned.
func TestBeginPhaseWarns(t *testing.T) {
	var told []string
	s := planning{"STATE.md": "Status: Executing Phase 3\n"}.store(t)
	s.Now, s.Warn = time.Now, func(text string) { told = append(told, text) }
	for _, phase := range []string{"3", "4"} {
		if _, err := s.BeginPhase(ctx, BeginPhase{Phase: phase}); err != nil {
			t.Fatal(err)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "phase 3") {
		t.Errorf("told %q", told)
	}
	old := time.Now().Add(-5 * time.Hour)
	if err := os.Chtimes(s.Path(), old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := s.BeginPhase(ctx, BeginPhase{Phase: "5"}); err != nil || len(told) != 1 {
		t.Errorf("told %q (%v)", told, err)
	}
}

// After a kill at any point of prune, what it moves is in one of the two files, and in the
// archive once.
func TestPruneAgainAfterAKill(t *testing.T) {
	state := "---\ncurrent_phase: \"9\"\n---\n## Decisions\n- [Phase 1]: a\n  and more\n- [Phase 8]: b\n## Blockers\n- Phase 2: x [RESOLVED]\n- Phase 2: open\n"
	s := planning{"STATE.md": state}.store(t)
	for range 2 {
		// as it was when the archive was written
		if err := os.WriteFile(s.Path(), []byte(state), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Prune(ctx, 3, false); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := os.ReadFile(filepath.Join(s.Planning, archiveName))
	if err != nil {
		t.Fatal(err)
	}
	want := "## Pruned 2026-01-02 (phases 1-6, kept recent 3)\n\n### Decisions\n\n- [Phase 1]: a\n  and more\n\n### Blockers (resolved)\n\n- Phase 2: x [RESOLVED]\n\n"
	if _, got, _ := strings.Cut(string(archive), "\n\n## "); "## "+got != want {
		t.Errorf("archive (-want +got):\n%s", cmp.Diff(want, "## "+got))
	}
	if _, body, _ := strings.Cut(s.text(t), "\n---\n"); body != "## Decisions\n- [Phase 8]: b\n## Blockers\n- Phase 2: open\n" {
		t.Errorf("left:\n%s", body)
	}
}

func TestRebuild(t *testing.T) {
	p := usualProject()
	p["STATE.md"] = "---\ncurrent_phase: \"2\"\n---\n**Current Phase:** 1\n**Core value:** [One-liner]\n**Progress:** [██░░]\n\n**By Phase:**\n\n" +
		"| Phase | Plans | Total | Avg/Plan |\n|---|---|---|---|\n| 1 | 1 | 8 min | 4 min |\n| 7 | 1 | - | - |\n\n## Session Continuity\n### Session — 1\na\n" +
		"### Session — 2\n### Session — 3\n### Session — 4\n"
	s := p.store(t)
	before := p["STATE.md"]
	dry, err := s.Rebuild(ctx, true, nil)
	if err != nil || s.text(t) != before || dry.doc(t)["mutations"] != 4.0 {
		t.Fatalf("dry run: %v, %v", dry.doc(t), err)
	}
	if _, err := s.Rebuild(ctx, false, nil); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(s.text(t), "\n---\n")
	want := "**Current Phase:** 2\n**Core value:** (pending)\n**Progress:** [██░░]\n\n**By Phase:**\n\n" +
		"| Phase | Plans | Total | Avg/Plan |\n|---|---|---|---|\n| 1 | 2 | 8 min | 4 min |\n| 02 | 3 | - | - |\n\n## Session Continuity\n" +
		"### Session — 2\n### Session — 3\n### Session — 4\n\n## Rebuild Log\n\n- timestamp: 2026-01-02T03:04:05.006Z\n"
	if !strings.HasPrefix(body, want) || strings.Count(body, "- timestamp:") != 4 {
		t.Errorf("-want +got:\n%s", cmp.Diff(want, body))
	}
	after := s.text(t)
	if _, err := s.Rebuild(ctx, false, nil); err != nil || s.text(t) != after {
		t.Errorf("a second rebuild (%v) changes\n%s", err, strings.Join(changes(after, s.text(t)), "\n"))
	}
}

// Progress is counted over the milestone of the file.
func TestFacts(t *testing.T) {
	roadmap := "# Roadmap\n\n## ✅ v1.0 Old (SHIPPED)\n\n### Phase 1: A\n\n## 🚧 v1.1 New (In Progress)\n\n### Phase 2: B\n\n### Phase 3: C\n"
	p := planning{"ROADMAP.md": roadmap, "phases/01-a/01-01-PLAN.md": "", "phases/01-a/01-01-SUMMARY.md": "", "phases/02-b/02-01-PLAN.md": "",
		"phases/02.1-b/02.1-01-PLAN.md": "", "phases/02.1-b/02.1-01-SUMMARY.md": "", "phases/999.1-later/PLAN.md": ""}
	root := t.TempDir()
	write(t, root, p)
	for _, test := range []struct {
		milestone string
		compat    bool
		want      Facts
	}{
		{"v1.1", false, Facts{Milestone: "v1.1", MilestoneName: "New", Counts: Counts{2, 1, 2, 1}, Untold: 1}},
		{"", false, Facts{Milestone: "v1.1", MilestoneName: "New", Counts: Counts{2, 1, 2, 1}, Untold: 1}},
		{"v1.0", false, Facts{Milestone: "v1.0", MilestoneName: "Old", Counts: Counts{1, 1, 1, 1}}},
		{"v9", false, Facts{Milestone: "v9", Unbounded: true, Counts: Counts{3, 2, 3, 2}}},
	} {
		got := readFacts(Place{Root: root, Planning: root}, Parse([]byte("---\nmilestone: "+test.milestone+"\n---\n")), test.compat)
		got.Dirs = nil
		test.want.HasPhases, test.want.HasRoadmap = true, true
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", test.milestone, d)
		}
	}
}
