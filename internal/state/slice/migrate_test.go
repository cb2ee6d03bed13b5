package slice

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
)

const tableText = `# Project State

## Slices

| ID | Name | Status | Tests | Security | Deps |
|----|------|--------|-------|----------|------|
| S-01 | One | done | 31/31 | 2 | none |
| S-2 | Two | in-progress | 3 | 0 | S-01 |
| S-3 | Three | blocked | 0 | 0 | S-01..S-02, S-99 |

## Decisions

- D-1: first

## Blockers

- no key yet
`

// tree reads all files under .greenlight except the lock, the count of changes and .gitignore.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	return testfiles.All(t, filepath.Join(root, ".greenlight"), ".lock", ".gitignore", viewFile)
}

// source returns the legacy project at root as package legacy reads it, without a side file.
func source(root string) func() (*Source, error) {
	return func() (*Source, error) {
		data, err := os.ReadFile(filepath.Join(root, ".greenlight/STATE.md"))
		src := &Source{State: data}
		for _, r := range ReadStateMD(data).Rows() {
			src.Rows = append(src.Rows, RowSlice{Row: r, Side: Side{"step": StepOf(r.Status)}})
		}
		return src, err
	}
}

// An agent writes STATE.md between the migration's read and its commit, and once more right
// after it.
func TestMigrateAgainstAWriterWithoutTheLock(t *testing.T) {
	root := project(t, map[string]string{"STATE.md": tableText})
	s := open(root)
	m, err := s.migrator.planMigration(source(root))
	if err != nil {
		t.Fatal(err)
	}
	late := strings.Replace(tableText, "| blocked |", "| complete |", 1)
	put(t, root, "STATE.md", late)
	if err := s.migrator.commitMigration(m); err == nil {
		t.Fatal("an old STATE.md was migrated")
	}
	if m, err = s.migrator.planMigration(source(root)); err != nil {
		t.Fatal(err)
	}
	if err := s.migrator.commitMigration(m); err != nil {
		t.Fatal(err)
	}
	put(t, root, "STATE.md", "<!-- GENERATED -->\nlast words\n")
	done, err := open(root).Migrate(t.Context(), false)
	if err != nil || !done.Finished || len(done.Warnings) != 3 || !strings.Contains(done.Warnings[2], "STATE.md.backup.2") {
		t.Fatalf("%+v, %v", done, err)
	}
	files := tree(t, root)
	if files["STATE.md.backup"] != tableText || files["STATE.md.backup.1"] != late || files["STATE.md.backup.2"] != "<!-- GENERATED -->\nlast words\n" {
		t.Errorf("%v", files)
	}
	if !strings.Contains(files["slices/S-3.md"], "status: complete") {
		t.Errorf("%s", files["slices/S-3.md"])
	}
}

// Any later change completes a migration that was killed after its commit.
func TestAnyChangeCompletesAMigration(t *testing.T) {
	root := project(t, map[string]string{"STATE.md": tableText})
	s := open(root)
	m, err := s.migrator.planMigration(source(root))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.migrator.commitMigration(m); err != nil {
		t.Fatal(err)
	}
	if c := load(t, root); len(c.Items) != 3 {
		t.Errorf("%v", brief(c))
	}
	if dry, err := open(root).Migrate(t.Context(), true); err != nil || !dry.Finished || dry.Slices != 3 {
		t.Errorf("%+v, %v", dry, err)
	}
	if err := open(root).Edit(t.Context(), "S-3", func(f *File) error { return f.Set("status", "ready") }); err != nil {
		t.Fatal(err)
	}
	files := tree(t, root)
	if files["slices/"+journalFile] != "" || !generated(files["STATE.md"]) || !strings.Contains(files[projectFile], "no key yet") ||
		!strings.Contains(files["DECISIONS.md"], "- D-1: first") {
		t.Errorf("%v", files)
	}
}

func TestDecisions(t *testing.T) {
	for text, want := range map[string][]string{
		"## Decisions\n\nNone\n":      nil,
		"## Decisions\n\nNone yet.\n": {"None yet."},
		"":                            nil,
		"## Decisions\n- a\n- b\r\n\n  c\n\n## X":     {"- a", "- b\n  c"},
		"## Decisions\n| a |\n|--|\n| b |\n\npara\nx": {"| a |\n|--|\n| b |", "para\nx"},
	} {
		if diff := cmp.Diff(want, decisionsIn(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	once, added := withDecisions("\ufeffold\r\n- a", []string{"- a", "- b\n  c", "para"})
	if want := "\ufeffold\r\n- a\r\n\r\n## From STATE.md\r\n\r\n- b\r\n  c\r\n\r\npara\r\n"; once != want || len(added) != 2 {
		t.Errorf("%q", once)
	}
	if twice, added := withDecisions(once, []string{"- a", "- b\n  c", "para"}); twice != once || added != nil {
		t.Errorf("%q", twice)
	}
	if text, _ := withDecisions("", []string{"- a", "- b"}); text != "# Decisions\n\n- a\n- b\n" {
		t.Errorf("%q", text)
	}
}
