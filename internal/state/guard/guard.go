// Package guard decides whether an agent may do what it is about to do to a file: only gl
// changes its own state, and agents whose work is judged by tests don't write them. It is pure:
// files come as bytes; identifying the caller and enforcing the decision are up to the callers.
// It recognizes protected files only by unambiguous names, because a wrong refusal stops a
// night's work. If the effect of a call on such a file can't be determined, it assumes the
// worst.
package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"greenlight/internal/state/slice"
)

// A Call is a tool call, as the client describes it to a hook beforehand.
type Call struct {
	// Edit, Write, MultiEdit, NotebookEdit, Read, Glob, Grep, or a server's: mcp__SERVER__NAME
	Tool  string
	Agent string // the calling sub-agent, without its plugin's name; "" for the session itself
	Input Input
}

// Writes reports whether the tool changes files. For a server's tool it has only the name and
// the fields to judge by.
func (c Call) Writes() bool {
	switch c.Tool {
	case "Edit", "Write", "MultiEdit", "NotebookEdit", "":
		return true
	case "Read", "Grep", "Glob", "LS":
		return false
	}
	return c.Input.HasContent || verb(c.Tool, "write", "edit", "creat", "replac", "insert", "delet",
		"remov", "renam", "patch", "updat", "append", "modif", "apply", "save", "move",
		"copy", "truncat")
}

// reads reports whether the tool shows a file's content.
func (c Call) reads() bool { return c.Tool == "Read" || verb(c.Tool, "read") && !c.Writes() }

// searches reports whether the tool searches for names or lines in files.
func (c Call) searches() bool { return c.Tool == "Glob" || c.Tool == "Grep" }

// verb reports whether the last part of a tool's name, mcp__SERVER__NAME, contains one of the
// words.
func verb(tool string, words ...string) bool {
	name := strings.ToLower(tool[strings.LastIndex(tool, "__")+1:])
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
}

// known reports whether After can determine the resulting file.
func (c Call) known() bool {
	return !c.Input.Unsure && slices.Contains([]string{"Edit", "Write", "MultiEdit"}, c.Tool)
}

// After returns the file's text after the call, with plain line endings; false if the tool
// itself will refuse.
func (c Call) After(before string) (string, bool) {
	before = plain(before)
	edits := c.Input.Edits
	switch c.Tool {
	case "Write":
		return plain(c.Input.Content), true
	case "Edit":
		edits = []Edit{c.Input.Edit}
	}
	for _, e := range edits {
		from, to := plain(e.Old), plain(e.New)
		switch {
		case from == "" && before == "": // this creates a file
			before = to
		case from == "" || !strings.Contains(before, from):
			return "", false
		case e.All:
			before = strings.ReplaceAll(before, from, to)
		default:
			before = strings.Replace(before, from, to, 1)
		}
	}
	return before, len(edits) > 0
}

func plain(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// State refuses to write gl's own files in a project's .greenlight. rel is the file's path in
// there; before is its content, nil if there is no file; generated reports that STATE.md is
// generated from the slice files. The error is the refusal, and names an alternative.
func State(c Call, rel string, before []byte, generated bool) error {
	dir, name := path.Split(rel)
	switch {
	case !c.Writes():
		return nil
	case rel == "" || rel == "slices" && generated:
		return errors.New(strings.TrimSuffix(".greenlight/"+rel, "/") +
			" is the directory in which gl keeps its state: change it through gl only")
	case rel == "runs" || strings.HasPrefix(rel, "runs/") || rel == ".lock":
		return fmt.Errorf(".greenlight/%s is where gl keeps attempts and claims: change it through gl only (gl state, gl stop, gl retry)", rel)
	case rel == "STATE.md" && generated:
		return errors.New(".greenlight/STATE.md is generated from the slice files and overwritten by every change: " +
			"run gl state set ID KEY=VALUE, and gl state render if it is out of date")
	case rel == "config.json":
		return errors.New(".greenlight/config.json names the commands that gl runs: use gl settings set KEY VALUE, " +
			"and leave what that can't change to a person")
	case rel == "GRAPH.json" && generated && (before == nil || json.Valid(before)):
		// a broken file may be repaired by hand
		return errors.New(".greenlight/GRAPH.json is the graph that gl plans by: use gl add-slice NAME --deps …, " +
			"and leave other changes to a person")
	case dir == "slices/" && strings.HasSuffix(name, ".md"):
		return frontmatter(c, strings.TrimSuffix(name, ".md"), before)
	}
	return nil
}

// Copy refuses to write a copy of state: a linked git worktree has a copy of each state file
// that git tracks, which nothing reads. rel is the file's path in the worktree's .greenlight;
// original is the location of the live .greenlight; generated is as for State. Documents
// (contracts, summaries, decisions) belong to the branch, like code.
func Copy(c Call, rel, original string, generated bool) error {
	dir, name := path.Split(rel)
	instead := "Change the state through gl, which finds it from here (gl state, gl add-slice, gl settings)"
	switch {
	case !c.Writes():
		return nil
	case rel == "" || rel == "slices" || rel == "runs" || strings.HasPrefix(rel, "runs/") ||
		rel == ".lock":
	case rel == "STATE.md" && !generated:
		instead = "Edit " + path.Join(original, rel)
	case rel == "GRAPH.json" || rel == "STATE.md" || rel == "project-state.json" ||
		rel == "config.json":
	case dir == "slices/" && strings.HasSuffix(name, ".md"):
		id := strings.TrimSuffix(name, ".md")
		instead = fmt.Sprintf("For a new slice run gl add-slice; gl state set %s KEY=VALUE and gl state note %s find the state from here, and "+
			"the text below the frontmatter is yours to edit in %s", id, id,
			path.Join(original, rel))
	default:
		return nil
	}
	return NewCopyError(strings.TrimSuffix(".greenlight/"+rel, "/"),
		path.Join(original, rel), instead)
}

// NewCopyError returns the refusal to write a copy of a state file. original is the live file.
func NewCopyError(rel, original, instead string) error {
	return fmt.Errorf("this is a linked worktree, where %s is a copy that nothing reads; the state is in %s. %s", rel, original, instead)
}

// frontmatter refuses to change the front matter of a slice's file. A broken file may be
// repaired by hand.
func frontmatter(c Call, id string, before []byte) error {
	after, ok := c.After(string(before))
	if !c.known() {
		// NotebookEdit itself refuses anything but a notebook
		after, ok = "", c.Tool != "NotebookEdit"
	}
	if !ok {
		return nil
	}
	then, errThen := slice.ParseFile([]byte(after))
	if before == nil {
		if errThen != nil && c.known() {
			return nil
		}
		return fmt.Errorf("slice files are made by gl, with their place in the graph: run gl add-slice %q --id %s --deps …; "+
			"then write what is below the frontmatter", "NAME", id)
	}
	now, err := slice.ParseFile([]byte(plain(string(before))))
	if err != nil || errThen == nil && now.Head() == then.Head() {
		return nil
	}
	return fmt.Errorf("the frontmatter of .greenlight/slices/%s.md is gl's: run gl state set %s KEY=VALUE for status, step and numbers, "+
		"gl state note %s for decisions and files. The text below the frontmatter is yours to edit",
		id, id, id)
}

// Isolation maps agents to the kinds of files they may read and write.
type Isolation map[string]row

type row struct {
	Tools    []string `json:"tools"`
	MayRead  []Kind   `json:"may_read"`
	MayWrite []Kind   `json:"may_write"`
	Pages    []string `json:"pages"` // pages of gl ref that it gets when it starts
}

// Pages returns the references that the agent gets when it starts.
func (all Isolation) Pages(agent string) []string { return all[agent].Pages }

// ParseIsolation parses the content's isolation.json.
func ParseIsolation(data []byte) (Isolation, error) {
	var all Isolation
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("isolation.json: %w", err)
	}
	return all, nil
}

// Isolated refuses a sub-agent what its row of the table doesn't allow. rel is the file's path
// in the project, or the pattern of a Glob. handed reports whether the tests of the agent's
// slice were handed over.
func (all Isolation) Isolated(c Call, rel string, handed bool) error {
	rules, known := all[c.Agent]
	kind := KindOf(rel)
	switch {
	case !known:
		return nil
	case IsRunnerConfig(rel) && rules.setsUp() && !handed:
		return nil
	case c.Writes() && IsRunnerConfig(rel) && rules.setsUp():
		return fmt.Errorf("%s may not change %s: it was handed over with the tests, whose runner it configures; %s", c.Agent, rel, Tests.instead())
	case c.Writes() && !slices.Contains(rules.MayWrite, kind):
		return fmt.Errorf("%s may not change %s, and %s is one: %s", c.Agent, kind.noun(), rel,
			kind.instead())
	case c.reads() && IsTestData(rel) && !IsTest(rel): // the code may need to read it
		return nil
	case (c.reads() || c.searches()) && !slices.Contains(rules.MayRead, kind):
		if kind == Tests {
			return fmt.Errorf("%s may not read tests, and %s is one: work from the contracts, the names of the tests and what the test "+
				"command prints", c.Agent, rel)
		}
		return fmt.Errorf("%s may not read %s, and %s is one: work from the contracts, and from what you were given", c.Agent, kind.noun(), rel)
	}
	return nil
}

// Watches reports whether the agent's changes must be compared: it has a shell, and its write
// permissions are restricted.
func (all Isolation) Watches(agent string) bool {
	rules, known := all[agent]
	return known && slices.Contains(rules.Tools, "Bash") &&
		slices.ContainsFunc([]Kind{Plan, Setup, Code, Tests}, func(k Kind) bool {
			return !slices.Contains(rules.MayWrite, k)
		})
}

// Strayed returns those of the changed files, by their paths in the project, that the agent may
// not change. An agent outside the table may change any. An agent that writes code also runs
// the tests, which may write data of their own. handed is as for Isolated.
func (all Isolation) Strayed(agent string, changed []string, handed bool) []string {
	rules, known := all[agent]
	return slices.DeleteFunc(slices.Clone(changed), func(rel string) bool {
		return !known || IsRunnerConfig(rel) && rules.setsUp() && !handed ||
			slices.Contains(rules.MayWrite, KindOf(rel)) ||
			IsTestData(rel) && !IsTest(rel) && slices.Contains(rules.MayWrite, Code)
	})
}

// Search refuses a sub-agent a search that prints lines of files it may not read. A search of
// whole directories may print any file.
func (all Isolation) Search(c Call) error {
	rules, known := all[c.Agent]
	if !known || c.Tool != "Grep" || !c.Input.Lines ||
		slices.Contains(rules.MayRead, Tests) && slices.Contains(rules.MayRead, Code) {
		return nil
	}
	return fmt.Errorf("%s may not read every file, and this prints lines of any: search with output_mode files_with_matches, or name one file "+
		"as path", c.Agent)
}

// Implementing refuses a session that implements a slice by itself to change the tests it must
// pass. fixed reports that they were handed over for good.
func Implementing(c Call, rel, id string, fixed bool) error {
	if c.Agent != "" || !c.Writes() || KindOf(rel) != Tests && !IsContracts(rel) {
		return nil
	}
	if fixed {
		return fmt.Errorf("%s is being implemented, and %s was handed over with its tests and stays as it is; new test files may be added. "+
			"If it is wrong: gl state set %s waiting_for=\"WHAT IS WRONG, AND YOUR PROPOSAL\", and stop", id, rel, id)
	}
	return fmt.Errorf("%s is being implemented, and %s belongs to the tests, which are to pass unchanged. If it is wrong against its contract: "+
		"gl state note %s --decision \"why\", then gl state set %s step=tests, mend it, and gl state set %s step=implementing",
		id, rel, id, id, id)
}
