package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/roster"
	"greenlight/internal/run/workers"
)

var check, until = testfiles.Check, testfiles.Until

// A fleet is a project, its gl serve, and workers that have homes of their own. All are processes
// of this machine.
type fleet struct {
	testing.TB
	dir     string // has everything
	root    string // of the project
	rare    bool   // what a failed test has left stays
	env     []string
	serve   *part
	workers []*part
}

// A part is one of the fleet's processes, and the same one started again.
type part struct {
	fleet *fleet
	name  string
	dir   string // where it runs
	env   []string
	args  []string // of gl
	link  *link    // of a worker to gl serve; nil for others
	cmd   *exec.Cmd
	out   output
	done  chan struct{} // closed while it doesn't run
	// whether kill has ended it, and it wasn't started again
	killed bool
}

// An output is what a process has printed so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// newFleet makes the directories. programs is where gl and gl-remote are; "" for the test binary.
func newFleet(t testing.TB, programs string) *fleet {
	t.Helper()
	place := os.TempDir() // t.TempDir's names are too long for sockets
	if len(place) > 40 {
		place = "/tmp"
	}
	dir, err := os.MkdirTemp(place, "gf")
	check(t, err)
	dir, err = filepath.EvalSymlinks(dir)
	check(t, err)
	f := &fleet{TB: t, dir: dir, root: filepath.Join(dir, "shop"), rare: programs != ""}
	self, err := os.Executable()
	check(t, err)
	bin := filepath.Join(dir, "bin")
	check(t, os.Mkdir(bin, 0o755))
	for _, name := range []string{"gl", "gl-remote"} {
		to := self
		if programs != "" {
			to = filepath.Join(programs, name)
		}
		check(t, os.Symlink(to, filepath.Join(bin, name)))
	}
	check(t, os.Mkdir(filepath.Join(dir, "out"), 0o755))
	f.env = append(f.home("home"), "PATH="+bin+":"+os.Getenv("PATH"), "OUT="+filepath.Join(dir, "out"),
		"GIT_CONFIG_NOSYSTEM=1", "GORACE=atexit_sleep_ms=0")
	t.Cleanup(f.end)
	return f
}

// home makes a home directory and returns the variables that name it.
func (f *fleet) home(name string) []string {
	f.Helper()
	dir := filepath.Join(f.dir, name)
	testfiles.Put(f, dir, ".gitconfig", "[user]\nname = t\nemail = t@t\n[gc]\nauto = 0\n")
	check(f, os.MkdirAll(filepath.Join(dir, "tmp"), 0o755))
	return []string{"HOME=" + dir, "XDG_STATE_HOME=" + filepath.Join(dir, "state"),
		"XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "TMPDIR=" + filepath.Join(dir, "tmp")}
}

// project makes the repository, with n slices and an agent that is a shell script. config is added
// to the configuration.
func (f *fleet) project(n int, needs func(i int) []string, script string, files map[string]string, config map[string]any) {
	f.Helper()
	agent := filepath.Join(f.dir, "bin", "builder")
	check(f, os.WriteFile(agent, []byte(script), 0o755))
	conf := map[string]any{"review": "never"}
	maps.Copy(conf, config)
	data, err := json.Marshal(conf)
	check(f, err)
	all := map[string]string{".greenlight/config.json": string(data), ".gitignore": ".greenlight/runs/\n"}
	maps.Copy(all, files)
	for i := 1; i <= n; i++ {
		id := fmt.Sprint("S-", i)
		all[".greenlight/slices/"+id+".md"] = fmt.Sprintf(
			"---\nid: %s\nstatus: pending\nstep: none\nmilestone: m\nstarted:\ntests: 0\nsession:\ndeps: %s\n---\n\n# %s: Name of %s\n",
			id, strings.Join(needs(i), ", "), id, id)
	}
	testfiles.Write(f, f.root, all)
	f.git("init", "-q", "-b", "main")
	f.git("add", "-A")
	f.git("commit", "-qm", "first")
	f.gl("trust", "--yes")
}

// parallel is the configuration of the agent, with so many slots at home.
func parallel(slots int) map[string]any {
	return map[string]any{"agent": "builder", "max": slots, "silent_minutes": 1,
		"agents": map[string]any{"builder": map[string]any{"command": []string{"builder"}}}}
}

func (f *fleet) git(args ...string) string {
	f.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = f.root, f.env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		f.Fatalf("git %q: %v: %s", args, err, errs.String())
	}
	return strings.TrimSpace(string(out))
}

// gl runs a command of gl at home, and returns what it has printed.
func (f *fleet) gl(args ...string) string {
	f.Helper()
	cmd := exec.Command(filepath.Join(f.dir, "bin", "gl"), args...)
	cmd.Dir, cmd.Env = f.root, f.env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		f.Fatal(err)
	}
	return string(out)
}

func (f *fleet) runs(names ...string) string {
	return filepath.Join(append([]string{f.root, ".greenlight", "runs"}, names...)...)
}

// records are those of all settled attempts.
func (f *fleet) records() (all []*attempt.Record) {
	f.Helper()
	files, err := filepath.Glob(f.runs("done", "*.json"))
	check(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		check(f, err)
		r := new(attempt.Record)
		check(f, json.Unmarshal(data, r))
		all = append(all, r)
	}
	return all
}

// serves starts gl serve and waits for its port.
func (f *fleet) serves() {
	f.Helper()
	f.serve = f.part("gl serve", f.root, f.env, "serve", "--listen", "127.0.0.1:0")
	f.serve.start()
	until(f, "gl serve has a port", func() bool {
		f.serve.mustRun()
		_, err := roster.Open(workers.Dir(f.runs())).Server()
		return err == nil
	})
	f.serve.args = []string{"serve"} // the port stays
}

// worker makes a worker join, by a link of its own, with variables of its own.
func (f *fleet) worker(slots int, more ...string) *part {
	f.Helper()
	name := fmt.Sprint("w", len(f.workers)+1)
	r := roster.Open(workers.Dir(f.runs()))
	server, err := r.Server()
	check(f, err)
	token, err := r.Invite(f.Context())
	check(f, err)
	_, port, err := net.SplitHostPort(server.Listen)
	check(f, err)
	l := newLink(f, net.JoinHostPort("127.0.0.1", port))
	token.Addresses = []string{l.address()}
	file := filepath.Join(f.dir, name+".token")
	check(f, token.Write(file))
	home := f.home(name)
	env := slices.Concat(f.env, home, more)
	w := f.part(name, filepath.Join(f.dir, name), env, "worker", "--name", name, "--agent", "builder",
		"--slots", fmt.Sprint(slots), "--token-file", file)
	w.link = l
	f.workers = append(f.workers, w)
	w.start()
	until(f, name+" is on the list", func() bool {
		w.mustRun()
		return f.listed(name)
	})
	return w
}

// listed reports whether gl serve is in contact with a worker.
func (f *fleet) listed(name string) bool {
	l, err := workers.Read(f.runs())
	if err != nil || !l.Serving() {
		return false
	}
	w := l.Find(name)
	return w != nil && !w.Silent && len(w.Hello.Agents) > 0
}

// watch starts a run of all slices.
func (f *fleet) watch() *part {
	f.Helper()
	w := f.part("gl slice", f.root, f.env, "slice", "--watch", "--runner", "process")
	w.start()
	return w
}

func (f *fleet) part(name, dir string, env []string, args ...string) *part {
	done := make(chan struct{})
	close(done)
	return &part{fleet: f, name: name, dir: dir, env: env, args: args, done: done}
}

func (p *part) start() {
	p.fleet.Helper()
	p.cmd = exec.Command(filepath.Join(p.fleet.dir, "bin", "gl"), p.args...)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = p.dir, p.env, &p.out, &p.out
	p.cmd.WaitDelay = time.Second // an agent that outlives its worker for a moment has its output
	check(p.fleet, p.cmd.Start())
	done := make(chan struct{})
	p.done, p.killed = done, false
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait()
		close(done)
	}(p.cmd)
}

func (p *part) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// mustRun fails the test if the process has ended.
func (p *part) mustRun() {
	p.fleet.Helper()
	if p.over() {
		p.fleet.Fatalf("%s has ended: %v\n%s", p.name, p.cmd.ProcessState, p.out.String())
	}
}

// kill ends the process as a machine that fails does.
func (p *part) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
	p.killed = true
}

// stop ends the process as a person does, and checks that it ends well.
func (p *part) stop() {
	p.fleet.Helper()
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.done:
	case <-time.After(testfiles.Patience):
		p.kill()
		p.fleet.Errorf("%s doesn't end:\n%s", p.name, last(p.out.String()))
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.fleet.Errorf("%s has ended with %d:\n%s", p.name, code, last(p.out.String()))
	}
}

// last returns the end of a long text.
func last(text string) string { return text[max(0, len(text)-4000):] }

// end ends what a failed test has left.
func (f *fleet) end() {
	for _, p := range append(f.workers, f.serve) {
		if p != nil && !p.over() {
			p.kill()
		}
	}
	for {
		left, err := testfiles.Processes(f.dir)
		check(f, err)
		if len(left) == 0 {
			break
		}
		for _, line := range left {
			signal(line, os.Kill)
		}
	}
	if f.Failed() && f.rare {
		f.Logf("everything as it was then is in %s", f.dir)
		return
	}
	until(f, "the directory is removed", func() bool { return os.RemoveAll(f.dir) == nil })
}

// signal sends a signal to a process of which a line of ps is.
func signal(line string, sig os.Signal) {
	var pid int
	if _, err := fmt.Sscan(line, &pid); err != nil || pid <= 1 {
		return
	}
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Signal(sig)
	}
}
