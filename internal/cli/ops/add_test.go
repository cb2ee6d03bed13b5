package ops

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAdd(t *testing.T) {
	y := openYard(t, map[string]string{
		"GRAPH.json":    `{"slices": {"S-1": {"name": "One"}}}`,
		"slices/S-1.md": "---\nid: S-1\nstatus: pending\n---\n",
	})
	added, err := Add(t.Context(), y.Project,
		NewSlice{Name: "Two", Deps: []string{"s1"}, Why: "because", Milestone: "v2"})
	must(t, err)
	if added.ID != "S-2" || !added.Graph || added.Tried || added.Lost != nil ||
		!slices.Equal(added.Deps, []string{"S-1"}) || len(added.Notes) != 1 {
		t.Errorf("%+v", added)
	}
	if st := y.state("S-2"); st.Name != "Two" || st.Milestone != "v2" ||
		!strings.Contains(y.read("slices/S-2.md"), "because") {
		t.Errorf("%+v", st)
	}
	var argument *ArgumentError
	if _, err := Add(t.Context(), y.Project,
		NewSlice{Name: "Three", Deps: []string{"S-9"}}); !errors.As(err, &argument) {
		t.Error(err)
	}
	if _, err := Add(t.Context(), y.Project, NewSlice{ID: "S-1", Name: "One"}); err == nil ||
		errors.As(err, &argument) {
		t.Error(err)
	}
}

// A new slice doesn't inherit the records of an earlier one, unless a person asks for its id.
func TestAddAvoidsIDsWithAttempts(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending", "S-2": "status: pending; session:"})
	y.failed("S-2")
	must(t, os.Remove(filepath.Join(y.Root, ".greenlight", "slices", "S-2.md")))
	added, err := Add(t.Context(), y.Project, NewSlice{Name: "Three"})
	if err != nil || added.ID != "S-3" || added.Tried {
		t.Errorf("%+v, %v", added, err)
	}
	added, err = Add(t.Context(), y.Project, NewSlice{ID: "S-2", Name: "Two"})
	if err != nil || !added.Tried {
		t.Errorf("%+v, %v", added, err)
	}
}

const legacyState = "# State\n\n| ID | Name | Status | Deps |\n|---|---|---|---|\n| S-1 | One | pending | none |\n"

func TestAddToLegacy(t *testing.T) {
	y := openYard(t, map[string]string{"STATE.md": legacyState})
	added, err := Add(t.Context(), y.Project,
		NewSlice{Name: "Two", Milestone: "v2", Why: "because"})
	if err != nil || added.File != ".greenlight/STATE.md" ||
		!slices.Equal(added.Lost, []string{"milestone", "why"}) {
		t.Errorf("%+v, %v", added, err)
	}
}

func TestMigrate(t *testing.T) {
	y := openYard(t, map[string]string{"STATE.md": legacyState})
	m, err := Migrate(t.Context(), y.Project, true)
	if err != nil || m.Slices != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, err := os.Stat(filepath.Join(y.Root, ".greenlight", "slices")); err == nil {
		t.Error("a dry run wrote files")
	}
	_, err = Migrate(t.Context(), y.Project, false)
	must(t, err)
	if y.state("S-1").File != ".greenlight/slices/S-1.md" {
		t.Errorf("%+v", y.state("S-1"))
	}
	if _, err := Migrate(t.Context(), y.Project, false); !errors.Is(err, ErrNothingToDo) {
		t.Error(err)
	}
}
