package briefing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/cli/briefing"
	"greenlight/internal/run/project/projecttest"
)

func TestText(t *testing.T) {
	const settled = `{"schema_version": 1, "slice": "S-1", "n": %d, "agent": "claude", "prompt": "do it", "phase": "settled", "outcome": %q, "detail": %q,
		"claimed_at": "2026-03-01T10:00:00Z", "settled_at": "2026-03-01T11:00:00Z"%s}`
	pr := projecttest.Open(t, map[string]string{
		"slices/S-1.md":               "---\r\nid: S-1\r\nstatus: failed\r\ncontracts: C-1\r\n---\r\n\r\n# S-1: One\r\n\r\n## Decisions\r\n- Rejected: too slow\r\n",
		"CONTRACTS.md":                "# Contracts\n\n## About C-1 and others\nno\n\n## C-1: First\nInput: a\n\n## C-10: Tenth\n",
		".continue-here.S-1.md":       "Half way.\n",
		"runs/done/S-1.1.failed.json": fmt.Sprintf(settled, 1, "failed", "exit 7", ""),
		"runs/done/S-1.2.waiting.json": fmt.Sprintf(settled, 2, "waiting", "per month?",
			`, "answered": {"question": "per month?", "text": "per year"}`),
		"runs/done/S-1.3.red.json": fmt.Sprintf(settled, 3, "red", "1 of 2 tests fails",
			`, "landing": {"queued": "2026-03-01T10:30:00Z", "why": "The tests fail.", "output": "not ok 2\nexpected 1"}`),
	})
	b, err := briefing.Of(t.Context(), pr, "S-1")
	if err != nil {
		t.Fatal(err)
	}
	at := b.Attempts[0].Life.ClaimedAt.Local().Format("2006-01-02 15:04")
	want := strings.ReplaceAll(`id: S-1
status: failed
contracts: C-1

=== Slice: .greenlight/slices/S-1.md ===

# S-1: One

## Decisions
- Rejected: too slow

=== Earlier attempts ===

- attempt 3 with claude, TIME: red: 1 of 2 tests fails
    The tests fail.
    not ok 2
    expected 1
- attempt 2 with claude, TIME: waiting: per month?
    You asked: per month? A person has answered: per year. Go on with that.
- attempt 1 with claude, TIME: failed: exit 7

=== Hand-off: .greenlight/.continue-here.S-1.md ===

Half way.

=== Contracts: .greenlight/CONTRACTS.md ===

## C-1: First
Input: a
`, "TIME", at)
	if d := cmp.Diff(want, b.Text()); d != "" {
		t.Error(d)
	}
	if _, err := briefing.Of(t.Context(), pr, "S-2"); err == nil {
		t.Error("S-2 isn't there")
	}
}
