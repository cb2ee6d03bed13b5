package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
)

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
