package roadmap

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/core/plan"
)

var noon = time.Date(2031, 5, 6, 12, 0, 0, 0, time.UTC)

const shop = `# Roadmap of the shop

## Milestone: one [complete]

| Slice | Description | Date |
|-------|-------------|------|
| S-1 | Skeleton | 2026-03-01, again 2026-04-01 |

### Notes

| S-2 | Storage |
| S-1 | Twice |

## Milestone 2.1 — two [active]

~~~
## Milestone: not one
| S-8 | x |
~~~

## Milestone: three

## Milestone:

## Future Milestones

| S-9 | of no milestone |
`

func TestParse(t *testing.T) {
	got := Parse(shop)
	want := Roadmap{
		Milestones: []Milestone{{"one", "complete"}, {"two", "active"}, {"three", ""}},
		Rows:       map[string]Row{"Slice": {"one", ""}, "S-1": {"one", "2026-03-01"}, "S-2": {"one", ""}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestOwn(t *testing.T) {
	root := t.TempDir()
	_, err := Own(root)
	var missing *MissingError
	if !errors.As(err, &missing) || !errors.Is(err, fs.ErrNotExist) || missing.File != OwnFile {
		t.Errorf("%v", err)
	}
	if err := os.Mkdir(filepath.Join(root, ".greenlight"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, OwnFile), []byte(shop), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Own(root)
	if err != nil || r.File != OwnFile || r.Text != shop || len(r.Milestones) != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestDocument(t *testing.T) {
	item := func(id, status, milestone string) plan.Item {
		return plan.Item{ID: id, Status: status, Milestone: milestone}
	}
	p := plan.New(&plan.Snapshot{Items: plan.Pointers([]plan.Item{
		item("S-1", "complete", ""), item("S-2", "complete", "one"), item("S-3", "pending", "two"),
		item("S-4", "pending", "other"), item("S-5", "pending", ""),
	})}, noon, plan.Options{})
	r := Parse("## Milestone: one [complete]\n| S-1 | x |\n## Milestone: two\n## Milestone: one\n## Milestone: three\n")
	r.File, r.Text = OwnFile, "a\xff"
	got, err := json.Marshal(r.Document(p))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"schema_version":1,"file":".greenlight/ROADMAP.md","text":"a` + "\ufffd" + `","milestones":[` +
		`{"name":"one","status":"complete","done":2,"total":2},{"name":"two","status":null,"done":0,"total":1},` +
		`{"name":"three","status":null,"done":0,"total":0},{"name":"other","status":null,"done":0,"total":1},` +
		`{"name":null,"status":null,"done":0,"total":1}]}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	if empty := (&Roadmap{}).Document(plan.New(&plan.Snapshot{}, noon, plan.Options{})); empty.Milestones == nil {
		t.Error("no milestones are null")
	}
}
