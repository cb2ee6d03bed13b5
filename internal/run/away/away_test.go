package away_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/cli"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/away"
	"greenlight/internal/run/hands"
	"greenlight/internal/run/hub/hubtest"
	"greenlight/internal/run/project"
)

// The test binary is gl when it is called so: the scheduler, gates and the agents' commands are real
// processes.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "gl" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	os.Exit(testfiles.Run(m))
}

var check = testfiles.Check

// policy is patient enough for a busy machine, and quick where a test waits.
var policy = remote.Policy{Beat: 200 * time.Millisecond, Resend: time.Second, Silent: 5 * time.Second,
	Lost: 20 * time.Second, Accept: 20 * time.Second, Gap: 10 * time.Second, MaxLog: 1 << 28, Window: 1 << 20,
	Disk: 20 << 30}

// A farm is a project, its gl serve and its workers in one process.
type farm struct {
	*testing.T
	dir, root, gl string
	hub           *hubtest.Hub
	env           []string
	members       []away.Member
	said          chan string
}

// builder is an agent that works on its slice as the test says: $OUT/how is a script.
const builder = `#!/bin/sh
[ "$1" = --version ] && { echo 1.0; exit; }
echo '{"type":"system","subtype":"init","session_id":"c1"}'
. "$OUT/how"
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":3,"total_cost_usd":0.25,"session_id":"c1"}'
`

const works = `
echo "$GL_SLICE" > "$GL_SLICE.txt"
git add -A && git commit -qm "work on $GL_SLICE"
gl state set "$GL_SLICE" status=complete step=complete tests=1 >&2
`

func newFarm(t *testing.T, how string) *farm {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	temp, err := os.MkdirTemp("", "f") // short, for sockets
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(temp) })
	f := &farm{T: t, dir: dir, root: filepath.Join(dir, "shop"), gl: filepath.Join(dir, "bin", "gl"), said: make(chan string, 1000)}
	for key, value := range map[string]string{"HOME": dir, "XDG_CONFIG_HOME": dir, "GIT_CONFIG_NOSYSTEM": "1",
		"XDG_STATE_HOME": filepath.Join(dir, "state"), "OUT": filepath.Join(dir, "out"), "TMPDIR": temp,
		"PATH": filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")} {
		t.Setenv(key, value)
	}
	f.env = os.Environ()
	testfiles.Write(t, dir, map[string]string{
		"out/how": how, "shop/a.txt": "a\n", ".gitconfig": "[user]\nname = t\nemail = t@t\n",
		"shop/.greenlight/config.json": `{"parallel": {"agent": "builder", "max": 1, "agents": {"builder": {"command": ["builder", "{prompt}"]}}}, "workers": {"where": "workers"}, "review": "never"}`,
	})
	self, err := os.Executable()
	check(t, err)
	check(t, os.MkdirAll(filepath.Dir(f.gl), 0o755))
	check(t, os.Symlink(self, f.gl))
	check(t, os.WriteFile(filepath.Join(dir, "bin", "builder"), []byte(builder), 0o755))
	return f
}

func (f *farm) slice(id, deps string) {
	f.Helper()
	testfiles.Write(f, f.root, map[string]string{".greenlight/slices/" + id + ".md": "---\nid: " + id +
		"\nstatus: pending\nstep: none\ndeps: " + deps + "\nwaiting_for:\nsession:\ntests: 0\n---\n\n# Slice " + id + "\n"})
}

// begin makes the repository, allows the agent, and starts gl serve.
func (f *farm) begin() {
	f.Helper()
	f.git("init", "-q", "-b", "main")
	f.git("add", "-A")
	f.git("commit", "-qm", "first")
	f.run("trust", "--yes")
	f.hub = hubtest.New(f, filepath.Join(f.dir, "exchange"), filepath.Join(f.root, ".git"))
}

func (f *farm) git(args ...string) string {
	f.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = f.root, f.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// run runs a command of gl.
func (f *farm) run(args ...string) string {
	f.Helper()
	cmd := exec.Command(f.gl, args...)
	cmd.Dir, cmd.Env = f.root, f.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.Logf("gl %q: %v: %s", args, err, out)
	}
	return string(out)
}

// serve starts a gl serve. stop ends it as a kill does: nothing is told to its wrappers.
func (f *farm) serve() (stop func()) {
	f.Helper()
	pr, err := project.Open(f.root)
	check(f, err)
	app := &cmdutil.App{Environ: f.env}
	ctx, cancel := context.WithCancel(f.Context())
	done := make(chan error, 1)
	go func() {
		done <- away.Serve(ctx, away.Config{
			Project: pr, Hub: f.hub, Policy: policy, Self: f.gl, Environ: f.env,
			Members: func() ([]away.Member, error) { return f.members, nil },
			Wrapper: cli.RemoteWrapper(app, pr), Tell: func(line string) { f.Log(line) },
		})
	}()
	stop = func() {
		cancel()
		if err := <-done; err != nil {
			f.Errorf("gl serve: %v", err)
		}
		done <- nil
	}
	f.Cleanup(stop)
	return stop
}

// worker starts a worker.
func (f *farm) worker(name string, slots int) (stop func()) {
	f.Helper()
	f.members = append(f.members, away.Member{Name: name, Key: name})
	ctx, cancel := context.WithCancel(f.Context())
	done := make(chan error, 1)
	go func() {
		done <- hands.Work(ctx, hands.Options{
			Dir: filepath.Join(f.dir, name), Self: f.gl, Release: "1", Environ: f.env, Slots: slots,
			Agents: []string{"builder"}, Policy: policy, Print: func(line string) { f.Log(name + ": " + line) },
			Hub: f.hub.Join(name),
		})
	}()
	stop = func() {
		cancel()
		<-done
		done <- nil
	}
	f.Cleanup(stop)
	return stop
}

// A slice goes from ready to merged on a worker.
func TestMergedFromWorker(t *testing.T) {
	f := newFarm(t, works)
	f.slice("S-1", "")
	f.slice("S-2", "S-1")
	f.begin()
	f.serve()
	f.worker("w1", 2)
	testfiles.Until(t, "the worker is on the list", func() bool {
		data, _ := os.ReadFile(filepath.Join(f.root, ".greenlight/runs/hub/workers.json"))
		return strings.Contains(string(data), `"w1"`) && strings.Contains(string(data), "builder")
	})
	out := f.run("slice", "--watch", "--runner", "process")
	t.Log(out)
	if files := f.git("ls-tree", "-r", "--name-only", "main"); !strings.Contains(files, "S-1.txt") || !strings.Contains(files, "S-2.txt") {
		t.Errorf("main has %q", files)
		t.Log(f.run("why", "S-1"))
		logs, _ := filepath.Glob(filepath.Join(f.root, ".greenlight/runs/log/*"))
		for _, l := range logs {
			data, _ := os.ReadFile(l)
			t.Logf("%s:\n%s", l, data)
		}
	}
	if left, _ := filepath.Glob(f.root + ".gl/*/*"); len(left) > 0 {
		t.Logf("worktrees here: %q", left)
	}
}
