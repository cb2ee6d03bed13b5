package hands

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/relay"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/hub"
	"greenlight/internal/run/hub/hubtest"
	"greenlight/internal/workspace/sandbox"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == command.InsideArg { // known by its path alone
		os.Exit(command.Inside(os.Args[2:]))
	}
	if filepath.Base(os.Args[0]) == "gl" && len(os.Args) > 1 {
		switch os.Args[1] {
		case command.GateArg:
			os.Exit(command.Gate(os.Args[2:]))
		case "ask": // what an agent's gl does
			r, err := relay.Ask(context.Background(), os.Getenv(relay.Variable),
				relay.Call{Argv: os.Args[2:], Dir: mustGetwd()})
			if err != nil {
				os.Exit(99)
			}
			os.Stdout.Write(r.Output)
			os.Exit(r.ExitCode)
		}
	}
	os.Exit(testfiles.Run(m))
}

func mustGetwd() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return dir
}

// A bench is a project, its hub, and the place of a worker whose machine is the test.
type bench struct {
	*testing.T
	project string // the checkout
	hub     *hubtest.Hub
	place   *place
	base    string // the project's commit
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testfiles.Check(t, err)
	for key, value := range map[string]string{"HOME": dir, "XDG_CONFIG_HOME": dir,
		"XDG_STATE_HOME": filepath.Join(dir, "state"), "GIT_CONFIG_NOSYSTEM": "1"} {
		t.Setenv(key, value)
	}
	temp := filepath.Join(dir, strings.Repeat("long", 20)) // too long for a socket
	testfiles.Check(t, os.MkdirAll(temp, 0o755))
	b := &bench{T: t, project: filepath.Join(dir, "shop")}
	testfiles.Check(t, os.MkdirAll(b.project, 0o755))
	b.git(b.project, "init", "-q")
	testfiles.Check(t, os.WriteFile(filepath.Join(b.project, "a.txt"), []byte("a\n"), 0o644))
	b.base = b.commit("first")
	b.hub = hubtest.New(t, filepath.Join(dir, "hub"), filepath.Join(b.project, ".git"))
	self, err := os.Executable()
	testfiles.Check(t, err)
	gl := filepath.Join(dir, "bin", "gl")
	testfiles.Check(t, os.MkdirAll(filepath.Dir(gl), 0o755))
	testfiles.Check(t, os.Symlink(self, gl))
	s := files{filepath.Join(dir, "worker")}
	testfiles.Check(t, s.prepare())
	b.place = &place{ctx: t.Context(), files: s, repo: &repository{top: s.path("repo")},
		local: executor.NewLocal(gl), hub: b.hub.Join("w1"), self: gl, plugin: "/plugin",
		environ: append(os.Environ(), "TMPDIR="+temp), queue: newQueue(),
		waiting: map[int64]chan remote.Answer{},
		denied:  map[remote.Fence]int{},
		print:   func(f remote.Fence, text string) { t.Logf("%s: %s", f, text) }}
	return b
}

func (b *bench) git(dir string, args ...string) string {
	b.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (b *bench) commit(message string) string {
	b.git(b.project, "add", "-A")
	b.git(b.project, "commit", "-qm", message)
	return b.git(b.project, "rev-parse", "HEAD")
}

// job returns a job that runs a shell script at a commit.
func (b *bench) job(commit, script string) *remote.Job {
	j := &remote.Job{Kind: remote.Agent, Slice: "S-1", N: 1, Lineage: "S-1.1", Commit: commit, Work: true}
	j.Command = remote.Command{Program: "sh", Argv: []string{"sh", "-c", script}, Apart: true,
		Leaves: "nothing"}
	return j
}

// tried is the attempt of jobs. Its number marks their processes, and another run of these tests
// may go on beside this one.
var tried = fmt.Sprint("S-1.1.", os.Getpid())

func fence(lease int) remote.Fence { return remote.Fence{Attempt: tried, Lease: lease} }

// begin publishes the job's commit, and prepares and launches it.
func (b *bench) begin(f remote.Fence, j *remote.Job) *run {
	b.Helper()
	testfiles.Check(b.T, b.hub.Grant(b.Context(), "w1", f))
	testfiles.Check(b.T, b.hub.Publish(b.Context(), f, j.Commit))
	r := b.prepare(f, j)
	wait[remote.Ready](b)
	go r.launch()
	return r
}

func (b *bench) prepare(f remote.Fence, j *remote.Job) *run {
	b.Helper()
	log, err := openOutput(b.place.files.lease(f, ".log"))
	testfiles.Check(b.T, err)
	r := newRun(b.place, f, j, log)
	go r.prepare()
	return r
}

// wait returns the next event of a type. An end that wasn't waited for fails the test.
func wait[E remote.WorkerEvent](b *bench) E {
	b.Helper()
	limit := time.After(time.Minute)
	for {
		b.place.queue.mu.Lock()
		var e remote.WorkerEvent
		if len(b.place.queue.events) > 0 {
			e = b.place.queue.events[0]
			b.place.queue.events = b.place.queue.events[1:]
		}
		b.place.queue.mu.Unlock()
		switch e := e.(type) {
		case E:
			return e
		case remote.Finished:
			b.Fatalf("it ended: %+v", e.Result)
		case nil:
			select {
			case <-b.place.queue.ready:
			case <-limit:
				b.Fatal("it never came")
			}
		}
	}
}

// push pushes what the job left, and returns the files of the commit at home.
func (b *bench) push(f remote.Fence, j *remote.Job) (remote.Pushed, string) {
	b.Helper()
	pushWork(b.place, f, j)
	p := wait[remote.Pushed](b)
	if p.Commit == "" {
		return p, ""
	}
	got, err := b.hub.Collect(b.Context(), f, "refs/gl/got")
	testfiles.Check(b.T, err)
	if got != p.Commit {
		b.Errorf("it pushed %s, and home has %s", p.Commit, got)
	}
	return p, b.git(b.project, "ls-tree", "-r", "--name-only", got)
}

func (b *bench) remove(f remote.Fence, j *remote.Job, worktree bool) {
	b.Helper()
	testfiles.Check(b.T, durable.WriteJSON(b.place.files.lease(f, ".json"),
		remote.Work{Fence: f, Job: *j}))
	testfiles.Check(b.T, b.place.remove(remote.Remove{Fence: f, Lineage: j.Lineage,
		Worktree: worktree}, nil))
}

// A job's worktree has its commit, its setup has run, its program has the environment and the files
// it needs, its output is in the log, and what it leaves comes home as one commit.
func TestJob(t *testing.T) {
	b := newBench(t)
	b.place.include = t.TempDir()
	testfiles.Check(t, os.WriteFile(filepath.Join(b.place.include, ".env"), []byte("KEY"), 0o600))
	testfiles.Check(t, os.WriteFile(filepath.Join(b.project, ".gitignore"), []byte(".env\nout/\n"), 0o644))
	j := b.job(b.commit("ignore"), `
cat .env; echo >&2 "on stderr"; echo "$1"; echo "$GL_ATTEMPT"; cat out/setup
[ "$GREENLIGHT_ROOT" = "$PWD" ] && echo root
echo new > new.txt; git add new.txt; git commit -qm new; echo later > later.txt
sleep 600 & exit 3`)
	j.Setup = []string{"sh", "-c", "mkdir out; echo set up > out/setup"}
	j.Command.Argv = append(j.Command.Argv, "x", remote.WorktreePlace+" "+remote.PluginPlace)
	j.Command.Env = []string{"GL_ATTEMPT=7"}
	j.Needs.Files = []string{".env"}
	r := b.begin(fence(1), j)
	wait[remote.Launched](b)
	top := r.site.Lineage.Path
	end := wait[remote.Finished](b).Result
	if end.How != remote.Exited || end.ExitCode != 3 || len(end.Left) != 1 || end.Last != "on stderr" {
		t.Errorf("%+v", end)
	}
	data, err := r.log.Read(0, end.Log)
	testfiles.Check(t, err)
	for _, want := range []string{"KEY", `{"gl":"stderr","text":"on stderr"}` + "\n", top + " /plugin\n", "\n7\n",
		"set up\n", "\nroot\n",
		"which gl has ended: "} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %q in the log:\n%s", want, data)
		}
	}
	p, list := b.push(fence(1), j)
	if list != ".gitignore\na.txt\nlater.txt\nnew.txt" || p.Unsaved != "" {
		t.Errorf("%q, %+v", list, p)
	}
	if got := b.git(b.project, "rev-list", "--count", j.Commit+".."+p.Commit); got != "2" {
		t.Errorf("%s commits", got)
	}

	// a continuation works in the same worktree, at a commit that was made elsewhere
	b.git(b.project, "reset", "-q", "--hard", p.Commit)
	testfiles.Check(t, os.WriteFile(filepath.Join(b.project, "merged"), nil, 0o644))
	again := b.job(b.commit("merge"), "ls; cat out/setup; pwd")
	b.remove(fence(1), j, false)
	r = b.begin(fence(2), again)
	end = wait[remote.Finished](b).Result
	data, err = r.log.Read(0, end.Log)
	testfiles.Check(t, err)
	if !strings.Contains(string(data), "a.txt\nlater.txt\nmerged\nnew.txt\nout\nset up\n"+top+"\n") {
		t.Errorf("%s", data)
	}
	b.remove(fence(2), again, true)
	if paths.Exists(top) || b.git(b.place.repo.top, "for-each-ref") != "" {
		t.Error("something is left: " + b.git(b.place.repo.top, "for-each-ref"))
	}
	if entries, _ := os.ReadDir(b.place.files.path("leases")); len(entries) > 2 { // logs that this test holds
		t.Errorf("%v", entries)
	}
}

// A program that talks hears what it is told, can be ended, and its end is told once.
func TestTalkAndHalt(t *testing.T) {
	b := newBench(t)
	j := b.job(b.base, `trap 'echo ending; exit 5' TERM; read a; echo "heard $a"; while :; do sleep 0.05; done`)
	j.Command.Talks = true
	r := b.begin(fence(1), j)
	wait[remote.Launched](b)
	r.say(remote.Line{Number: 1, Text: []byte("hello\n")})
	if told := wait[remote.Told](b); told.Number != 1 || told.Failed != "" {
		t.Errorf("%+v", told)
	}
	testfiles.Until(t, "it hears", func() bool { return strings.Contains(logOf(t, r), "heard hello") })
	r.halt(remote.Halting{})
	end := wait[remote.Finished](b).Result
	if end.How != remote.Exited || end.ExitCode != 5 || !strings.Contains(logOf(t, r), "ending") {
		t.Errorf("%+v, %s", end, logOf(t, r))
	}
	r.say(remote.Line{Number: 2, Text: []byte("late")})
	wait[remote.Told](b)
}

func logOf(t *testing.T, r *run) string {
	t.Helper()
	size, start := r.log.Size()
	data, err := r.log.Read(start, size-start)
	testfiles.Check(t, err)
	return string(data)
}

// A job that is halted before it runs never runs, whatever step it has reached, and ends once.
func TestHaltBeforeTheStart(t *testing.T) {
	b := newBench(t)
	j := b.job(b.base, ": > ran")
	testfiles.Check(t, b.hub.Grant(t.Context(), "w1", fence(1)))
	testfiles.Check(t, b.hub.Publish(t.Context(), fence(1), j.Commit))
	j.Setup = []string{"sh", "-c", ": > begun; sleep 600"}
	r := b.prepare(fence(1), j)
	testfiles.Until(t, "setup runs", func() bool {
		found, _ := filepath.Glob(b.place.repo.top + ".gl/*/*/*/begun")
		return len(found) == 1
	})
	r.halt(remote.Halting{})
	if end := wait[remote.Finished](b).Result; end.How != remote.Failed || end.Reason != remote.Text(errHalted.Error()) {
		t.Errorf("%+v", end)
	}
	j.Setup = nil
	r = b.prepare(fence(1), j)
	wait[remote.Ready](b)
	r.halt(remote.Halting{Kill: true})
	r.launch()
	wait[remote.Finished](b)
	if _, list := b.push(fence(1), j); strings.Contains(list, "ran") {
		t.Errorf("it ran: %s", list)
	}
}

// A program of a worker that is gone is ended by the next one, and its work is still pushed.
func TestReap(t *testing.T) {
	b := newBench(t)
	j := b.job(b.base, "echo work > work.txt; echo ready; sleep 600")
	r := b.begin(fence(1), j)
	wait[remote.Launched](b)
	testfiles.Until(t, "it works", func() bool { return strings.Contains(logOf(t, r), "ready") })
	testfiles.Check(t, b.place.endEarlier(fence(1)))
	wait[remote.Finished](b)
	if _, list := b.push(fence(1), j); list != "a.txt\nwork.txt" {
		t.Errorf("%q", list)
	}
	testfiles.Check(t, b.place.endEarlier(fence(1))) // nothing is there any more
}

// What can't be committed on the branch comes home as a snapshot, with the reason.
func TestUnfinishedWork(t *testing.T) {
	b := newBench(t)
	j := b.job(b.base, `git checkout -q --orphan mine; echo stray > stray.txt; git add stray.txt; git commit -qm mine`)
	b.begin(fence(1), j)
	wait[remote.Finished](b)
	p, list := b.push(fence(1), j)
	if p.Unsaved == "" || !strings.Contains(list, "stray.txt") {
		t.Errorf("%+v %q", p, list)
	}
}

// Snapshots of a running job are pushed, and only if something has changed.
func TestSnapshots(t *testing.T) {
	b := newBench(t)
	j := b.job(b.base, `echo one > one.txt; read a; echo two > two.txt; read b`)
	j.Save, j.Command.Talks = 20, true
	r := b.begin(fence(1), j)
	saved := func(name string) {
		for {
			s := wait[remote.Snapshotted](b)
			files := b.git(b.place.repo.top, "ls-tree", "-r", "--name-only", s.Commit)
			if strings.Contains(files, name) {
				return
			}
		}
	}
	saved("one.txt")
	r.say(remote.Line{Number: 1, Text: []byte("go\n")})
	saved("two.txt")
	r.say(remote.Line{Number: 2, Close: true})
	wait[remote.Finished](b)
}

// An agent's gl asks the coordinator, which knows neither the worker's paths nor its directories.
func TestAsk(t *testing.T) {
	b := newBench(t)
	j := b.job(b.base, `mkdir sub; cd sub; gl ask state "$GREENLIGHT_ROOT/a.txt"; echo "exit $?"`)
	r := b.begin(fence(1), j)
	q := wait[remote.Inquire](b)
	if len(q.Argv) != 2 || q.Argv[1] != remote.WorktreePlace+"/a.txt" || q.Dir != "sub" {
		t.Errorf("%+v", q)
	}
	top := r.site.Lineage.Path
	b.place.reply(q.Key, remote.Answer{ExitCode: 4, Output: []byte("at " + remote.WorktreePlace + "/b\n")})
	wait[remote.Finished](b)
	if got := logOf(t, r); !strings.Contains(got, "at "+top+"/b\nexit 4\n") {
		t.Error(got)
	}
}

// Reasons why a job can't start are told.
func TestFailures(t *testing.T) {
	b := newBench(t)
	for want, change := range map[string]func(*remote.Job){
		"setup failed":     func(j *remote.Job) { j.Setup = []string{"sh", "-c", "echo broken; exit 1"} },
		"not found":        func(j *remote.Job) { j.Command.Program = "no-such-agent" },
		"hasn't published": func(j *remote.Job) { j.Commit = strings.Repeat("0", 39) + "1" },
	} {
		j := b.job(b.base, "true")
		f := remote.Fence{Attempt: "S-1." + strings.ReplaceAll(want[:4], " ", "x"), Lease: 1}
		j.Lineage = f.Attempt
		testfiles.Check(t, b.hub.Grant(t.Context(), "w1", f))
		testfiles.Check(t, b.hub.Publish(t.Context(), f, j.Commit))
		change(j)
		r := b.prepare(f, j)
		if want == "not found" {
			wait[remote.Ready](b)
			r.launch()
		}
		end := wait[remote.Finished](b).Result
		if end.How != remote.Failed || !strings.Contains(string(end.Reason), want) {
			t.Errorf("%s: %+v", want, end)
		}
	}
}

// What is trimmed is gone from the disk, what isn't is read back after a restart, and offsets go
// on.
func TestOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	o, err := openOutput(path)
	testfiles.Check(t, err)
	part := strings.Repeat("0123456789abcdef", segmentBytes/16)
	for range 3 {
		_, err := o.Write([]byte(part + "!"))
		testfiles.Check(t, err)
	}
	o.Trim(2*segmentBytes + 1)
	testfiles.Check(t, o.Close())
	o, err = openOutput(path)
	testfiles.Check(t, err)
	size, start := o.Size()
	if size != 3*(segmentBytes+1) || start != segmentBytes+1 {
		t.Errorf("%d from %d", size, start)
	}
	got, err := o.Read(2*(segmentBytes+1)-3, 6)
	if testfiles.Check(t, err); string(got) != "ef!012" {
		t.Errorf("%q", got)
	}
	if _, err := o.Read(start-1, 1); err == nil {
		t.Error("what was trimmed is read")
	}
	testfiles.Check(t, o.Remove())
	if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
		t.Error(left)
	}
}

var _ hub.Worker = (*hubtest.Worker)(nil)

// In a sandbox, a job can write to its worktree and ask at home, and nothing else.
func TestSandboxed(t *testing.T) {
	if strings.HasPrefix(os.TempDir(), "/dev/shm") { // a sandbox has one of its own
		t.Setenv("TMPDIR", "/var/tmp")
	}
	b := newBench(t)
	if err := sandbox.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	j := b.job(b.base, `echo in > in.txt; git add in.txt; git commit -qm in; (: > "$HOME/out") 2>/dev/null || echo confined; gl ask state`)
	j.Needs.Sandbox = sandbox.Program
	r := b.begin(fence(1), j)
	q := wait[remote.Inquire](b)
	b.place.reply(q.Key, remote.Answer{Output: []byte("asked\n")})
	end := wait[remote.Finished](b).Result
	if got := logOf(t, r); end.ExitCode != 0 || !strings.Contains(got, "confined\nasked\n") {
		t.Errorf("%+v\n%s", end, got)
	}
	if _, list := b.push(fence(1), j); list != "a.txt\nin.txt" {
		t.Errorf("%q", list)
	}
}
