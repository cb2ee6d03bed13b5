package gsd

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"greenlight/internal/state/tracker"
	"greenlight/internal/state/tracker/trackertest"
)

func TestConformance(t *testing.T) {
	const claims = ".greenlight/runs/gsd.json"
	put := func(name, text string) func(testing.TB, string) {
		return func(t testing.TB, root string) { write(t, root, map[string]string{name: text}) }
	}
	trackertest.Run(t, trackertest.Format{
		Open: func(root string, now func() time.Time) tracker.Tracker {
			tr := Open(root)
			tr.Now, tr.getenv = now, func(string) string { return "" }
			return tr
		},
		Make: func(t testing.TB, root string) []string {
			write(t, root, map[string]string{
				".planning/STATE.md": "---\nmilestone: v1.0 # kept\nown: 'x'\nstatus: planning\n---\r\n\n# State\n\nPhase: 1 of 3 (One)\n",
				".planning/ROADMAP.md": "# Roadmap\n\n## Phases\n\n### Phase 1: One\n**Depends on**: Nothing\n\n### Phase 2: Two\n**Depends on**: Phase 1\n\n" +
					"### Phase 3: Three\n**Depends on**: Phase 2\n",
				".planning/phases/01-one/01-CONTEXT.md": "kept  \r\n",
			})
			return []string{"1", "2", "3"}
		},
		Edit: func(t testing.TB, root, mark string) {
			data, err := os.ReadFile(filepath.Join(root, ".planning/STATE.md"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, root, map[string]string{".planning/STATE.md": string(data) + "- " + mark + "\n"})
		},
		TakeOver: func(t testing.TB, root, session string) {
			text := "{}\n"
			if session != "" {
				text = fmt.Sprintf("{\"1\": {\"session\": %q}}\n", session)
			}
			write(t, root, map[string]string{claims: text})
		},
		Corrupt: map[string]func(testing.TB, string){
			"bad claims":       put(claims, `{"1": `),
			"no such phase":    put(".planning/ROADMAP.md", "# Roadmap\n\n- nothing here\n"),
			"an empty roadmap": put(".planning/ROADMAP.md", ""),
		},
		Writes: map[string]string{".planning/STATE.md": `^active_phase: `},
		Lacks: map[trackertest.Lack]string{
			trackertest.Failure: "the attempt's record alone says it",
			trackertest.Halfway: "the files say which step is next, whether anybody is at it or not",
			trackertest.Shared:  "GSD has no word for a claim, so the token is in a file of gl's own",
		},
	})
}
