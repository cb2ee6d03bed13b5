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
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"greenlight/content"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/text/markdown"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/cli/plugin"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/project"
	"greenlight/internal/show/status"
)

// contentTexts returns all shipped documents, by path.
func contentTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{"CLAUDE.md": content.Standards}
	for top, files := range map[string]fs.FS{"plugin": content.Plugin, "siblings": content.Siblings} {
		err := fs.WalkDir(files, top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".md") {
				data, _ := fs.ReadFile(files, path)
				texts[path] = string(data)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

// A call is a command line of gl in a text.
type call struct {
	line    string
	inlined bool // it runs when the command is loaded, with $ARGUMENTS replaced
}

var (
	inlineCall = regexp.MustCompile("(?m)^!`(gl[^`]*)`$")
	spanCall   = regexp.MustCompile("`(gl [^`]*)`") // may span lines
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

// A command line in a document that gl refuses would leave an agent stuck at night.
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
			// The arguments may be empty; gl checks the rest.
			if err := checkCall(strings.ReplaceAll(c.line, "$ARGUMENTS", ""), false); err != nil {
				t.Errorf("%s: %s, without arguments: %v", file, c.line, err)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d calls found", n)
	}
}

// An agent that gl starts may make each change that the documents tell it to make: a refusal would
// lose, among others, its question to a person.
func TestContentAsksAgentsForWhatTheyMayDo(t *testing.T) {
	n := 0
	for file, text := range contentTexts(t) {
		if slices.Contains([]string{"plugin/commands/add-slice.md", "plugin/commands/design.md",
			"plugin/commands/init.md"}, file) {
			continue // a person is there
		}
		for _, c := range callsIn(text) {
			words, err := shellwords.Split(c.line)
			if err != nil || len(words) < 5 || words[1] != "state" || words[2] != "set" {
				continue
			}
			set := words[4:]
			if slices.Contains(set, "wraps=C-7") {
				continue // proposed to a person, because it lets a slice remove tests
			}
			for i := range set {
				set[i] = number.ReplaceAllString(set[i], "=1")
			}
			changes, err := ops.ParseChanges(set)
			if err == nil {
				err = ops.CheckAgent("ID", changes)
			}
			if n++; err != nil {
				t.Errorf("%s: %s: %v", file, c.line, err)
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d calls found", n)
	}
}

// What a page for people names can be typed. cmd/gl's TestGuides runs what stands in blocks.
func TestPagesCallGl(t *testing.T) {
	n := 0
	for _, pattern := range []string{"README.md", "docs/install.md", "docs/merge-queue.md", "docs/guide/*.md"} {
		pages, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(pages) == 0 {
			t.Fatal(pattern, err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range callsIn(string(text)) {
				n++
				line := endOfCall.Split(c.line, 2)[0]
				if err := checkCall(line, true); err != nil {
					t.Errorf("%s: %s: %v", page, c.line, err)
				}
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d calls found", n)
	}
}

// endOfCall is where a command line ends, or a page leaves words out.
var endOfCall = regexp.MustCompile(` [|>#…]|  `)

// An agent in a worktree can't read its slice's current file: every text that makes an agent work
// on a slice names the one command that prints all of it.
func TestContentNamesTheWholeSlice(t *testing.T) {
	const whole = "`gl state show ID --text`"
	texts := contentTexts(t)
	for _, file := range []string{
		"CLAUDE.md", "plugin/commands/slice.md", "plugin/commands/resume.md", "plugin/references/state-format.md",
	} {
		if !strings.Contains(texts[file], whole) {
			t.Errorf("%s doesn't name %s", file, whole)
		}
	}
	slice, err := plugin.CommandText("slice") // the prompt of agents without slash commands
	if err != nil || !strings.Contains(agent.Instructions(slice, "S-1"), whole) {
		t.Errorf("the prompt of /gl:slice doesn't name %s: %v", whole, err)
	}
	for file, text := range texts {
		if file != "plugin/references/state-format.md" && strings.Contains(text, "`gl state show ID`") {
			t.Errorf("%s names the command that prints the fields alone", file)
		}
	}
}

func TestContentHooksCallGl(t *testing.T) {
	data, err := content.Plugin.ReadFile("plugin/hooks/hooks.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(gl hook [a-z-]+)`).FindAllStringSubmatch(string(data),
		-1) {
		if err := checkCall(m[1], false); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}
}

// checkCall returns gl's objection to the line. A line that only names a command, without
// arguments, is fine in prose.
func checkCall(line string, prose bool) error {
	words, err := shellwords.Split(line)
	if err != nil {
		return err
	}
	words = words[1:]
	root := newGl(cmdutil.NewApp(nil, nil, nil, nil), nil)
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

// number matches a count of tests in a text.
var number = regexp.MustCompile(`=[NM]$`)

// checkWords checks arguments that the command tree doesn't know.
func checkWords(command string, a []string) error {
	known := func(list []string, i int) error {
		if i >= len(a) || a[i] == strings.ToUpper(a[i]) && a[i] != "CLAUDE" ||
			slices.Contains(list, a[i]) {
			// NAME is a placeholder
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

// A project made of the templates is read without complaints.
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
		code := Main(context.Background(), append(a, "-C", root), strings.NewReader(""), &out,
			&errs, []string{"GREENLIGHT_ROOT=" + root})
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
			put("STATE.md", []byte(examples(string(template("state.md")))[0]))
		} else {
			for _, example := range examples(string(template("slice-state.md"))) {
				id, _, _ := strings.Cut(example[len("---\nid: "):], "\n")
				put("slices/"+id+".md", []byte(example))
			}
			want = 3
		}
		var status status.Document
		run(root, &status, "status", "--json")
		if status.Format != format || status.Total != want || len(status.Warnings) > 0 {
			t.Errorf("%s: %+v", format, status)
		}
		if generated := examples(string(template("state.md")))[1]; format == "slices" {
			put("STATE.md", nil)
			var out bytes.Buffer
			if code := Main(context.Background(), []string{"state", "render", "-C", root},
				strings.NewReader(""), &out, &out, []string{"GREENLIGHT_ROOT=" + root}); code != 0 {
				t.Fatal(out.String())
			}
			now, err := os.ReadFile(filepath.Join(root, ".greenlight", "STATE.md"))
			if err != nil || !strings.HasPrefix(string(now), generated) {
				t.Errorf("a generated STATE.md doesn't begin as the template says: %v\n%s", err, now)
			}
		}
		var settings settingsDoc
		run(root, &settings, "settings", "--json")
		if len(settings.Warnings) > 0 {
			t.Errorf("%s: %v", format, settings.Warnings)
		}
		for _, s := range settings.Settings {
			if strings.HasPrefix(s.Key, "sandbox") {
				// its availability depends on the machine
				continue
			}
			if strings.HasPrefix(s.Key, "git.") {
				// their defaults may change, and copies of the template would keep the old ones
				continue
			}
			if string(s.Value) == "null" { // without a default it needn't be there
				continue
			}
			if s.Source == nil || *s.Source != "config" {
				t.Errorf("config.json has no %s", s.Key)
			} else if prefix, _, _ := strings.Cut(s.Key,
				"."); !slices.Contains(project.SettingKeys(), s.Key) && prefix != "profiles" {
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

// examples returns the fenced blocks of a document.
func examples(text string) []string {
	var list []string
	for _, m := range regexp.MustCompile("(?ms)^```markdown\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// tableIn returns the words in the first cells of the table below a heading, and its rows.
func tableIn(t *testing.T, text, heading string) (first []string, rows [][]string) {
	t.Helper()
	section, ok := markdown.Section(text, heading)
	if !ok {
		t.Fatalf("no section %s", heading)
	}
	code := regexp.MustCompile("`([a-z_]+)`")
	for line := range strings.Lines(section) {
		cells := markdown.Cells(line)
		if len(cells) == 0 || len(rows) == 0 && cells[0] == strings.ToLower(cells[0]) &&
			!strings.Contains(cells[0], "`") || strings.HasPrefix(cells[0], "---") {
			continue
		}
		rows = append(rows, cells)
		for _, m := range code.FindAllStringSubmatch(cells[0], -1) {
			first = append(first, m[1])
		}
	}
	return first, rows
}

// The template of a slice's file documents the fields that gl reads and writes, each known status,
// and only transitions between these.
func TestSliceTemplate(t *testing.T) {
	data, err := content.Plugin.ReadFile("plugin/templates/slice-state.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	fields, rows := tableIn(t, text, "Fields")
	for _, row := range rows { // an alias is in its field's row
		for _, m := range regexp.MustCompile("`([a-z_]+)` is read as the same").FindAllStringSubmatch(row[3], -1) {
			fields = append(fields, m[1])
		}
	}
	want := append(ops.Keys(), "verified", "renamed_from", "branch")
	slices.Sort(want)
	slices.Sort(fields)
	if d := cmp.Diff(want, fields); d != "" {
		t.Errorf("fields: %s", d)
	}
	statuses, _ := tableIn(t, text, "Status")
	for _, s := range ops.Statuses() {
		if !slices.Contains(statuses, s) && s != "ready" {
			t.Errorf("no status %s", s)
		}
	}
	for _, s := range statuses {
		if !slices.Contains(ops.Statuses(), s) {
			t.Errorf("gl doesn't know the status %s", s)
		}
	}
	_, transitions := tableIn(t, text, "Transitions")
	if len(transitions) < 10 {
		t.Errorf("%d transitions", len(transitions))
	}
	for _, row := range transitions {
		for _, cell := range row[:2] {
			if word := strings.Trim(cell, "`"); word != "any active status" &&
				!slices.Contains(statuses, word) {
				t.Errorf("transition %v: no status %q", row, word)
			}
		}
	}
	sections, _ := markdown.Section(text, "Sections")
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, ".greenlight", "slices"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code := Main(context.Background(), []string{"add-slice", "One", "--id", "S-1", "-C", root},
		strings.NewReader(""), &out, &out, []string{"GREENLIGHT_ROOT=" + root}); code != 0 {
		t.Fatal(out.String())
	}
	file, err := os.ReadFile(filepath.Join(root, ".greenlight", "slices", "S-1.md"))
	if err != nil {
		t.Fatal(err)
	}
	for l := range markdown.Lines(string(file)) {
		key, _, ok := strings.Cut(l.Text, ":")
		if l.Level == 2 && !strings.Contains(sections, "| "+l.Title+" |") ||
			l.Level == 0 && ok && !slices.Contains(fields, key) {
			t.Errorf("the template doesn't have what a new slice has: %s", l.Text)
		}
	}
}

// settingsOf returns the settings of a project with that config.json.
func settingsOf(t *testing.T, config string) *project.Settings {
	t.Helper()
	root := t.TempDir()
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

// The template of config.json shows the defaults, which the texts name.
func TestTemplateHasTheDefaults(t *testing.T) {
	template, err := content.Plugin.ReadFile("plugin/templates/config.json")
	if err != nil {
		t.Fatal(err)
	}
	shown, usual := settingsOf(t, string(template)), settingsOf(t, "{}")
	for _, s := range usual.List() {
		got, err := shown.Get(s.Key)
		_, number := strconv.ParseFloat(string(s.Value), 64)
		if err != nil || number == nil && got.File && string(got.Value) != string(s.Value) {
			t.Errorf("%s is %s, and %s in the template (%v)", s.Key, s.Value, got.Value, err)
		}
	}
}

// Every agent has a role in the settings, where its model is chosen, and every role an agent; the
// profiles in config.json are the defaults.
func TestAgentsHaveModels(t *testing.T) {
	open := func(config string) *project.Settings { return settingsOf(t, config) }
	agents, _ := content.Plugin.ReadDir("plugin/agents")
	for _, profile := range open("{}").Profiles() {
		usual := open(`{"model_profile": "` + profile + `"}`)
		template, _ := content.Plugin.ReadFile("plugin/templates/config.json")
		shown := open(strings.Replace(string(template), `"model_profile": "balanced"`, `"model_profile": "`+profile+`"`, 1))
		if shown.Profile() != profile || len(agents) != len(usual.Models()) {
			t.Fatalf("%s, %s: %d agents, %d roles", profile, shown.Profile(), len(agents),
				len(usual.Models()))
		}
		for _, a := range agents {
			name := strings.TrimSuffix(a.Name(), ".md")
			want, err := usual.ModelOf(name)
			if got, err2 := shown.ModelOf(name); err != nil || err2 != nil || got != want {
				t.Errorf("%s, %s: %v %v, the template has %v %v", profile, name, want,
					err, got, err2)
			}
		}
	}
}
