package project

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/state/roadmap"
)

// Of several systems, the first with a roadmap counts.
func TestRoadmap(t *testing.T) {
	const (
		own     = ".greenlight/ROADMAP.md"
		slice   = ".greenlight/slices/S-1.md"
		theirs  = ".planning/ROADMAP.md"
		ownText = "## Milestone: one [active]\n"
		gsdText = "# Roadmap\n\n## Milestones\n\n- ✅ **v1.0 First** — Phases 1-2 (shipped)\n- **v1.1 Second** — Phases 3-4\n"
	)
	for _, tt := range []struct {
		name         string
		files        map[string]string
		system, file string
		milestones   []roadmap.Milestone
		missing      string // part of the error
	}{
		{"Greenlight's", map[string]string{slice: "", own: ownText}, "greenlight", own, []roadmap.Milestone{{Name: "one", Status: "active"}}, ""},
		{"both", map[string]string{slice: "", own: ownText, theirs: gsdText}, "greenlight", own, []roadmap.Milestone{{Name: "one", Status: "active"}}, ""},
		{"GSD's, beside slices", map[string]string{slice: "", theirs: gsdText}, "gsd", theirs,
			[]roadmap.Milestone{{Name: "v1.0", Status: "shipped"}, {Name: "v1.1"}}, ""},
		{"none", map[string]string{slice: ""}, "greenlight", "", nil, "run gl roadmap milestone"},
		{"none of GSD's", map[string]string{".planning/STATE.md": ""}, "gsd", "", nil, "new-project"},
	} {
		pr, err := Open(tree(t, tt.files))
		if err != nil {
			t.Fatal(err)
		}
		view, r, err := pr.Roadmap()
		if view.System().Key != tt.system {
			t.Errorf("%s: it is the one of %s", tt.name, view.System().Key)
		}
		if tt.missing != "" {
			if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), tt.missing) {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if err != nil || r.File != tt.file || r.Text != tt.files[tt.file] {
			t.Errorf("%s: %+v, %v", tt.name, r, err)
		} else if d := cmp.Diff(tt.milestones, r.Milestones); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}
