package install

import (
	"fmt"
	"testing"

	"greenlight/internal/base/crashtest"
	"greenlight/internal/base/testfiles"
)

// After a kill at any point, the next install completes the installation, and uninstall
// restores the original files.
func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes, which the race detector sees nothing of")
	}
	mine := map[string]string{"CLAUDE.md": "mine", ".claude/commands/gl/slice.md": "mine\n", ".claude/settings.json": `{"statusLine": {"type": "x"}}`}
	for _, c := range []struct {
		name, op string
		files    map[string]string // before the operations
		first    string            // operation that completed before
	}{
		{"nothing there", "install v1", nil, ""},
		{"theirs there", "append v1", mine, ""},
		{"theirs replaced", "replace v1", mine, ""},
		{"upgrade", "upgrade", mine, "append v1"},
		{"uninstall", "uninstall", mine, "replace v1"},
	} {
		t.Run(c.name, func(t *testing.T) { crashEverywhere(t, c.op, c.first, c.files) })
	}
}

func crashEverywhere(t *testing.T, op, first string, files map[string]string) {
	start := func() (string, Target) {
		root := t.TempDir()
		plant(t, root, files)
		tg := local(t, Claude, root)
		if first != "" {
			must(t, operations[first](tg))
		}
		return root, tg
	}
	whole, tg := start()
	must(t, operations[op](tg))
	after := tree(t, whole)
	bare := t.TempDir()
	plant(t, bare, files)
	before := tree(t, bare)
	// There are many steps, and each takes a few processes that sync to disk.
	stride := testfiles.Sized(5, 1)
	for step := 1; ; step += stride {
		var killed bool
		for _, next := range []string{op, "uninstall"} {
			root, tg := start()
			var call string
			killed, call = crashtest.At(t, step, "GREENLIGHT_TEST_OP="+op,
				"GREENLIGHT_TEST_ROOT="+root)
			if left := tree(t, root); len(left) == 1 && files == nil {
				continue // the owner of an empty .claude is unknown, so it stays
			}
			must(t, operations[next](tg))
			want := after
			if next == "uninstall" {
				want = before
			}
			same(t, fmt.Sprintf("killed before step %d (%s), then %s", step, call, next), want,
				tree(t, root))
		}
		if t.Failed() || !killed {
			if step < 5 {
				t.Errorf("only %d steps", step)
			}
			return
		}
	}
}
