package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestGsdLineIsAsItsSchemaSays(t *testing.T) {
	schema := schemaOf(t, "gsd-line")
	for name, state := range map[string]string{
		"full": "---\nstatus: x\nmilestone: v1\nmilestone_name: M\nactive_phase: 1\nnext_action: a\nnext_phases: [1]\n" +
			"progress:\n  completed_phases: 1\n  total_phases: 2\n  percent: 50\n---\nPhase: 1 of 2 (A)\n",
		"empty": "",
	} {
		root := t.TempDir()
		dir := filepath.Join(root, ".planning")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "STATE.md"), []byte(state), 0o644); err != nil {
			t.Fatal(err)
		}
		doc := object(t, output(t, "gsd", "line", "--json", "-C", root))
		if wrong := validate(schema, doc, "$"); len(wrong) > 0 {
			t.Errorf("%s: %s", name, strings.Join(wrong, "\n"))
		}
		for key, v := range doc["position"].(map[string]any) {
			if name == "full" && v == nil {
				t.Errorf("%s is null", key)
			}
		}
	}
	for key := range schema {
		if !slices.Contains(keywords, key) {
			t.Errorf("the validator doesn't know %q", key)
		}
	}
}

// Whatever Claude Code and the file say, it is one line that a terminal may have, and no failure.
func FuzzStatusline(f *testing.F) {
	f.Fuzz(func(t *testing.T, in, state []byte) {
		root := t.TempDir()
		dir := filepath.Join(root, ".planning")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "STATE.md"), state, 0o644); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		e := &env{in: bytes.NewReader(in), out: &out, err: &errs, environ: []string{"HOME=" + root, "NO_COLOR=1", "COLUMNS=100"}, dirFlag: root}
		printStatusline(e, false)
		line, ok := strings.CutSuffix(out.String(), "\n")
		if !ok || errs.Len() > 0 || strings.ContainsFunc(line, unicode.IsControl) || runes(line) > 150 {
			t.Errorf("%q and %q: %q, %q", in, state, out.String(), errs.String())
		}
	})
}

// The way past the command tree and the command itself print the same.
func TestStatuslineEitherWay(t *testing.T) {
	root := t.TempDir()
	run := func(args ...string) string {
		var out, errs bytes.Buffer
		if code := Main(context.Background(), args, strings.NewReader(`{"model": "M", "cwd": "`+root+`"}`), &out, &errs, []string{"NO_COLOR=1"}); code != 0 || errs.Len() > 0 {
			t.Fatalf("%v: %d %s", args, code, errs.String())
		}
		return out.String()
	}
	if direct, tree := run("statusline"), run("--no-color", "statusline"); direct != tree || direct != "M │ "+filepath.Base(root)+"\n" {
		t.Errorf("%q, %q", direct, tree)
	}
}
