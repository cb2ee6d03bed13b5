package cli

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/run/project/projecttest"

	"github.com/google/go-cmp/cmp"
)

// gl alone offers what comes next in every state of a project, and never fails.
func TestFrontNext(t *testing.T) {
	pending := "---\nid: S-1\nstatus: pending\n---\n"
	held := `{"until": "2099-01-01T00:00:00Z", "since": "2026-01-01T00:00:00Z", "kind": "person"}`
	for name, c := range map[string]struct {
		files map[string]string
		place string
		next  []string
	}{
		"empty": {nil, inProject, []string{`gl add-slice "NAME"`, "gl init"}},
		"ready": {map[string]string{"slices/S-1.md": pending}, inProject,
			[]string{"gl slice --watch", "gl slice --dry-run"}},
		"done": {map[string]string{"slices/S-1.md": "---\nid: S-1\nstatus: complete\n---\n"},
			inProject, []string{"gl report", "git init && git add . && git commit -m start"}},
		"done in a repository": {map[string]string{"slices/S-1.md": "---\nid: S-1\nstatus: complete\n---\n",
			"../.git/HEAD": "ref: refs/heads/main\n", "../.git/refs/none": "", "../.git/objects/none": ""},
			inProject, []string{"gl report", `gl do "TEXT"`}},
		"failed": {map[string]string{"slices/S-1.md": "---\nid: S-1\nstatus: failed\n---\n"},
			inProject, []string{"gl review"}},
		"failed and ready": {map[string]string{"slices/S-1.md": pending,
			"slices/S-2.md": "---\nid: S-2\nstatus: failed\n---\n"}, inProject,
			[]string{"gl review", "gl slice --watch"}},
		"held": {map[string]string{"slices/S-1.md": pending, "runs/hold.json": held}, inProject,
			[]string{"gl hold --lift", "gl slice --dry-run"}},
		"blocked": {map[string]string{"slices/S-1.md": "---\nid: S-1\nstatus: pending\ndeps: S-2\n---\n",
			"slices/S-2.md": "---\nid: S-2\nstatus: pending\ndeps: S-1\n---\n"}, inProject,
			[]string{"gl doctor", "gl why"}},
		"a wrong setting": {map[string]string{"slices/S-1.md": pending,
			"config.json": `{"parallel": {"max": 0}}`}, inProject,
			[]string{"gl doctor", "gl slice --dry-run"}},
		"everything": {everyClass, inProject, []string{"gl review", "gl doctor"}},
	} {
		t.Run(name, func(t *testing.T) {
			frontIs(t, projecttest.Write(t, c.files), c.place, c.next...)
		})
	}
}

// Where no project is, gl alone says how to begin; what is broken it names.
func TestFrontElsewhere(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	plain, repo, broken := filepath.Join(dir, "plain"), filepath.Join(dir, "repo"),
		filepath.Join(dir, "broken")
	for _, d := range []string{plain, filepath.Join(repo, ".git"),
		filepath.Join(broken, ".greenlight", "slices")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	frontIs(t, plain, inDirectory, "gl demo", "git init && git add . && git commit -m start")
	frontIs(t, repo, inRepository, `gl do "fix the login"`, "gl init", "gl demo")
	if err := os.Remove(filepath.Join(broken, ".greenlight", "slices")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, ".greenlight", "slices"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	doc := frontIs(t, broken, inProject, "gl doctor")
	if doc["problem"] == nil || doc["counts"] != nil {
		t.Errorf("broken: %v", doc)
	}
}

// frontIs checks what gl alone shows in a directory, as text and as a document.
func frontIs(t *testing.T, root, place string, next ...string) map[string]any {
	t.Helper()
	text := string(output(t, "-C", root))
	data := output(t, "--json", "-C", root)
	if err := conforms(t, "front", data); err != nil {
		t.Error(err)
	}
	var doc frontDoc
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range doc.Next {
		got = append(got, n.Command)
		if !strings.Contains(text, "\n  "+n.Command) {
			t.Errorf("no %s in\n%s", n.Command, text)
		}
	}
	if diff := cmp.Diff(next, got); diff != "" || doc.Place != place {
		t.Errorf("in %s, want %s, next (-want +got):\n%s", doc.Place, place, diff)
	}
	return object(t, data)
}

// Everything that gl alone may offer is a command that exists.
func TestFrontOffersCommands(t *testing.T) {
	var commands []string
	for _, place := range slices.Collect(maps.Keys(intros)) {
		for _, inside := range []bool{false, true} {
			for _, n := range begin(place, inside) {
				if strings.HasPrefix(n.Command, "gl ") {
					commands = append(commands, n.Command)
				}
			}
		}
	}
	for _, command := range commands {
		words, err := exampleWords(command)
		if err != nil {
			t.Fatal(err)
		}
		root, _ := commandTree()
		c, rest, err := root.Find(words)
		if err == nil {
			err = c.ParseFlags(rest)
		}
		if err != nil || c == root {
			t.Errorf("%s: %v", command, err)
		}
	}
}
