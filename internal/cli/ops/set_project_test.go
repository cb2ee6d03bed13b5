package ops

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/slice"
)

func TestParseChangesRefuses(t *testing.T) {
	for _, tt := range []struct {
		words []string
		says  string
	}{
		{[]string{"status"}, "not key=value"},
		{[]string{"status=complet"}, `unknown status "complet", did you mean complete?`},
		{[]string{"Status=pending"}, "did you mean status?"},
		{[]string{"id=S-2"}, "the id can't be changed"},
		{[]string{"tests=-1"}, "whole number"},
		{[]string{"tests=1", "tests=2"}, "given twice"},
		{[]string{"1x=2"}, "a letter or '_'"},
		{[]string{"name=a\nb"}, "one line"},
	} {
		_, err := ParseChanges(tt.words)
		var argument *ArgumentError
		if !errors.As(err, &argument) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %v, want %q", tt.words, err, tt.says)
		}
	}
}

// set applies key=value words to a slice as a person.
func (y *yard) set(id string, words ...string) (notes []string, err error) {
	y.t.Helper()
	changes, err := ParseChanges(words)
	must(y.t, err)
	return Set(y.t.Context(), y.Project, id, changes, person)
}

func TestSet(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending; mine: x", "S-2": "status: pending; deps: S-1", "S-3": "status: pending; deps: S-2, S-99"})
	notes, err := y.set("S-1", "status=implementing", "tests=042", "waitng_for=a look")
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "did you mean waiting_for?") {
		t.Errorf("%q, %v", notes, err)
	}
	if st := y.state("S-1"); st.Status != "implementing" || st.Tests != 42 ||
		!strings.Contains(y.read("slices/S-1.md"), "\nmine: x\n") {
		t.Errorf("%+v\n%s", st, y.read("slices/S-1.md"))
	}
	notes, err = y.set("S-3", "deps=s1,S-99,S-2")
	if err != nil || !slices.Equal(notes, []string{"using S-1 for s1"}) ||
		!slices.Equal(y.state("S-3").Deps, []string{"S-1", "S-99", "S-2"}) {
		t.Errorf("%q, %v; deps %q", notes, err, y.state("S-3").Deps)
	}
	for words, says := range map[string]string{
		"deps=S-3": "would be a cycle: S-1 -> S-3 -> S-1", "deps=S-1": "can't depend on itself", "deps=S-8": "no such slice",
	} {
		_, err := y.set("S-1", words)
		var argument *ArgumentError
		if !errors.As(err, &argument) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

func TestSetWarnsOfAnotherSession(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending; session:"})
	_, err := Claim(t.Context(), y.Project, "S-1", ClaimOptions{Who: me})
	must(t, err)
	notes, err := y.set("S-1", "tests=1")
	if err != nil || len(notes) != 1 ||
		!strings.HasPrefix(notes[0], "warning: S-1 is claimed by session") {
		t.Errorf("%q, %v", notes, err)
	}
	changes, err := ParseChanges([]string{"tests=2"})
	must(t, err)
	if notes, err := Set(t.Context(), y.Project, "S-1", changes, me); err != nil || notes != nil {
		t.Errorf("%q, %v", notes, err)
	}
	if got := y.state("S-1").Tests; got != 2 {
		t.Error(got)
	}
}

// A stalled slice is launched again once it is set to pending.
func TestSetPendingRetries(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending; step: none; session:"})
	y.failed("S-1")
	if _, err := y.set("S-1", "status=pending"); err != nil ||
		y.state("S-1").Class != plan.Available {
		t.Error(err, y.state("S-1").Class)
	}
}

func TestAddNotes(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending"})
	notes := []Note{{"Decisions", "Keep it small"}, {"Files", "a.go"}, {"Files", "b.go"}}
	for range 2 { // the second time there is nothing to add
		warnings, err := AddNotes(t.Context(), y.Project, "S-1", notes, person)
		if err != nil || warnings != nil {
			t.Errorf("%q, %v", warnings, err)
		}
	}
	text := y.read("slices/S-1.md")
	if strings.Count(text, ": Keep it small\n") != 1 ||
		!strings.Contains(text, "## Files\n- a.go\n- b.go\n") {
		t.Error(text)
	}
}

func TestShow(t *testing.T) {
	y := openYard(t, map[string]string{
		"GRAPH.json":    `{"slices": {"S-1": {"name": "One"}, "S-2": {"name": "Two", "depends_on": ["S-1"]}}}`,
		"slices/S-1.md": "---\nstatus: pending\nid: S-1\ntests: 3\n---\n",
	})
	shown, err := Show(y.Project, "S-1")
	want := []Field{{"status", "pending"}, {"id", "S-1"}, {"tests", "3"}}
	if err != nil || !slices.Equal(shown.Fields, want) ||
		shown.File != ".greenlight/slices/S-1.md" {
		t.Errorf("%+v, %v", shown, err)
	}
	shown, err = Show(y.Project, "S-2")
	want = []Field{{"id", "S-2"}, {"name", "Two"}, {"status", "pending"}, {"milestone", ""}, {"deps", "S-1"}}
	if err != nil || !slices.Equal(shown.Fields, want) || shown.File != "" {
		t.Errorf("%+v, %v", shown, err)
	}
}

// Git brought back the claim of an attempt that never started, which no record knows. What the
// agent of the open attempt reports carries its own claim, so it never counts as a person's word.
func TestSetRestoresTheClaimOfAnOpenAttempt(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending; step: none; session:"})
	r := y.attempt("S-1")
	err := edit(t.Context(), y.Project, "S-1", func(_ moment, f *slice.File) error {
		return f.Set("session", "2026-01-02T03:04:05Z-never")
	})
	must(t, err)
	changes, err := ParseChanges([]string{"status=complete"})
	must(t, err)
	agent := attempt.Claimant{Token: r.ID.Token}
	if _, err := Set(t.Context(), y.Project, "S-1", changes, agent); err != nil ||
		y.state("S-1").Session != r.ID.Token {
		t.Errorf("%v, session %q", err, y.state("S-1").Session)
	}
}
