package guard

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// showers are programs that show or change the files they name. Others, such as test runners,
// may name them.
var showers = strings.Fields("cat tac nl head tail less more bat od xxd strings grep egrep fgrep rg ag awk gawk mawk sed cut sort uniq diff cmp " +
	"cp mv rm ln tee truncate touch dd patch ed ex vi vim nano perl install shred")

// gitShowers are git commands that show files. Commands that restore a file are excluded,
// because agents are told to use them.
var gitShowers = strings.Fields("show diff log blame annotate grep cat-file apply")

// shells run the text after -c.
var shells = strings.Fields("sh bash zsh dash ksh")

// beside are words before a command that run it unchanged.
var beside = strings.Fields("command builtin exec sudo env nohup nice xargs")

// ShellFiles returns the words of a shell command that name files it shows or changes, as far
// as the text tells: arguments of programs that do nothing else, and targets of redirections.
// It doesn't expand anything, but applies a cd to what follows. It ignores everything after a
// syntax error, which no shell runs.
func ShellFiles(command string) []string {
	r := &shellReader{}
	r.read(command)
	return r.files
}

// A shellReader collects the files that commands name.
type shellReader struct {
	text  string // the text being parsed
	dir   string // directory set by a cd
	files []string
}

func (r *shellReader) read(text string) {
	r.text = text
	for stmt, err := range syntax.NewParser().StmtsSeq(strings.NewReader(text)) {
		if err == nil {
			syntax.Walk(stmt, r.visit)
		}
		// not left at an error, which comes twice: the parser would panic at the second one
	}
}

func (r *shellReader) visit(node syntax.Node) bool {
	switch node := node.(type) {
	case *syntax.CallExpr:
		r.call(node.Args)
	case *syntax.Redirect:
		switch node.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.DplIn, syntax.DplOut:
			// a text, or another stream
		default:
			r.add(r.word(node.Word.Parts))
		}
	}
	return true
}

// call processes a command with its arguments.
func (r *shellReader) call(args []*syntax.Word) {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = r.word(arg.Parts)
	}
	for led := false; len(words) > 0 &&
		(slices.Contains(beside, words[0]) || led && isOption(words[0])); led = true {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	name, words := path.Base(words[0]), words[1:]
	switch {
	case name == "cd" && len(words) > 0:
		r.dir = inDir(r.dir, words[0])
	case slices.Contains(shells, name):
		if i := slices.IndexFunc(words, func(w string) bool {
			return isFlag(w) && strings.HasSuffix(w, "c")
		}); i >= 0 && i+1 < len(words) {
			inner := &shellReader{dir: r.dir}
			inner.read(words[i+1])
			r.files = append(r.files, inner.files...)
		}
	case slices.Contains(showers, name), name == "git" &&
		slices.ContainsFunc(words, func(w string) bool { return slices.Contains(gitShowers, w) }):
		for _, w := range words {
			// as in git show HEAD:a_test.go
			if _, file, revision := strings.Cut(w, ":"); revision && name == "git" {
				w = file
			}
			if !isFlag(w) {
				r.add(w)
			}
		}
	}
}

// word returns the text of a word without its quotes.
func (r *shellReader) word(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			// removing backslashes yields the quoted text
			b.WriteString(strings.ReplaceAll(part.Value, "\\", ""))
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			b.WriteString(r.word(part.Parts))
		default:
			b.WriteString(r.text[part.Pos().Offset():part.End().Offset()])
		}
	}
	return b.String()
}

func (r *shellReader) add(file string) { r.files = append(r.files, inDir(r.dir, file)) }

// isOption reports whether a word after one of beside belongs to it: -n, 5, NAME=VALUE.
func isOption(word string) bool {
	return isFlag(word) || strings.Contains(word, "=") || strings.Trim(word, "0123456789") == ""
}

func isFlag(word string) bool { return strings.HasPrefix(word, "-") }

func inDir(dir, file string) string {
	if dir == "" || path.IsAbs(file) || strings.HasPrefix(file, "~") {
		return file
	}
	return path.Join(dir, file)
}

// Shell refuses a command that shows or changes a test to an agent that may not read tests. rel
// is one of ShellFiles, by its path in the project.
func (all Isolation) Shell(agent, rel string) error {
	if !all.HidesTests(agent) || !IsTest(rel) {
		return nil
	}
	return fmt.Errorf("%s may not read or change tests, by a shell either, and %s is one: work from the contracts, the names of the tests and "+
		"what the test command prints", agent, rel)
}

// HidesTests reports whether the agent may not read tests.
func (all Isolation) HidesTests(agent string) bool {
	rules, known := all[agent]
	return known && !slices.Contains(rules.MayRead, Tests)
}
