package debugreport

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/command"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/run/project/projecttest"
	"greenlight/internal/state/contracts"
)

// open creates a project of files under .greenlight, and its plan.
func open(t *testing.T, files map[string]string) (*project.Project, *plan.Plan) {
	t.Helper()
	pr := projecttest.Open(t, files)
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		t.Fatal(err)
	}
	return pr, p
}

// diff compares a document with JSON.
func diff(t *testing.T, want string, doc any) {
	t.Helper()
	got, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}

const settled = `{"schema_version": 1, "slice": %q, "n": %d, "agent": "claude", "prompt": "do it", "phase": "settled", "outcome": "failed", "detail": "exit 7"}`

func TestOfSlice(t *testing.T) {
	pr, p := open(t, map[string]string{
		"slices/S-1.md": "---\nid: S-1\nstatus: failed\ncontracts: [C-3, C-1]\n---\n# S-1: One\n\n## Files\n- `a b.go` (new)\n- ../outside.go\n- none yet\n\n" +
			"## Contracts\n- **C-1**: First\n- C-2\n\n## Decisions\n- 2026-03-01: Rejected: slow\n",
		"slices/S-2.md":               "---\nid: S-2\nstatus: implementing\nsession: tok\n---\n",
		"slices/S-3.md":               "---\nnonsense\n---\n",
		"GRAPH.json":                  `{"slices": {"S-1": {}, "S-2": {}, "S-3": {}, "S-4": {"name": "Four"}}}`,
		"CONTRACTS.md":                "# Contracts\n\n## C-10: Tenth\n\n## C-1: First\n",
		"runs/claims/S-2.json":        `{"token": "tok", "holder": "session-1"}`,
		"runs/done/S-1.1.failed.json": fmt.Sprintf(settled, "S-1", 1),
		"runs/done/S-1.2.failed.json": fmt.Sprintf(settled, "S-1", 2),
		"runs/log/S-1.2.log":          "one\ntwo\n",
	})
	report := func(id string) *Slice {
		t.Helper()
		r, err := OfSlice(t.Context(), pr, p, id, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if r.Slice == nil || r.Task != nil || r.Project != nil {
			t.Fatalf("not about a slice: %+v", r)
		}
		return r.Slice
	}
	one := report("S-1")
	diff(t, `["a b.go"]`, one.Files)
	diff(t, `["2026-03-01: Rejected: slow"]`, one.Decisions)
	diff(t, `null`, one.Work)
	diff(t, `[{"id":"C-1","heading":"C-1: First","line":5},{"id":"C-2","heading":null,"line":null},{"id":"C-3","heading":null,"line":null}]`, one.Contracts)
	diff(t, `{"attempt":2,"file":".greenlight/runs/log/S-1.2.log","lines":["one","two"]}`, one.Log)
	diff(t, `{"contracts":"[C-3, C-1]","id":"S-1","status":"failed"}`, one.Fields)
	diff(t, `null`, one.Claim)
	if len(one.Records) != 2 || one.Records[0].ID.N != 2 || len(one.Order) != 3 ||
		one.Order[1].Key != "status" {
		t.Errorf("%+v, %+v", one.Records, one.Order)
	}

	two := report("S-2")
	if c := two.Claim; c == nil || c.Session == nil || *c.Session != "tok" || c.Holder == nil ||
		*c.Holder != "session-1" || c.Changed == nil {
		t.Errorf("%+v", c)
	}
	diff(t, `null`, two.Log)

	three := report("S-3")
	diff(t, `{}`, three.Fields)
	if three.Corrupt == nil {
		t.Error("S-3 should be corrupt")
	}

	four := report("S-4")
	diff(t, `null`, four.File)
	diff(t, `{"deps":"","id":"S-4","milestone":"","name":"Four","status":"pending"}`, four.Fields)
	diff(t, `[]`, four.Contracts)
}

func TestOfProject(t *testing.T) {
	pr, p := open(t, map[string]string{
		"slices/S-1.md":        "---\nid: S-1\nstatus: complete\n---\n",
		"slices/S-2.md":        "---\nid: S-2\nstatus: implementing\nsession: t\n---\n",
		"config.json":          `{"parallel": {"agent": "mine", "agents": {"mine": {"command": ["no-such-program-anywhere"]}}}}`,
		"runs/live/S-2.1.json": `{"schema_version": 1, "slice": "S-2", "n": 1, "agent": "mine", "token": "t", "phase": "started", "runner": "process", "process": {"pid": 77}, "wrapper": {"pid": 78, "start": "x", "boot": "elsewhere", "host": "another-host"}}`,
	})
	r, err := OfProject(t.Context(), pr, p,
		Program{Version: "1.2 abc", Self: func() (string, error) {
			return "/gl", nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	d := r.Project
	if d.Done != 1 || d.Total != 2 || d.Format != "slices" || d.Drain != nil {
		t.Errorf("%+v", d)
	}
	if gl := d.Tools[0]; gl.Name != "gl" || gl.Version == nil || *gl.Version != "1.2 abc" ||
		gl.Path == nil {
		t.Errorf("%+v", gl)
	}
	diff(t, `{"name":"mine","program":"no-such-program-anywhere","path":null,"version":null}`, d.Tools[len(d.Tools)-1])
	if s := d.Settings[0]; s.Key != "parallel.agent" || string(s.Value) != `"mine"` || s.Source == nil ||
		*s.Source != "config" {
		t.Errorf("%+v", s)
	}
	diff(t, `[{"slice":"S-2","n":1,"agent":"mine","worker":null,"phase":"started","process":"unknown","pid":77,"started":null,"runner":"process"}]`, d.Attempts)
}

func TestOfTask(t *testing.T) {
	pr, _ := open(t,
		map[string]string{"runs/done/@quick.1.failed.json": fmt.Sprintf(settled, "@quick", 1)})
	recs, err := pr.Runs.Last("@quick")
	if err != nil {
		t.Fatal(err)
	}
	r := OfTask(t.Context(), pr, "@quick", recs["@quick"], time.Now())
	diff(t, `{"id":"@quick","attempts":[{"n":1,"agent":"claude","worker":null,"outcome":"failed","detail":"exit 7","started":null,"ended":null,"seconds":null,"turns":null,`+
		`"cost_usd":null,"landed":null,"landed_as":null,"verdict":null,"gate":[],"prompt":"do it","summary":null,"process":null}],"log":{"attempt":1,"file":".greenlight/runs/log/@quick.1.log","lines":[]}}`, r.Task)
	diff(t, `null`, r.Hold)
}

// TestMain makes the test binary act as gl when it is called as gl: gates are real processes.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "gl" && len(os.Args) > 1 && os.Args[1] == command.GateArg {
		os.Exit(command.Gate(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, command string
		want          Tests
		output        []string
	}{
		{"none", "", Tests{}, nil},
		{"it passes", `sh -c "echo one; echo two >&2"`, Tests{Ran: true, ExitCode: new(int)},
			[]string{"one", "two"}},
		{"it fails", `sh -c "exit 3"`, Tests{Ran: true, ExitCode: ptr(3)}, nil},
		{"a signal ends it", `sh -c "kill -9 $$"`,
			Tests{Ran: true, Error: ptr("signal: killed")}, nil},
		{"an unknown program", "no-such-program-anywhere", Tests{Error: ptr(`the test command no-such-program-anywhere can't be started: exec: "no-such-program-anywhere": executable file not found in $PATH`)}, nil},
		{"a line for a shell", "echo one && exit 3", Tests{Ran: true, ExitCode: ptr(3)},
			[]string{"one"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			config, err := json.Marshal(map[string]any{"test": map[string]string{"command": tt.command}})
			if err != nil {
				t.Fatal(err)
			}
			pr, _ := open(t, map[string]string{"config.json": string(config)})
			got := newTests(pr)
			var live []string
			got.Run(t.Context(), self, pr.Root, os.Environ(), func(line string) {
				live = append(live, line)
			})
			if d := cmp.Diff(tt.output, live); d != "" {
				t.Error(d)
			}
			if got.Ran != tt.want.Ran || !cmp.Equal(got.ExitCode, tt.want.ExitCode) ||
				got.Ran != (got.Seconds != nil) {
				t.Errorf("%+v", got)
			}
			if tt.want.Error != nil && !cmp.Equal(got.Error, tt.want.Error) {
				t.Errorf("error: %s", cmp.Diff(tt.want.Error, got.Error))
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestHasWord(t *testing.T) {
	for s, want := range map[string]bool{
		"greenlight/checkpoint/S-1": true, "checkpoint-s-1-red": true, "S-1": true, "S-1.": true, "S-10": false, "S-1.2": false,
		"XS-1": false, "S-10, S-1": true, "": false, "C: S-1: x": true, "öS-1": false,
	} {
		if got := contracts.HasWord(s, "S-1"); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestFirstWord(t *testing.T) {
	for s, want := range map[string]string{"`a b.go` (new)": "a b.go", "a.go (new)": "a.go", "`a": "a", "": ""} {
		if got := firstWord(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
