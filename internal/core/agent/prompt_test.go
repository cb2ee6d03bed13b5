package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"

	"pgregory.net/rapid"
)

func TestInstructions(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"frontmatter", "---\ndescription: x\nargument-hint: \"[id]\"\n---\nBuild it.\n", "Build it."},
		{"empty frontmatter", "---\n---\nBuild it.\n", "Build it."},
		{"nothing but frontmatter", "---\na: b\n---", ""},
		{"no frontmatter", "Build it.\n---\nThen rest.\n", "Build it.\n---\nThen rest."},
		{"open frontmatter", "---\na: b\nBuild", "\n---\na: b\nBuild"},
		{"windows", "---\r\na: b\r\n---\r\nBuild\r\nit.\r\n", "Build\nit."},
		{"arguments", "Do $ARGUMENTS, then $ARGUMENTS.", "Do S-7, then S-7."},
		{"command", "It:\n\n!`gl slice $ARGUMENTS || true`\n\nGo.", "It:\n\nRun `gl slice S-7` and read what it prints.\n\nGo."},
		{"command, indented", "  !`ls -l`  ", "Run `ls -l` and read what it prints."},
		{"no command", "Use !`x` here.\n!`a` `b`\n!``\n!`|| true`", "Use !`x` here.\n!`a` `b`\n!``\n!`|| true`"},
		{"a list first", "- one\n- two", "\n- one\n- two"},
		{"a path first", "/etc is not yours", "\n/etc is not yours"},
		{"nothing", "", ""},
	} {
		if got := Instructions(tt.in, "S-7"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestInstructionsAreMadeOnce(t *testing.T) {
	part := rapid.SampledFrom([]string{"---\n", "---", "a: b\n", "!`gl x || true`\n", "!`", "`", "$ARGUMENTS", "- ", "/", "\n", " ", "text\n", "\r\n"})
	rapid.Check(t, func(t *rapid.T) {
		md := strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "")
		once := Instructions(md, "S-1")
		if again := Instructions(once, "S-2"); again != once {
			t.Fatalf("%q\ngave %q\nthen %q", md, once, again)
		}
		if strings.HasPrefix(once, "-") || strings.HasPrefix(once, "/") {
			t.Fatalf("%q begins as an option or a command", once)
		}
	})
}

// Each shipped command must reach every agent whole, as one element of a command line.
func TestTheShippedCommandsFit(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testfiles.Repository(t),
		"content/plugin/commands/*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no commands ship: %v", err)
	}
	const most = 128<<10 - 1 // Linux's MAX_ARG_STRLEN counts the NUL
	for _, file := range files {
		md, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		id := strings.Repeat("S", 200)
		text := Instructions(string(md), id)
		if len(text) > most {
			t.Errorf("%s: %d bytes are too long for an argument", file, len(text))
		}
		if text == "" || strings.Contains(text, "$ARGUMENTS") || strings.Contains(text, "!`") ||
			strings.HasPrefix(text, "---") {
			t.Errorf("%s: left over from the slash command:\n%s", file, text)
		}
		if strings.Contains(text, " @") || strings.Contains(text, "\n@") {
			t.Errorf("%s: gemini would read @… as a file to attach", file)
		}
		if Instructions(text, "other") != text {
			t.Errorf("%s: made again, it changes", file)
		}
	}
	slice, err := os.ReadFile(filepath.Join(testfiles.Repository(t),
		"content/plugin/commands/slice.md"))
	if err != nil {
		t.Fatal(err)
	}
	if text := Instructions(string(slice), "S-42"); !strings.Contains(text, "<asked>\nS-42\n</asked>") || !strings.Contains(text, "Run `gl slice` and read what it prints.") {
		t.Errorf("the prompt doesn't say how to read the slice:\n%s", text)
	}
}
