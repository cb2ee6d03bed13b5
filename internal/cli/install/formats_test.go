package install

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Each agent gets a format that its own parser accepts, with the full content.
func TestFormats(t *testing.T) {
	const command, help = "Then %shelp %s.\n", "Help.\n"
	agent := "Write tests. A \"\"\"quote\"\"\" and a \\ and !{x}.\n"
	for _, c := range []struct {
		agent string
		want  map[string]map[string]string // by path: the file's fields, with its body as ""
	}{
		{"codex", map[string]map[string]string{
			".agents/skills/gl-slice/SKILL.md": {"name": "gl-slice", "description": `Build: one "slice"`,
				"": "Where this text says <arguments>, put what the user wrote behind the skill's name; nothing, if that is nothing.\n\n" +
					"Run `gl --context claude slice <arguments> || true` and read what it prints.\n\n" + fmt.Sprintf(command, "$gl-", "<arguments>")},
			".agents/skills/gl-help/SKILL.md":       {"name": "gl-help", "description": "Greenlight: help", "": help},
			".codex/agents/gl-tester.toml":          {"name": "gl-tester", "description": "Writes tests", "developer_instructions": agent},
			".codex/greenlight/references/rules.md": nil,
		}},
		{"gemini", map[string]map[string]string{
			".gemini/commands/gl/slice.toml": {"description": `Build: one "slice"`,
				"prompt": "Run `gl --context claude slice {{args}} || true` and read what it prints.\n\n" + fmt.Sprintf(command, "/gl:", "{{args}}")},
			".gemini/commands/gl/help.toml": {"description": "Greenlight: help", "prompt": help},
			".gemini/agents/gl-tester.md": {"name": "gl-tester", "description": "Writes tests", "": agent,
				"tools": `["read_file","list_directory","write_file"]`},
			".gemini/greenlight/references/rules.md": nil,
		}},
		{"opencode", map[string]map[string]string{
			".opencode/commands/gl-slice.md": {"description": `Build: one "slice"`,
				"": "!`gl --context claude slice $ARGUMENTS 2>&1 || true`\n\n" + fmt.Sprintf(command, "/gl-", "$ARGUMENTS")},
			".opencode/commands/gl-help.md": {"description": "Greenlight: help", "": help},
			".opencode/agents/gl-tester.md": {"description": "Writes tests", "mode": "subagent", "": agent,
				"permission": `{"bash":"deny","glob":"deny","grep":"deny"}`},
			".opencode/greenlight/references/rules.md": nil,
		}},
	} {
		files, err := local(t, c.agent, "/p").Files(contents("v1"))
		must(t, err)
		got := map[string]map[string]string{}
		for _, f := range files {
			switch {
			case strings.Contains(f.Path, "/references/"):
				got[f.Path] = nil
			case path.Ext(f.Path) == ".toml":
				got[f.Path] = readTOML(t, string(f.Data))
			default:
				got[f.Path] = readFront(t, string(f.Data))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.agent, diff)
		}
	}
}

func TestTOMLReadsBack(t *testing.T) {
	texts := rapid.StringOf(rapid.OneOf(rapid.Rune(),
		rapid.SampledFrom([]rune("\"\\\n\r\t'\x00\x7f\u0085"))))
	rapid.Check(t, func(rt *rapid.T) {
		a, b := texts.Draw(rt, "a"), texts.Draw(rt, "b")
		got := readTOML(rt, toml([2]string{"a", a}, [2]string{"b", b}))
		if diff := cmp.Diff(map[string]string{"a": a, "b": b}, got); diff != "" {
			rt.Fatal(diff)
		}
		front := readFront(rt, yaml([2]any{"a", a})+"body")
		if diff := cmp.Diff(map[string]string{"a": a, "": "body"}, front); diff != "" {
			rt.Fatal(diff)
		}
	})
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// readTOML is a strict parser of TOML documents that contain only strings.
func readTOML(t fataler, text string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for text != "" {
		key, rest, ok := strings.Cut(text, " = ")
		if !ok || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") != "" || all[key] != "" {
			t.Fatalf("no key: %q", text)
		}
		open, body := `"`, ""
		// the first line ending isn't part of it
		if body, ok = strings.CutPrefix(rest, `"""`+"\n"); ok {
			open = `"""`
		} else if body, ok = strings.CutPrefix(rest, `"`); !ok {
			t.Fatalf("no string: %q", rest)
		}
		value, n := "", 0
		for n = 0; !strings.HasPrefix(body[n:], open); {
			part := body[n : n+1]
			switch c := body[n]; {
			case c == '\\' && body[n+1] == 'u':
				part = body[n : n+6]
			case c == '\\':
				part = body[n : n+2]
			case c == '\n' && open == `"`, c < 0x20 && c != '\n' && c != '\t', c == 0x7f:
				t.Fatalf("control character %q in a string", c)
			}
			value, n = value+part, n+len(part)
			if n >= len(body) {
				t.Fatalf("the string has no end: %q", body)
			}
		}
		all[key] = unescape(t, value)
		if text, ok = strings.CutPrefix(body[n+len(open):], "\n"); !ok {
			t.Fatalf("something behind the string: %q", body[n:])
		}
	}
	return all
}

// unescape resolves the escapes, a subset of JSON's.
func unescape(t fataler, text string) string {
	quoted := strings.NewReplacer(`\\`, `\\`, `\"`, `\"`, `"`, `\"`, "\n", `\n`, "\t",
		`\t`).Replace(text)
	var s string
	if err := json.Unmarshal([]byte(`"`+quoted+`"`), &s); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return s
}

// readFront is a strict parser of front matter whose values are JSON: strings, or lists and
// maps of them.
func readFront(t fataler, text string) map[string]string {
	t.Helper()
	all := map[string]string{}
	head, ok := strings.CutPrefix(text, "---\n")
	head, body, closed := strings.Cut(head, "---\n")
	if !ok || !closed {
		t.Fatalf("no frontmatter: %q", text)
	}
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		var v any
		if err := json.Unmarshal([]byte(value), &v); !ok || err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if all[key] = value; value[0] == '"' {
			all[key] = v.(string)
		}
	}
	all[""] = body
	return all
}
