package cli

import (
	"context"
	"strings"
	"testing"

	"greenlight/internal/base/shellwords"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/project/projecttest"
)

// Each word is in the table once and isn't a command, and what it stands for is one.
func TestGuesses(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range guesses() {
		if (g.runs == "") == (len(g.offers) == 0) {
			t.Errorf("%s: it must either run a command or offer some", g.words)
		}
		lines := []string{g.runs}
		for _, o := range g.offers {
			lines = append(lines[:len(lines):len(lines)], o.line(""))
			if with := o.line("X 'a b'"); strings.Contains(o.command, "{") !=
				strings.Contains(with, "X 'a b'") || strings.ContainsAny(with, "{}") {
				t.Errorf("gl %s: with arguments it is %s", o.command, with)
			}
		}
		for _, line := range lines {
			words, err := shellwords.Split(line)
			if err != nil || line == "" {
				continue // the command of a guess that only offers
			}
			root, _ := commandTree()
			c, rest, err := root.Find(words)
			if err == nil {
				err = c.ParseFlags(rest)
			}
			if err != nil || c == root {
				t.Errorf("%s stands for gl %s: %v", g.words, line, err)
			}
		}
		for word := range strings.FieldsSeq(g.words) {
			root, _ := commandTree()
			if c, _, err := root.Find([]string{word}); seen[word] || err == nil && c != root {
				t.Errorf("%s is in the table twice, or a command or topic", word)
			}
			seen[word] = true
		}
	}
}

// What a person types first works or names the command, with its arguments. Only what shows
// something is run.
func TestFirstGuesses(t *testing.T) {
	root := projecttest.Write(t, everyClass)
	for line, want := range map[string]struct {
		code int
		text string
	}{
		"ls":                  {0, "Progress:"},
		"list --json":         {0, `"schema_version": 1`},
		"tasks":               {0, "Progress:"},
		"S-4":                 {0, "S-4 failed"},
		"s-4":                 {0, "S-4 failed"},
		"show S-4":            {0, "status: failed"},
		"explain S-4":         {0, "S-4 failed"},
		"config get mode":     {0, "interactive"},
		"commands":            {0, "Sibling formats"},
		"inbox":               {0, "gl retry S-4"},
		"-h":                  {0, "Answer gl review"},
		"--version":           {0, "gl dev"},
		"help start":          {0, "gl slice [ID...]"},
		"help slices":         {0, "one item of the task graph"},
		"help 'merge queue'":  {0, "merge queue: "},
		"help glossary":       {0, " wave: "},
		"help ls":             {0, "gl status [flags]"},
		"run S-2":             {2, `unknown command "run", did you mean gl slice S-2 builds slices`},
		"start":               {2, "gl slice --watch builds slices"},
		"continue":            {2, "gl retry ID a failed slice"},
		"kill S-3":            {2, "gl stop S-3 ends agents"},
		"approve S-6":         {2, "gl accept S-6 approves a slice"},
		"merge":               {2, "gl land merges what had to wait"},
		"new":                 {2, `gl add-slice "NAME" adds a slice`},
		"open S-2":            {2, "gl edit S-2 opens a slice's file"},
		"update":              {2, "gl version prints the version"},
		"rm S-2":              {2, "gl remove S-2 removes a slice"},
		"S-77":                {1, "S-77"},
		"add":                 {2, "gl add-slice needs NAME"},
		"task 'fix the page'": {2, "gl do 'fix the page' has an agent do a task"},
		"'fix the page'":      {2, "gl do 'fix the page' has an agent do a task"},
		"stat":                {0, "Progress:"},
		"unpause":             {2, "gl hold --lift launches agents again"},
		"worktrees S-2":       {2, "gl diff S-2 shows what a slice changed"},
		"fix the login":       {2, "gl do 'fix the login' has an agent do a task"},
		"__complete slice ''": {0, "S-2"},
		"help state set":      {0, "gl state set ID"},
		"statsu of it":        {2, "did you mean status?"},
		"hold soon":           {2, `"soon" is no time`},
		"zzzzzz":              {2, "gl help --all lists them all"},
	} {
		words, err := shellwords.Split(line)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		code := Main(context.Background(), append([]string{"-C", root}, words...),
			strings.NewReader(""), &out, &out, nil)
		text := strings.Join(strings.Fields(out.String()), " ")
		if code != want.code || !strings.Contains(text, want.text) {
			t.Errorf("gl %s: exit code %d: %s\nwant %d: %s", line, code, &out, want.code, want.text)
		}
	}
	if code := Main(context.Background(), []string{"add", "Search", "-C", root},
		strings.NewReader(""), &strings.Builder{}, &strings.Builder{}, nil); code != cmdutil.ExitOK {
		t.Errorf("gl add: exit code %d", code)
	}
}
