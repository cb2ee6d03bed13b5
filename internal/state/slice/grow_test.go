package slice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/state/tracker"
)

const pendingSlice = "---\nid: %s\nstatus: pending\ndeps: %s\n---\n\n# %s: Name\n"

func TestAdd(t *testing.T) {
	root := project(t, map[string]string{
		"slices/S-01.md": fmt.Sprintf(pendingSlice, "S-01", "", "S-01"),
		"GRAPH.json":     "{\"slices\": {\n  \"S-01\": {\"name\": \"A\", \"deps\": []},\n  \"S-02\": {\"name\": \"B\", \"deps\": [\"S-01\"]}\n}}\n",
	})
	s := open(root)
	got, err := s.Add(t.Context(), NewSlice{Name: "Search", Milestone: "m1", Deps: []string{"s1", "S-02", "S-1"},
		Contracts: []string{"C-1"}, Why: "# People ask", What: "Finds things"})
	if err != nil {
		t.Fatal(err)
	}
	want := &AddedSlice{ID: "S-03", Deps: []string{"S-01", "S-02"}, File: ".greenlight/slices/S-03.md", Graph: true,
		Notes: []string{"using S-01 for s1", "using S-01 for S-1"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantGraph := "{\"slices\": {\n  \"S-01\": {\"name\": \"A\", \"deps\": []},\n  \"S-02\": {\"name\": \"B\", \"deps\": [\"S-01\"]},\n" +
		"  \"S-03\": {\"name\": \"Search\", \"description\": \"Finds things\", \"milestone\": \"m1\", \"deps\": [\"S-01\", \"S-02\"], \"contracts\": [\"C-1\"]}\n}}\n"
	if diff := cmp.Diff(wantGraph, get(t, root, "GRAPH.json")); diff != "" {
		t.Error(diff)
	}
	wantFile := `---
id: S-03
status: pending
step: none
milestone: m1
started:
updated: ` + now + `
tests: 0
security_tests: 0
session:
deps: S-01,S-02
---

# S-03: Search

## Why
\# People ask

## What
Finds things

## Dependencies
- S-01: Name
- S-02: B

## Contracts
- C-1

## Decisions

## Files
`
	if diff := cmp.Diff(wantFile, get(t, root, "slices/S-03.md")); diff != "" {
		t.Error(diff)
	}
	if stale, _, err := s.page.viewState(); stale || err != nil || !strings.Contains(get(t, root, "STATE.md"), "| S-03 | Search |") {
		t.Errorf("STATE.md is behind, %v", err)
	}
}

func TestAddWithoutGraph(t *testing.T) {
	root := project(t, map[string]string{"slices/S-1.md": fmt.Sprintf(pendingSlice, "S-1", "", "S-1")})
	s := open(root)
	got, err := s.Add(t.Context(), NewSlice{Name: "B", Deps: []string{"S-1"}})
	if err != nil || got.ID != "S-2" || got.Graph {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(root, ".greenlight", "GRAPH.json")); err == nil {
		t.Error("a graph was made")
	}
	c, err := s.Load()
	if err != nil || len(c.Items) != 2 || !equal(c.Items[1].Deps, []string{"S-1"}) || len(c.Warnings) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestAddRefuses(t *testing.T) {
	files := func() map[string]string {
		return map[string]string{
			"slices/S-1.md": fmt.Sprintf(pendingSlice, "S-1", "S-9", "S-1"),
			"slices/S-2.md": fmt.Sprintf(pendingSlice, "S-2", "S-1", "S-2"),
			"GRAPH.json":    `{"slices": {"S-3": {"depends_on": ["S-2"]}}}`,
			"STATE.md":      "<!-- GENERATED -->\n## Slices\n| ID | Status |\n|--|--|\n| S-7 | complete |\n",
		}
	}
	tests := []struct {
		name, want string
		n          NewSlice
	}{
		{"no name", "needs a name", NewSlice{Name: " "}},
		{"a bad id", `slice id "../x"`, NewSlice{Name: "x", ID: "../x"}},
		{"an id that is there", "S-1 already exists", NewSlice{Name: "x", ID: "S-1"}},
		{"an id of the graph", "S-3 already exists", NewSlice{Name: "x", ID: "S-3"}},
		{"an id of a row", "STATE.md has a row S-7", NewSlice{Name: "x", ID: "S-7"}},
		{"an id that reads the same", "s01 reads the same as S-1", NewSlice{Name: "x", ID: "s01"}},
		{"an unknown dependency", `no such slice: "S-4", did you mean`, NewSlice{Name: "x", Deps: []string{"S-4"}}},
		{"a cycle through an id that others wait for", "S-9 -> S-3 -> S-2 -> S-1 -> S-9", NewSlice{Name: "x", ID: "S-9", Deps: []string{"S-3"}}},
		{"the same, spelt differently", "cycle", NewSlice{Name: "x", ID: "S-09", Deps: []string{"S-2"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := project(t, files())
			_, err := open(root).Add(t.Context(), tt.n)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
			for name, text := range files() {
				if get(t, root, name) != text {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
	t.Run("a graph that can't be read", func(t *testing.T) {
		f := files()
		f["GRAPH.json"] = `{"slices": `
		if _, err := open(project(t, f)).Add(t.Context(), NewSlice{Name: "x"}); err == nil || !strings.Contains(err.Error(), "GRAPH.json can't be read: line 1") {
			t.Error(err)
		}
	})
	t.Run("unknown is ErrNotFound", func(t *testing.T) {
		if _, err := open(project(t, files())).Add(t.Context(), NewSlice{Name: "x", Deps: []string{"none-such"}}); !errors.Is(err, tracker.ErrNotFound) {
			t.Error(err)
		}
	})
	t.Run("a row will do as a dependency", func(t *testing.T) {
		got, err := open(project(t, files())).Add(t.Context(), NewSlice{Name: "x", Deps: []string{"S-07"}})
		if err != nil || !equal(got.Deps, []string{"S-7"}) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestNextID(t *testing.T) {
	tests := []struct {
		ids, avoid []string
		want       string
	}{
		{nil, nil, "S-1"},
		{[]string{"S-1", "S-3"}, nil, "S-4"},
		{[]string{"S-01", "S-9"}, nil, "S-10"},
		{[]string{"S-08", "S-09"}, nil, "S-10"},
		{[]string{"S-001"}, nil, "S-002"},
		{[]string{"S-10", "S-11"}, nil, "S-12"},
		{[]string{"S4.1", "S4.12"}, nil, "S-5"},
		{[]string{"s-3"}, nil, "S-4"},
		{[]string{"auth", "search-12", "7"}, nil, "S-1"},
		{[]string{"S-1"}, []string{"S-5"}, "S-6"},
		{[]string{"S-99999999999999999999"}, nil, "S-1"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.ids, ","), func(t *testing.T) {
			files := map[string]string{"slices/README.md": ""}
			for _, id := range tt.ids {
				files["slices/"+id+".md"] = fmt.Sprintf(pendingSlice, id, "", id)
			}
			got, err := open(project(t, files)).Add(t.Context(), NewSlice{Name: "x", Avoid: tt.avoid})
			if err != nil || got.ID != tt.want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// An id that other slices wait for isn't assigned to a new slice by chance.
func TestNextIDAvoidsWhatOthersWaitFor(t *testing.T) {
	root := project(t, map[string]string{"slices/S-1.md": fmt.Sprintf(pendingSlice, "S-1", "S-2", "S-1")})
	if got, err := open(root).Add(t.Context(), NewSlice{Name: "x"}); err != nil || got.ID != "S-3" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAddsAtTheSameTime(t *testing.T) {
	root := project(t, map[string]string{"slices/README.md": "", "GRAPH.json": "{\"slices\": []}"})
	var wg sync.WaitGroup
	const n = 12
	for range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := open(root).Add(context.Background(), NewSlice{Name: "x"}); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	c, err := open(root).Load()
	if err != nil || len(c.Items) != n || len(c.Warnings) > 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	for i, it := range c.Items {
		if want := fmt.Sprintf("S-%d", i+1); it.ID != want || it.File == "" {
			t.Errorf("%+v, not %s", it, want)
		}
	}
}

func TestCreate(t *testing.T) {
	root := t.TempDir()
	graph := []byte(`{"slices": [{"id": "S-2", "name": "B", "deps": ["S-1"], "contracts": ["C-1"]}, {"id": "S-1", "description": "It begins"}]}`)
	s, err := Create(t.Context(), root, graph)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Load()
	if err != nil || len(c.Items) != 2 || len(c.Warnings) > 0 || c.Items[0].ID != "S-2" || c.Items[0].File == "" || c.Items[1].File == "" {
		t.Fatalf("%+v, %v", c, err)
	}
	if got := get(t, root, "GRAPH.json"); got != string(graph) {
		t.Error(got)
	}
	if got := get(t, root, "slices/S-1.md"); !strings.Contains(got, "## What\nIt begins\n") {
		t.Error(got)
	}
	if !json.Valid([]byte(get(t, root, "project-state.json"))) || get(t, root, ".gitignore") == "" {
		t.Error("project-state.json or .gitignore is wrong")
	}
	if stale, byHand, err := s.page.viewState(); stale || byHand || err != nil {
		t.Errorf("%v %v %v", stale, byHand, err)
	}
}

func TestCheckView(t *testing.T) {
	slice := fmt.Sprintf(pendingSlice, "S-1", "", "S-1")
	tests := []struct {
		name          string
		files         map[string]string
		stale, byHand bool
	}{
		{"none", map[string]string{"slices/S-1.md": slice}, true, false},
		{"old", map[string]string{"slices/S-1.md": slice, "STATE.md": "<!-- GENERATED -->\n"}, true, false},
		{"by hand", map[string]string{"slices/S-1.md": slice, "STATE.md": "# Mine\n"}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(project(t, tt.files))
			if stale, byHand, err := s.page.viewState(); stale != tt.stale || byHand != tt.byHand || err != nil {
				t.Errorf("%v %v %v", stale, byHand, err)
			}
			if err := s.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if stale, byHand, err := s.page.viewState(); stale || byHand || err != nil {
				t.Errorf("after a refresh: %v %v %v", stale, byHand, err)
			}
		})
	}
}

// In real graphs of many shapes, adding an entry changes no other byte.
func TestInsertEntryIntoRealGraphs(t *testing.T) {
	for _, f := range testfiles.Corpus(t, "greenlight/*GRAPH*.json", "project/.greenlight/GRAPH.json") {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		e := newEntry("S-999", "New", "S-1")
		got, err := insertEntry(data, e)
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		checkPieces(t, data, got)
		if string(data) == string(got) || strings.Count(string(got), "S-999") != 1 {
			t.Errorf("%s: the entry is missing", f)
		}
	}
}

func TestUnfinished(t *testing.T) {
	root := project(t, map[string]string{".slices.migrate-1/S-1.md": "", "slices/README.md": ""})
	s := open(root)
	if got := s.Dir.Unfinished(); !equal(got, []string{".greenlight/.slices.migrate-1"}) {
		t.Errorf("%q", got)
	}
	if err := s.Do(t.Context(), func(tracker.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := s.Dir.Unfinished(); got != nil {
		t.Errorf("%q is left", got)
	}
}
