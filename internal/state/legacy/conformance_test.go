package legacy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"greenlight/internal/state/tracker"
	"greenlight/internal/state/tracker/trackertest"
)

func makeLegacy(t testing.TB, root string) []string {
	put(t, root, "STATE.md", "\ufeff# Project State\r\n\r\nprose | S-1 | here\r\n\r\n## Slices\r\n\r\n"+
		"| Status      | ID   | Name | Tests | Deps | Owner |\r\n|---|---|---|---|---|---|\r\n"+
		"| **pending** | `S-1` | A \\| B | - | -- | ann |\r\n"+
		"|pending|S-2|Two|31/31|S-1|  |\n"+
		"| pending | S-3 | Three | x | S-2 |\r\n\r\n"+
		"## Current\r\n\r\nSlice: none yet\r\nStep: none\r\n* **Last activity:** 2026-01-01 -- begun\r\n\r\n## Mine\r\n```\n| S-1 | x |\n```\r\n")
	put(t, root, "GRAPH.json", "{\"own\": 1.0, \"slices\": [\"S-1\", \"S-2\", \"S-3\"] }")
	return []string{"S-1", "S-2", "S-3"}
}

func TestConformance(t *testing.T) {
	trackertest.Run(t, trackertest.Format{
		Open: func(root string, now func() time.Time) tracker.Tracker {
			s := Open(root)
			s.Dir.Now = now
			return s
		},
		Make: makeLegacy,
		Edit: func(t testing.TB, root, mark string) {
			put(t, root, "STATE.md", get(t, root, "STATE.md")+"- "+mark+"\r\n")
		},
		TakeOver: func(t testing.TB, root, session string) {
			put(t, root, "runs/legacy.json", fmt.Sprintf("{\"S-1\": {\"session\": %q, \"changed\": \"2026-01-01T00:00:00Z\"}}\n", session))
		},
		Corrupt: map[string]func(testing.TB, string){
			"no table":      func(t testing.TB, root string) { put(t, root, "STATE.md", "# State\x00\n\n| a | b |\n") },
			"empty":         func(t testing.TB, root string) { put(t, root, "STATE.md", "") },
			"bad side file": func(t testing.TB, root string) { put(t, root, "runs/legacy.json", "{\"S-1\": ") },
			"side file is a directory": func(t testing.TB, root string) {
				path := filepath.Join(root, ".greenlight/runs/legacy.json")
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
				put(t, root, "runs/legacy.json/x", "y")
			},
			"half written": func(t testing.TB, root string) {
				text := get(t, root, "STATE.md")
				put(t, root, "STATE.md", text[:strings.Index(text, "| Status")+8])
			},
		},
		Writes: map[string]string{".greenlight/STATE.md": "^(\\|[^|]*\\| `S-1`|Slice:|Step:|\\* \\*\\*Last activity:)"},
	})
}
