package slice_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"greenlight/internal/state/slice"
	"greenlight/internal/state/tracker"
	"greenlight/internal/state/tracker/trackertest"
)

// edit changes a file like an editor that takes no lock.
func edit(t testing.TB, root, name string, f func(text string) string) {
	t.Helper()
	path := filepath.Join(root, ".greenlight", filepath.FromSlash(name))
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(f(string(data))), 0o644); err != nil {
		t.Fatal(err)
	}
}

func write(text string) func(string) string { return func(string) string { return text } }

func makeSlices(t testing.TB, root string) []string {
	edit(t, root, "slices/S-1.md", write("\ufeff---\r\nid: S-1\r\n# who: ann\nstatus: \"pending\"   # not yet\r\nowner:\t'Ann'\nstep: none\n"+
		"started:\nupdated: 2026-01-01T00:00:00Z\nsession: ''\nlabels: [a, \"b, c\"]\n---\n\n# S-1: One\n\n```\nstatus: x\n```\n  trailing  \n"))
	edit(t, root, "slices/S-2.md", write("---\nid: S-2\nstatus: pending\nstep: none\nsession:\ndeps: S-1\n---\n# S-2: Two"))
	edit(t, root, "GRAPH.json", write("{\"own\": 1.0, \"slices\": [ {\"id\":\"S-1\",\"deps\":[]},\n\t\t{\"id\":\"S-2\",\"deps\":[\"S-1\"], \"x\":null}, {\"id\":\"S-3\",\"name\":\"Three\",\"deps\":[\"S-2\"]} ]}\n"))
	edit(t, root, "project-state.json", write(`{ "mine": 1e3, "blockers":["a"] }`))
	edit(t, root, "STATE.md", write("<!-- GENERATED -->\n# State\n\n## Mine\n  kept\n"))
	return []string{"S-1", "S-2", "S-3"}
}

func TestConformance(t *testing.T) {
	session := regexp.MustCompile(`(?m)^session:.*$`)
	trackertest.Run(t, trackertest.Format{
		Open: func(root string, now func() time.Time) tracker.Tracker {
			s := slice.Open(root)
			s.Dir.Now = now
			return s
		},
		Make: makeSlices,
		Edit: func(t testing.TB, root, mark string) {
			edit(t, root, "slices/S-1.md", func(text string) string { return text + "- " + mark + "\n" })
		},
		TakeOver: func(t testing.TB, root, who string) {
			edit(t, root, "slices/S-1.md", func(text string) string { return session.ReplaceAllString(text, "session: "+who) })
		},
		Corrupt: map[string]func(testing.TB, string){
			"no frontmatter": func(t testing.TB, root string) { edit(t, root, "slices/S-1.md", write("# S-1\r\n\x00")) },
			"empty":          func(t testing.TB, root string) { edit(t, root, "slices/S-1.md", write("")) },
			"a conflict": func(t testing.TB, root string) {
				edit(t, root, "slices/S-1.md", func(text string) string {
					return text + "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> branch\n"
				})
			},
			"half written": func(t testing.TB, root string) {
				edit(t, root, "slices/S-1.md", func(text string) string { return text[:30] })
			},
		},
		Writes: map[string]string{".greenlight/slices/S-1.md": `^(status|session|started|updated|step):`},
	})
}
