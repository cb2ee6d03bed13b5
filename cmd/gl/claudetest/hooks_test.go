package claudetest

import (
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/core/outcome"
)

// The project's state is part of what the model reads first in a session.
func TestHookSessionStart(t *testing.T) {
	w := newWorld(t, []string{"S-01"}, Script{Steps: []Reply{Say("Hello.")}})
	w.headless("hello", "--plugin-dir", w.plugin())
	if r := w.first(); !r.Asked("S-01") {
		t.Errorf("the model was not told of the project: %+v", r.Messages)
	}
}

// A write to gl's own files is refused, and the model is told what to do instead; a write to a
// person's files is allowed.
func TestHookGuard(t *testing.T) {
	const path = ".greenlight/slices/S-01.md"
	w := newWorld(t, []string{"S-01"})
	before := w.read(path)
	file := func(more ...string) map[string]string {
		in := map[string]string{"file_path": filepath.Join(w.root, path)}
		for i := 0; i < len(more); i += 2 {
			in[more[i]] = more[i+1]
		}
		return in
	}
	w.serve(Script{Steps: []Reply{
		Use("Read", file()),
		Use("Write", file("content", strings.Replace(before, "status: pending", "status: complete", 1))),
		Use("Edit", file("old_string", "status: pending", "new_string", "status: complete")),
		Use("Edit", file("old_string", "## Why\n", "new_string", "## Why\nBecause.\n")),
		Say("So be it."),
	}})
	w.headless("hello", yolo, "--plugin-dir", w.plugin())
	results := w.last().Results()
	if len(results) < 4 {
		t.Fatalf("results: %+v", results)
	}
	for _, r := range results[1:3] {
		if !r.IsError || !strings.Contains(r.Text, "gl state") {
			t.Errorf("the frontmatter was written, or no way was shown: %+v", r)
		}
	}
	if results[3].IsError {
		t.Errorf("a section was not written: %s", results[3].Text)
	}
	after := w.read(path)
	if !strings.Contains(after, "status: pending") || !strings.Contains(after, "Because.") {
		t.Errorf("the slice:\n%s", after)
	}
}

// An implementer can't write tests, and the agent that writes the tests can.
func TestHookGuardsTests(t *testing.T) {
	w := newWorld(t, []string{"S-01"})
	ask := func(name string) Reply {
		return Use("Agent", map[string]any{"description": "ask", "prompt": "YOUR TASK: " + name,
			"subagent_type": "gl:" + name, "run_in_background": false})
	}
	write := func(name string) Script {
		return Script{When: func(r *Request) bool { return r.Asked("YOUR TASK: " + name) },
			Steps: []Reply{
				Use("Write", map[string]string{"file_path": filepath.Join(w.root, name+"_test.go"), "content": "package p\n"}), Say("Done.")}}
	}
	w.serve(write("gl-implementer"), write("gl-test-writer"), Script{Steps: []Reply{
		Bash("gl state claim S-01", "gl state set S-01 status=implementing step=implementing"), ask("gl-implementer"),
		Bash("gl state set S-01 status=tests step=tests"), ask("gl-test-writer"),
		Bash("gl state release S-01"), Say("Both asked."),
	}})
	w.headless("hello", yolo, "--plugin-dir", w.plugin())
	for name, blocked := range map[string]bool{"gl-implementer": true, "gl-test-writer": false} {
		var results []Block
		for _, r := range w.api.Requests() {
			if r.Asked("YOUR TASK: " + name) {
				results = r.Results()
			}
		}
		if len(results) != 1 || results[0].IsError != blocked {
			t.Errorf("%s: %+v", name, results)
		}
	}
}

// A model that leaves its slice without reporting is told so once, and can still report.
func TestHookStop(t *testing.T) {
	w := newWorld(t, []string{"S-01"}, Script{Steps: []Reply{
		Bash("gl state set S-01 status=implementing step=implementing"),
		Say("That's all for today."),
		Bash("gl state set S-01 status=complete step=complete tests=3"),
		Say("Now it is complete."),
	}})
	r, _ := w.build("S-01")
	w.settled(r, outcome.Done, "complete")
	if n := len(w.asked()); n != 4 {
		t.Errorf("%d requests, not 4: the model was asked more than once, or never", n)
	}
	if last := w.last(); !last.Says("waiting_for") {
		t.Errorf("the model was not told the ways out: %+v", last.Messages)
	}
	w.observeAttempt("leaves its slice without a word, until the Stop hook asks", r)
}
