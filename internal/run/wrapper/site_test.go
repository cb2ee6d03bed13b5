package wrapper_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/cli"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/project"
	"greenlight/internal/run/runner"
	"greenlight/internal/run/wrapper"
	"greenlight/internal/state/tracker"
)

// The test binary is gl when it is called so: wrappers and gates are real processes.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "gl" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	os.Exit(testfiles.Run(m))
}

// A site is a project with slices S-1 to S-9, all pending, whose agent is a shell script.
type site struct {
	*project.Project
	t     testing.TB
	agent agent.Agent
}

// prelude gives the scripts words: "set KEY VALUE" writes the slice's file as an agent with an
// editor would, "ran" leaves a trace that the agent ran.
const prelude = `
dir=$GREENLIGHT_ROOT/.greenlight
set_() { sed "s/^$1:.*/$1: $2/" "$dir/slices/$GL_SLICE.md" > "$dir/slices/.$$.tmp" && mv "$dir/slices/.$$.tmp" "$dir/slices/$GL_SLICE.md"; }
ran() { : > "$GREENLIGHT_ROOT/ran.${GL_SLICE:-$GL_TASK}.$GL_ATTEMPT"; }
result() { echo '{"type":"result","subtype":"success","is_error":false,"num_turns":3,"total_cost_usd":0.25,"session_id":"abc"}'; }
init() { echo '{"type":"system","subtype":"init","slash_commands":["gl:slice"]}'; }
tasks() { echo '{"type":"system","subtype":"background_tasks_changed","tasks":['"$1"']}'; }
`

func newSite(t testing.TB, config, script string) *site {
	t.Helper()
	root := t.TempDir()
	path := filepath.Join(root, "agent.sh")
	check(t, os.WriteFile(path, []byte(prelude+script), 0o755))
	return newSiteFor(t, root, config, []string{"sh", path, "{slice}"})
}

func newSiteFor(t testing.TB, root, config string, command []string) *site {
	t.Helper()
	dir := filepath.Join(root, ".greenlight")
	check(t, os.MkdirAll(filepath.Join(dir, "slices"), 0o755))
	for n := 1; n <= 9; n++ {
		text := fmt.Sprintf("---\nid: S-%d\nstatus: pending\nstep: none\nwaiting_for:\nsession:\ntests: 0\n---\n\n# Slice %d\n", n, n)
		check(t, os.WriteFile(filepath.Join(dir, "slices", fmt.Sprintf("S-%d.md", n)), []byte(text), 0o644))
	}
	check(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"parallel": {`+config+`}}`), 0o644))
	pr, err := project.Open(root)
	check(t, err)
	check(t, pr.ConfigErr)
	check(t, pr.Runs.Files.Prepare())
	a, err := agent.Find("script", agent.Config{Custom: map[string]agent.Custom{"script": {Command: command}}})
	check(t, err)
	return &site{pr, t, a}
}

var check, until = testfiles.Check, testfiles.Until

func (s *site) claim(id string) *attempt.Record {
	s.t.Helper()
	return s.request(attempt.Request{ID: id, Agent: s.agent, Job: agent.Job{Dir: s.Root}, Runner: "process"})
}

func (s *site) request(req attempt.Request) (r *attempt.Record) {
	s.t.Helper()
	check(s.t, s.Tracker.Do(context.Background(), func(tx tracker.Tx) (err error) {
		r, err = s.Runs.Within(tx.Held()).Claim(tx, req, time.Now())
		return err
	}))
	return r
}

// A wrap is a wrapper's process.
type wrap struct {
	*exec.Cmd
	gone chan struct{}
	out  *strings.Builder
}

func (s *site) start(r *attempt.Record) *wrap {
	s.t.Helper()
	self, err := os.Executable()
	check(s.t, err)
	w := &wrap{exec.Command(self, runner.WrapperArgs(s.Root, r)...), make(chan struct{}), new(strings.Builder)}
	w.Args[0] = "gl"
	w.Stdout, w.Stderr = w.out, w.out
	w.WaitDelay = time.Second // grandchildren may hold the pipe
	w.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	check(s.t, w.Start())
	go func() {
		w.Wait()
		close(w.gone)
	}()
	s.t.Cleanup(func() {
		w.Process.Kill()
		<-w.gone
	})
	return w
}

// wrapper is one in this process.
func (s *site) wrapper() *wrapper.Wrapper {
	s.t.Helper()
	self, err := os.Executable()
	check(s.t, err)
	settler := s.Settler()
	settler.Executor = executor.NewLocal(self)
	return &wrapper.Wrapper{Settler: settler, Options: wrapper.Options{Root: s.Root, Env: os.Environ(), Print: func(agent.Event) {}}}
}

// await waits for the wrapper's end.
func (w *wrap) await(t testing.TB) {
	t.Helper()
	select {
	case <-w.gone:
	case <-time.After(testfiles.Patience):
		t.Fatalf("the wrapper is still there; it said %s", w.out)
	}
}

func (s *site) ran(r *attempt.Record) bool {
	_, err := os.Stat(filepath.Join(s.Root, "ran."+r.ID.Name()))
	return err == nil
}

// awaitRun waits until the agent has left its trace.
func (s *site) awaitRun(r *attempt.Record) {
	s.t.Helper()
	until(s.t, "the agent runs", func() bool { return s.ran(r) })
}

func (s *site) get(r *attempt.Record) *attempt.Record {
	s.t.Helper()
	disk, err := s.Runs.Get(r.ID.Slice, r.ID.N)
	check(s.t, err)
	return disk
}

func (s *site) mark(id string) plan.Mark {
	s.t.Helper()
	c, err := s.Tracker.Load()
	check(s.t, err)
	for _, it := range c.Items {
		if it.ID == id {
			return plan.Mark{Status: it.Status, Step: it.Step, Session: it.Session}
		}
	}
	s.t.Fatalf("no slice %s", id)
	return plan.Mark{}
}

// run runs one attempt at S-1 to its end.
func (s *site) run() *attempt.Record {
	s.t.Helper()
	return s.wrapped(s.claim("S-1"))
}

// wrapped runs the wrapper of a claimed attempt to its end.
func (s *site) wrapped(r *attempt.Record) *attempt.Record {
	s.t.Helper()
	w := s.start(r)
	w.await(s.t)
	final := s.get(r)
	if final.Life.Phase != plan.Settled {
		s.t.Fatalf("phase %s; the wrapper said %s", final.Life.Phase, w.out)
	}
	return final
}

func (s *site) log(r *attempt.Record) string {
	s.t.Helper()
	data, err := os.ReadFile(s.Runs.Files.Log(r.ID.Slice, r.ID.N))
	check(s.t, err)
	return string(data)
}

// bearers are the processes that have the attempt's token in their environment: its agent and what
// that has started.
func bearers(t testing.TB, token string) (pids []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil // elsewhere only the group is looked at
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	check(t, err)
	for _, p := range all {
		env, err := os.ReadFile(filepath.Join(p, "environ"))
		if err == nil && strings.Contains(string(env), "GL_SESSION="+token+"\x00") {
			pids = append(pids, filepath.Base(p))
		}
	}
	return pids
}

func nobodyLeft(t testing.TB, r *attempt.Record) {
	t.Helper()
	until(t, "all processes of "+r.ID.Name()+" are gone", func() bool { return len(bearers(t, r.ID.Token)) == 0 })
	if r.Life.Process != nil && r.Life.Process.State() != proc.Dead {
		t.Errorf("the agent of %s lives", r.ID.Name())
	}
}
