package ops

import (
	"os"
	"testing"
	"time"

	"greenlight/internal/project"
	"greenlight/internal/trust"
)

// What runs is told when a person sets the slots, also to the number they have; no other setting tells it, and no agent.
func TestSlotsSet(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending"})
	store := trust.Open(func(string) string { return t.TempDir() })
	set := func(session *project.Session, key, value string) time.Time {
		t.Helper()
		_, _, err := SetSetting(t.Context(), y.Project, store, session, key, value)
		must(t, err)
		return y.Runs.SlotsSet()
	}
	must(t, os.RemoveAll(y.Runs.Dir()))
	if !set(nil, "parallel.max", "3").IsZero() {
		t.Error("a project in which nothing has run is told")
	}
	must(t, y.Runs.Prepare())
	if !set(nil, "mode", "yolo").IsZero() || !set(&project.Session{ID: "S-1", N: 1}, "parallel.max", "9").IsZero() {
		t.Error("what runs is told, though no person has set its slots")
	}
	if first := set(nil, "parallel.max", "9"); first.IsZero() || !set(nil, "parallel.max", "9").After(first) {
		t.Error("what runs isn't told")
	}
}
