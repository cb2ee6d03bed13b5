package doctor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/project"
	"greenlight/internal/slice"
)

// configured is a project with that config.json.
func configured(t *testing.T, config []byte) *project.Project {
	t.Helper()
	root := t.TempDir()
	if _, err := slice.Create(t.Context(), root, []byte(`{"slices": {}}`)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".greenlight", "config.json"), config, 0o644); err != nil {
		t.Fatal(err)
	}
	pr, err := project.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return pr
}

// What gl init writes out is what holds without it.
func TestDefaultConfigSaysTheDefaults(t *testing.T) {
	pr := configured(t, project.DefaultFile())
	if pr.ConfigErr != nil {
		t.Fatal(pr.ConfigErr)
	}
	want := project.DefaultConfig()
	want.Agents = map[string][]string{}
	if diff := cmp.Diff(want, pr.Config); diff != "" {
		t.Error(diff)
	}
	if stray := strayKeys(project.DefaultFile()); len(stray) > 0 {
		t.Error(stray)
	}
}

// Every key that gl init writes, and so every key that gl doctor takes for one, is read.
func TestEveryKnownKeyIsRead(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal(project.DefaultFile(), &doc); err != nil {
		t.Fatal(err)
	}
	parallel := doc["parallel"].(map[string]any)
	for key := range parallel {
		parallel[key] = true
	}
	bad, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	pr := configured(t, bad)
	for key := range parallel {
		if pr.ConfigErr == nil || !strings.Contains(pr.ConfigErr.Error(), "parallel."+key+" ") {
			t.Errorf("nobody reads parallel.%s: %v", key, pr.ConfigErr)
		}
	}
}

func TestStrayKeys(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{`{"own": 1, "mode": "yolo", "parallel": {"max": 1}}`, nil},
		{`{"parallel": {"Max": 1}}`, []string{"parallel.Max isn't a setting, did you mean max?"}},
		{`{"parallel": {"watch": 1, "zzz": 2}}`, []string{"parallel.watch isn't a setting, did you mean watch_interval_seconds?", "parallel.zzz isn't a setting"}},
		{`{"Parallel": {}}`, []string{`"Parallel" isn't a section, did you mean parallel?`}},
		{`{"max": 3, "agents": {}}`, []string{"max belongs in the section parallel"}},
		{`{"parallel": 3}`, nil},
		{`[`, nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, strayKeys([]byte(tt.text))); diff != "" {
			t.Errorf("%s: %s", tt.text, diff)
		}
	}
}

func TestOlder(t *testing.T) {
	for version, want := range map[string]bool{
		"3.2": false, "3.3a": false, "3.1c": true, "2.9": true, "next-3.5": false, "openbsd-7.4": false, "10.0": false,
		"master": false, "": false,
	} {
		if got := older(version, oldestTmux); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
	if older("2.39.5.windows.1", oldestGit) || !older("2.29.3", oldestGit) || older("2.30.0", oldestGit) {
		t.Error("git's versions")
	}
}
