package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/term"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/run/project/projecttest"
	"greenlight/internal/show/board"
	"greenlight/internal/show/report"
	"greenlight/internal/show/status"
	"greenlight/internal/show/view"
)

// All commands that show a night (status, board, report, events, cost) show the same numbers.
func TestOneTruth(t *testing.T) {
	files := maps.Clone(everyClass)
	for i, usd := range []string{"1.25", "0.50"} {
		files[fmt.Sprintf("runs/done/S-%d.1.failed.json", 4+3*i)] = fmt.Sprintf(`{"schema_version": 1, "slice": "S-%d", "n": 1, "agent": "claude", "phase": "settled", "outcome": "failed", "detail": "exit 7",
			"claimed_at": "2026-01-01T01:00:00Z", "started_at": "2026-01-01T01:00:00Z", "ended_at": "2026-01-01T02:00:00Z", "settled_at": "2026-01-01T02:00:00Z",
			"evidence": {"exit_code": 7, "result": {"turns": 3, "cost_usd": %s}}}`, 4+3*i, usd)
	}
	files["runs/journal.jsonl"] = strings.Join([]string{
		`{"schema_version":1,"time":"2026-01-01T00:59:00.000Z","kind":"drain_started","max":4}`,
		`{"schema_version":1,"time":"2026-01-01T02:00:00.000Z","kind":"ended","slice":"S-4","attempt":1,"outcome":"failed","duration_ms":3600000,"cost_usd":1.25}`,
		`{"schema_version":1,"time":"2026-01-01T02:00:00.000Z","kind":"ended","slice":"S-7","attempt":1,"outcome":"failed","duration_ms":3600000,"cost_usd":0.5}`,
		`{"schema_version":1,"time":"2026-01-01T02:01:00.000Z","kind":"drain_ended","reason":"nothing left to do"}`,
	}, "\n") + "\n"
	root := projecttest.Write(t, files)
	var status struct {
		Total, Done                                                               int
		Running, Ready, Landing, Failed, Red, Conflict, Stalled, Waiting, Unknown []string
		Blocked                                                                   []any
	}
	var night report.Document
	decode := func(into any, args ...string) {
		t.Helper()
		if err := json.Unmarshal(output(t, append(args, "-C", root)...), into); err != nil {
			t.Fatal(err)
		}
	}
	decode(&status, "status", "--json")
	decode(&night, "report", "--json")
	want := view.Counts{
		Total: status.Total, Done: status.Done, Running: len(status.Running),
		Merging: len(status.Landing), Ready: len(status.Ready), Blocked: len(status.Blocked),
		Failed: len(status.Failed) + len(status.Red) + len(status.Conflict) +
			len(status.Stalled),
		NeedsYou:   len(status.Waiting) + len(status.Unknown),
		Unverified: status.Done, // by their files alone; gl has verified nothing
	}
	if want.Failed < 3 || want.NeedsYou < 2 || want.Merging != 1 {
		t.Fatalf("a dull night: %+v", want)
	}
	if night.Counts != want {
		t.Errorf("report: %+v, status --json: %+v", night.Counts, want)
	}
	pr, err := project.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	p, err := pr.Plan(now, pr.Options())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(output(t, "status", "--compact", "-C",
		root))); got != want.Bar(p, now) {
		t.Errorf("status --compact: %q, want %q", got, want.Bar(p, now))
	}
	screen := strings.Join(onScreen(100, view.New(p, view.Facts{}, now)), "\n")
	sum := 0
	for _, g := range view.Groups() {
		sum += want.Of(g)
		if n := want.Of(g); n > 0 && !strings.Contains(screen, fmt.Sprintf("%s (%d)\n", g, n)) {
			t.Errorf("status on a terminal doesn't have %s (%d):\n%s", g, n, screen)
		}
	}
	if sum != want.Total {
		t.Errorf("the groups have %d of %d slices", sum, want.Total)
	}
	if night.Sentence != want.Sentence("Stopped", "slice") &&
		night.Sentence != want.Sentence("Running", "slice") {
		t.Errorf("report: %q", night.Sentence)
	}
	// The journal and the records have the same costs.
	spent := 0.0
	for _, line := range strings.Split(strings.TrimSpace(string(output(t, "events", "--json", "-C",
		root))), "\n") {
		var e struct {
			Cost float64 `json:"cost_usd"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		spent += e.Cost
	}
	if night.Cost.Total.USD != spent || spent != 1.75 {
		t.Errorf("report: $%.2f, events: $%.2f", night.Cost.Total.USD, spent)
	}
	if !strings.Contains(string(output(t, "report", "--format", "md", "-C", root)), "$1.75") {
		t.Error("the Markdown has another sum")
	}
	var cost costDoc
	decode(&cost, "cost", "--json")
	if usd := cost.Total.CostUSD; usd == nil || *usd != spent ||
		cost.Total.FailedUSD != night.Cost.Failed.USD ||
		cost.Total.Attempts != night.Cost.Total.Known {
		t.Errorf("cost: %+v, report: %+v, events: $%.2f", cost.Total, night.Cost, spent)
	}
	frame, err := board.Still(board.Config{Project: pr, Paint: func(_ term.Color, s string) string {
		return s
	},
		Plan: func(now time.Time) (*plan.Plan, error) { return shownPlan(pr, now, "") }}, 200, 80)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(frame, want.Bar(p, now)+" | ") || !strings.Contains(frame, "cost $1.75") {
		t.Errorf("board: %q, want %q", strings.SplitN(frame, "\n", 2)[0], want.Bar(p, now))
	}
	for _, g := range view.BoardGroups() {
		if n := want.Of(g); n > 0 && !strings.Contains(frame, fmt.Sprintf("\n%s (%d)", g, n)) {
			t.Errorf("the board doesn't have %s (%d):\n%s", g, n, frame)
		}
	}
}

// The recommended commands for a slice are the same everywhere: all of them where there is room,
// otherwise the most likely one.
func TestOneAdvice(t *testing.T) {
	root := projecttest.Write(t, everyClass)
	// how long ago S-3 changed is the same text for the whole test
	changed := time.Now().Add(-10*time.Minute - 30*time.Second)
	if err := os.Chtimes(filepath.Join(root, ".greenlight/slices/S-3.md"), changed, changed); err != nil {
		t.Fatal(err)
	}
	pr, err := project.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	p, err := pr.Plan(now, pr.Options())
	if err != nil {
		t.Fatal(err)
	}
	var drained bytes.Buffer
	leftOver(iostreams.New(nil, &drained, io.Discard, nil), p, "")
	plain := func(_ term.Color, s string) string { return s }
	frame, err := board.Still(board.Config{Project: pr, Paint: plain,
		Plan: func(now time.Time) (*plan.Plan, error) { return shownPlan(pr, now, "") }}, 200, 80)
	if err != nil {
		t.Fatal(err)
	}
	short := map[string]string{
		"gl status":               string(output(t, "status", "-C", root)),
		"gl status on a terminal": strings.Join(onScreen(200, view.New(p, view.Facts{}, now)), "\n"),
		"gl board":                frame,
	}
	var night bytes.Buffer
	doc := report.New(report.Input{Plan: p, Now: now})
	if err := doc.HTML(&night, ""); err != nil {
		t.Fatal(err)
	}
	markdown := string(output(t, "report", "--format", "md", "-C", root))
	why := string(output(t, "why", "-C", root))
	advised := 0
	for i := range p.States {
		r := p.Why(p.States[i].ID, now)
		if len(r.Next) == 0 {
			continue
		}
		advised++
		for name, text := range map[string]string{"gl why": why,
			"the end of a drain": drained.String()} {
			if !strings.Contains(text, r.String()+"\n") {
				t.Errorf("%s doesn't say %q:\n%s", name, r, text)
			}
		}
		if g := view.GroupOf(&p.States[i]); g != view.NeedsYou && g != view.Failed {
			continue
		}
		for name, text := range short {
			if c := r.Command(); !strings.Contains(text, c) &&
				(name != "gl status" || p.States[i].Class.Troubled()) {
				t.Errorf("%s doesn't name %q:\n%s", name, c, text)
			}
		}
		if all := "`" + strings.Join(r.Next, "`"+plan.Then+"`") + "`"; !strings.Contains(markdown,
			all) {
			t.Errorf("the report doesn't name %s:\n%s", all, markdown)
		}
		if all := "<code>" + strings.Join(r.Next, "</code>"+plan.Then+"<code>") +
			"</code>"; !strings.Contains(night.String(), all) {
			t.Errorf("the report's page doesn't name %s", all)
		}
	}
	if advised < 9 {
		t.Errorf("%d slices need something", advised)
	}
}

// onScreen returns gl status --all on a terminal.
func onScreen(width int, m *view.Model) []string {
	plain := func(_ term.Color, s string) string { return s }
	return status.Screen{Width: width, All: true, Paint: plain}.Lines(m)
}
