package changelog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/core/plan"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.Local)

// shop creates summaries of two slices, of a removed slice and of tasks, and files that aren't
// summaries.
func shop(t *testing.T) (root string, p *plan.Plan) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"ROADMAP.md":                            "## Milestone: first\n\n| s-10 | Export | 2024-02-28 |\n",
		"summaries/S-2-SUMMARY.md":              "# S-2: Storage\n\n## What Changed\nFiles are kept.\n",
		"summaries/s-10-SUMMARY.md":             "# Export\n\nAll can be taken out.\n",
		"summaries/S-3-SUMMARY.md":              "# S-3\n\n**Milestone:** later\n**Completed:** 2024-03-02\n\nPeople find things.\n",
		"summaries/S-4.md":                      "# No summary of any slice\n",
		"summaries/.S-2-SUMMARY.md":             "# A hidden file\n",
		"summaries/notes.txt":                   "Notes.\n",
		"summaries/quick-20240305-a-SUMMARY.md": "# A typo\n\nIt is gone.\n",
		"summaries/quick-20240306-b-SUMMARY.md": "B\xff.\n",
	} {
		path := filepath.Join(root, ".greenlight", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p = plan.New(&plan.Snapshot{Items: []*plan.Item{
		{ID: "S-2", Name: "Store", Status: "complete", Milestone: "first", Updated: "2024-03-01T00:00:00Z"},
		{ID: "S-10", Name: "Export", Status: "pending"},
	}}, noon, plan.Options{})
	return root, p
}

func filter(t *testing.T, milestone, since string) Filter {
	t.Helper()
	f, err := NewFilter(milestone, since, noon)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestReadAndNew(t *testing.T) {
	root, p := shop(t)
	all, bad, err := Read(root, p, func(string) bool { return false })
	if err != nil || len(bad) > 0 {
		t.Fatal(bad, err)
	}
	ptr := func(s string) *string { return &s }
	storage := Entry{"S-2", "Storage", ptr("2024-03-01"), Dir + "/S-2-SUMMARY.md", "Files are kept.", "## What Changed\nFiles are kept."}
	export := Entry{"S-10", "Export", ptr("2024-02-28"), Dir + "/s-10-SUMMARY.md", "All can be taken out.", "All can be taken out."}
	search := Entry{"S-3", "S-3", ptr("2024-03-02"), Dir + "/S-3-SUMMARY.md", "People find things.",
		"**Milestone:** later\n**Completed:** 2024-03-02\n\nPeople find things."}
	typo := Entry{"quick-20240305-a", "A typo", ptr("2024-03-05"), Dir + "/quick-20240305-a-SUMMARY.md", "It is gone.", "It is gone."}
	other := Entry{"quick-20240306-b", "quick-20240306-b", ptr("2024-03-06"), Dir + "/quick-20240306-b-SUMMARY.md", "B\ufffd.", "B\ufffd."}
	for _, tt := range []struct {
		f    Filter
		want Document
	}{
		{Filter{}, Document{Milestones: []Milestone{{ptr("later"), []Entry{search}}, {ptr("first"), []Entry{storage, export}}},
			Quick: []Entry{other, typo}}},
		{filter(t, "first", ""), Document{Milestone: ptr("first"), Milestones: []Milestone{{ptr("first"), []Entry{storage, export}}},
			Quick: []Entry{}}},
		{filter(t, "", "2024-03-02"), Document{Since: ptr("2024-03-02"), Milestones: []Milestone{{ptr("later"), []Entry{search}}},
			Quick: []Entry{other, typo}}},
		{filter(t, "first", "2024-03-02"), Document{Milestone: ptr("first"), Since: ptr("2024-03-02"), Milestones: []Milestone{}, Quick: []Entry{}}},
	} {
		tt.want.SchemaVersion = 1
		got := New(all, tt.f)
		if d := cmp.Diff(&tt.want, got); d != "" {
			t.Errorf("%q, %q: %s", tt.f.Milestone, tt.f.Since, d)
		}
		if got.IsEmpty() != (len(tt.want.Milestones)+len(tt.want.Quick) == 0) {
			t.Errorf("%q, %q: empty is %v", tt.f.Milestone, tt.f.Since, got.IsEmpty())
		}
	}
	if !HasMilestone(all, "later") || HasMilestone(all, "never") {
		t.Error("later is a milestone, and never is none")
	}
}

// A file that can't be read doesn't hide the others.
func TestReadNamesBadFiles(t *testing.T) {
	root, p := shop(t)
	broken := filepath.Join(root, Dir, "S-9-SUMMARY.md")
	if err := os.Symlink("nowhere", broken); err != nil {
		t.Fatal(err)
	}
	all, bad, err := Read(root, p, func(string) bool { return false })
	if err != nil || len(all) != 5 || len(bad) != 1 || !strings.Contains(bad[0].Error(), "S-9-SUMMARY.md is a symbolic link") {
		t.Errorf("%d summaries, %v, %v", len(all), bad, err)
	}
	// Without summaries, the titles of finished slices are listed.
	all, bad, err = Read(t.TempDir(), p, func(string) bool { return false })
	if len(all) != 1 || all[0].Entry.Title != "Store" || len(bad) > 0 || err != nil {
		t.Errorf("without summaries: %v, %v, %v", all, bad, err)
	}
}
