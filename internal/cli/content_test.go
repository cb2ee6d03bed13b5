package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"greenlight/content"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/ops"
	"greenlight/internal/plugin"
	"greenlight/internal/project"
	"greenlight/internal/shellwords"
)

// contentTexts are all documents that ship, by their path.
func contentTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{"CLAUDE.md": content.Standards}
	err := fs.WalkDir(content.Plugin, "plugin", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			data, _ := content.Plugin.ReadFile(path)
			texts[path] = string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// A call is a command line of gl in a text.
type call struct {
	line    string
	inlined bool // it runs as it stands when the command is loaded, $ARGUMENTS filled in
}

var (
	inlineCall = regexp.MustCompile("(?m)^!`(gl[^`]*)`$")
	spanCall   = regexp.MustCompile("`(gl [^`]*)`") // may go over the end of a line
	blockCall  = regexp.MustCompile("(?m)^    (gl .*)$")
)

func callsIn(text string) []call {
	var list []call
	for _, m := range inlineCall.FindAllStringSubmatch(text, -1) {
		list = append(list, call{strings.TrimSuffix(m[1], " || true"), true})
	}
	text = inlineCall.ReplaceAllString(text, "")
	for _, grammar := range []*regexp.Regexp{spanCall, blockCall} {
		for _, m := range grammar.FindAllStringSubmatch(text, -1) {
			list = append(list, call{line: strings.ReplaceAll(m[1], "\n", " ")})
		}
	}
	return list
}

// An agent that is told a command line that gl refuses loses its way in the middle of the night.
func TestContentCallsGl(t *testing.T) {
	n := 0
	for file, text := range contentTexts(t) {
		for _, c := range callsIn(text) {
			n++
			if !c.inlined || !strings.Contains(c.line, "$ARGUMENTS") {
				if err := checkCall(c.line, !c.inlined); err != nil {
					t.Errorf("%s: %s: %v", file, c.line, err)
				}
				continue
			}
			// What a person types there may be nothing; what it may be is for gl to say.
			if err := checkCall(strings.ReplaceAll(c.line, "$ARGUMENTS", ""), false); err != nil {
				t.Errorf("%s: %s, without arguments: %v", file, c.line, err)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d calls found", n)
	}
}

func TestContentHooksCallGl(t *testing.T) {
	data, err := content.Plugin.ReadFile("plugin/hooks/hooks.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(gl hook [a-z-]+)`).FindAllStringSubmatch(string(data), -1) {
		if err := checkCall(m[1], false); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}
}

// checkCall says what gl has against the line. A line that only names a command, without arguments, is fine in prose.
func checkCall(line string, prose bool) error {
	words, err := shellwords.Split(line)
	if err != nil {
		return err
	}
	words = words[1:]
	root := newRoot(cmdutil.NewApp(nil, nil, nil, nil), "")
	root.InitDefaultHelpCmd()
	c, rest, err := root.Find(words)
	if err != nil || c.Name() == "gl" {
		return fmt.Errorf("no such command: %v", err)
	}
	if prose && len(rest) == 0 {
		return nil
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	rest = c.Flags().Args()
	if err := c.ValidateArgs(rest); err != nil {
		return err
	}
	return checkWords(strings.TrimPrefix(c.CommandPath(), "gl "), rest)
}

// number is where a text says how many tests there are.
var number = regexp.MustCompile(`=[NM]$`)

// checkWords looks at arguments that the command tree doesn't know.
func checkWords(command string, a []string) error {
	known := func(list []string, i int) error {
		if i >= len(a) || a[i] == strings.ToUpper(a[i]) && a[i] != "CLAUDE" || slices.Contains(list, a[i]) { // NAME stands for any
			return nil
		}
		return fmt.Errorf("%q is none of %s", a[i], strings.Join(list, ", "))
	}
	switch command {
	case "ref":
		return known(plugin.DocumentNames(), 0)
	case "settings get", "settings set":
		return known(project.SettingKeys(), 0)
	case "settings mode":
		return known(project.Modes(), 0)
	case "state show":
		return known(ops.Keys(), 1)
	case "state set":
		set := slices.Clone(a[1:])
		for i := range set {
			set[i] = number.ReplaceAllString(set[i], "=1")
		}
		_, err := ops.ParseChanges(set)
		for _, word := range set {
			key, _, _ := strings.Cut(word, "=")
			if key != "contracts" && !slices.Contains(ops.Keys(), key) {
				return fmt.Errorf("%q is no key that gl knows", key)
			}
		}
		return err
	}
	return nil
}

// The templates are files of a project: a project of them is read without a complaint.
func TestTemplates(t *testing.T) {
	template := func(name string) []byte {
		data, err := content.Plugin.ReadFile("plugin/templates/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	run := func(root string, doc any, a ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		code := Main(context.Background(), append(a, "-C", root), strings.NewReader(""), &out, &errs, []string{"GREENLIGHT_ROOT=" + root})
		if err := json.Unmarshal(out.Bytes(), doc); code != 0 || err != nil || errs.Len() > 0 {
			t.Fatalf("gl %v: %d, %v\n%s%s", a, code, err, &out, &errs)
		}
	}
	for _, format := range []string{"slices", "legacy"} {
		root := t.TempDir()
		put := func(name string, data []byte) {
			t.Helper()
			path := filepath.Join(root, ".greenlight", name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		put("config.json", template("config.json"))
		want := 2
		if format == "legacy" {
			put("STATE.md", template("state.md"))
		} else {
			put("slices/S-28.md", template("slice-state.md"))
			for _, dep := range []string{"S-26", "S-27"} {
				put("slices/"+dep+".md", []byte("---\nid: "+dep+"\nstatus: complete\n---\n"))
			}
			want = 3
		}
		var status statusDoc
		run(root, &status, "status", "--json")
		if status.Format != format || status.Total != want || len(status.Warnings) > 0 || len(status.Ready) != 1 {
			t.Errorf("%s: %+v", format, status)
		}
		var settings settingsDoc
		run(root, &settings, "settings", "--json")
		if len(settings.Warnings) > 0 {
			t.Errorf("%s: %v", format, settings.Warnings)
		}
		for _, s := range settings.Settings {
			if strings.HasPrefix(s.Key, "sandbox") { // whether one can be had depends on the machine
				continue
			}
			if strings.HasPrefix(s.Key, "git.") { // their defaults are to change, and whoever copies the template would keep these
				continue
			}
			if s.Source == nil || *s.Source != "config" {
				t.Errorf("config.json has no %s", s.Key)
			} else if prefix, _, _ := strings.Cut(s.Key, "."); !slices.Contains(project.SettingKeys(), s.Key) && prefix != "profiles" {
				t.Errorf("config.json has %s, which gl doesn't know", s.Key)
			}
		}
		for _, m := range settings.Models {
			if m.Model == nil {
				t.Errorf("config.json has no model for %s", m.Agent)
			}
		}
	}
}

// Every agent has a role in the settings, so that its model can be chosen there, and the other way round; the profiles
// that config.json shows are those that count without it.
func TestAgentsHaveModels(t *testing.T) {
	root := t.TempDir()
	open := func(config string) *project.Settings {
		t.Helper()
		dir := filepath.Join(root, ".greenlight")
		if err := os.MkdirAll(filepath.Join(dir, "slices"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		pr, err := project.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		s, err := pr.Settings()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	agents, _ := content.Plugin.ReadDir("plugin/agents")
	for _, profile := range open("{}").Profiles() {
		usual := open(`{"model_profile": "` + profile + `"}`)
		template, _ := content.Plugin.ReadFile("plugin/templates/config.json")
		shown := open(strings.Replace(string(template), `"model_profile": "balanced"`, `"model_profile": "`+profile+`"`, 1))
		if shown.Profile() != profile || len(agents) != len(usual.Models()) {
			t.Fatalf("%s, %s: %d agents, %d roles", profile, shown.Profile(), len(agents), len(usual.Models()))
		}
		for _, a := range agents {
			name := strings.TrimSuffix(a.Name(), ".md")
			want, err := usual.ModelOf(name)
			if got, err2 := shown.ModelOf(name); err != nil || err2 != nil || got != want {
				t.Errorf("%s, %s: %v %v, the template has %v %v", profile, name, want, err, got, err2)
			}
		}
	}
}
