package content

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documents returns the Markdown of one directory of the plugin by name, without ".md".
func documents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := Plugin.ReadDir("plugin/" + dir)
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".md")
		if !ok {
			continue
		}
		docs[name] = read(t, path.Join(dir, e.Name()))
	}
	return docs
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := Plugin.ReadFile("plugin/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func names(docs map[string]string) []string {
	var list []string
	for name := range docs {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// The names are what people type and what other commands start.
func TestEverythingIsThere(t *testing.T) {
	for dir, want := range map[string]string{
		"commands": "add-slice assess changelog debug design help init map migrate-state pause quick resume roadmap settings ship slice " +
			"status wrap",
		"agents": "gl-architect gl-assessor gl-codebase-mapper gl-debugger gl-designer gl-implementer gl-security gl-test-writer " +
			"gl-verifier gl-wrapper",
		"references": "checkpoint-protocol circuit-breaker contracts deviation-rules dispatch gsd interview plan-check security-catalogue specwright " +
			"state-format verification-patterns verification-tiers wrapping",
		"templates": "slice-state state",
	} {
		if d := cmp.Diff(strings.Fields(want), names(documents(t, dir))); d != "" {
			t.Errorf("%s: %s", dir, d)
		}
	}
}

// Agents read the texts at a price, each time.
func TestSizes(t *testing.T) {
	for dir, most := range map[string]int{"commands": 200, "agents": 150, "references": 150} {
		for name, text := range documents(t, dir) {
			if n := strings.Count(text, "\n"); n >= most {
				t.Errorf("%s/%s has %d lines", dir, name, n)
			}
		}
	}
	if n := strings.Count(Standards, "\n"); n >= 150 {
		t.Errorf("CLAUDE.md has %d lines", n)
	}
}

// frontmatter reads what Claude Code reads, and is stricter: one line per key, no duplicate
// keys, and nothing that YAML would read as anything but text.
func frontmatter(text string) (map[string]string, error) {
	head, _, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	if !ok || !strings.HasPrefix(text, "---\n") {
		return nil, fmt.Errorf("no frontmatter")
	}
	fields := map[string]string{}
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		quoted := len(value) > 1 && value[0] == '"' && strings.Count(value, `"`) == 2 && strings.HasSuffix(value, `"`)
		switch _, twice := fields[key]; {
		case !ok || twice || value == "" || strings.TrimSpace(key) != key || strings.TrimSpace(value) != value:
			return nil, fmt.Errorf("bad line %q", line)
		case !quoted && (strings.ContainsAny(value[:1], "[]{}\"'|>&*!%@`#,?:-") || strings.Contains(value, ": ") || strings.Contains(value, " #")):
			return nil, fmt.Errorf("%q must be quoted", line)
		}
		fields[key] = strings.Trim(value, `"`)
	}
	return fields, nil
}

func TestFrontmatter(t *testing.T) {
	for dir, keys := range map[string]struct{ must, may []string }{
		"commands": {[]string{"description", "allowed-tools"}, []string{"argument-hint", "model", "disable-model-invocation"}},
		"agents":   {[]string{"name", "description", "tools", "model"}, nil},
	} {
		for name, text := range documents(t, dir) {
			fields, err := frontmatter(text)
			if err != nil {
				t.Errorf("%s/%s: %v", dir, name, err)
			}
			for _, key := range keys.must {
				if fields[key] == "" {
					t.Errorf("%s/%s: no %s", dir, name, key)
				}
			}
			for key := range fields {
				if !slices.Contains(keys.must, key) && !slices.Contains(keys.may, key) {
					t.Errorf("%s/%s: %s", dir, name, key)
				}
			}
			if dir == "agents" && fields["name"] != name {
				t.Errorf("agents/%s is called %s", name, fields["name"])
			}
			if _, hint := fields["argument-hint"]; dir == "commands" && hint != strings.Contains(text, "$ARGUMENTS") {
				t.Errorf("commands/%s: an argument-hint without $ARGUMENTS, or the other way round", name)
			}
		}
	}
}

// A model may start any command by itself, except those that begin a project, convert its
// state, or release it.
func TestWhatModelsMayStart(t *testing.T) {
	for name, text := range documents(t, "commands") {
		fields, _ := frontmatter(text)
		alone := fields["disable-model-invocation"] != "true"
		if alone == slices.Contains([]string{"init", "migrate-state", "ship"}, name) {
			t.Errorf("commands/%s may be started by a model: %v", name, alone)
		}
	}
}

// An isolation is one agent's entry of isolation.json.
type isolation struct {
	Tools    []string `json:"tools"`
	MayRead  []string `json:"may_read"`
	MayWrite []string `json:"may_write"`
	Pages    []string `json:"pages"`
}

// An agent's tools enforce its limits, not words alone.
func TestIsolation(t *testing.T) {
	table := map[string]isolation{}
	dec := json.NewDecoder(strings.NewReader(read(t, "isolation.json")))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&table); err != nil {
		t.Fatal(err)
	}
	agents := documents(t, "agents")
	for name := range table {
		if _, ok := agents[name]; !ok {
			t.Errorf("isolation.json names %s, which is no agent", name)
		}
	}
	for name, text := range agents {
		rule, ok := table[name]
		if !ok {
			t.Errorf("isolation.json has no %s", name)
			continue
		}
		fields, _ := frontmatter(text)
		if d := cmp.Diff(rule.Tools, strings.Split(fields["tools"], ", ")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		for _, kind := range slices.Concat(rule.MayRead, rule.MayWrite) {
			if !slices.Contains([]string{"plan", "setup", "code", "tests"}, kind) {
				t.Errorf("%s: %q is no kind of file", name, kind)
			}
		}
		writes := slices.Contains(rule.Tools, "Write") || slices.Contains(rule.Tools, "Edit")
		if writes != (len(rule.MayWrite) > 0) {
			t.Errorf("%s has tools %v and may write %v", name, rule.Tools, rule.MayWrite)
		}
		searches := slices.Contains(rule.Tools, "Grep") || slices.Contains(rule.Tools, "Bash")
		if searches && !slices.Contains(rule.MayRead, "code") {
			t.Errorf("%s must not read code, and can search it", name)
		}
		for _, kind := range rule.MayWrite {
			if !slices.Contains(rule.MayRead, kind) {
				t.Errorf("%s writes %s without reading them", name, kind)
			}
		}
		both := slices.Contains(rule.MayWrite, "code") && slices.Contains(rule.MayWrite, "tests")
		if both || slices.Contains(rule.Tools, "Agent") {
			t.Errorf("%s writes code and its tests, or starts others", name)
		}
	}
}

var (
	inlined  = regexp.MustCompile("(?m)^!`(.*)`$")
	gitCalls = regexp.MustCompile("`git ([a-z]+)")
	removals = regexp.MustCompile("`(rm [^`]+)`")
	agentRef = regexp.MustCompile(`\bgl-[a-z-]+\b`)
	command  = regexp.MustCompile(`/gl:([a-z-]+)`)
)

// A command that needs a tool it isn't allowed stops at night to ask.
func TestAllowedTools(t *testing.T) {
	bash := regexp.MustCompile(`^Bash\((gl:\*|date:\*|git [a-z]+:\*|rm \.greenlight/[a-z./]+)\)$`)
	known := []string{"Read", "Write", "Edit", "Grep", "Glob", "Agent", "AskUserQuestion", "WebSearch", "WebFetch", "Skill", "SendMessage"}
	for name, text := range documents(t, "commands") {
		fields, _ := frontmatter(text)
		allowed := strings.Split(fields["allowed-tools"], ", ")
		_, body, _ := strings.Cut(text[4:], "\n---\n")
		need := func(tool, why string) {
			if !slices.Contains(allowed, tool) {
				t.Errorf("commands/%s: %s needs %s", name, why, tool)
			}
		}
		for _, tool := range allowed {
			if !slices.Contains(known, tool) && !bash.MatchString(tool) {
				t.Errorf("commands/%s: %s", name, tool)
			}
		}
		for _, m := range inlined.FindAllStringSubmatch(body, -1) {
			call, ok := strings.CutSuffix(m[1], " || true")
			if !ok || !strings.HasPrefix(call, "gl ") {
				t.Errorf("commands/%s: %q would end the command where it fails, or isn't gl", name, m[1])
			}
			if strings.Contains(call, "$") {
				t.Errorf("commands/%s: %q puts what a person typed into a shell line", name, m[1])
			}
			need("Bash(gl:*)", m[0])
		}
		for _, m := range gitCalls.FindAllStringSubmatch(body, -1) {
			need("Bash(git "+m[1]+":*)", m[0])
		}
		for _, m := range removals.FindAllStringSubmatch(body, -1) {
			need("Bash("+m[1]+")", m[0])
		}
		if strings.Contains(body, "`gl ") {
			need("Bash(gl:*)", "a call of gl")
		}
		if agentRef.MatchString(body) {
			need("Agent", agentRef.FindString(body))
		}
		if strings.Contains(body, "AskUserQuestion") {
			need("AskUserQuestion", "asking")
		}
	}
}

// Every agent that a text names exists, and every agent has a text that starts it.
func TestNamesExist(t *testing.T) {
	agents, commands := documents(t, "agents"), documents(t, "commands")
	started := map[string]bool{}
	texts := map[string]string{"CLAUDE.md": Standards}
	for _, dir := range []string{"commands", "agents", "references"} {
		for name, text := range documents(t, dir) {
			texts[dir+"/"+name] = text
		}
	}
	for file, text := range texts {
		for _, name := range agentRef.FindAllString(text, -1) {
			if _, ok := agents[name]; !ok {
				t.Errorf("%s names %s, which is no agent", file, name)
			}
			if strings.HasPrefix(file, "commands/") {
				started[name] = true
			}
		}
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			if _, ok := commands[m[1]]; !ok {
				t.Errorf("%s names %s, which is no command", file, m[0])
			}
		}
	}
	for name := range agents {
		if !started[name] {
			t.Errorf("no command starts %s", name)
		}
	}
}

// The client ignores a hooks file that it can't read, and then nothing is guarded.
func TestHooks(t *testing.T) {
	var file struct {
		Description string `json:"description"`
		Hooks       map[string][]struct {
			Matcher string `json:"matcher"`
			Hooks   []struct {
				Type    string `json:"type"`
				Command string `json:"command"`
				Timeout int    `json:"timeout"` // seconds
			} `json:"hooks"`
		} `json:"hooks"`
	}
	dec := json.NewDecoder(strings.NewReader(read(t, "hooks/hooks.json")))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for event, list := range file.Hooks {
		for _, entry := range list {
			for _, h := range entry.Hooks {
				got[event] += h.Command
				if h.Type != "command" || h.Timeout < 1 || h.Timeout > 60 {
					t.Errorf("%s: %+v", event, h)
				}
			}
			matcher := regexp.MustCompile("^(" + entry.Matcher + ")$")
			for _, tool := range []string{"Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep", "Bash"} {
				if event == "PreToolUse" && (!matcher.MatchString(tool) || matcher.MatchString("Agent")) {
					t.Errorf("matcher %q and %s", entry.Matcher, tool)
				}
			}
			if event == "PostToolUse" && (!matcher.MatchString("Bash") || matcher.MatchString("Read")) {
				t.Errorf("matcher %q", entry.Matcher)
			}
		}
	}
	// otherwise a user of the plugin without gl sees an error at every call
	for event, command := range got {
		cmd := exec.Command("/bin/sh", "-c", command)
		cmd.Env = []string{"PATH=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "gl on PATH") != (event == "SessionStart") || strings.Contains(string(out), "not found") {
			t.Errorf("without gl, %s: %v, %q", event, err, out)
		}
	}
	want := map[string]string{"SubagentStart": "subagent-start! command -v gl >/dev/null 2>&1 || gl hook subagent-pages", "PreToolUse": "guard", "PostToolUse": "after-tool", "SubagentStop": "subagent-stop", "Stop": "stop"}
	for event, name := range want { // without gl they print nothing
		want[event] = "! command -v gl >/dev/null 2>&1 || gl hook " + name
	}
	if start := got["SessionStart"]; !strings.HasPrefix(start, "if command -v gl >/dev/null 2>&1; then gl hook session-start; else echo ") {
		t.Error(start)
	}
	delete(got, "SessionStart")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// `claude plugin marketplace add` reads the file at the repository's root, and follows it to
// the plugin.
func TestMarketplace(t *testing.T) {
	var plugin struct{ Name, Description, Version string }
	if err := json.Unmarshal([]byte(read(t, ".claude-plugin/plugin.json")), &plugin); err != nil {
		t.Fatal(err)
	}
	if plugin.Name != "gl" || plugin.Description == "" || plugin.Version == "" {
		t.Errorf("plugin.json: %+v", plugin)
	}
	data, err := os.ReadFile(filepath.Join("..", ".claude-plugin", "marketplace.json"))
	if err != nil {
		t.Fatal(err)
	}
	var market struct {
		Name    string
		Owner   struct{ Name string }
		Plugins []struct{ Name, Source string }
	}
	if err := json.Unmarshal(data, &market); err != nil {
		t.Fatal(err)
	}
	if market.Name == "" || market.Owner.Name == "" || len(market.Plugins) != 1 || market.Plugins[0].Name != plugin.Name {
		t.Fatalf("marketplace.json: %+v", market)
	}
	source := market.Plugins[0].Source
	if _, err := os.Stat(filepath.Join("..", source, ".claude-plugin", "plugin.json")); err != nil || !strings.HasPrefix(source, "./") {
		t.Errorf("%s: %v", source, err)
	}
}

// The page's command for a copy copies committed and uncommitted files, without those that git
// ignores and without .git.
func TestCopyForMutations(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	page := read(t, "references/verification-patterns.md")
	command := regexp.MustCompile(`(?m)^    (dir=.*)$`).FindStringSubmatch(page)
	if command == nil {
		t.Fatal("the page has no command")
	}
	dir := t.TempDir()
	run := func(script string) string {
		t.Helper()
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir = filepath.Join(dir, "w")
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.Mkdir(filepath.Join(dir, "w"), 0o755); err != nil {
		t.Fatal(err)
	}
	run(`git init -q . && mkdir a && echo 1 > a/code && echo 1 > gone && echo big > .gitignore && git add . && git -c user.name=t -c user.email=t@t commit -qm 1`)
	whole := run("cd $(" + command[1] + ") && find . -type f | sort")
	run("echo 2 > a/code; echo 2 > a/test; echo 2 > big")
	changed := run("cd $(" + command[1] + ") && find . -type f | sort; cat a/code a/test")
	if whole != "./.gitignore\n./a/code\n./gone" || changed != "./.gitignore\n./a/code\n./a/test\n./gone\n2\n2" {
		t.Errorf("the copies have\n%s\nand\n%s", whole, changed)
	}
}
