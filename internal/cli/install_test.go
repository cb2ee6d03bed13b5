package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/install"
)

// A full document: two places that differ in all ways, one of them with files that gl doesn't know.
func TestCheckDocument(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	run := func(args ...string) []byte {
		t.Helper()
		var out, errs bytes.Buffer
		if code := Main(t.Context(), append(args, "-C", root), strings.NewReader(""), &out, &errs,
			[]string{"HOME=" + home}); code != 0 {
			t.Fatalf("gl %v: %d: %s", args, code, &errs)
		}
		return out.Bytes()
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := filepath.Join(root, ".claude", "commands", "gl", "slice.md")
	write(filepath.Join(root, ".opencode", "commands", "gl-slice.md"), "mine")
	run("install", "--global")
	run("install", "--local", "--hooks", "--on-conflict=replace")
	write(command, "changed")
	printed := run("check", "--json")
	if err := conforms(t, "check", printed); err != nil {
		t.Error(err)
	}
	doc := object(t, printed)
	places := doc["places"].([]any)
	local := places[0].(map[string]any)
	differences := local["differences"].([]any)
	if local["scope"] != "local" || local["installed"] != true || len(differences) != 1 ||
		doc["same"] != false || doc["commands"] != true {
		t.Errorf("%v", doc)
	}
	if shadowed := doc["shadowed"].([]any); len(shadowed) == 0 ||
		shadowed[0] != ".claude/commands/gl/"+filepath.Base(shadowed[0].(string)) {
		t.Errorf("shadowed: %v", doc["shadowed"])
	}
	if opencode := places[6].(map[string]any); len(opencode["loose"].([]any)) != 1 {
		t.Errorf("loose: %v", opencode)
	}
}

// The shipped content can be installed for every agent.
func TestShippedContent(t *testing.T) {
	for _, name := range install.Agents() {
		tg, err := install.Find(name, install.Local, t.TempDir(), (&cmdutil.App{}).Getenv)
		if err != nil {
			t.Fatal(err)
		}
		if files, err := tg.Files(shipped()); err != nil || len(files) == 0 {
			t.Errorf("%s: %d files, %v", name, len(files), err)
		}
	}
}
