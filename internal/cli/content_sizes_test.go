package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/content"
	"greenlight/internal/cli/plugin"
)

// The most bytes that a model should read at once: a command with its inlined output, an agent's
// text, a page of gl ref.
const (
	mostExpanded = 12 << 10
	mostAgent    = 6 << 10
	mostPage     = 9 << 10
)

// TestContentSizes limits the size of each text; make sizes shows the table.
func TestContentSizes(t *testing.T) {
	root := t.TempDir()
	env := []string{"GREENLIGHT_ROOT=" + root, "HOME=" + root, "CLAUDECODE=1"}
	run := func(a ...string) string {
		var out bytes.Buffer
		// a refusal is inlined, too
		Main(context.Background(), append(a, "-C", root), strings.NewReader(""), &out, &out, env)
		return out.String()
	}
	if err := os.MkdirAll(filepath.Join(root, ".greenlight", "slices"), 0o755); err != nil {
		t.Fatal(err)
	}
	run("add-slice", "Accounts", "--id", "S-1", "--what", "A user can have an account")
	run("add-slice", "Outgoing mail", "--id", "S-2", "--deps", "S-1")
	run("add-slice", "Password reset", "--id", "S-3", "--deps", "S-1,S-2")
	row := func(what string, shipped, read, most int) {
		t.Logf("%-34s %6d %7d %7d", what, shipped, read, read/4)
		if read > most {
			t.Errorf("%s has %d bytes, and at most %d are read at once", what, read, most)
		}
	}
	t.Logf("%-34s %6s %7s %7s", "", "ships", "read", "tokens")
	for _, name := range plugin.DocumentNames() {
		text := plugin.Documents()[name]
		body := text
		if _, rest, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n"); ok &&
			strings.HasPrefix(text, "---\n") {
			body = rest
		}
		switch dir, _, _ := strings.Cut(name, "/"); dir {
		case "commands":
			row("/gl:"+strings.TrimPrefix(name, "commands/"), len(text),
				len(inlineCall.ReplaceAllStringFunc(body, func(line string) string {
					return run(strings.Fields(strings.TrimSuffix(inlineCall.FindStringSubmatch(line)[1], " || true"))[1:]...)
				})), mostExpanded)
		case "agents":
			row(strings.TrimPrefix(name, "agents/"), len(text), len(body), mostAgent)
		default:
			row("gl ref "+name, len(text), len(text), mostPage)
		}
	}
	row("standards, for each session of gl's", len(content.Standards),
		len(content.Standards), mostPage)
}
