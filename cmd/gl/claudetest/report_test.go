package claudetest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"greenlight/internal/run/attempt"
)

// update makes a run write its observations into the page instead of comparing.
var update = flag.Bool("update", false, "write what is observed into docs/claude-code.md")

// An observation is a row of the table in docs/claude-code.md.
type observation struct{ scenario, exit, stream, gl string }

// observe compares an observation with the scenario's row in docs/claude-code.md.
func (w *world) observe(o observation) {
	w.Helper()
	path := filepath.Join("..", "..", "..", "docs", "claude-code.md")
	data, err := os.ReadFile(path)
	w.check(err)
	cell := strings.NewReplacer("|", "\\|", "\n", " ")
	row := fmt.Sprintf("| %s | %s | %s | %s |", cell.Replace(o.scenario), cell.Replace(o.exit),
		cell.Replace(o.stream), cell.Replace(o.gl))
	row = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(row, "127.0.0.1")
	lines := strings.Split(string(data), "\n")
	at, last := -1, slices.IndexFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "| The client")
	})
	for i := max(last, 0); i < len(lines) && strings.HasPrefix(lines[i], "|"); i++ {
		if last = i; strings.HasPrefix(lines[i], "| "+cell.Replace(o.scenario)+" |") {
			at = i
		}
	}
	switch {
	case at >= 0 && lines[at] == row:
	case !*update:
		w.Errorf("docs/claude-code.md doesn't say what was observed (-update writes it):\n%s", row)
	case at >= 0:
		lines[at] = row
	default:
		lines = append(lines[:last+1], append([]string{row}, lines[last+1:]...)...)
	}
	if *update {
		w.check(os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644))
	}
}

// observeAttempt is observe for an attempt that gl made.
func (w *world) observeAttempt(scenario string, r *attempt.Record) {
	w.Helper()
	o := observation{scenario: scenario, exit: r.Judged.Evidence.Signal, stream: streamOf(r.Judged.Evidence),
		gl: string(r.Judged.Outcome)}
	if r.Judged.Evidence.ExitCode != nil {
		o.exit = fmt.Sprint(*r.Judged.Evidence.ExitCode)
	}
	if r.Judged.Detail != "" {
		o.gl += ": " + r.Judged.Detail
	}
	w.observe(o)
}

// streamOf returns how the stream reported the end.
func streamOf(e *attempt.Evidence) string {
	if e.Result == nil {
		return "no result event"
	}
	parts := []string{e.Result.Subtype}
	if e.Result.IsError {
		parts = append(parts, "is_error")
	}
	if e.Result.TerminalReason != "" {
		parts = append(parts, e.Result.TerminalReason)
	}
	if e.Result.APIStatus != 0 {
		parts = append(parts, fmt.Sprint("status ", e.Result.APIStatus))
	}
	if e.Result.Turns == 0 {
		parts = append(parts, "no turn")
	}
	if e.Denials > 0 {
		parts = append(parts, fmt.Sprint("denials ", e.Denials))
	}
	if e.Limit != nil && e.Limit.Reset != nil {
		parts = append(parts, "with the reset's time")
	}
	return strings.Join(parts, ", ")
}
