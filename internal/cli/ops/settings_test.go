package ops

import (
	"os"
	"testing"
	"time"

	"greenlight/internal/base/trust"
)

// Setting the slots notifies the run in progress, even if the number is the same; no other setting
// does.
func TestSlotsSet(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending"})
	store := trust.Open(func(string) string { return t.TempDir() })
	set := func(key, value string) time.Time {
		t.Helper()
		_, _, err := SetSetting(t.Context(), y.Project, store, key, value)
		must(t, err)
		return y.Runs.Control.SlotsSet()
	}
	must(t, os.RemoveAll(y.Runs.Files.Dir()))
	if !set("parallel.max", "3").IsZero() {
		t.Error("a project in which nothing has run is told")
	}
	must(t, y.Runs.Files.Prepare())
	if !set("mode", "yolo").IsZero() {
		t.Error("what runs is told, though no person has set its slots")
	}
	if first := set("parallel.max", "9"); first.IsZero() || !set("parallel.max", "9").After(first) {
		t.Error("what runs isn't told")
	}
}
