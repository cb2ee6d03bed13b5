package cli

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/shellwords"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project/projecttest"
	"greenlight/internal/run/rehearsal"
	"greenlight/internal/workspace/isolation"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandTree returns all visible commands, including the root and the help topics.
func commandTree() (root *cobra.Command, all []*cobra.Command) {
	root = newGl(cmdutil.NewApp(strings.NewReader(""), nil, nil, nil), nil)
	root.InitDefaultHelpCmd()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		all = append(all, c)
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				walk(sub)
			}
		}
	}
	walk(root)
	return root, all
}

func TestEveryCommandIsExplained(t *testing.T) {
	_, all := commandTree()
	for _, c := range all {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: Short must be one line without a full stop, not %q", c.CommandPath(), c.Short)
		}
		if !c.Runnable() || c.Parent() == nil {
			continue
		}
		if !strings.Contains(c.Long, "\nExit codes: ") {
			t.Errorf("%s: Long must end with a paragraph \"Exit codes: …\" that names those it can give (or exitHelp)", c.CommandPath())
		}
		if c.Example == "" {
			t.Errorf("%s: give it an Example", c.CommandPath())
		}
	}
}

func TestExamplesParse(t *testing.T) {
	_, all := commandTree()
	for _, c := range all {
		own := c.Example == ""
		for line := range strings.Lines(c.Example) {
			words, err := exampleWords(line)
			if err != nil || len(words) == 0 {
				t.Errorf("%s: no gl command in the example %q: %v", c.CommandPath(), line, err)
				continue
			}
			root, _ := commandTree() // a fresh one: it would keep the flags of the previous line
			called, rest, err := root.Find(words)
			if err == nil {
				err = called.ParseFlags(rest)
			}
			if err == nil {
				err = called.ValidateArgs(called.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: the example %q: %v", c.CommandPath(), line, err)
			}
			own = own || strings.HasPrefix(called.CommandPath(), c.CommandPath())
		}
		if !own {
			t.Errorf("%s: its examples are all of other commands", c.CommandPath())
		}
	}
}

// exampleWords returns the words after gl in a line of an example: "X=$(gl state claim S-1) ||
// exit", "gl logs S-1 words about it", "gl graph | head".
func exampleWords(line string) ([]string, error) {
	at := strings.Index(line, "gl ")
	if at < 0 {
		return nil, nil
	}
	line = strings.TrimRight(line[at+len("gl "):], "\n")
	quote := byte(0)
	for i := range len(line) {
		ends := slices.ContainsFunc([]string{"   ", " | ", " > ", " >> ", ")"},
			func(end string) bool {
				return strings.HasPrefix(line[i:], end)
			})
		switch {
		case quote == line[i]:
			quote = 0
		case quote == 0 && (line[i] == '"' || line[i] == '\''):
			quote = line[i]
		case quote == 0 && ends:
			return shellwords.Split(line[:i])
		}
	}
	return shellwords.Split(line)
}

// Known values are completed for every command that takes them.
func TestKnownValuesAreCompleted(t *testing.T) {
	_, all := commandTree()
	for _, c := range all {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			known := slices.Contains([]string{"agent", "runner", "milestone", "format", "attempt", "deps", "context", "system"}, f.Name)
			if _, ok := c.GetFlagCompletionFunc(f.Name); known && !ok {
				t.Errorf("%s --%s: complete its values (completeFlag)", c.CommandPath(), f.Name)
			}
		})
		if strings.Contains(strings.ToLower(c.Use), " [id") || strings.Contains(c.Use, " ID") {
			if c.ValidArgsFunction == nil {
				t.Errorf("%s: complete its ids (ValidArgsFunction: e.completeIDs or e.completeFirstID)", c.CommandPath())
			}
		}
	}
}

// gl help environment documents each variable that a command depends on, and each that agents get.
func TestEnvironmentIsDocumented(t *testing.T) {
	topic := newEnvironment().Long
	read := regexp.MustCompile(`(?:getenv|lookupEnv)\("([A-Z_]+)"\)|"(GL_[A-Z]+|GREENLIGHT_ROOT)="`)
	seen := 0
	for _, dir := range []string{".", "../run/project", "../run/attempt", "../run/scheduler", "../run/runner"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range read.FindAllStringSubmatch(string(text), -1) {
				seen++
				if name := m[1] + m[2]; !regexp.MustCompile(`\b` + name + `\b`).MatchString(topic) {
					t.Errorf("%s: gl help environment must tell of %s", f, name)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("found only %d: they are looked for in a wrong way", seen)
	}
}

// An unknown word is a usage error that names the one that was meant, before any project is opened.
func TestDidYouMean(t *testing.T) {
	root := projecttest.Write(t, everyClass)
	for line, want := range map[string]string{
		"stauts":                      "did you mean status?",
		"stauts --json":               "did you mean status?",
		"state shwo S-1":              "did you mean show?",
		"settings modle x y":          "did you mean model?",
		"status --jsno":               "did you mean --json?",
		"graph --format txet":         "did you mean text?",
		"slice --runner porcess":      "did you mean process?",
		"slice --agent cluade":        `did you mean "claude"?`,
		"status --milestone M1":       "did you mean m1?",
		"completion basch":            "did you mean bash?",
		"settings set parallel.mx 3":  "did you mean parallel.max?",
		"settings get paralel.max":    "did you mean parallel.max?",
		"settings mode yoloo":         "did you mean yolo?",
		"state set S-1 status=complt": "did you mean complete?",
		"state set S-1 Status=x":      "did you mean status?",
		"status --context shel":       "did you mean shell?",
		"help slcie":                  "did you mean slice?",
	} {
		var stdout, stderr strings.Builder
		code := Main(context.Background(), append([]string{"-C", root}, strings.Fields(line)...),
			strings.NewReader(""), &stdout, &stderr, nil)
		if code == cmdutil.ExitOK || !strings.Contains(stderr.String(), want) {
			t.Errorf("gl %s: exit code %d, %q: want %q", line, code, stderr.String(), want)
		}
	}
}

// withoutDocument lists the commands without a JSON document, and why.
var withoutDocument = map[string]string{
	"gl roadmap archive":   "gives the terminal to an agent",
	"gl roadmap milestone": "gives the terminal to an agent",
	"gl attach":            "gives the terminal to tmux",
	"gl board":             "gives the terminal to the board",
	"gl serve":             "serves until it is stopped",
	"gl worker":            "works until it is stopped",
	"gl workers invite":    "prints a token",
	"gl web":               "its pages answer in JSON",
	"gl design":            "gives the terminal to an agent",
	"gl statusline":        "its reader is Claude Code",
	"gl ref":               "prints a text",
	"gl completion":        "prints a script",
	"gl help":              "for people",
	"gl gsd state":         "answers in GSD's JSON",
	"gl gsd init":          "answers in GSD's JSON",
	"gl gsd milestone":     "answers in GSD's JSON",
	"gl gsd phase":         "answers in GSD's JSON",
	"gl gsd phases":        "answers in GSD's JSON",
	"gl gsd requirements":  "answers in GSD's JSON",
	"gl gsd roadmap":       "answers in GSD's JSON",
	"gl gsd todo":          "answers in GSD's JSON",
}

// Every command can print its result as a document with a schema in docs/schema.
func TestEveryCommandHasADocument(t *testing.T) {
	root, all := commandTree()
	schemas := schemasOf(t, root)
	used := map[string]bool{}
	for _, c := range all {
		path := c.CommandPath()
		if !c.Runnable() || c.HasAvailableSubCommands() && c.Flags().Lookup("json") == nil {
			continue
		}
		why := ""
		for prefix := range withoutDocument {
			if path == prefix || strings.HasPrefix(path, prefix+" ") ||
				strings.HasPrefix(path, prefix+"-") {
				why = prefix
			}
		}
		switch has := c.Flags().Lookup("json") != nil; {
		case why != "" && has:
			t.Errorf("%s has --json: take it out of withoutDocument", path)
		case why != "":
			used[why] = true
		case !has:
			t.Errorf("%s has no --json: see cmdutil.Changes", path)
		case schemas[path] == "":
			t.Errorf("%s --json has no schema: add it to documents", path)
		case !slices.ContainsFunc(documents, func(d document) bool { return isOf(root, d, c) && !strings.Contains(d.command, "--dry-run") }):
			t.Errorf("%s --json works with --dry-run alone", path)
		}
	}
	for path := range withoutDocument {
		if !used[path] {
			t.Errorf("%s is in withoutDocument, and isn't there", path)
		}
	}
}

// isOf reports whether the document is the command's.
func isOf(root *cobra.Command, d document, c *cobra.Command) bool {
	found, _, err := root.Find(strings.Fields(d.command)[1:])
	return err == nil && found.CommandPath() == c.CommandPath()
}

// gl help agents lists exactly the placeholders of command lines and the variables that an agent
// gets, and gl help rehearsal the words of a SPEC. Its examples can be parsed.
func TestTopicsAreWhatTheCodeKnows(t *testing.T) {
	listed := func(topic *cobra.Command, pattern string) []string {
		var names []string
		for _, m := range regexp.MustCompile(`(?m)^  (`+pattern+
			`)(?:[ =@]|$)`).FindAllStringSubmatch(topic.Long, -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }
	var given []string
	for _, r := range []*attempt.Record{{ID: attempt.Identity{Slice: "S-1", N: 1}},
		{ID: attempt.Identity{Slice: "@quick", N: 1}, Task: attempt.Errand{Summary: "s.md"}}} {
		for _, kv := range r.Env(nil, "/") {
			name, _, _ := strings.Cut(kv, "=")
			given = append(given, name)
		}
	}
	for _, kv := range (isolation.Worktree{Ports: 1, Temp: "/t"}).Env(nil) {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "GIT_") {
			// git's configuration
			given = append(given, name)
		}
	}
	if diff := cmp.Diff(slices.Compact(sorted(given)),
		listed(newAgentsTopic(), `[A-Z_]+`)); diff != "" {
		t.Errorf("variables (-code +gl help agents):\n%s", diff)
	}
	if diff := cmp.Diff(sorted(agent.Placeholders()),
		listed(newAgentsTopic(), `\{[a-z]+\}`)); diff != "" {
		t.Errorf("placeholders (-code +gl help agents):\n%s", diff)
	}
	long := newRehearsalTopic().Long
	words := slices.DeleteFunc(listed(newRehearsalTopic(), `[a-z]+`), func(w string) bool {
		return w == "gl"
	})
	if strings.Contains(long, ",max=") {
		words = append(words, "max")
	}
	if diff := cmp.Diff(sorted(rehearsal.Words()), sorted(words)); diff != "" {
		t.Errorf("words (-code +gl help rehearsal):\n%s", diff)
	}
	for _, m := range regexp.MustCompile(`(?:--spec |rehearsal:)([a-z]\S+)`).FindAllStringSubmatch(long, -1) {
		if _, err := rehearsal.ParseSpec(m[1]); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}
}

// permits has every command.
func TestEveryCommandSaysWhoMayCallIt(t *testing.T) {
	_, all := commandTree()
	known := map[string]bool{}
	for _, c := range all {
		if !c.Runnable() {
			continue
		}
		known[c.CommandPath()] = true
		rule, ok := permits()[c.CommandPath()]
		if !ok {
			t.Errorf("%s isn't in permits", c.CommandPath())
		}
		if (rule.who == forSetting) != (rule.setting != nil) ||
			(rule.who == forSystem) != (rule.system != "") {
			t.Errorf("%s: the rule doesn't fit: %+v", c.CommandPath(), rule)
		}
	}
	for path := range permits() {
		if !known[path] {
			t.Errorf("permits has %s, which isn't a command", path)
		}
	}
}

// The table names a command so that a command line makes only the one it calls.
func TestNamesOfCommands(t *testing.T) {
	app := cmdutil.NewApp(strings.NewReader(""), nil, nil, nil)
	made := func(args ...string) (names []string) {
		groups, _ := needed(commandGroups(), args)
		for _, g := range groups {
			for _, e := range g.commands {
				names = append(names, e.name)
			}
		}
		return names
	}
	all := made()
	for _, g := range slices.Concat(commandGroups(), remoteGroups()) {
		for _, e := range g.commands {
			c := e.make(app)
			if c.Name() != e.name || len(c.Aliases) > 0 {
				t.Errorf("%q makes %q with aliases %q", e.name, c.Name(), c.Aliases)
			}
			want := []string{e.name}
			if slices.Contains(strings.Fields(showsAll), e.name) {
				want = all
			}
			for _, args := range [][]string{{e.name, "--help"}, {"-C", "slice", "-q", e.name}} {
				if got := made(args...); !slices.Equal(got, want) {
					t.Errorf("%q makes %q, expected %q", args, got, want)
				}
			}
		}
	}
	for _, args := range [][]string{{"help", "slice"}, {"slcie"}, {"-v"}, {"__complete", "sl"}} {
		if got := made(args...); !slices.Equal(got, all) {
			t.Errorf("%q makes %q, expected all", args, got)
		}
	}
}
