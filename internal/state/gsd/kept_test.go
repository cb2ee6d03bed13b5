package gsd

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"

	"pgregory.net/rapid"
)

// A writer is a verb that writes, as called by the tests of what it must not change.
type writer struct {
	name    string
	lines   int // maximum number of lines of the body it may replace or remove
	settled int // number of calls after which another changes nothing; 0 if each call adds
	run     func(s *Store, text string) (Result, error)
}

func writers() []writer {
	two, file := 2, "next.md"
	return []writer{
		{"update", 1, 1, func(s *Store, text string) (Result, error) { return s.Update(ctx, "Status", text) }},
		{"patch", 4, 1, func(s *Store, text string) (Result, error) {
			return s.Patch(ctx, []Field{{"Status", text}, {"Plan", "2 of 3"}, {"owner", text}, {"Stopped at", text}})
		}},
		{"begin-phase", 20, 2, func(s *Store, text string) (Result, error) {
			return s.BeginPhase(ctx, BeginPhase{Phase: "2", Name: text, Plans: 3})
		}},
		{"advance-plan", 12, 0, func(s *Store, _ string) (Result, error) { return s.AdvancePlan(ctx) }},
		{"planned-phase", 8, 2, func(s *Store, _ string) (Result, error) {
			return s.PlannedPhase(ctx, PlannedPhase{Phase: "3", Plans: &two})
		}},
		{"complete-phase", 8, 1, func(s *Store, _ string) (Result, error) { return s.CompletePhase(ctx, "2") }},
		{"record-metric", 7, 1, func(s *Store, text string) (Result, error) {
			return s.RecordMetric(ctx, Metric{Phase: "2", Plan: "1", Duration: "5min", Tasks: text})
		}},
		{"update-progress", 2, 1, func(s *Store, _ string) (Result, error) { return s.UpdateProgress(ctx) }},
		{"sync", 6, 1, func(s *Store, _ string) (Result, error) { return s.Sync(ctx, false) }},
		{"add-decision", 2, 0, func(s *Store, text string) (Result, error) { return s.AddDecision(ctx, Decision{Summary: text}) }},
		{"add-blocker", 2, 0, func(s *Store, text string) (Result, error) { return s.AddBlocker(ctx, Blocker{Text: text}) }},
		{"record-session", 4, 1, func(s *Store, text string) (Result, error) {
			return s.RecordSession(ctx, Session{StoppedAt: text, ResumeFile: &file})
		}},
		{"add-roadmap-evolution", 2, 1, func(s *Store, text string) (Result, error) {
			return s.AddRoadmapEvolution(ctx, Evolution{Phase: "4", Note: text})
		}},
		{"set-lifecycle", 0, 1, func(s *Store, _ string) (Result, error) {
			return s.SetLifecycle(ctx, Lifecycle{ActivePhase: "4.5"})
		}},
		{"pause", 1, 1, func(s *Store, text string) (Result, error) { return s.SetLifecycle(ctx, Lifecycle{Paused: text}) }},
		{"milestone-switch", 9, 1, func(s *Store, text string) (Result, error) { return s.MilestoneSwitch(ctx, "v2.0", text) }},
	}
}

// A reporter is a failer that continues after an error.
type reporter interface {
	failer
	Errorf(format string, a ...any)
	Fatalf(format string, a ...any)
}

// checkKept fails the test if the change touched anything it must not.
func checkKept(t reporter, w writer, before, after string) {
	t.Helper()
	old, now := Parse([]byte(before)), Parse([]byte(after))
	gone := 0
	for _, c := range changes(string(old.Body()), string(now.Body())) {
		if c[0] == '-' && strings.TrimSpace(c) != "-" {
			gone++
		}
	}
	if gone > w.lines {
		t.Errorf("%s took out or changed %d lines of\n%s", w.name, gone, strings.Join(changes(before, after), "\n"))
	}
	for _, e := range old.Front {
		if slices.Contains(keyOrder(), e.Key) || e.Key == "owner" || e.Key == "total_plans_in_phase" {
			continue
		}
		if raw := old.Src[e.Start:e.End]; !bytes.Contains(now.Src[:now.BodyStart], raw) {
			t.Errorf("%s lost the key %q: %q", w.name, e.Key, raw)
		}
	}
	for _, line := range strings.Split(before[:old.BodyStart], "\n") {
		if strings.HasPrefix(line, "#") && !strings.Contains(after, line) {
			t.Errorf("%s lost the comment %q", w.name, line)
		}
	}
	switch lf, crlf := strings.Count(before, "\n"), strings.Count(before, "\r\n"); {
	case !strings.Contains(before, "\r") && strings.Contains(after, "\r"):
		t.Errorf("%s brought a CR into the file", w.name)
	case crlf > 0 && lf == crlf && strings.Count(after, "\n") != strings.Count(after, "\r\n"):
		t.Errorf("%s brought a bare LF into the file", w.name)
	}
	if strings.HasPrefix(before, "\ufeff") != strings.HasPrefix(after, "\ufeff") || strings.Count(after, "\ufeff") > strings.Count(before, "\ufeff") {
		t.Errorf("%s moved the byte order mark", w.name)
	}
}

// exercise runs a writer until it must no longer change anything.
func exercise(t reporter, w writer, s *Store, text string) {
	t.Helper()
	before := s.text(t)
	for call := 1; call <= w.settled+1; call++ {
		if _, err := w.run(s, text); err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		after := s.text(t)
		checkKept(t, w, before, after)
		if w.settled > 0 && call > w.settled && after != before {
			t.Errorf("call %d of %s still changes\n%s", call, w.name, strings.Join(changes(before, after), "\n"))
		}
		before = after
	}
}

// memory returns a directory whose files needn't reach a disk, if the system has one:
// durability isn't tested here.
func memory(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "gsd-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// fragments returns lines found in files, and lines that break readers.
func fragments() []string {
	return []string{"", "", "# Project State", "## Current Position", "## Session", "## Session Continuity", "## Accumulated Context",
		"### Decisions", "### Blockers/Concerns", "## Performance Metrics", "### Roadmap Evolution", "## Archive", "Phase: 2 of 5 (Core)  ",
		"Phase: 2 — Core", "Plan: 1 of 3 in current phase", "Plan:", "Status: Ready to execute", "Status:", "**Status:** Done", "**Status:**",
		"| Status | Active |", "Last activity: 2026-01-01 — Planned", "Last Activity:\t2025-01-01", "Progress: [██░░] 20% left", "Progress: ░░ 5%",
		"**Current Phase:** 2 of 5 (X)", "**Current Plan:** 1", "**Total Plans in Phase:** 3", "Stopped at: \"x\" \\ y", "**Resume file:** None",
		"Last session: 2026-01-01", "Paused At: None", "**Current focus:** it", "- [Phase 1]: a", "- b", "  more of it", "None", "None yet.", "(None yet)",
		"---", "```", "~~~", "| Plan | Duration | Tasks | Files |", "|------|----------|-------|-------|", "| Phase 2 P1 | 1min | x | y |",
		"- Average duration: 3 min", "- Trend: -", "status: x", "$1 $& $$", "Größe · 日本 **Status:** y", "\ufeff", "    Status: indented"}
}

func fronts() []string {
	return []string{"", "", "status: executing", "status:", "status: # none", "milestone: v1.0", "owner: x", "owner: 'it''s'", "# ours", "stopped_at: \"a \\\"b\\\"\"",
		"progress:\n  total_phases: 3\n  percent: 7 # seven\n  extra: 1", "progress: {total_phases: 3, percent: 7}", "progress:", "next_phases:\n- 4\n- 5",
		"next_phases: [4, 5]", "active_phase: null", "paused_at: None", "tags:\n  - a\n  # why\n  - b", "last_activity: 2027-01-01", "note: >\n  long\n  text",
		"current_phase: 4.10", "nothing of the kind", "  indented: 1"}
}

func document(t *rapid.T) string {
	var b strings.Builder
	if f := rapid.SliceOfN(rapid.SampledFrom(fronts()), 0, 8).Draw(t, "front"); len(f) > 0 {
		b.WriteString("---\n" + strings.Join(f, "\n") + "\n---\n")
	}
	b.WriteString(strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments()), 0, 25).Draw(t, "body"), "\n"))
	text := b.String()
	if rapid.Bool().Draw(t, "ends") {
		text += "\n"
	}
	if rapid.Bool().Draw(t, "crlf") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if rapid.IntRange(0, 4).Draw(t, "bom") == 0 {
		text = "\ufeff" + text
	}
	return text
}

func values() []string {
	return []string{"Executing", "a: b # c", `say "hi" \ there`, "$1 and $&", "it's", "# x", "- y", "two\nlines", "|pipe|", "ends '", "日本 — x", "null", "4.10"}
}

func TestWritersKeepTheRest(t *testing.T) {
	base := memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := rapid.SampledFrom(writers()).Draw(rt, "verb")
		p := planning{"STATE.md": document(rt)}
		if rapid.Bool().Draw(rt, "disk") {
			for name, text := range usualProject() {
				if name != "STATE.md" {
					p[name] = text
				}
			}
		}
		root, err := os.MkdirTemp(base, "p")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(root)
		exercise(rt, w, p.storeIn(rt, root), rapid.SampledFrom(values()).Draw(rt, "text"))
	})
}

// Every real file survives every writing verb.
func TestWritersKeepRealFiles(t *testing.T) {
	testfiles.Slow(t)
	for _, file := range testfiles.Corpus(t, "gsd/*.md") {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			for _, w := range writers() {
				exercise(t, w, planning{"STATE.md": string(src)}.storeIn(t, memory(t)), `It's "done" — $1`)
			}
		})
	}
}

func FuzzWriters(f *testing.F) {
	f.Add(0, usual, "Executing Phase 2")

	f.Fuzz(func(t *testing.T, verb int, src, text string) {
		all := writers()
		if verb < 0 || verb >= len(all) || len(src) > 4096 || strings.TrimSpace(text) == "" || checkText("x", text) != nil || Parse([]byte(src)).misclosed() > 0 {
			return
		}
		s := planning{"STATE.md": src}.storeIn(t, memory(t))
		if _, err := all[verb].run(s, text); err != nil {
			t.Fatal(err)
		}
		checkKept(t, all[verb], src, s.text(t))
		if _, err := s.JSON(); err != nil {
			t.Fatal(err)
		}
	})
}

// Quoted text stays the same size, however often the file is written.
func TestQuotesNeverGrow(t *testing.T) {
	const stopped = `stopped_at: "say \"hi\" to C:\\x"`
	s := planning{"STATE.md": "---\nowner: \"a \\\"b\\\" \\\\ c\"\n" + stopped + "\nstatus: executing\n---\n\nStatus: x\n"}.store(t)
	for i := range 10 {
		if _, err := s.Update(ctx, "Status", strings.Repeat("executing ", i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if text := s.text(t); !strings.Contains(text, "owner: \"a \\\"b\\\" \\\\ c\"\n"+stopped+"\n") {
		t.Errorf("now it is\n%s", text)
	}
	for range 10 { // values derived anew don't grow either
		if _, err := s.RecordSession(ctx, Session{StoppedAt: `say "it's" \ x`}); err != nil {
			t.Fatal(err)
		}
	}
	if v, _ := Parse([]byte(s.text(t))).Get("stopped_at"); v.Text != `say "it's" \ x` {
		t.Errorf("stopped_at is %q", v.Text)
	}
}

// Front matter that ends in -- extends to the next rule: nothing below the line is changed by
// mistake.
func TestMisclosedFrontMatter(t *testing.T) {
	const state = "---\nstatus: x\nowner: a\n--\n\nStatus: Executing\n\n---\nowner: b\n\n---\n"
	for _, eol := range []string{"\n", "\r\n"} {
		s := planning{"STATE.md": strings.ReplaceAll(state, "\n", eol)}.store(t)
		for _, w := range writers() {
			if _, err := w.run(s, "y"); err == nil || !strings.Contains(err.Error(), "line 4 is --") {
				t.Errorf("%s: %v", w.name, err)
			}
		}
		if text := s.text(t); text != strings.ReplaceAll(state, "\n", eol) {
			t.Errorf("now it is\n%s", text)
		}
	}
}

// Keys inserted after the progress block don't become part of it.
func TestKeysBehindTheProgress(t *testing.T) {
	s := planning{"STATE.md": "---\nprogress:\n  indented: 1\nstatus: executing\n---\n"}.store(t)
	for range 2 {
		if _, err := s.MilestoneSwitch(ctx, "v2.0", "Next"); err != nil {
			t.Fatal(err)
		}
	}
	want := "---\nprogress:\n  indented: 1\n  total_phases: 0\n  completed_phases: 0\n  total_plans: 0\n  completed_plans: 0\n  percent: 0\ngsd_state_version"
	if text := s.text(t); !strings.HasPrefix(text, want) || strings.Count(text, "total_phases") != 1 {
		t.Errorf("it is\n%s", text)
	}
}
