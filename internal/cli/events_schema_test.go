package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"greenlight/internal/run/project/projecttest"
	"greenlight/internal/show/eventtext"
	"greenlight/internal/state/journal"
)

// An event of each kind, with every key, is as the schema says, and a line for people says
// something about it.
func TestEventsAreAsTheirSchemaSays(t *testing.T) {
	root := projecttest.Write(t, everyClass)
	j := journal.Open(filepath.Join(root, ".greenlight", "runs"))
	kinds := readSchema(t, "events")["properties"].(map[string]any)["kind"].(map[string]any)["enum"].([]any)
	for i, kind := range kinds {
		n, ms, cost, at := i, int64(i*1000), 0.5, time.Now()
		e := journal.Event{Kind: journal.Kind(kind.(string)), Tests: &n, SecurityTests: &n, Failing: &n, Exit: &n, Passed: &n, Failed: &n,
			DurationMS: &ms, CostUSD: &cost, Until: &at, Totals: &journal.Sums{Total: 3}}
		for f := range reflect.TypeFor[journal.Event]().NumField() {
			switch v := reflect.ValueOf(&e).Elem().Field(f); {
			case v.Kind() == reflect.String && v.String() == "":
				v.SetString(fmt.Sprintf("text %d", f))
			case v.Kind() == reflect.Int && v.Int() == 0:
				v.SetInt(int64(f))
			}
		}
		if err := j.Append(e, journal.Event{Kind: e.Kind}); err != nil {
			t.Fatal(err)
		}
		for _, e := range []journal.Event{e, {Kind: e.Kind, Slice: "S-1"}} {
			if text := eventtext.Of(e); strings.TrimSpace(text) == "" {
				t.Errorf("%s: %q", kind, text)
			}
		}
	}
	lines := bytes.Split(bytes.TrimSpace(output(t, "events", "--json", "-C", root)), []byte("\n"))
	if len(lines) != 2*len(kinds) {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if err := conforms(t, "events", line); err != nil {
			t.Errorf("%v: %s", err, line)
		}
	}
}
