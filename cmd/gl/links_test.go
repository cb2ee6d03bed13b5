package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/cli"
)

// A clone is a project that another person made, and what is beside it.
type clone struct {
	root, outside string
	calls         string // for the files of the fake claude
}

const secret = "TOP-SECRET"

// systemFiles holds the state of a project in each format, by path.
var systemFiles = map[string]map[string]string{
	"slices": {
		".greenlight/slices/S-1.md":      "---\nid: S-1\nname: One\nstatus: pending\n---\n",
		".greenlight/slices/S-2.md":      "---\nid: S-2\nname: Two\nstatus: verifying\nstep: verifying\nwaiting_for: a look\n---\n",
		".greenlight/STATE.md":           "# By hand\n",
		".greenlight/GRAPH.json":         `{"slices": {"S-1": {"name": "One"}, "S-2": {"name": "Two"}}}`,
		".greenlight/config.json":        "{}\n",
		".greenlight/project-state.json": "{}\n",
		".greenlight/ROADMAP.md":         "## Milestone: One [active]\n",
	},
	"legacy": {
		".greenlight/STATE.md":    "## Slices\n\n| ID | Name | Status | Tests |\n|---|---|---|---|\n| S-1 | One | pending | 0 |\n",
		".greenlight/config.json": "{}\n",
	},
	"specwright": {
		".specwright/state/workflow.json": `{"version": "2.0", "currentWork": {"id": "w", "status": "building", "tasksTotal": 2, "tasksCompleted": [], "currentTask": "1"}, "gates": {}, "workUnits": null, "lock": null, "lastUpdated": "2026-01-02T03:04:05Z"}`,
	},
	"gsd": {
		".planning/STATE.md":                  "---\nmilestone: v1.0\nstatus: planning\n---\n\n# State\n\nPhase: 1 of 1\nStatus: Ready\n",
		".planning/ROADMAP.md":                "# Roadmap\n\n### Phase 1: One\n",
		".planning/phases/1-one/1-01-PLAN.md": "---\nwave: 1\n---\n",
		".planning/config.json":               "{}\n",
	},
}

// newClone creates the project, and beside it what isn't part of the clone: a file, and a
// directory with names that gl uses.
func newClone(t *testing.T, system string) clone {
	t.Helper()
	dir := t.TempDir()
	c := clone{root: filepath.Join(dir, "clone"), outside: filepath.Join(dir, "outside"),
		calls: t.TempDir()}
	for path, text := range systemFiles[system] {
		put(t, filepath.Join(c.root, path), text)
	}
	// where the search for a project ends
	put(t, filepath.Join(c.root, ".git", "HEAD"), "ref: refs/heads/main\n")
	put(t, filepath.Join(c.outside, "file"), secret+"\n")
	for _, name := range []string{"S-1.md", "S-9.md", "STATE.md", "S-1.1.json", "S-1.1.log", "S-1", "old.tmp", "1-01-PLAN.md", "live/S-1.1.json", "workflow.json", ".lock"} {
		put(t, filepath.Join(c.outside, "dir", name), "---\nid: S-1\nname: "+secret+"\nstatus: pending\n---\n")
	}
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(filepath.Join(c.outside, "dir", "old.tmp"), old, old); err != nil {
		t.Fatal(err)
	}
	return c
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replace replaces a file by the result of make.
func (c clone) replace(t *testing.T, path string, make func(path string) error) {
	t.Helper()
	path = filepath.Join(c.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := make(path); err != nil {
		t.Fatal(err)
	}
}

// fingerprint returns every name, mode and byte below a directory.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var sum [32]byte
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = sha256.Sum256(data)
		}
		fmt.Fprintf(&b, "%s %v %x\n", path, info.Mode(), sum[:4])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// leaked returns the regular files of the clone that contain the secret.
func (c clone) leaked(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(c.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secret)) {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// everyday are the commands that a person, an agent, a hook or a prompt runs, except those that
// start agents. Each runs in the state that the earlier ones left.
var everyday = []string{
	"status", "status --json", "statusline", "gsd line", "why S-1", "why 1", "graph", "logs S-1", "slice --dry-run", "debug", "debug S-1",
	"roadmap", "changelog", "state show S-1", "state show S-1 status", "hook session-start", "hook guard", "hook stop",
	"state claim S-1", "hook stop", "state release S-1 --force", "state note S-1 --decision x", "state render", "add-slice Three",
	"state set S-1 status=implementing step=implementing", "state set S-1 status=pending step=none", "accept S-2", "reject S-2 no",
	"retry S-1", "retry --all-failed", "pause S-1", "resume S-1", "resume", "settings", "settings set parallel.max 3", "stop --all", "stop S-1",
	"migrate --dry-run", "migrate", "doctor", "doctor --fix", "check", "init --no-agent", "attach",
	"sw", "sw status", "sw init", "sw task start 1", "sw task done 1", "sw lock sw-build", "sw unlock --force", "sw gate tests PASS", "sw ship", "sw reset --yes",
	"gsd state load", "gsd state json", "gsd state get", "gsd state sync", "gsd state patch --status Working", "gsd state prune --keep-recent 1",
	"gsd state signal-waiting --type x --question y", "gsd state signal-resume", "gsd state milestone-switch --milestone v2.0 --name x", "gsd state-snapshot",
}

// run runs a command line in the clone, and fails the test if it hangs.
func (c clone) run(t *testing.T, line string) string {
	t.Helper()
	env := []string{"HOME=" + filepath.Dir(c.root), "PATH=" + os.Getenv("PATH"), "TERM=dumb",
		"FAKE_DIR=" + c.calls}
	stdin := fmt.Sprintf(`{"session_id":"x","cwd":%q,"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":%q,"content":"x"},"workspace":{"current_dir":%q}}`,
		c.root, filepath.Join(c.root, ".greenlight/slices/S-1.md"), c.root)
	args := append([]string{"-C", c.root}, strings.Fields(line)...)
	if strings.HasPrefix(line, "hook") || strings.HasPrefix(line, "statusline") {
		args = strings.Fields(line)
	}
	var out bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		cli.Main(context.Background(), args, strings.NewReader(stdin), &out, &out, env)
	}()
	select {
	case <-done:
		return out.String()
	case <-time.After(time.Minute):
		t.Fatalf("gl %s hangs", line)
		return ""
	}
}

// linkPlaces returns the places where an attacker may put a link, by format; to names its
// target.
var linkPlaces = []struct{ system, path, to string }{
	{"slices", ".greenlight", "dir"},
	{"slices", ".greenlight/.lock", "file"},
	{"slices", ".greenlight/.lock", "none"},
	{"slices", ".greenlight/STATE.md", "file"},
	{"slices", ".greenlight/STATE.md", "none"},
	{"slices", ".greenlight/STATE.md.backup", "none"},
	{"slices", ".greenlight/slices", "dir"},
	{"slices", ".greenlight/slices/S-1.md", "file"},
	{"slices", ".greenlight/slices/S-1.md", "dir/S-1.md"},
	{"slices", ".greenlight/GRAPH.json", "file"},
	{"slices", ".greenlight/config.json", "file"},
	{"slices", ".greenlight/config.json", "none"},
	{"slices", ".greenlight/project-state.json", "file"},
	{"slices", ".greenlight/ROADMAP.md", "file"},
	{"slices", ".greenlight/.gitignore", "none"},
	{"slices", ".greenlight/.gitignore", "file"},
	{"slices", ".greenlight/.continue-here.S-1.md", "file"},
	{"slices", ".greenlight/summaries", "dir"},
	{"slices", ".greenlight/runs", "dir"},
	{"slices", ".greenlight/runs/view", "file"},
	{"slices", ".greenlight/runs/drain.lock", "file"},
	{"slices", ".greenlight/runs/live", "dir"},
	{"slices", ".greenlight/runs/done", "dir"},
	{"slices", ".greenlight/runs/log", "dir"},
	{"slices", ".greenlight/runs/log/S-1.1.log", "file"},
	{"slices", ".greenlight/runs/env", "dir"},
	{"slices", ".greenlight/runs/claims", "dir"},
	{"slices", ".greenlight/runs/told", "dir"},
	{"slices", ".greenlight/runs/hold.json", "file"},
	{"slices", ".greenlight/runs/stop.json", "file"},
	{"legacy", ".greenlight/STATE.md", "file"},
	{"legacy", ".greenlight/.lock", "file"},
	{"legacy", ".greenlight/runs/legacy.json", "file"},
	{"legacy", ".greenlight/runs", "dir"},
	{"legacy", ".greenlight/slices", "none"},
	{"specwright", ".specwright", "dir"},
	{"specwright", ".specwright/state", "dir"},
	{"specwright", ".specwright/state/workflow.json", "file"},
	{"specwright", ".specwright/state/workflow.json.lock", "file"},
	{"specwright", ".specwright/state/.gitignore", "none"},
	{"specwright", ".greenlight", "dir"},
	{"specwright", ".greenlight/runs/specwright.json", "file"},
	{"gsd", ".planning", "dir"},
	{"gsd", ".planning/STATE.md", "file"},
	{"gsd", ".planning/STATE.md.lock", "file"},
	{"gsd", ".planning/.lock", "file"},
	{"gsd", ".planning/ROADMAP.md", "file"},
	{"gsd", ".planning/config.json", "file"},
	{"gsd", ".planning/phases", "dir"},
	{"gsd", ".planning/phases/1-one", "dir"},
	{"gsd", ".planning/WAITING.json", "none"},
	{"gsd", ".planning/STATE-ARCHIVE.md", "file"},
	{"gsd", ".gsd", "dir"},
	{"gsd", ".greenlight/runs/gsd.json", "file"},
}

// A link in a repository's state is never followed: no command changes a byte outside the
// clone, copies one into it, or shows one.
func TestNoLinkInTheStateIsFollowed(t *testing.T) {
	testfiles.Slow(t)
	for _, p := range linkPlaces {
		t.Run(p.path+" to "+p.to, func(t *testing.T) {
			t.Parallel()
			c := newClone(t, p.system)
			c.replace(t, p.path, func(path string) error {
				return os.Symlink(filepath.Join(c.outside, p.to), path)
			})
			before := fingerprint(t, c.outside)
			named := false
			for _, line := range everyday {
				out := c.run(t, line)
				if after := fingerprint(t, c.outside); after != before {
					t.Fatalf("gl %s changes what is outside:\n%s\n%s", line, before, after)
				}
				if strings.Contains(out, secret) {
					t.Errorf("gl %s shows what is outside:\n%s", line, out)
				}
				if strings.Contains(out, "panic") {
					t.Errorf("gl %s panics:\n%s", line, out)
				}
				named = named || strings.Contains(strings.ReplaceAll(out, ": is a", " is a"),
					p.path+" is a symbolic link")
			}
			if names := c.leaked(t); len(names) > 0 {
				t.Errorf("copied into the clone: %s", names)
			}
			if !named {
				t.Errorf("no command says that %s is a symbolic link", p.path)
			}
		})
	}
}

// gl never waits for input from a pipe in the state.
func TestPipesInTheStateDontBlock(t *testing.T) {
	testfiles.Slow(t)
	var done []string
	for _, p := range linkPlaces {
		if slices.Contains(done, p.path) {
			continue
		}
		done = append(done, p.path)
		t.Run(p.path, func(t *testing.T) {
			t.Parallel()
			c := newClone(t, p.system)
			c.replace(t, p.path, func(path string) error { return syscall.Mkfifo(path, 0o644) })
			for _, line := range everyday {
				if out := c.run(t, line); strings.Contains(out, "panic") {
					t.Errorf("gl %s panics:\n%s", line, out)
				}
			}
		})
	}
}
