package scripts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

func scriptReadme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// README.md describes every verb with an example, every part of the fake
// claude, every variable, and every condition that a script uses; and it describes none that
// doesn't exist.
func TestScriptReadme(t *testing.T) {
	text := scriptReadme(t)
	verbs, _, _ := strings.Cut(text, "### Conditions")
	_, agents, _ := strings.Cut(text, "## Agents")
	explained := map[string]bool{}
	for _, item := range strings.Split(verbs, "\n- `")[1:] {
		item, _, _ = strings.Cut(item, "\n\n")
		verb := regexp.MustCompile(`^[a-z]+`).FindString(item)
		explained[verb] = true
		if !strings.Contains(item, "`"+verb+" ") {
			t.Errorf("the README has no example of %s", verb)
		}
		if allCommands()[verb] == nil {
			t.Errorf("the README explains %s, which is no verb", verb)
		}
	}
	for verb := range allCommands() {
		if !explained[verb] {
			t.Errorf("the README doesn't explain the verb %s", verb)
		}
	}
	for part := range parts {
		if !regexp.MustCompile("(?m)^\\| [^|]*`" + part + "`[^|]*\\|").MatchString(agents) {
			t.Errorf("the README doesn't explain the part %s of the fake claude", part)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*)\\|").FindAllStringSubmatch(agents,
		-1) {
		for _, part := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if parts[part[1]] == nil {
				t.Errorf("the README explains %s, which is no part", part[1])
			}
		}
	}
	for _, name := range []string{"WORK", "FAKE_DIR", "FAKE_CLAUDE", "FAKE_EXIT", "GLBIN", "HOST"} {
		if !strings.Contains(text, name) {
			t.Errorf("the README doesn't explain the variable %s", name)
		}
	}
}

// The README names every condition that a script uses.
func TestScriptConditions(t *testing.T) {
	_, conditions, _ := strings.Cut(scriptReadme(t), "### Conditions")
	conditions, _, _ = strings.Cut(conditions, "## Agents")
	scripts, err := filepath.Glob(filepath.Join("*", "testdata", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	use := regexp.MustCompile(`(?m)^(?:\[[^\]]+\] *)+`)
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut(string(text), "\n-- ")
		for _, conds := range use.FindAllString(script, -1) {
			for _, c := range regexp.MustCompile(`\[!?([a-z]+)`).FindAllStringSubmatch(conds, -1) {
				if !strings.Contains(conditions, c[1]) {
					t.Errorf("%s uses the condition %s, which the README doesn't name", filepath.Base(path), c[1])
				}
			}
		}
	}
}

// The script in the README runs.
func TestReadmeScript(t *testing.T) {
	_, script, _ := strings.Cut(scriptReadme(t), "```txtar\n")
	script, _, ok := strings.Cut(script, "```\n")
	if !ok {
		t.Fatal("the README shows no script")
	}
	path := filepath.Join(t.TempDir(), "example.txtar")
	if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	runFiles(t, []string{path})
}
