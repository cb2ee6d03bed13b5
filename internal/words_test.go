package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// oldWords finds words that people shouldn't see, because git, GitHub and CI have others for them:
// docs/glossary.md has those.
var oldWords = regexp.MustCompile(`(?i)\b(?:lanes?|drain(?:s|ed|ing)?|nights?|lineages?|` +
	`(?:un)?land(?:s|ed|ing)?|(?:un)?deliver(?:s|y|ed|ing)?|handed back|came to nothing)\b`)

// notProse finds the parts of a text that aren't English: code, commands, flags, settings, refs,
// files, JSON keys; and the subject of the commits that merge slices, in everybody's history.
var notProse = regexp.MustCompile("`[^`]*`|\\bgl land\\b|\\bgl workers drain\\b|\\bdrain NAME\\b|\\bgl budget drain\\b|\\bLand [A-Z@]|--[a-z-]+|" +
	`[\w.*-]*[/_.=][\w/.*=-]*\w[\w/.*=-]*|"[a-z_]+"`)

// markup finds what a page of HTML doesn't show: actions of templates, and tags with their
// attributes.
var markup = regexp.MustCompile(`\{\{[^}]*\}\}|<[a-z/!][^>]*>`)

// oldWord returns an old word that the text contains, "" for none.
func oldWord(text string) string {
	return oldWords.FindString(notProse.ReplaceAllString(text, "·"))
}

// exemptStrings lists, by file, strings with old words that are names.
var exemptStrings = map[string][]string{
	"cli/land.go":             {"land [BRANCH...]"},          // the command's name
	"cli/help.go":             {"land undo settings doctor"}, // commands
	"cli/guesses.go":          {"merge deliver push"},        // what people type instead of gl land
	"run/lane/land.go":        {"Land "},                     // the subject of a merge commit
	"run/lane/pullrequest.go": {"Land "},                     // and of its pull request
}

// The table of functions that docs/design.md has for developers.
const lifeTable = "run/scheduler/life.go"

// People see the words of the field, in every message.
func TestMessagesUseTheFieldsWords(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"),
			name == lifeTable:
			return nil
		}
		found, err := oldStrings(path, nil)
		for _, free := range exemptStrings[name] {
			if !slices.ContainsFunc(found, func(f oldString) bool { return f.text == free }) {
				t.Errorf("internal/%s has no %q: take it off the list", name, free)
			}
		}
		for _, f := range found {
			if !slices.Contains(exemptStrings[name], f.text) {
				t.Errorf("internal/%s:%d: %.60q has the old word %q", name, f.line, f.text, f.word)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An oldString is a string in a Go file that is text, and an old word in it.
type oldString struct {
	text, word string
	line       int
}

// oldStrings returns those of a file. A string without a blank is a key or a name.
func oldStrings(path string, src any) (found []oldString, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field: // a struct's tag
			return n.Tag == nil
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind != token.STRING || err != nil || !strings.Contains(text, " ") {
				return true
			}
			if word := oldWord(text); word != "" {
				found = append(found, oldString{text, word, fset.Position(n.Pos()).Line})
			}
		}
		return true
	})
	return found, nil
}

// developers lists the pages that only people read who change gl.
var developers = []string{"design.md", "CONTRIBUTING.md"}

// The README, the guides, the reference and the method's texts use them, too, and so do the pages
// of gl web and the report. Code in them is as it is.
func TestPagesUseTheFieldsWords(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../docs/guide/*.md", "../docs/reference/*.md",
		"../content/plugin/*/*.md", "cli/web/templates/*.html", "show/report/*.html"} {
		found, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		if slices.Contains(developers, filepath.Base(page)) {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if word := oldWord(markup.ReplaceAllString(line, "·")); word != "" {
				t.Errorf("%s:%d has the old word %q: %s", filepath.Base(page), i+1, word, line)
			}
		}
	}
}

func TestOldWordsAreFound(t *testing.T) {
	for _, c := range []struct{ literal, want string }{
		{`"%s: the lane is locked"`, "lane"},
		{`"Everything has landed."`, "landed"},
		{`"S-1 lands as %s"`, "lands"},
		{`"the drain is over"`, "drain"},
		{`"not delivered: %s"`, "delivered"},
		{`"it can't land yet: gl land"`, "land"},
		{`" of the night before"`, "night"},
		{`"7 attempts came to nothing"`, "came to nothing"},
		{`"run gl land, or gl land --reset"`, ""},
		{`"the branch refs/heads/gl/lane/_/main was moved"`, ""},
		{`"budget.drain_usd is the limit of a run"`, ""},
		{`"see .greenlight/runs/lane.json"`, ""},
		{`"git log says Land S-1: Log in"`, ""},
		{`"lane"`, ""}, // a key
	} {
		found, err := oldStrings("x.go", "package x\n\nvar x = "+c.literal+"\n")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(found) > 0 {
			got = found[0].word
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.literal, got, c.want)
		}
	}
}
