package specwright

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"greenlight/internal/state/tracker"
	"greenlight/internal/state/tracker/trackertest"
)

// conformState is laid out as the protocol requires, with additions that agents leave.
const conformState = `{
  "version": "2.0",
  "notes": "kept",
  "currentWork": {
    "id": "shop",
    "description": "A shop é \\u0041",
    "status": "building",
    "unitId": "cart",
    "tasksTotal": 1.50e1,
    "tasksCompleted": [],
    "mine": {
      "deep": null
    }
  },
  "workUnits": [
    {
      "id": "cart",
      "status": "building",
      "order": 1
    },
    {
      "id": "pay",
      "status": "planned",
      "order": 2,
      "x": []
    },
    {
      "id": "mail",
      "status": "planned",
      "order": 3
    }
  ],
  "gates": {},
  "lock": null,
  "lastUpdated": "2026-01-01T00:00:00.000Z"
}
`

func TestConformance(t *testing.T) {
	lock := regexp.MustCompile(`"lock": (null|\{[^}]*\})`)
	edit := func(t testing.TB, root string, f func(text string) string) {
		t.Helper()
		path := filepath.Join(root, filepath.FromSlash(StateFile))
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f(string(data))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	trackertest.Run(t, trackertest.Format{
		Open: func(root string, now func() time.Time) tracker.Tracker {
			s := Open(root)
			s.Now = now
			return s
		},
		Make: func(t testing.TB, root string) []string {
			path := filepath.Join(root, filepath.FromSlash(StateFile))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(conformState), 0o644); err != nil {
				t.Fatal(err)
			}
			return []string{"cart", "pay", "mail"}
		},
		Edit: func(t testing.TB, root, mark string) {
			edit(t, root, func(text string) string { return strings.Replace(text, `"notes": "`, `"notes": "`+mark+" ", 1) })
		},
		TakeOver: func(t testing.TB, root, session string) {
			now := "null"
			if session != "" {
				now = fmt.Sprintf(`{"skill": "sw-build", "since": %q, "holder": %q}`, time.Now().UTC().Format(time.RFC3339), session)
			}
			edit(t, root, func(text string) string { return lock.ReplaceAllString(text, `"lock": `+now) })
		},
		Corrupt: map[string]func(testing.TB, string){
			"half written": func(t testing.TB, root string) { edit(t, root, func(text string) string { return text[:100] }) },
			"empty":        func(t testing.TB, root string) { edit(t, root, func(string) string { return "" }) },
			"a conflict": func(t testing.TB, root string) {
				edit(t, root, func(text string) string { return "<<<<<<< HEAD\n" + text })
			},
			"a list": func(t testing.TB, root string) { edit(t, root, func(string) string { return "[]\n" }) },
		},
		Writes: map[string]string{StateFile: `^  ("lock":|  "(skill|since|holder)":|},?\s*$|"lastUpdated":)`},
		Lacks: map[trackertest.Lack]string{
			trackertest.Failure: "the attempt's record alone says it",
			trackertest.Halfway: "a unit is building, whether anybody is at it or not",
			trackertest.Earlier: "the lock has one holder, and settling releases it",
		},
	})
}
