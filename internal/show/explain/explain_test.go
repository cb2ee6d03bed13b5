package explain

import (
	"encoding/json"
	"testing"
	"time"

	"greenlight/internal/run/project/projecttest"

	"github.com/google/go-cmp/cmp"
)

// A blocked slice leads to its root, whose commands help; unknown values are null, and lists
// are never null.
func TestDocument(t *testing.T) {
	pr := projecttest.Open(t, map[string]string{
		"slices/S-1.md":               "---\nid: S-1\nstatus: failed\n---\n",
		"slices/S-2.md":               "---\nid: S-2\nstatus: pending\ndeps: S-1\n---\n",
		"runs/done/S-1.1.failed.json": `{"schema_version": 1, "slice": "S-1", "n": 1, "agent": "claude", "phase": "settled", "outcome": "failed", "detail": "exit 7"}`,
	})
	now := time.Now()
	p, err := pr.Plan(now, pr.Options())
	if err != nil {
		t.Fatal(err)
	}
	doc := NewDocument(p)
	if err := doc.Add(pr, p, []string{"S-2", "S-1"}, now); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema_version":1,"hold":null,"holds":[],"blockers":[],"slices":[` +
		`{"system":"greenlight","id":"S-2","state":"blocked","cause":"needs S-1","needs":["S-1"],"root":"S-1","because":"S-1 failed",` +
		`"next":["gl logs S-1","gl retry S-1"],"next_if":null,"chain":["S-2","S-1"],"forecast":[],"agent":null,"model":null,"attempts":[]},` +
		`{"system":"greenlight","id":"S-1","state":"failed","cause":"exit 7","needs":[],"root":null,"because":null,"next":["gl logs S-1","gl retry S-1"],"next_if":null,"chain":[],"forecast":[],"agent":null,"model":null,` +
		`"attempts":[{"n":1,"agent":"claude","worker":null,"outcome":"failed","detail":"exit 7","started":null,"ended":null,"seconds":null,"turns":null,"cost_usd":null,"landed":null,"landed_as":null,"verdict":null,"gate":[]}]}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}
