package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// swStates are states in which each part of the document is present or absent.
var swStates = map[string]string{
	"full": `{"version": "2.0", "lastUpdated": "2026-03-04T12:00:00Z",
		"currentWork": {"id": "w", "description": "W", "status": "verified", "workDir": "d", "unitId": "u", "tasksTotal": 2,
			"tasksCompleted": ["a", 2, {"id": "c"}], "currentTask": "d", "intensity": "quick"},
		"gates": {"spec": {"status": "PASS", "lastRun": "2026-03-04T12:00:00Z", "evidence": "e.md", "findings": 3}, "gate-x": {"verdict": "ODD", "timestamp": "soon"},
			"u": {"tests": {"status": "FAIL", "findings": {"block": 1}}}, "word": "PASS"},
		"workUnits": [{"id": "v", "order": 2.5}, {"id": "u", "status": "building", "order": 1, "workDir": "d", "description": "U"}],
		"lock": {"skill": "sw-build", "since": "2026-03-04T12:00:00Z", "holder": "x"}}`,
	"plain":    `{"version": "2.0", "currentWork": null, "gates": {}, "workUnits": null, "lock": "sw-build"}`,
	"nothing":  `{}`,
	"odd":      `{"version": 2, "currentWork": {"tasksTotal": "many", "tasksCompleted": 7}, "gates": [], "workUnits": {}, "lock": [1]}`,
	"of three": `{"version": "3.0", "id": "w", "status": "building", "tasksCompleted": []}`,
}

func TestSpecwrightStatusIsAsItsSchemaSays(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for name, state := range swStates {
		root := t.TempDir()
		dir := filepath.Join(root, ".specwright", "state")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{filepath.Join(dir, "workflow.json"): state,
			filepath.Join(root, "e.md"): ""} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		printed := output(t, "sw", "status", "--json", "-C", root)
		if err := conforms(t, "sw-status", printed); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name != "full" {
			continue
		}
		for key, part := range object(t, printed) {
			// parts that are null or empty in the full document aren't tested
			if list, ok := part.([]any); part == nil ||
				ok && len(list) == 0 && key != "gates_missing" {
				t.Errorf("%s is %v", key, part)
			}
		}
	}
}
