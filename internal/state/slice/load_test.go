package slice

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// project writes the files of a project, given by path under .greenlight, and returns its root.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	testfiles.Write(t, filepath.Join(root, ".greenlight"), files)
	return root
}

func put(t testing.TB, root, name, text string) {
	t.Helper()
	testfiles.Put(t, filepath.Join(root, ".greenlight"), name, text)
}

func get(t testing.TB, root, name string) string {
	t.Helper()
	return testfiles.Get(t, filepath.Join(root, ".greenlight"), name)
}

// sliceText returns a small slice file; extra holds further lines of front matter.
func sliceText(id, status, extra string) string {
	return "---\nid: " + id + "\nstatus: " + status + "\n" + extra + "---\n\n# " + id + ": Name of " + id + "\n"
}

func load(t testing.TB, root string) *tracker.Contents {
	t.Helper()
	c, err := Open(root).Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func same(t *testing.T, root, name, want string) {
	t.Helper()
	if diff := cmp.Diff(want, get(t, root, name)); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

// brief formats items as "id status [deps]".
func brief(c *tracker.Contents) []string {
	var all []string
	for _, it := range c.Items {
		status := it.Status
		if it.Corrupt != "" {
			status = "corrupt"
		}
		all = append(all, fmt.Sprintf("%s %s %v", it.ID, status, it.Deps))
	}
	return all
}

const rows = "| ID | Name | Status | Tests | Security | Deps |\n|--|--|--|--|--|--|\n"

func TestLoad(t *testing.T) {
	tests := []struct {
		name     string
		files    map[string]string
		items    []string
		warnings []string // parts, in order
		evidence map[string]string
	}{
		{"no slices", map[string]string{"slices/": ""}, nil, nil, nil},
		{"natural order without a graph",
			map[string]string{"slices/S-10.md": sliceText("S-10", "ready", ""), "slices/S-2.md": sliceText("S-2", "complete", "")},
			[]string{"S-2 complete []", "S-10 ready []"}, nil, nil},
		{"union in the graph's order",
			map[string]string{"GRAPH.json": `{"slices":{"S-2":{"deps":["S-1"]},"S-1":{}}}`,
				"slices/S-1.md": sliceText("S-1", "pending", ""), "slices/S-0.md": sliceText("S-0", "pending", "")},
			[]string{"S-2 pending [S-1]", "S-1 pending []", "S-0 pending []"}, nil, nil},
		{"one slice in two spellings",
			map[string]string{"GRAPH.json": `{"slices":[{"id":"S-1"},{"id":"S-2","deps":["S-1"]},{"id":"S-3","deps":["s1"]}]}`,
				"slices/S-01.md": sliceText("S-01", "complete", "")},
			[]string{"S-01 complete []", "S-2 pending [S-01]", "S-3 pending [S-01]"}, nil, nil},
		{"two files that read the same are two slices",
			map[string]string{"GRAPH.json": `{"slices":["S-001"]}`,
				"slices/S-01.md": sliceText("S-01", "complete", ""), "slices/S-1.md": sliceText("S-1", "failed", "deps: s1\n")},
			[]string{"S-001 pending []", "S-01 complete []", "S-1 failed [s1]"}, []string{"S-01.md: reads the same as S-1"}, nil},
		{"state from rows, then from the backup",
			map[string]string{"GRAPH.json": `{"slices":["S-1","S-2","S-3"]}`, "slices/": "",
				"STATE.md":        "## Slices\n" + rows + "| S-01 | A | ✅ complete | 3 | 1 | none |\n",
				"STATE.md.backup": rows + "| S-1 | A | failed | 0 | 0 | - |\n| S-2 | B | done | 1 | 0 | S-1 |\n"},
			[]string{"S-1 complete []", "S-2 done [S-1]", "S-3 pending []"}, nil, nil},
		{"evidence for unknown dependencies",
			map[string]string{"GRAPH.json": `{"slices":{"S-5":{"deps":["S-4","S-7"]}}}`, "slices/": "",
				"STATE.md": rows + "| S-04 | A | complete | 3 | 1 | none |\n| S-5 | B | failed | 0 | 0 | none |\n"},
			[]string{"S-5 failed [S-04 S-7]"}, nil, map[string]string{"S-04": "complete"}},
		{"edges only where nobody else says",
			map[string]string{"GRAPH.json": `{"slices":[{"id":"a","deps":[]},"b","c"],"edges":[{"from":"a","to":"c"},{"from":"b","to":"c"},{"from":"c","to":"a"}]}`,
				"slices/c.md": sliceText("c", "pending", "deps: b\n")},
			[]string{"a pending []", "b pending [c]", "c pending [b]"}, nil, nil},
		{"graph and file disagree",
			map[string]string{"GRAPH.json": `{"slices":[{"id":"a","deps":["b","a"]},{"id":"b","deps":["a"]}]}`,
				"slices/a.md": sliceText("a", "pending", "deps: c\n"), "slices/b.md": sliceText("b", "pending", "deps: a, b\n")},
			[]string{"a pending [b]", "b pending [a]"},
			[]string{"GRAPH.json: a depends on itself", "a.md: deps (c) differ from GRAPH.json (b)"}, nil},
		{"malformed graph",
			map[string]string{"GRAPH.json": "{\"slices\": [\n", "slices/a.md": sliceText("a", "pending", "deps: b,a\n")},
			[]string{"a pending [b]"}, []string{"GRAPH.json: can't be read: line 2", "a.md: a depends on itself"}, nil},
		{"bad files",
			map[string]string{"slices/a.md": "no frontmatter", "slices/b.md": sliceText("c", "pending", ""), "slices/S-01 2.md": "x",
				"slices/README.md": "x", "slices/.hidden.md": "x", "slices/x.md.tmp": "x", "slices/notes.txt": "x", "slices/d.md/": "",
				"slices/e.md": "---\nstatus: x\n<<<<<<< HEAD\n---\n", "GRAPH.json": `{"slices":[{"id":"a","deps":["b"]},"b","e"]}`},
			[]string{"a corrupt [b]", "b pending []", "e corrupt []"},
			[]string{"S-01 2.md: ignored", "d.md: ignored: is a directory", "a.md: no frontmatter", "b.md: says id c", "e.md: merge conflict in line 3"}, nil},
		{"malformed project state",
			map[string]string{"slices/": "", "project-state.json": "{\n]"}, nil, []string{"project-state.json: ignored: line 2"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := load(t, project(t, tt.files))
			if diff := cmp.Diff(tt.items, brief(c)); diff != "" {
				t.Error(diff)
			}
			if len(c.Warnings) != len(tt.warnings) {
				t.Errorf("warnings: %v, want %q", c.Warnings, tt.warnings)
			} else {
				for i, w := range c.Warnings {
					if text := filepath.Base(w.Path) + ": " + w.Message; !strings.Contains(text, tt.warnings[i]) {
						t.Errorf("warning %q, want %q", text, tt.warnings[i])
					}
				}
			}
			if diff := cmp.Diff(tt.evidence, c.Evidence); tt.evidence != nil && diff != "" {
				t.Error(diff)
			}
			if unsure := tt.name == "malformed graph"; (c.Unsure != "") != unsure {
				t.Errorf("unsure: %q", c.Unsure)
			}
		})
	}
}

func TestLoadFields(t *testing.T) {
	root := project(t, map[string]string{
		"GRAPH.json":         `{"slices":{"S-1":{"name":"G","milestone":"M1","wave":1,"priority":"high"},"S-2":{"name":"From the graph"},"S-3":{"milestone":4}}}`,
		"slices/S-1.md":      "---\nid: S-1\nname: \"N | x\"\nstatus: In-Progress\nstep: tests\nmilestone: M2\nstarted: 2026-01-01\nupdated: u\ntests: 31/31\nsecurity_tests: 4\ntests_failing: 2\nsession: tok\nwaiting_for: a key\n---\n# Heading\n",
		"slices/S-2.md":      "---\nstatus: paused\nwaiting_for: none\ntests: many\n---\n# S-02 — \n",
		"slices/S-3.md":      "---\nstatus: pending\npriority: 5\n---\n# S-30: not this one's id\n",
		"project-state.json": `{"paused":{"s3":{}}}`,
	})
	changed := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, id := range []string{"S-1", "S-2", "S-3"} {
		if err := os.Chtimes(filepath.Join(root, ".greenlight", "slices", id+".md"), changed, changed); err != nil {
			t.Fatal(err)
		}
	}
	want := []*plan.Item{
		{ID: "S-1", Name: "N | x", Status: "In-Progress", Step: "tests", Milestone: "M2", Wave: 1, Priority: 1, Position: 0, Session: "tok",
			WaitingFor: "a key", Started: "2026-01-01", Updated: "u", Tests: 31, SecurityTests: 4, Failing: 2, File: ".greenlight/slices/S-1.md"},
		{ID: "S-2", Name: "From the graph", Status: "paused", Wave: plan.None, Priority: plan.None, Position: 1, File: ".greenlight/slices/S-2.md"},
		{ID: "S-3", Name: "S-30: not this one's id", Status: "pending", Paused: true, Milestone: "4", Wave: plan.None, Priority: 5, Position: 2, File: ".greenlight/slices/S-3.md"},
	}
	got := load(t, root).Items
	for i := range got {
		if !got[i].Changed.Equal(changed) {
			t.Errorf("%s changed at %v", got[i].ID, got[i].Changed)
		}
		got[i].Changed = time.Time{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSecondLoadSeesEveryChange(t *testing.T) {
	root := project(t, map[string]string{"slices/a.md": sliceText("a", "pending", ""), "slices/b.md": sliceText("b", "pending", "")})
	s := Open(root)
	step := func(want ...string) {
		t.Helper()
		c, err := s.Load()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, brief(c)); diff != "" {
			t.Error(diff)
		}
	}
	step("a pending []", "b pending []")
	for range 50 { // in place, same size, most likely within one tick of the file system's clock
		put(t, root, "slices/a.md", sliceText("a", "stalled", ""))
		step("a stalled []", "b pending []")
		put(t, root, "slices/a.md", sliceText("a", "pending", ""))
		step("a pending []", "b pending []")
	}
	put(t, root, "GRAPH.json", `{"slices":[{"id":"b","deps":["a"]},"c"]}`)
	step("b pending [a]", "c pending []", "a pending []")
	put(t, root, "STATE.md", rows+"| c | C | complete | 0 | 0 | none |\n")
	step("b pending [a]", "c complete []", "a pending []")
	if err := os.Remove(filepath.Join(root, ".greenlight/slices/a.md")); err != nil {
		t.Fatal(err)
	}
	step("b pending [a]", "c complete []")
}

func TestAnUnchangedFileIsNotReadAgain(t *testing.T) {
	root := project(t, map[string]string{"slices/a.md": sliceText("a", "pending", "")})
	path := filepath.Join(root, ".greenlight/slices/a.md")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	sleepTick(t)() // this time can't be set
	s := Open(root)
	for range 2 {
		if _, err := s.Load(); err != nil {
			t.Fatal(err)
		}
	}
	first := s.files.cache.get("a")
	if _, err := s.Load(); err != nil || s.files.cache.get("a") != first || !first.trusted {
		t.Errorf("read again: %v", err)
	}
}

func TestDanglingLinkIsCorrupt(t *testing.T) {
	root := project(t, map[string]string{"slices/": ""})
	if err := os.Symlink("nowhere", filepath.Join(root, ".greenlight/slices/a.md")); err != nil {
		t.Skip(err)
	}
	if diff := cmp.Diff([]string{"a corrupt []"}, brief(load(t, root))); diff != "" {
		t.Error(diff)
	}
}

func TestDetect(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  string
		err   string
	}{
		{"slices", map[string]string{"slices/": "", "STATE.md": ""}, "slices", ""},
		{"legacy", map[string]string{"STATE.md": ""}, "legacy", ""},
		{"nothing", map[string]string{"GRAPH.json": "{}"}, "", "run gl init"},
		{"a file", map[string]string{"slices": "", "STATE.md": ""}, "", "slices is not a directory"},
		{"a directory", map[string]string{"STATE.md/": ""}, "", "STATE.md is a directory"},
	}
	for _, tt := range tests {
		root := project(t, tt.files)
		got, err := Detect(root)
		if got != tt.want || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
		if errors.Is(err, ErrNoState) != (tt.name == "nothing") {
			t.Errorf("%s: %v", tt.name, err)
		}
		if _, lerr := Open(root).Load(); (lerr == nil) != (err == nil && got == Slices) {
			t.Errorf("%s: Load says %v", tt.name, lerr)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{50, 1000, 10000} {
		root := many(b, n)
		b.Run(fmt.Sprintf("cold/%d", n), func(b *testing.B) {
			for b.Loop() {
				load(b, root)
			}
		})
		s := Open(root)
		b.Run(fmt.Sprintf("warm/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Load(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// many creates a project of n slices, dated yesterday.
func many(b testing.TB, n int) string {
	root := project(b, map[string]string{"slices/": ""})
	var graph []string
	old := time.Now().Add(-24 * time.Hour)
	for i := range n {
		id := fmt.Sprintf("S-%d", i)
		dep := fmt.Sprintf("S-%d", i/2)
		graph = append(graph, fmt.Sprintf(`{"id":%q,"name":"Slice %d","description":%q,"deps":[%q],"wave":%d}`, id, i, strings.Repeat("words ", 40), dep, i/10))
		put(b, root, "slices/"+id+".md", sliceText(id, "pending", "step: none\ntests: 3\ndeps: "+dep+"\n")+strings.Repeat("some prose here\n", 50))
		if err := os.Chtimes(filepath.Join(root, ".greenlight/slices", id+".md"), old, old); err != nil {
			b.Fatal(err)
		}
	}
	put(b, root, "GRAPH.json", `{"slices":[`+strings.Join(graph[min(1, n):], ",")+`]}`)
	return root
}
