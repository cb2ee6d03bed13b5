package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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
	"greenlight/internal/run/project"
	"greenlight/internal/run/runner"
	"greenlight/internal/run/tmux"
	"greenlight/internal/state/tracker"
)

// The test binary is gl if it is called without a test's flags: wrappers in panes are called by its
// path.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	os.Exit(testfiles.Run(m))
}

var check, until = testfiles.Check, testfiles.Until

// A site is a project with a tmux of its own and gl on PATH.
type site struct {
	*project.Project
	t    *testing.T
	self string
	dir  string   // holds the project, the tmux socket and bin
	env  []string // of every gl
}

func newSite(t *testing.T, name string) *site {
	t.Helper()
	place := "/tmp" // t.TempDir's names are too long for a socket
	if temp := os.TempDir(); len(temp) < 40 {
		place = temp
	}
	dir, err := os.MkdirTemp(place, "glr")
	check(t, err)
	self, err := os.Executable()
	check(t, err)
	s := &site{t: t, self: self, dir: dir}
	bin := filepath.Join(dir, "bin")
	check(t, os.Mkdir(bin, 0o755))
	check(t, os.Symlink(self, filepath.Join(bin, "gl")))
	s.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "TMUX_TMPDIR=" + dir, "TERM=screen", "GORACE=atexit_sleep_ms=0"}
	root := filepath.Join(dir, name)
	check(t, os.MkdirAll(filepath.Join(root, ".greenlight", "slices"), 0o755))
	s.Project, err = project.Open(root)
	check(t, err)
	t.Cleanup(s.end)
	return s
}

// end ends whatever the test has left, and says so where that was an agent.
func (s *site) end() {
	recs, _, _ := s.Runs.Live()
	for _, r := range recs {
		if final, err := s.Runs.Get(r.ID.Slice, r.ID.N); err == nil && final.Life.Phase == plan.Settled {
			continue // this instant: its wrapper is about to end
		}
		for _, id := range []*proc.ID{r.Life.Wrapper, r.Life.Process} {
			if id != nil && id.Alive() {
				s.t.Errorf("%s still has a process", r.ID.Name())
				id.Signal(syscall.SIGKILL)
			}
		}
	}
	s.endServers()
	until(s.t, "the directory is removed", func() bool { return os.RemoveAll(s.dir) == nil })
}

// endServers ends the tmux servers of the site, also those whose socket is gone. Their command
// lines name its directory.
func (s *site) endServers() {
	s.tmux("kill-server")
	until(s.t, "all tmux servers are gone", func() bool {
		out, err := exec.Command("ps", "axww", "-o", "pid=,stat=,args=").Output()
		check(s.t, err)
		gone := true
		for line := range strings.Lines(string(out)) {
			f := strings.Fields(line)
			if len(f) > 2 && f[2] == "tmux" && f[1][0] != 'Z' && strings.Contains(line, s.dir+"/") {
				pid, _ := strconv.Atoi(f[0])
				syscall.Kill(pid, syscall.SIGTERM)
				gone = false
			}
		}
		return gone
	})
}

// install makes another program the gl of the site.
func (s *site) install(gl string) {
	s.t.Helper()
	s.self = gl
	link := filepath.Join(s.dir, "bin", "gl")
	check(s.t, os.Remove(link))
	check(s.t, os.Symlink(gl, link))
}

func (s *site) session() *tmux.Session { return tmux.Open(s.Root, s.Config.Prefix, s.env) }

// tmux runs a tmux command on the project's server; its error is of no interest.
func (s *site) tmux(args ...string) string {
	argv := s.session().AttachArgv()
	i := slices.Index(argv, "attach-session")
	cmd := exec.Command(argv[0], append(slices.Clone(argv[1:i]), args...)...)
	cmd.Env = s.env
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

func (s *site) serverPID() int {
	var pid int
	fmt.Sscan(s.tmux("display-message", "-p", "#{pid}"), &pid)
	return pid
}

// slice writes a slice's file.
func (s *site) slice(id, deps string) {
	s.t.Helper()
	text := fmt.Sprintf("---\nid: %s\nstatus: pending\nstep: none\nmilestone: m\nstarted:\ntests: 0\nsession:\ndeps: %s\n---\n\n# %s: Name of %s\n", id, deps, id, id)
	check(s.t, os.WriteFile(s.file(id), []byte(text), 0o644))
}

func (s *site) file(id string) string {
	return filepath.Join(s.Root, ".greenlight", "slices", id+".md")
}

func (s *site) read(path ...string) string {
	data, err := os.ReadFile(filepath.Join(append([]string{s.Root}, path...)...))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(data)
}

func (s *site) status(id string) string {
	_, after, _ := strings.Cut(s.read(".greenlight", "slices", id+".md"), "\nstatus: ")
	status, _, _ := strings.Cut(after, "\n")
	return status
}

// claim claims the slice for an agent that is a shell script; "$@" are words.
func (s *site) claim(id, script string, words ...string) (r *attempt.Record) {
	s.t.Helper()
	argv := append([]string{"/bin/sh", "-c", script, "sh"}, words...)
	a, err := agent.Find("script", agent.Config{Custom: map[string]agent.Custom{"script": {Command: argv}}})
	check(s.t, err)
	return s.claimFor(id, a)
}

func (s *site) claimFor(id string, a agent.Agent) (r *attempt.Record) {
	s.t.Helper()
	check(s.t, s.Runs.Files.Prepare())
	check(s.t, s.Tracker.Do(s.t.Context(), func(tx tracker.Tx) (err error) {
		r, err = s.Runs.Within(tx.Held()).Claim(tx, attempt.Request{ID: id, Agent: a, Job: agent.Job{Dir: s.Root}, Runner: "test"}, time.Now())
		return err
	}))
	return r
}

// settled waits until the attempt is settled and returns its record.
func (s *site) settled(r *attempt.Record) (final *attempt.Record) {
	s.t.Helper()
	until(s.t, r.ID.Name()+" is settled", func() bool {
		rec, err := s.Runs.Get(r.ID.Slice, r.ID.N)
		final = rec
		return err == nil && rec.Life.Phase == plan.Settled && !s.Runs.IsOpen(r.ID.Name())
	})
	return final
}

// running waits until the attempt's agent has made the file "begun".
func (s *site) running(r *attempt.Record) *attempt.Record {
	s.t.Helper()
	until(s.t, r.ID.Name()+" has begun", func() bool { return s.read("begun") != "" })
	rec, err := s.Runs.Get(r.ID.Slice, r.ID.N)
	check(s.t, err)
	return rec
}

// begun is the beginning of a script that tells that it runs.
const begun = "echo $$ >>begun; "

// runners are all there are; each makes a new one for the site.
var runners = map[string]func(s *site) runner.Runner{
	"process": func(s *site) runner.Runner { return runner.NewProcess(s.self, s.Root, s.env, nil, 8) },
	"tmux": func(s *site) runner.Runner {
		if !tmux.Installed() {
			s.t.Skip("tmux is not installed")
		}
		return &runner.Tmux{Session: s.session(), Self: s.self, Root: s.Root, Env: s.env, Runs: s.Runs,
			Process: runner.NewProcess(s.self, s.Root, s.env, nil, 8),
			Warn:    func(words string) { s.t.Errorf("warning: %s", words) }}
	},
}

// records are all settled attempts, by their end.
func (s *site) records() []*attempt.Record {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Runs.Files.Dir(), "done", "*.json"))
	check(s.t, err)
	var recs []*attempt.Record
	for _, f := range files {
		data, err := os.ReadFile(f)
		check(s.t, err)
		r := new(attempt.Record)
		check(s.t, json.Unmarshal(data, r))
		recs = append(recs, r)
	}
	return recs
}
