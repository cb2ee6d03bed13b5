package project

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/core/agent"
	"greenlight/internal/state/statedir"
)

func settingsOf(t *testing.T, text string) *Settings {
	t.Helper()
	doc, err := jsonedit.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &Settings{doc: doc}
}

// The known settings list gl's real defaults, and each default is a valid value.
func TestKnownSettings(t *testing.T) {
	s := settingsOf(t, "")
	for _, k := range knownSettings() {
		if k.value != nil {
			if err := k.check(s, k.value); err != nil {
				t.Errorf("the default: %v", err)
			}
		}
	}
	var text strings.Builder
	text.WriteString("{}")
	for _, k := range knownSettings() {
		if k.value != nil {
			if err := s.put(k.value, strings.Split(k.key, ".")...); err != nil {
				t.Error(err)
			}
		}
	}
	got, err := parseConfig(s.doc.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultConfig()
	want.Agents, want.Git.Asked = map[string]agent.Custom{}, true
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Every key of parallel for which the reader of config.json rejects a wrong value is a known
// setting.
func TestKnownSettingsAreThoseThatAreRead(t *testing.T) {
	for _, k := range knownSettings() {
		if k.kind == parsedSetting && k.check(settingsOf(t, ""), json.RawMessage(`false`)) == nil {
			t.Errorf("%s is read by nobody", k.key)
		}
	}
}

func TestSet(t *testing.T) {
	const file = `{"version": "1.0", "n": 1, "mode": "yolo", "profiles": {"fast": {"architect": "x-1"}}, "list": [1], "parallel": {"max": 2, "agents": {"own": {"command": ["own"]}}}}`
	// want is the value, or the error if the value has no JSON
	for _, c := range []struct{ key, text, want string }{
		{"parallel.max", "6", "6"},
		{"parallel.max", " 6 ", "6"},
		{"parallel.max", "0", "! parallel.max must be a whole number from 1 to 1000, not 0"},
		{"parallel.max", "six", `! parallel.max must be a whole number from 1 to 1000, not "six"`},
		{"parallel.stagger_ms", "0", "0"},
		{"parallel.hold_seconds", "-1", "! parallel.hold_seconds must be a number above 0, not -1"},
		{"parallel.agent", "4", `"4"`},
		{"parallel.agent", "", "! parallel.agent must be a text"},
		{"parallel.claude_flags", `--max-turns 7 --allowedTools "Bash(git *)"`, `"--max-turns 7 --allowedTools \"Bash(git *)\""`},
		{"parallel.claude_flags", `["-a", "b c"]`, `["-a", "b c"]`},
		{"parallel.claude_flags", `"open`, "! parallel.claude_flags must be words as in a shell"},
		{"parallel.agents.mine", `{"command": ["x"]}`, `{"command": ["x"]}`},
		{"parallel.agents.mine", `x`, "! parallel.agents.mine must be"},
		{"parallel.agents.mine.command", `my-agent "{prompt}"`, `["my-agent","{prompt}"]`},
		{"parallel.agents.mine.command", ``, "! parallel.agents"},
		{"parallel.agents.mine.resume", `my-agent "{prompt}"`, "! parallel.agents.mine has no command: set parallel.agents.mine.command first"},
		{"parallel.agents.own.resume", `own --go-on "{conversation}" "{prompt}"`, `["own","--go-on","{conversation}","{prompt}"]`},
		{"parallel.agents.own.resume", `["other"]`, `! parallel.agents needs a "resume" list for "own" that begins with the program of its "command"`},
		{"parallel.agents.own.resume", ``, `null`},
		{"parallel.agents.a.b", `{}`, "! parallel.agents.a.b: the name"},
		{"parallel.maxx", "6", `! no setting is called "parallel.maxx"`},
		{"git.isolation", "worktree", `"worktree"`},
		{"git.isolation", "wrktree", `! git.isolation must be worktree or shared, not "wrktree"`},
		{"git.setup", `npm ci --prefix "a b"`, `"npm ci --prefix \"a b\""`},
		{"git.setup", `["npm", "ci"]`, `["npm", "ci"]`},
		{"git.setup", `a | b`, `! git.setup has "|"`},
		{"git.snapshot_mb", "128", "128"},
		{"git.snapshot_mb", "many", `! git.snapshot_mb must be a whole number`},
		{"git.target", "main", `"main"`},
		{"git.branch_prefix", "a b", `! git.branch_prefix must be the name of a branch`},
		{"mode", "interactive", `"interactive"`},
		{"mode", "yol", `! mode must be one of interactive, yolo, not "yol"`},
		{"model_profile", "fast", `"fast"`},
		{"model_profile", "balanced", `! model_profile must be one of fast, not "balanced"`},
		{"model_overrides.architect", "opus", `"opus"`},
		{"workflow.security_scan", "false", "false"},
		{"workflow.security_scan", "no", `! workflow.security_scan must be true or false, not "no"`},
		{"workflow.max_security_retries", "2.5", "! workflow.max_security_retries must be a whole number, 0 or more, not 2.5"},
		{"test.command", "go test ./...", `"go test ./..."`},
		{"test.command", "true", `"true"`},
		{"test.command", "a\nb", "! test.command must be one line of text"},
		{"test.command", "cd web && npm test", `"cd web && npm test"`},
		{"test.command", "[ -f x ] && make", `"[ -f x ] && make"`},
		{"test.command", `["npm", "test"]`, `["npm", "test"]`},
		{"test.command", "a 'b", "! test.command can't be run (the single quote"},
		{"test.command", "", `""`},
		{"test.timeout_minutes", "2.5", "2.5"},
		{"test.timeout_minutes", "0", "! test.timeout_minutes must be a number above 0"},
		{"test.pattern", `(?P<passed>\d+) ok`, `"(?P<passed>\\d+) ok"`},
		{"test.pattern", `\d+ ok`, "! test.pattern must have a group named passed, failed or skipped"},
		{"test.pattern", "(", "! test.pattern must be a regular expression in RE2 syntax"},
		{"test.coverage_command", "go test -cover ./...", `"go test -cover ./..."`},
		{"test.filter_flag", "-run", "! nothing reads test.filter_flag: agents run test.command as it is"},
		{"workflow.auto_parallel", "true", "! nothing reads workflow.auto_parallel: gl slice --watch"},
		{"project.stack", "Go", "! nothing reads project.stack: run gl state overview stack=TEXT"},
		{"version", "2.0", `"2.0"`},
		{"n", "7", "7"},
		{"n", "x", "! n is a number in the file, and must stay one, not x"},
		{"list", "[2, 3]", "[2, 3]"},
		{"profiles.fast", "{}", "! profiles.fast is an object"},
		{"profiles.fast.architect", "y-2", `"y-2"`},
		{"profiles.slow.architect", "y-2", "! no setting is called"},
		{"", "x", "! no setting is called"},
	} {
		s := settingsOf(t, file)
		err := s.Set(c.key, c.text)
		if want, refused := strings.CutPrefix(c.want, "! "); refused {
			var bad *SettingError
			if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s %s: %v, want %q", c.key, c.text, err, want)
			}
			if string(s.doc.Bytes()) != file {
				t.Errorf("%s %s: refused, but written: %s", c.key, c.text, s.doc.Bytes())
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", c.key, c.text, err)
			continue
		}
		if set, err := s.Get(c.key); err != nil || string(set.Value) != c.want || !set.File || set.Wrong != "" {
			t.Errorf("%s %s: %+v, %v, want %s", c.key, c.text, set, err, c.want)
		}
	}
}

func TestSetSaysWhatWasMeant(t *testing.T) {
	for _, c := range []struct{ key, text, known string }{
		{"parallel.maxx", "6", "parallel.max"}, {"mode", "yol", "yolo"}, {"model_overrides.architekt", "opus", "architect"},
		{"model_overrides.architect", "opsu", "opus"},
	} {
		var bad *SettingError
		if err := settingsOf(t, "").Set(c.key, c.text); !errors.As(err, &bad) || bad.Got == "" || !slices.Contains(bad.Known, c.known) {
			t.Errorf("%s %s: %v, %+v", c.key, c.text, err, bad)
		}
	}
}

// People and other programs may confuse "Mode" and "mode".
func TestSetWhatIsNotRead(t *testing.T) {
	for text, key := range map[string]string{`{"mode": "yolo", "Mode": "yolo"}`: "mode", `{"parallel": {}, "PARALLEL": {"max": 3}}`: "parallel.max"} {
		value := map[string]string{"mode": "interactive", "parallel.max": "4"}[key]
		if err := settingsOf(t, text).Set(key, value); err == nil || !strings.Contains(err.Error(), "reads like") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := settingsOf(t, `{"parallel": 3}`).Set("parallel.max", "4"); err == nil || !strings.Contains(err.Error(), `"parallel" is not an object but 3`) {
		t.Error(err)
	}
}

func TestList(t *testing.T) {
	s := settingsOf(t, `{"zeta": {"eta": [1]}, "mode": "yolo", "model_overrides": {"x": "y"}, "profiles": {"a": {"b": "c"}},
		"model_profile": "none", "parallel": {"max": 0, "agent": "codex", "mine": true, "hold_seconds": null,
		"agents": {"k": {"command": ["k"]}}}, "test": {"command": "make"}, "workflow": {"security_scan": 1}, "dotted.key": 1}`)
	got := map[string]string{}
	for _, set := range s.List() {
		if _, twice := got[set.Key]; twice {
			t.Errorf("%s is there twice", set.Key)
		}
		got[set.Key] = fmt.Sprintf("%s %v %v", set.Value, set.File, set.Wrong != "")
	}
	for key, want := range map[string]string{
		"mode": `"yolo" true false`, "model_profile": `"balanced" false true`, "parallel.max": "4 false true",
		"parallel.agent": `"codex" true false`, "parallel.hold_seconds": "300 false false", "parallel.mine": "true true false",
		"parallel.agents": `{"k": {"command": ["k"]}} true false`, "test.command": `"make" true false`, "zeta.eta": "[1] true false",
		"workflow.security_scan": "true false true", "workflow.max_security_retries": "2 false false", "project.name": "", "profiles.a.b": "", "model_overrides.x": "", "dotted.key": "",
		"parallel.agents.k.command": "",
	} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
}

func TestModels(t *testing.T) {
	s := settingsOf(t, `{"model_profile": "fast", "model_overrides": {"security": "opus", "extra": "haiku", "odd": 3},
		"profiles": {"slow": {"architect": "opus", "wrapper": "opus"}, "fast": {"security": "haiku", "architect": "sonnet"}}}`)
	want := []Model{{"security", "opus", true}, {"architect", "sonnet", false}, {"wrapper", "", false}, {"extra", "haiku", true}, {"odd", "", false}}
	if d := cmp.Diff(want, s.Models()); d != "" {
		t.Error(d)
	}
	if s.Profile() != "fast" || !slices.Equal(s.Profiles(), []string{"slow", "fast"}) {
		t.Error(s.Profile(), s.Profiles())
	}
	empty := settingsOf(t, "")
	if m := empty.Models(); len(m) == 0 || empty.Profile() != "balanced" || !slices.Contains(empty.Profiles(), "budget") {
		t.Errorf("%v, %s, %v", m, empty.Profile(), empty.Profiles())
	}
	seen := map[string]bool{}
	for _, profile := range empty.Profiles() {
		one := settingsOf(t, `{"model_profile": "`+profile+`", "model_overrides": {"extra": "x-1"}}`)
		text := fmt.Sprint(one.Models())
		if seen[text] || strings.Contains(text, "  ") {
			t.Errorf("%s: every usual profile names a model for each agent, and others than the next one: %s", profile, text)
		}
		seen[text] = true
		if m, err := one.ModelOf("gl-test-writer"); err != nil || m.Role != "test_writer" || m.Model == "" {
			t.Errorf("%s: %v, %v", profile, m, err)
		}
	}
}

func TestSetModel(t *testing.T) {
	for _, c := range []struct{ role, model, want string }{
		{"architect", "opus", `{"architect":"opus"}`},
		{"gl-test-writer", "claude-sonnet-4-5[1m]", `{"test_writer":"claude-sonnet-4-5[1m]"}`},
		{"Test_Writer", "us.anthropic.x-v1:0", `{"test_writer":"us.anthropic.x-v1:0"}`},
		{"architect", "sonet", "!"},
		{"architect", "", "!"},
		{"architect", "a b-1", "!"},
		{"nobody", "opus", "!"},
	} {
		s := settingsOf(t, "")
		err := s.SetModel(c.role, c.model)
		if c.want == "!" {
			var bad *SettingError
			if !errors.As(err, &bad) {
				t.Errorf("%s %s: %v", c.role, c.model, err)
			}
			continue
		}
		raw, _ := s.doc.Get("model_overrides")
		if err != nil || compact(raw) != c.want {
			t.Errorf("%s %s: %s, %v", c.role, c.model, raw, err)
		}
		if err := s.SetModel(c.role, ResetModel); err != nil {
			t.Error(err)
		}
		if keys := s.doc.Keys("model_overrides"); len(keys) > 0 {
			t.Errorf("after the reset: %v", keys)
		}
	}
}

func projectAt(t *testing.T, config string) *Project {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, statedir.Name, "slices"), 0o755); err != nil {
		t.Fatal(err)
	}
	if config != "" {
		if err := os.WriteFile(filepath.Join(root, ConfigFile), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func configOf(t *testing.T, p *Project) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.Root, ConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEditSettings(t *testing.T) {
	const text = "\ufeff{\r\n\t\"own\":  1.50,\r\n\t\"parallel\": {\"max\":2 }\r\n}\r\n"
	p := projectAt(t, text)
	set := func(key, value string) error {
		return p.EditSettings(context.Background(), func(s *Settings) error { return s.Set(key, value) })
	}
	if err := set("parallel.max", "3"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Replace(text, "2", "3", 1), configOf(t, p)); d != "" {
		t.Error(d)
	}
	before, err := os.Stat(filepath.Join(p.Root, ConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := set("parallel.max", "3"); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(filepath.Join(p.Root, ConfigFile)); err != nil || !os.SameFile(before, after) {
		t.Errorf("what changes nothing was written (%v)", err)
	}
	if err := set("parallel.max", "no"); err == nil {
		t.Error("a wrong value was taken")
	}

	none := projectAt(t, "")
	if s, err := none.Settings(); err != nil || len(s.doc.Keys()) > 0 {
		t.Errorf("no file: %v", err)
	}
	if err := none.EditSettings(context.Background(), func(s *Settings) error { return s.Set("mode", "yolo") }); err != nil {
		t.Fatal(err)
	}
	if got, want := configOf(t, none), "{\n  \"mode\": \"yolo\"\n}\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEditSettingsOfABrokenFile(t *testing.T) {
	const text = "{\n\"mode\": \"yolo\",\n}\n"
	p := projectAt(t, text)
	err := p.EditSettings(context.Background(), func(s *Settings) error { return s.Set("mode", "interactive") })
	if err == nil || !strings.Contains(err.Error(), ".greenlight/config.json: line 3") {
		t.Error(err)
	}
	if got := configOf(t, p); got != text {
		t.Errorf("it was written: %q", got)
	}
	if s, err := p.Settings(); err == nil || s.Profile() != "balanced" {
		t.Errorf("%v, %s", err, s.Profile())
	}
}

// If an editor writes between our reading and our writing, neither change is lost.
func TestEditSettingsBesideAnEditor(t *testing.T) {
	p := projectAt(t, `{"a": 1}`)
	path := filepath.Join(p.Root, ConfigFile)
	calls := 0
	err := p.EditSettings(context.Background(), func(s *Settings) error {
		if calls++; calls == 1 {
			if err := os.WriteFile(path, []byte(`{"a": 2}`), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return s.Set("mode", "yolo")
	})
	if got := configOf(t, p); err != nil || calls != 2 || got != `{"a": 2, "mode": "yolo"}` {
		t.Errorf("%v after %d calls: %s", err, calls, got)
	}
}

// No simultaneous change is lost.
func TestEditSettingsAtTheSameTime(t *testing.T) {
	p := projectAt(t, `{}`)
	var group sync.WaitGroup
	keys := []string{"parallel.max", "parallel.stagger_ms", "parallel.hold_seconds", "parallel.tool_minutes", "parallel.stale_minutes"}
	for _, key := range keys {
		group.Add(1)
		go func() {
			defer group.Done()
			other, err := Open(p.Root)
			if err == nil {
				err = other.EditSettings(context.Background(), func(s *Settings) error { return s.Set(key, "7") })
			}
			if err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}()
	}
	group.Wait()
	s, err := p.Settings()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if set, err := s.Get(key); err != nil || string(set.Value) != "7" {
			t.Errorf("%s is %s (%v)", key, set.Value, err)
		}
	}
}

// After any input the file remains one that gl reads without a warning.
func TestSetOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, err := jsonedit.Parse([]byte(`{"parallel": {"max": 2}, "own": "x"}`))
		if err != nil {
			t.Fatal(err)
		}
		s := &Settings{doc: doc}
		key := rapid.SampledFrom(append(SettingKeys(), "own", "parallel.agents.x", "parallel.agents.x.command", "model_overrides.security")).Draw(t, "key")
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"1", "0", "-1", "1e9", "true", "null", "[]", `["a"]`, "{}",
			`{"command": ["a"]}`, `{"a": {"command": []}}`, `"`, "yolo", "opus", "reset"})).Draw(t, "text")
		if err := s.Set(key, text); err != nil {
			return
		}
		if _, err := parseConfig(s.doc.Bytes()); err != nil {
			t.Fatalf("%s = %q: %v in %s", key, text, err, s.doc.Bytes())
		}
		if own, _ := s.doc.Get("own"); key != "own" && string(own) != `"x"` {
			t.Fatalf("%s = %q changed another key: %s", key, text, s.doc.Bytes())
		}
	})
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // text that isn't JSON becomes ""
	return b.String()
}
