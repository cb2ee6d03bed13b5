package claudetest

import (
	"strings"
	"testing"

	"greenlight/internal/core/outcome"
)

// A try is a tool call by a sub-agent and text that the answer must contain; "" for a call that
// must succeed.
type try struct {
	call Reply
	says string
}

func write(path string) Reply {
	return Use("Write", map[string]string{"file_path": path, "content": "package shop\n"})
}

func read(path string) Reply { return Use("Read", map[string]string{"file_path": path}) }

// askFor returns an answer that starts a sub-agent.
func askFor(name string) Reply {
	return Use("Agent", map[string]any{"description": "ask", "prompt": "YOUR TASK: " + name, "subagent_type": "gl:" + name, "run_in_background": false})
}

const (
	weaken  = "sed -i s/t.Fatal/t.Log/ a_test.go"
	putBack = "git restore --source=$(git for-each-ref --format='%(objectname)' refs/gl/tests) -- a_test.go .greenlight/CONTRACTS.md"
	spoiled = "Changed since the tests were handed over: "
)

// tries returns, for each agent, a try for every rule of its row in isolation.json that a tool
// could break.
func tries() map[string][]try {
	return map[string][]try{
		"gl-test-writer": {
			{read("src/a.go"), "may not read code"},
			{write("src/b.go"), "may not change code"},
			{write(".greenlight/NOTES.md"), "may not change plans"},
			{Use("Glob", map[string]string{"pattern": "src/*.go"}), "may not read code"},
			{read("go.mod"), ""},
			{write("b_test.go"), ""},
			{write("testutil/b.go"), ""},
		},
		"gl-implementer": {
			{read("a_test.go"), "may not read tests"},
			{write("c_test.go"), "may not change tests"},
			{write(".greenlight/NOTES.md"), "may not change plans"},
			{write("src/c.go"), ""},
			{write("vitest.config.ts"), "handed over with the tests"},
			{Bash("cat a_test.go"), "by a shell either"},
			{Bash(weaken), "by a shell either"},
			{Bash("sh -c 'echo package shop > a_test.go'"), "by a shell either"},
			{Bash("f=a_test.go; echo package shop > $f"), spoiled + "a_test.go."},
			{Bash(putBack), ""},
			{Bash("echo x >> .greenlight/CONTRACTS.md"), spoiled + ".greenlight/CONTRACTS.md."},
			{Bash(putBack), ""},
			{Bash("f=a_test.go; : > $f"), spoiled + "a_test.go."},
		},
		"gl-security": {
			{write("src/d.go"), "may not change code"},
			{read("src/a.go"), ""},
			{write("security_test.go"), ""},
		},
		// told when it ends
		"gl-verifier":        {{read("a_test.go"), ""}, {Bash("echo x > src/v.go"), ""}},
		"gl-wrapper":         {{write("src/e.go"), "may not change code"}, {write(".greenlight/NOTES1.md"), ""}},
		"gl-architect":       {{write("src/f.go"), "may not change code"}, {write("f_test.go"), "may not change tests"}, {write(".greenlight/NOTES2.md"), ""}},
		"gl-designer":        {{write("src/g.go"), "may not change code"}, {write(".greenlight/NOTES3.md"), ""}},
		"gl-codebase-mapper": {{write("src/h.go"), "may not change code"}, {write(".greenlight/NOTES4.md"), ""}},
		"gl-assessor":        {{write("i_test.go"), "may not change tests"}, {write(".greenlight/NOTES5.md"), ""}},
	}
}

// playing returns a world in which these agents build a slice, one after the other, and make
// these tries.
func playing(t *testing.T, agents []string, all map[string][]try) *world {
	t.Helper()
	var scripts []Script
	main := []Reply{Bash("gl state set S-01 status=tests step=tests && printf 'package shop // t.Fatal\\n' > a_test.go && git add -A && git commit -qm tests")}
	for _, name := range agents {
		steps := []Reply{}
		for _, one := range all[name] {
			steps = append(steps, one.call)
		}
		// the last two are for agents that SubagentStop sends back
		steps = append(steps, Say("Done."), Bash(putBack), Say("Put back."))
		scripts = append(scripts,
			Script{func(r *Request) bool { return r.Asked("YOUR TASK: " + name) }, steps})
		main = append(main, askFor(name))
		if name == "gl-test-writer" {
			main = append(main, Bash("gl state set S-01 status=implementing step=implementing"))
		}
	}
	main = append(main, Bash("git add -A && git commit -qm S-01; gl state set S-01 status=complete step=complete tests=1"), Say("It is complete."))
	w := newWorld(t, []string{"S-01"})
	w.write(w.root+"/src/a.go", "package src\n")
	w.write(w.root+"/go.mod", "module shop\n")
	w.write(w.root+"/.greenlight/CONTRACTS.md", "# Contracts\n")
	w.must("gl", "settings", "set", "git.isolation", "worktree")
	w.must("gl", "settings", "set", "test.command", "true")
	w.must("git", "add", "-A")
	w.must("git", "commit", "-q", "-m", "code")
	w.serve(append(scripts, Script{Steps: main})...)
	return w
}

// conversation returns the last request of a sub-agent.
func (w *world) conversation(name string) *Request {
	w.Helper()
	var last *Request
	for _, r := range w.api.Requests() {
		if r.Asked("YOUR TASK: " + name) {
			last = r
		}
	}
	if last == nil {
		w.Fatalf("%s was never asked", name)
	}
	return last
}

// Each rule of isolation.json is broken once, by a tool or in a shell, and each time it is
// caught; and the session and its sub-agents have read the standards.
func TestIsolationIsEnforced(t *testing.T) {
	agents := []string{"gl-test-writer", "gl-implementer", "gl-security", "gl-verifier", "gl-wrapper", "gl-architect", "gl-designer", "gl-codebase-mapper", "gl-assessor"}
	w := playing(t, agents, tries())
	r, _ := w.build("S-01")
	w.settled(r, outcome.Done, "complete")
	for _, name := range agents {
		conversation := w.conversation(name)
		if !conversation.Says("# Engineering standards") {
			t.Errorf("%s hasn't read the standards", name)
		}
		after := afterEach(conversation)
		for i, one := range tries()[name] {
			switch {
			case i >= len(after):
				t.Errorf("%s: %d calls were answered, not %d", name, len(after), len(tries()[name]))
			case one.says != "" && !strings.Contains(after[i], one.says):
				t.Errorf("%s, call %d: not told %q but %q", name, i, one.says, after[i])
			case one.says == "" &&
				(strings.Contains(after[i], " may not ") || strings.Contains(after[i], spoiled)):
				t.Errorf("%s, call %d was refused: %q", name, i, after[i])
			}
		}
	}
	// it tried to end with a test changed
	if n := len(w.conversation("gl-implementer").Results()); n != len(tries()["gl-implementer"])+1 {
		t.Errorf("the implementer wasn't sent back: %d calls", n)
	}
	if c := w.conversation("gl-verifier"); !c.Says("gl-verifier may not change these, and they were changed while it worked: src/v.go.") {
		t.Error("the verifier wasn't told that it has changed code")
	}
	if first := w.first(); !first.Says("# Engineering standards") {
		t.Error("the session hasn't read the standards")
	}
}

// Agents that break no rule get no message.
func TestIsolationOfTheHonest(t *testing.T) {
	all := map[string][]try{
		"gl-test-writer": {{read("go.mod"), ""}, {write("b_test.go"), ""}},
		"gl-implementer": {{read("src/a.go"), ""}, {write("src/c.go"), ""}, {Bash("ls"), ""}},
		"gl-security":    {{read("a_test.go"), ""}, {write("security_test.go"), ""}, {Bash("ls"), ""}},
	}
	w := playing(t, []string{"gl-test-writer", "gl-implementer", "gl-security"}, all)
	r, _ := w.build("S-01")
	w.settled(r, outcome.Done, "complete")
	for _, request := range w.api.Requests() {
		if request.Says(" may not ") && !request.Asked(" may not ") || request.Says(spoiled) ||
			request.Says("Put back.") {
			t.Errorf("refused: %+v", request.Messages[len(request.Messages)-1])
		}
	}
}

// Until the tests are handed over, gl-implementer may set up a test runner, as /gl:slice tells
// it to.
func TestRunnerIsSetUp(t *testing.T) {
	var all []try
	for _, name := range []string{"package.json", "vitest.config.ts", "jest.config.js", "pytest.ini", "conftest.py", "tests/conftest.py"} {
		all = append(all, try{write(name), ""}, try{read(name), ""})
	}
	w := playing(t, []string{"gl-implementer"}, map[string][]try{"gl-implementer": append(all, try{Bash("git status --short"), ""})})
	r, _ := w.build("S-01")
	w.settled(r, outcome.Done, "complete")
	for i, after := range afterEach(w.conversation("gl-implementer")) {
		if strings.Contains(after, " may not ") || strings.Contains(after, spoiled) {
			t.Errorf("call %d was refused: %q", i, after)
		}
	}
	if files := w.must("git", "ls-tree", "-r", "--name-only", "main"); !strings.Contains(files, "vitest.config.ts") || !strings.Contains(files, "tests/conftest.py") {
		t.Errorf("main has\n%s", files)
	}
}

// afterEach returns what the model read after each of its calls.
func afterEach(r *Request) []string {
	var all []string
	spoken := false
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			if !spoken {
				all = append(all, "")
			}
			spoken = true
			continue
		}
		spoken = false
		for _, b := range m.Content {
			if len(all) > 0 {
				all[len(all)-1] += b.Text + "\n"
			}
		}
	}
	return all
}
