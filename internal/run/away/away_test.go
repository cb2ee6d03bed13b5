package away_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/cli"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/away"
	"greenlight/internal/run/hands"
	"greenlight/internal/run/hub"
	"greenlight/internal/run/hub/hubtest"
	"greenlight/internal/run/project"
	"greenlight/internal/run/roster"
	"greenlight/internal/run/workers"
	"greenlight/internal/workspace/git"
)

// The test binary is gl when it is called so: the scheduler, gates and the agents' commands are
// real processes.
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
	members       []roster.Member
	policy        remote.Policy
	lines         map[string]*line

	mu   sync.Mutex // of members, which gl serve reads, and told
	told []string   // by gl serve
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
	f := &farm{T: t, dir: dir, root: filepath.Join(dir, "shop"), gl: filepath.Join(dir, "bin", "gl"), policy: policy, lines: map[string]*line{}}
	out := filepath.Join(dir, "out")
	t.Cleanup(func() {
		testfiles.Until(t, "all processes have ended", func() bool {
			running, err := proc.HasVariable("OUT=" + out)
			return err == nil && !running
		})
	})
	for key, value := range map[string]string{"HOME": dir, "XDG_CONFIG_HOME": dir, "GIT_CONFIG_NOSYSTEM": "1",
		"XDG_STATE_HOME": filepath.Join(dir, "state"), "OUT": out, "TMPDIR": temp,
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
	return f.serveWith(f.hub)
}

func (f *farm) serveWith(h hub.Coordinator) (stop func()) {
	f.Helper()
	pr, err := project.Open(f.root)
	check(f, err)
	app := &cmdutil.App{Environ: f.env}
	ctx, cancel := context.WithCancel(f.Context())
	done := make(chan error, 1)
	go func() {
		done <- away.Serve(ctx, away.Config{
			Project: pr, Hub: h, Policy: f.policy, Self: f.gl, Environ: f.env,
			Members: f.joined,
			Wrapper: cli.RemoteWrapper(app, pr), Tell: f.tell,
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

func (f *farm) tell(line string) {
	f.Log(line)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, line)
}

// hasTold reports whether gl serve has told something with the text.
func (f *farm) hasTold(text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.told, func(line string) bool { return strings.Contains(line, text) })
}

// joined returns the workers that have joined.
func (f *farm) joined() ([]roster.Member, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.members), nil
}

// worker starts a worker.
func (f *farm) worker(name string, slots int) (stop func()) {
	f.Helper()
	f.mu.Lock()
	f.members = append(f.members, roster.Member{Name: name, NKey: name})
	f.mu.Unlock()
	ctx, cancel := context.WithCancel(f.Context())
	done := make(chan error, 1)
	connection := newLine(ctx, f.hub.Join(name))
	f.lines[name] = connection
	go func() {
		done <- hands.Work(ctx, hands.Options{
			Dir: filepath.Join(f.dir, name), Self: f.gl, Release: "1", Environ: f.env, Slots: slots,
			Agents: []string{"builder"}, Policy: policy, Print: func(line string) { f.Log(name + ": " + line) },
			Hub: connection,
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

// A line is a worker's connection, which can be cut.
type line struct {
	hub.Worker
	cut atomic.Bool
	in  chan hub.Envelope
}

func newLine(ctx context.Context, w hub.Worker) *line {
	l := &line{Worker: w, in: make(chan hub.Envelope)}
	go func() {
		for e := range w.Messages() {
			if l.whole(ctx) == nil {
				l.in <- e
			}
		}
	}()
	return l
}

// whole waits until the line isn't cut.
func (l *line) whole(ctx context.Context) error {
	for l.cut.Load() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

func (l *line) Messages() <-chan hub.Envelope { return l.in }

func (l *line) Send(ctx context.Context, data []byte) error {
	if err := l.whole(ctx); err != nil {
		return err
	}
	return l.Worker.Send(ctx, data)
}

func (l *line) Fetch(ctx context.Context, repo string, f remote.Fence) error {
	if err := l.whole(ctx); err != nil {
		return err
	}
	return l.Worker.Fetch(ctx, repo, f)
}

func (l *line) Push(ctx context.Context, repo string, f remote.Fence, commit string) error {
	if err := l.whole(ctx); err != nil {
		return err
	}
	return l.Worker.Push(ctx, repo, f, commit)
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

// waits is an agent that works once it is told to go.
const waits = `
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"first words"}]}}'
: > "$OUT/began.$GL_SLICE"
until [ -e "$OUT/go" ]; do sleep 0.05; done
` + works

func (f *farm) listed(name string) {
	f.Helper()
	testfiles.Until(f, "the worker is on the list", func() bool {
		l, err := workers.Read(filepath.Join(f.root, ".greenlight", "runs"))
		w := l.Find(name)
		return err == nil && w != nil && !w.Silent && len(w.Hello.Agents) > 0
	})
}

func (f *farm) exists(name string) bool {
	_, err := os.Stat(filepath.Join(f.dir, "out", name))
	return err == nil
}

// watch starts gl slice --watch, and returns what it has said at its end.
func (f *farm) watch() (wait func() string) {
	out := make(chan string, 1)
	go func() { out <- f.run("slice", "--watch", "--runner", "process") }()
	return func() string {
		select {
		case text := <-out:
			return text
		case <-time.After(testfiles.Patience):
			f.Fatalf("gl slice doesn't end; status:\n%s", f.run("status"))
			return ""
		}
	}
}

func (f *farm) log(id string) string {
	f.Helper()
	data, err := os.ReadFile(filepath.Join(f.root, ".greenlight/runs/log", id+".log"))
	check(f, err)
	return string(data)
}

// The agent runs on while gl serve is gone. No settler takes it for crashed, and the next gl serve
// goes on with it: nothing of the log is missing or there twice.
func TestServerIsReplaced(t *testing.T) {
	testfiles.Slow(t)
	f := newFarm(t, waits)
	f.slice("S-1", "")
	f.begin()
	stop := f.serve()
	f.worker("w1", 2)
	f.listed("w1")
	wait := f.watch()
	testfiles.Until(t, "its first words are home", func() bool {
		return f.exists("began.S-1") && strings.Contains(f.run("logs", "S-1"), "first words")
	})
	stop()
	out := f.run("status")
	t.Log(out)
	if strings.Contains(out, "crashed") {
		t.Errorf("while gl serve is gone: %s", out)
	}
	check(t, os.WriteFile(filepath.Join(f.dir, "out", "go"), nil, 0o644))
	time.Sleep(300 * time.Millisecond) // the agent's gl waits for gl serve, or not yet
	f.serve()
	t.Log(wait())
	if files := f.git("ls-tree", "-r", "--name-only", "main"); !strings.Contains(files, "S-1.txt") {
		t.Errorf("main has %q\n%s", files, f.run("why", "S-1"))
	}
	if log := f.log("S-1.1"); strings.Count(log, "first words") != 1 || strings.Count(log, `"result"`) != 1 {
		t.Errorf("the log is\n%s", log)
	}
}

// loseWorker has the first worker cut off while it works on S-1, and the second finish it.
func (f *farm) loseWorker() {
	f.Helper()
	f.worker("w1", 1)
	f.listed("w1")
	wait := f.watch()
	testfiles.Until(f.T, "the agent works", func() bool { return f.exists("began.S-1") })
	f.lines["w1"].cut.Store(true)
	f.worker("w2", 1)
	testfiles.Until(f.T, "the other worker has it", func() bool {
		return strings.Contains(f.log("S-1.1"), "starts on another worker")
	})
	check(f.T, os.WriteFile(filepath.Join(f.dir, "out", "go"), nil, 0o644))
	f.Log(wait())
}

// A worker that is lost has its work go to another, from the last snapshot. What it brings later is
// kept beside the slice's work and doesn't count.
func TestLostWorker(t *testing.T) {
	testfiles.Slow(t)
	f := newFarm(t, waits)
	f.slice("S-1", "")
	f.begin()
	f.policy.Silent, f.policy.Lost = time.Second, 3*time.Second
	f.serve()
	f.loseWorker()
	if files := f.git("ls-tree", "-r", "--name-only", "main"); !strings.Contains(files, "S-1.txt") {
		t.Errorf("main has %q\n%s", files, f.run("why", "S-1"))
	}
	f.lines["w1"].cut.Store(false)
	testfiles.Until(t, "the late work is kept", func() bool {
		return strings.Contains(f.run("why", "S-1"), "no longer counts")
	})
}

// firstWaits is an agent whose first start waits, and ends without a word.
const firstWaits = `
if mkdir "$OUT/first" 2>/dev/null; then
	until [ -e "$OUT/go" ]; do sleep 0.05; done
	exit
fi
` + works

// The work of a worker that is revoked goes to another at once, and not to the one that was revoked
// just now.
func TestRevokedWorker(t *testing.T) {
	testfiles.Slow(t)
	f := newFarm(t, firstWaits)
	f.slice("S-1", "")
	f.begin()
	f.serve()
	f.worker("w1", 1)
	f.listed("w1")
	wait := f.watch()
	testfiles.Until(t, "the agent works", func() bool { return f.exists("first") })
	f.worker("w2", 1)
	f.listed("w2")
	f.mu.Lock()
	f.members[0].Revoked = true
	f.mu.Unlock()
	f.hub.Note()
	testfiles.Until(t, "the other worker has it", func() bool { return f.hasTold("S-1.1 goes to worker w2") })
	if f.hasTold("S-1.1 goes to worker w1") {
		t.Error("it was given to the worker that was revoked")
	}
	check(t, os.WriteFile(filepath.Join(f.dir, "out", "go"), nil, 0o644))
	t.Log(wait())
}

// A refusing hub takes nothing of first leases.
type refusingHub struct{ *hubtest.Hub }

func (h *refusingHub) Collect(ctx context.Context, f remote.Fence, into string) (string, error) {
	if f.Lease == 1 {
		return "", git.ErrUnpacked
	}
	return h.Hub.Collect(ctx, f, into)
}

// Late work that is too large is told, with its reason and what helps, and stays on its worker.
func TestLateWorkTooLarge(t *testing.T) {
	testfiles.Slow(t)
	f := newFarm(t, waits)
	f.slice("S-1", "")
	f.begin()
	f.policy.Silent, f.policy.Lost = time.Second, 3*time.Second
	f.serveWith(&refusingHub{f.hub})
	f.loseWorker()
	f.lines["w1"].cut.Store(false)
	why := ""
	testfiles.Until(t, "the late work is told", func() bool {
		why = f.run("why", "S-1")
		return strings.Contains(why, "no longer counts")
	})
	why = strings.Join(strings.Fields(why), " ")
	if !strings.Contains(why, "too large once it is checked out. It stays there until gl workers revoke w1") ||
		strings.Contains(why, "salvage") {
		t.Error(why)
	}
	left, err := filepath.Glob(filepath.Join(f.dir, "w1", "repo.gl", "_", "_", "*", "S-1.txt"))
	if check(t, err); len(left) == 0 {
		t.Error("its worker has removed it")
	}
}

// An agent that edits its slice's file in its tree has said that it is complete.
func TestEditedSliceFile(t *testing.T) {
	f := newFarm(t, `
echo "$GL_SLICE" > "$GL_SLICE.txt"
sed -i 's/^status:.*/status: complete/; s/^step:.*/step: complete/; s/^tests:.*/tests: 3/' .greenlight/slices/$GL_SLICE.md
git add -A && git commit -qm "work on $GL_SLICE"
`)
	f.slice("S-1", "")
	testfiles.Write(t, f.root, map[string]string{".worktreeinclude": ".env\n", ".gitignore": ".env\n"})
	f.begin()
	f.serve()
	f.worker("w1", 1)
	f.listed("w1")
	t.Log(f.watch()())
	if files := f.git("ls-tree", "-r", "--name-only", "main"); !strings.Contains(files, "S-1.txt") {
		t.Errorf("main has %q\n%s", files, f.run("why", "S-1"))
	}
}

// An agent's command on a worker reaches its own slice, and nothing else of the project or the
// machine.
func TestHostileCommands(t *testing.T) {
	f := newFarm(t, `
[ "$GL_SLICE" = S-2 ] || for c in "state set S-2 status=complete" "-C / status" "state set S-1 -C /tmp status=complete" "land" "settings set review never" \
	"slice S-2" "slice --watch" "serve" "retry S-2" "state set S-1 --directory=/tmp tests=1" \
	"status -qC/" "state show -qvC . S-1" "status --watch"; do
	gl $c >"$OUT/answer" 2>&1 && echo "$c" >> "$OUT/allowed"
done
`+works)
	f.slice("S-1", "")
	f.slice("S-2", "S-1")
	f.begin()
	f.serve()
	f.worker("w1", 1)
	f.listed("w1")
	t.Log(f.watch()())
	if allowed, err := os.ReadFile(filepath.Join(f.dir, "out", "allowed")); err == nil {
		t.Errorf("allowed:\n%s", allowed)
	}
}

// A slow hub takes its time to collect work.
type slowHub struct {
	*hubtest.Hub
	collected atomic.Int32
	end       chan struct{} // closed once collecting may end
}

func (h *slowHub) Collect(ctx context.Context, f remote.Fence, into string) (string, error) {
	h.collected.Add(1)
	<-h.end
	return h.Hub.Collect(ctx, f, into)
}

// A worker that tells of one snapshot after the other has gl serve fetch the newest one, not each.
func TestManySnapshots(t *testing.T) {
	testfiles.Slow(t)
	f := newFarm(t, waits)
	f.slice("S-1", "")
	f.begin()
	slow := &slowHub{Hub: f.hub, end: make(chan struct{})}
	collect := sync.OnceFunc(func() { close(slow.end) })
	t.Cleanup(collect)
	f.serveWith(slow)
	f.worker("w1", 1)
	f.listed("w1")
	wait := f.watch()
	testfiles.Until(t, "the agent works", func() bool { return f.exists("began.S-1") })
	leases, err := filepath.Glob(filepath.Join(f.root, ".greenlight/runs/hub/attempts/*.json"))
	check(t, err)
	fence := remote.Fence{Attempt: strings.TrimSuffix(filepath.Base(leases[0]), ".json"), Lease: 1}
	const told = 200
	commit := f.git("rev-parse", "main")
	for i := range int64(told) {
		data, err := remote.Encode(&remote.Saved{Fence: fence, Number: i + 1, Commit: commit})
		check(t, err)
		check(t, f.lines["w1"].Send(t.Context(), data))
	}
	testfiles.Until(t, "all are told", func() bool {
		data, err := os.ReadFile(leases[0])
		return err == nil && strings.Contains(strings.ReplaceAll(string(data), " ", ""), `"saved":200`)
	})
	collect()
	check(t, os.WriteFile(filepath.Join(f.dir, "out", "go"), nil, 0o644))
	t.Log(wait())
	if n := slow.collected.Load(); n > told/10 {
		t.Errorf("%d snapshots were told, and fetched %d times", told, n)
	}
}
