package gsd

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func position(src string) Position { return positionOf(Parse([]byte(src))) }

const sample = `---
gsd_state_version: '1.0'
milestone: v2.0
milestone_name: Code Quality
status: executing
active_phase: "4.5"
next_action: execute-phase
next_phases: ["4.5", "4.6"]
progress:
  total_phases: 17
  completed_phases: 10
  percent: 59
---

Phase: 4 of 17 (Observability)
`

// without returns the sample with lines replaced or removed.
func without(replace ...string) string {
	return strings.NewReplacer(replace...).Replace(sample)
}

func TestScenes(t *testing.T) {
	const noPhase = "active_phase: null"
	tests := []struct{ name, src, line, compact string }{
		{"phase active", sample, "v2.0 Code Quality [█████░░░░░] 59% · Phase 4.5 executing", "v2.0 · P4.5/17 · executing"},
		{"phase active, no status", without("status: executing\n", ""),
			"v2.0 Code Quality [█████░░░░░] 59% · Phase 4.5", "v2.0 · P4.5/17"},
		{"next", without(`active_phase: "4.5"`, noPhase),
			"v2.0 Code Quality [█████░░░░░] 59% · next execute-phase 4.5/4.6", "v2.0 · P4/17 · executing"},
		{"next, compact", "---\nnext_action: plan-phase\nnext_phases:\n- 5\n---\n", "next plan-phase 5", "next plan-phase 5"},
		{"no phases for next", without(`active_phase: "4.5"`, noPhase, `["4.5", "4.6"]`, "[]"),
			"v2.0 Code Quality [█████░░░░░] 59% · executing · Observability (4/17)", "v2.0 · P4/17 · executing"},
		{"complete by percent", without(`active_phase: "4.5"`, noPhase, "next_action: execute-phase\n", "", "percent: 59", "percent: 100"),
			"v2.0 Code Quality [██████████] 100% · milestone complete", "v2.0 · P4/17 · complete"},
		{"complete by phases", "---\nmilestone: v1\nprogress:\n  total_phases: 3\n  completed_phases: 3\n---\n", "v1 · milestone complete", "v1 · complete"},
		{"nothing of nothing isn't complete", "---\nmilestone: v1\nstatus: planning\nprogress:\n  total_phases: 0\n  completed_phases: 0\n  percent: 0\n---\n",
			"v1 [░░░░░░░░░░] 0% · planning", "v1 · planning"},
		{"a phase at work isn't complete", without("percent: 59", "percent: 100"),
			"v2.0 Code Quality [██████████] 100% · Phase 4.5 executing", "v2.0 · P4.5/17 · executing"},
		{"default", "---\nmilestone: v1.9\nmilestone_name: Code Quality\nstatus: executing\n---\nPhase: 1 of 5\n",
			"v1.9 Code Quality · executing · ph 1/5", "v1.9 · P1/5 · executing"},
		{"the bar needs a milestone", "---\nstatus: executing\nprogress:\n  percent: 59\n---\n", "executing", "executing"},
		{"no name but the placeholder", "---\nmilestone: v1.0\nmilestone_name: milestone\nstatus: x\n---\n", "v1.0 · x", "v1.0 · x"},
		{"paused", "---\nmilestone: v1\nstatus: Paused at plan 3\n---\n", "v1 · Paused at plan 3", "v1 · PAUSED"},
		{"a person's status", "---\nstatus: phase_3_prelim_and_more words\n---\n", "phase_3_prelim_and_more words", "phase_3_prelim_a"},
		{"up to the dash", "---\nstatus: blocked—by him\n---\n", "blocked—by him", "blocked"},
		{"body only", "# State\n\nPhase: 2 of 6 (Data)\nStatus: Ready to plan\n", "planning · Data (2/6)", "P2/6 · planning"},
		{"status of the body", "Status: Phase complete — archived\n", "complete", "completed"},
		{"over the end of the line", "Status:\n\nExecuting Phase 4\n", "executing", "executing"},
		{"no decimal, no bold, not in a line", "Phase: 4.5 of 6\n**Phase:** 1 of 2\nThe Phase: 1 of 2\nStatus: whatever\n", "", ""},
		{"empty", "", "", ""},
	}
	for _, tt := range tests {
		for _, eol := range []string{"\n", "\r\n"} {
			p := position(strings.ReplaceAll(tt.src, "\n", eol))
			if got := p.String(); got != tt.line {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.line)
			}
			if got := p.Compact(); got != tt.compact {
				t.Errorf("%s, compact: %q, want %q", tt.name, got, tt.compact)
			}
		}
	}
	none := Position{NoWorkstream: true, Status: "x"}
	if none.String() != "no active workstream" || none.Compact() != none.String() {
		t.Errorf("%q %q", none, none.Compact())
	}
}

// Forms that defeat GSD's patterns mean the same as the plain form.
func TestPositionTolerant(t *testing.T) {
	want := position(sample)
	progress := "progress:\n  total_phases: 17\n  completed_phases: 10\n  percent: 59\n"
	for name, src := range map[string]string{
		"byte order mark":        "\ufeff" + sample,
		"comment first":          without(progress, "progress:\n  # by hand\n  total_phases: 17\n  completed_phases: 10\n  percent: 59\n"),
		"comment between":        without(progress, "progress: # by hand\n  total_phases: 17 \n\n  # so far\n  completed_phases: 10\n  percent: 59.9\n"),
		"quotes":                 without(progress, "progress:\n  total_phases: \"17\"\n  completed_phases: '10'\n  percent: \"59\" # %\n"),
		"braces":                 without(progress, "progress: {total_phases: 17, completed_phases: 10, percent: 59}\n"),
		"list in block":          without(`next_phases: ["4.5", "4.6"]`, "next_phases:\n  # now\n  - \"4.5\"\n  - 4.6"),
		"list over lines":        without(`next_phases: ["4.5", "4.6"]`, "next_phases: [\n  \"4.5\",\n  \"4.6\"\n]"),
		"comment behind":         without("'1.0'", "'1.0'  # placeholder", `"4.5"`+"\n", `"4.5" # orchestrator`+"\n"),
		"an empty one behind it": without("---\n\nPhase", "status:\nprogress:\nnext_phases:\n---\n\nPhase"),
		"stacked":                without("\nPhase: 4", "---\nstatus: planning\nprogress:\n  percent: 1\n---\n\nPhase: 4"),
		"nothing behind a label": without("Phase: 4", "Phase:\n\nPhase: 4"),
	} {
		if d := cmp.Diff(want, position(src)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestStatus(t *testing.T) {
	for status, want := range map[string][2]string{ // by GSD's rules, by ours
		"":                        {Unknown, Unknown},
		"Executing Phase 4":       {Executing, Executing},
		"In progress":             {Executing, Executing},
		"Ready to execute":        {Executing, Executing},
		"Ready to plan":           {Planning, Planning},
		"Planning complete":       {Planning, Planning},
		"Discussing":              {Discussing, Discussing},
		"Verifying":               {Verifying, Verifying},
		"Completed":               {Completed, Completed},
		"Done.":                   {Completed, Completed},
		"Paused, done tomorrow":   {Paused, Paused},
		"Stopped while executing": {Paused, Paused},
		"milestone v2 archived":   {"milestone v2 archived", "milestone v2 archived"},
		"abandoned":               {Completed, "abandoned"},
		"incomplete":              {Completed, "incomplete"},
		"undone":                  {Completed, "undone"},
		"unverified":              {Verifying, "unverified"},
		"Phase 4 verified":        {Verifying, Completed},
		"Verification passed":     {Verifying, Completed},
		"unpaused":                {Paused, "unpaused"},
		"in_progress":             {"in_progress", Executing},
		"in-progress":             {"in-progress", Executing},
		"ready_to_plan":           {"ready_to_plan", Planning},
		"defining_requirements":   {"defining_requirements", "defining_requirements"},
		"Phase complete — ready for verification": {Verifying, Verifying},
	} {
		if got := [2]string{normalizeStatus(status, "", true), normalizeStatus(status, "", false)}; got != want {
			t.Errorf("%q: %q, want %q", status, got, want)
		}
	}
	for paused, want := range map[string][2]string{"": {Planning, Planning}, "null": {Paused, Planning}, "~": {Paused, Planning}, "noon": {Paused, Paused}} {
		if got := [2]string{normalizeStatus("planning", paused, true), normalizeStatus("planning", paused, false)}; got != want {
			t.Errorf("paused at %q: %q, want %q", paused, got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	tests := []struct {
		plans, ofPlans, phases, ofPhases, want int
		ok                                     bool
	}{
		{47, 84, 10, 17, 56, true}, {9, 9, 3, 4, 75, true}, {0, 0, 3, 4, 75, true}, {3, 8, 0, 0, 38, true}, {0, 0, 0, 0, 0, false},
		{57, 200, 1, 1, 28, true}, {20, 10, 9, 3, 100, true}, {-1, 4, 1, 2, 0, true},
	}
	for _, tt := range tests {
		if got, ok := Percent(tt.plans, tt.ofPlans, tt.phases, tt.ofPhases); got != tt.want || ok != tt.ok {
			t.Errorf("%v: %d %v", tt, got, ok)
		}
	}
	if n, ok := planPercent(1, 3); n != 33 || !ok {
		t.Error(n, ok)
	}
	if _, ok := planPercent(1, 0); ok {
		t.Error("a fraction of nothing")
	}
}

// byPattern reads a position as GSD's own status line is documented to: line by line, by
// patterns.
func byPattern(src string) (p Position) {
	word := func(s string) string {
		if s = trim(s); s != "" && strings.ContainsAny(s[:1], `"'`) {
			s = s[1:]
		}
		if s != "" && strings.ContainsAny(s[len(s)-1:], `"'`) {
			s = s[:len(s)-1]
		}
		return s
	}
	if m := regexp.MustCompile(`^---\r?\n((?s:.*?))\r?\n---`).FindStringSubmatch(src); m != nil {
		front := m[1]
		for key, at := range map[string]*string{"status": &p.Status, "milestone": &p.Milestone, "milestone_name": &p.MilestoneName,
			"active_phase": &p.ActivePhase, "next_action": &p.NextAction} {
			for _, m := range regexp.MustCompile(`(?m)^`+key+`:[ \t]*(\S[^\r\n]*)`).FindAllStringSubmatch(front, -1) {
				if *at = word(m[1]); *at == "null" {
					*at = ""
				}
			}
		}
		if m := regexp.MustCompile(`(?m)^next_phases:\s*\[([^\]]*)\]`).FindStringSubmatch(front); m != nil {
			for _, s := range strings.Split(m[1], ",") {
				if s = word(s); s != "" {
					p.NextPhases = append(p.NextPhases, s)
				}
			}
		}
		if m := regexp.MustCompile(`(?m)^progress:\s*\r?\n((?:[ \t]+\w+:.+\r?\n?)+)`).FindStringSubmatch(front); m != nil {
			for key, at := range map[string]*string{"completed_phases": &p.CompletedPhases, "total_phases": &p.TotalPhases, "percent": &p.Percent} {
				if n := regexp.MustCompile(`(?m)^[ \t]+` + key + `:\s*(\d+)`).FindStringSubmatch(m[1]); n != nil {
					*at = n[1]
				}
			}
		}
	}
	if m := regexp.MustCompile(`(?m)^Phase:\s*(\d+)\s+of\s+(\d+)(?:\s+\(([^)]+)\))?`).FindStringSubmatch(src); m != nil {
		p.PhaseNum, p.PhaseTotal, p.PhaseName = m[1], m[2], m[3]
	}
	if m := regexp.MustCompile(`(?m)^Status:\s*(.+)`).FindStringSubmatch(src); m != nil && p.Status == "" {
		text := strings.ToLower(m[1])
		for _, w := range [][2]string{{"ready to plan", Planning}, {"planning", Planning}, {"execut", Executing}, {"complet", "complete"}, {"archived", "complete"}} {
			if strings.Contains(text, w[0]) {
				p.Status = w[1]
				break
			}
		}
	}
	return p
}

// The usual keys and lines, with any value, read as GSD's patterns read them.
func TestPositionAsGSD(t *testing.T) {
	values := rapid.SampledFrom([]string{"executing", `"4.5"`, "'x'", "null", "~", `["4.5", "4.6"]`, "[4.5,4.6]", "[]", "Ready to plan", "milestone", `"a: b"`,
		"100", "0", "1 of 5 (Foo)", "01 of 05", "2 of 10 (A\nB)", "it's so", "x # y", "blocked - by him", "  spaced  ", "Phase 4 done", `"open`})
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for _, key := range rapid.Permutation([]string{"status", "milestone", "milestone_name", "active_phase", "next_action", "next_phases", "other"}).Draw(t, "keys") {
			if rapid.Bool().Draw(t, "has") {
				lines = append(lines, key+":"+rapid.SampledFrom([]string{" ", "", "  "}).Draw(t, "gap")+values.Draw(t, "value"))
			}
		}
		if rapid.Bool().Draw(t, "progress") {
			lines = append(lines, "progress:", "  total_phases: 5", "  completed_phases: "+rapid.SampledFrom([]string{"5", "3", "x"}).Draw(t, "done"), "  percent: 50.7")
		}
		src := "---\n" + strings.Join(lines, "\n") + "\n---\n"
		for range rapid.IntRange(0, 3).Draw(t, "lines") {
			src += rapid.SampledFrom([]string{"Phase:", "Status:", " Phase: ", "# ", ""}).Draw(t, "label") + rapid.SampledFrom([]string{" ", "\n", ""}).Draw(t, "gap") + values.Draw(t, "value") + "\n"
		}
		if rapid.Bool().Draw(t, "windows") {
			src = strings.ReplaceAll(src, "\n", "\r\n")
		}
		if d := cmp.Diff(byPattern(src), position(src)); d != "" {
			t.Fatalf("%q: %s", src, d)
		}
	})
}

func TestCorpusAsGSD(t *testing.T) {
	for _, file := range testfiles.Corpus(t, "gsd/*.md") {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(byPattern(string(src)), position(string(src))); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}

func FuzzPosition(f *testing.F) {
	f.Fuzz(func(t *testing.T, src []byte) {
		p := positionOf(Parse(src))
		_, _ = p.String(), p.Compact()
		for _, n := range []string{p.Percent, p.TotalPhases, p.CompletedPhases, p.PhaseNum, p.PhaseTotal} {
			if digits(n) != n {
				t.Errorf("%q: %q is no number", src, n)
			}
		}
	})
}
