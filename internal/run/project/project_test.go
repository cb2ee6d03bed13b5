package project

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
)

func TestConfig(t *testing.T) {
	d := DefaultConfig()
	changed := func(f func(*Config)) Config { c := d; f(&c); return c }
	for _, tt := range []struct {
		text  string
		want  Config
		wrong []string // parts of the error
	}{
		{`{}`, d, nil},
		{`{"parallel": null, "mode": null, "other": [1]}`, d, nil},
		{"\ufeff" + `{"parallel": {"max": 7}}`, changed(func(c *Config) { c.Max = 7 }), nil},
		{`{"parallel": {"max": 2.0, "claude_flags": "--model 'a b'", "stagger_ms": 0}}`,
			changed(func(c *Config) { c.Max, c.Flags = 2, []string{"--model", "a b"} }), nil},
		{`{"parallel": {"claude_flags": [], "silent_minutes": 0.5, "hold_seconds": 60}}`,
			changed(func(c *Config) { c.Flags, c.Silent, c.Hold = []string{}, 30*time.Second, time.Minute }), nil},
		{`{"mode": "yolo", "parallel": {"agents": {"x": {"command": ["p", "{prompt}"]}}, "agent": "x"}}`,
			changed(func(c *Config) {
				c.Mode, c.Agent, c.Agents = "yolo", []string{"x"}, map[string]agent.Custom{"x": {Command: []string{"p", "{prompt}"}}}
			}), nil},

		{`{"Test": {"command": "x"}, "MODE": "yolo", "tests": 1}`, d, []string{`"Test" isn't a section, did you mean test?`, "MODE isn't a setting, did you mean mode?"}},
		{`{"test": {"command": "x", "COMMAND": "y"}}`, changed(func(c *Config) { c.Test.Command, _ = testrun.ParseCommand("x") }),
			[]string{"test.COMMAND isn't a setting, did you mean command?"}},
		{`{"Sandbox": "off"}`, changed(func(c *Config) { c.Sandbox = SandboxBwrap }), []string{"did you mean sandbox?"}},
		{`{"parallel": {"agents": {"x": {"command": ["p"], "COMMAND": ["q"]}}}}`, d, []string{`parallel.agents has "COMMAND", did you mean "command"? (in "x")`}},
		{`{"parallel": {"agents": {"x": {"env": {"Path": "p", "PATH": "q"}, "command": ["p"]}}}}`, changed(func(c *Config) {
			c.Agents = map[string]agent.Custom{"x": {Command: []string{"p"}, Env: map[string]string{"Path": "p", "PATH": "q"}}}
		}), nil},

		{`{"git": null}`, d, nil},
		{`{"git": {"isolation": "worktree", "target": "main", "worktrees": "~/trees", "branch_prefix": "team/gl", "setup": "npm ci --prefix 'a b'",
			"teardown": ["docker", "compose", "down"], "setup_minutes": 0.5, "snapshot_minutes": 1, "snapshot_mb": 128, "deliver": "branch", "land": "squash", "commit_state": false}}`,
			changed(func(c *Config) {
				c.Git = Git{Isolation: "worktree", Target: "main", Worktrees: "~/trees", BranchPrefix: "team/gl",
					Setup: []string{"npm", "ci", "--prefix", "a b"}, Teardown: []string{"docker", "compose", "down"},
					SetupLimit: 30 * time.Second, SnapshotEvery: time.Minute, SnapshotMB: 128, Asked: true, Deliver: "branch", Land: "squash"}
			}), nil},
		{`{"git": {"setup": "", "teardown": []}}`, d, nil},
		{`{"web": {"url": "https://Box.example:443/"}}`, changed(func(c *Config) { c.WebURL = "https://box.example" }), nil},
		{`{"web": {"url": "http://box.example:4711"}}`, changed(func(c *Config) { c.WebURL = "http://box.example:4711" }), nil},
		{`{"web": {"url": ""}}`, d, nil},
		{`{"web": {"url": "https://box.example/gl"}}`, d, []string{"web.url must be a URL without a path"}},
		{`{"git": {"isolation": "yes", "target": 1, "worktrees": "a\nb", "branch_prefix": "a..b", "setup": {}, "teardown": [""], "setup_minutes": 0,
			"snapshot_minutes": "5", "snapshot_mb": 0.5}}`, d, []string{"git.isolation must be", "git.target", "git.worktrees", "git.branch_prefix", "git.setup ",
			"git.teardown", "git.setup_minutes", "git.snapshot_minutes", "git.snapshot_mb"}},
		{`{"git": {"setup": "npm ci && make"}}`, d, []string{"git.setup", "&&", "sh -c"}},
		{`{"git": 3, "parallel": 4}`, d, []string{"git must be an object", "parallel must be an object"}},
		{`{"parallel": {"max": "4"}}`, d, []string{"parallel.max", `"4"`}},
		{`{"parallel": {"max": 0, "hold_seconds": -1, "agent": 5}}`, d, []string{"parallel.max", "parallel.hold_seconds", "parallel.agent"}},
		{`{"parallel": {"max": 1.5}}`, d, []string{"parallel.max", "1.5"}},
		{`{"parallel": {"silent_minutes": 1e-15}}`, d, []string{"parallel.silent_minutes"}},
		{`{"parallel": {"silent_minutes": 1e15}}`, d, []string{"parallel.silent_minutes"}},
		{`{"parallel": {"claude_flags": "'open"}}`, d, []string{"parallel.claude_flags"}},
		{`{"parallel": {"agents": {"x": {"command": []}}}}`, d, []string{"parallel.agents", "x"}},
		{`{"parallel": [1]}`, d, []string{"parallel"}},
		{"{\n\"parallel\": {\n,}}", d, []string{"line 3"}},
		{``, d, []string{"config.json"}},
	} {
		path := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := readConfig(path)
		if (err != nil) != (tt.wrong != nil) {
			t.Errorf("%s: error %v", tt.text, err)
			continue
		}
		for _, w := range tt.wrong {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v doesn't name %s", tt.text, err, w)
			}
		}
		if tt.wrong == nil && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\n%+v, want\n%+v", tt.text, got, tt.want)
		}
	}
}

// Branch names are those that git accepts; people write them wrongly in all these forms.
func TestBranchNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"main": true, "gl": true, "team/gl": true, "v1.2": true, "größe": true, "a@b": true, "": false, "/a": false, "a/": false, "a//b": false,
		"-a": false, "a b": false, "a..b": false, ".a": false, "a/.b": false, "a.lock": false, "a.lock/b": false, "a.": false, "@": false,
		"a@{b": false, "a~b": false, "a^": false, "a:b": false, "a?": false, "a*": false, "a[b": false, `a\b`: false, "a\tb": false, "refs/heads/a": false,
	} {
		if got := isBranch(name); got != ok {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestWorktreesDir(t *testing.T) {
	for value, want := range map[string]string{
		"": "", "/trees": "/trees", "/trees/": "/trees", "~/trees": "/home/me/trees", "../trees": "/home/me/trees", "~": "/home/me",
	} {
		if got := (Git{Worktrees: value}).Dir("/home/me/p", "/home/me"); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

// A yard is a project with some slices, and helpers that leave attempts in it.
type yard struct {
	*Project
	t *testing.T
}

func newYard(t *testing.T, ids ...string) *yard {
	t.Helper()
	files := map[string]string{}
	for _, id := range ids {
		files[".greenlight/slices/"+id+".md"] = fmt.Sprintf("---\nid: %s\nstatus: pending\nstep: none\nsession:\n---\n", id)
	}
	p, err := Open(tree(t, files))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Runs.Files.Prepare(); err != nil {
		t.Fatal(err)
	}
	return &yard{p, t}
}

func (y *yard) claim(id string) (r *attempt.Record) {
	y.t.Helper()
	a, err := agent.Find("rehearsal", agent.Config{Self: "gl"})
	if err != nil {
		y.t.Fatal(err)
	}
	err = y.Tracker.Do(y.t.Context(), func(tx tracker.Tx) (err error) {
		r, err = y.Runs.Within(tx.Held()).Claim(tx, attempt.Request{ID: id, Agent: a}, time.Now())
		return err
	})
	if err != nil {
		y.t.Fatal(err)
	}
	return r
}

func (y *yard) settle(r *attempt.Record, code int) {
	y.t.Helper()
	r.Judged.Evidence = &attempt.Evidence{ExitCode: &code}
	s := y.Settler()
	if _, err := s.Settle(y.t.Context(), r); err != nil {
		y.t.Fatal(err)
	}
}

func (y *yard) plan() *plan.Plan {
	y.t.Helper()
	p, err := y.Plan(time.Now(), y.Options())
	if err != nil {
		y.t.Fatal(err)
	}
	return p
}

func TestSnapshot(t *testing.T) {
	y := newYard(t, "failed", "running", "orphan", "fresh", "removed", "odd")
	y.settle(y.claim("failed"), 7)
	y.claim("running")
	orphan := y.claim("orphan")
	rewrite(y, orphan, func(text string) string {
		return strings.Replace(text, fmt.Sprintf("%q", proc.Self().Start), `"another"`, 1)
	})
	y.claim("removed")
	for name, content := range map[string]string{"slices/removed.md": "", "runs/live/odd.4.json": `{"schema_version": 9, "slice": "odd", "n": 4}`} {
		path := filepath.Join(y.Root, statedir.Name, name)
		err := os.WriteFile(path, []byte(content), 0o644)
		if content == "" {
			err = os.Remove(path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p := y.plan()
	for id, want := range map[string]plan.Class{"failed": plan.Failed, "running": plan.Active, "orphan": plan.Stalled, "fresh": plan.Available, "odd": plan.Available} {
		if st := p.State(id); st.Class != want {
			t.Errorf("%s is %s, want %s", id, st.Class, want)
		}
	}
	if a := p.State("failed").Attempt; a.Outcome != outcome.Failed.Traits().Plan() || a.Detail != "exit 7" || a.Phase != plan.Settled || a.Ended.IsZero() {
		t.Errorf("%+v", a)
	}
	if a := p.State("orphan").Attempt; !a.Dead || !a.Open() {
		t.Errorf("%+v", a)
	}
	if p.Taken != 3 { // the running one, the orphan, and the one whose slice is gone
		t.Errorf("%d slots taken", p.Taken)
	}
	if w := p.Snapshot.Warnings; len(w) != 1 || !strings.Contains(w[0].Message, "schema version 9") || w[0].Path != ".greenlight/runs/live/odd.4.json" {
		t.Errorf("warnings: %+v", w)
	}
}

func rewrite(y *yard, r *attempt.Record, f func(string) string) {
	y.t.Helper()
	path := filepath.Join(y.Runs.Files.LiveDir(), r.ID.Name()+".json")
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(f(string(data))), 0o644)
	}
	if err != nil {
		y.t.Fatal(err)
	}
}

// A process was killed between writing the settled record and removing the live one: the
// settled one counts, once.
func TestSnapshotLeftover(t *testing.T) {
	y := newYard(t, "S-1.2")
	r := y.claim("S-1.2")
	path := filepath.Join(y.Runs.Files.LiveDir(), r.ID.Name()+".json")
	live, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	y.settle(r, 7)
	if err := os.WriteFile(path, live, 0o644); err != nil {
		t.Fatal(err)
	}
	p := y.plan()
	if st := p.State("S-1.2"); st.Class != plan.Failed || p.Taken != 0 || p.Snapshot.Used["S-1.2"] != 1 {
		t.Errorf("%s, %d taken, %d used", st.Class, p.Taken, p.Snapshot.Used["S-1.2"])
	}
}
