package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/term"
)

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
		app := cmdutil.NewApp(bytes.NewReader(in), &out, &errs, []string{"HOME=" + root, "NO_COLOR=1", "COLUMNS=100"})
		app.DirFlag = root
		printStatusline(app, false)
		line, ok := strings.CutSuffix(out.String(), "\n")
		if !ok || errs.Len() > 0 || strings.ContainsFunc(line, unicode.IsControl) || term.Width(line) > 150 {
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
