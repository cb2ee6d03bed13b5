package claudetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
)

// patience is the timeout of waits. The client takes a second or two to start, and ten times
// that on a busy machine.
const patience = 4 * time.Minute

// bin is the directory of gl and claude, "" without a client.
var bin string

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	client, err := Client()
	if errors.Is(err, ErrNoClient) {
		return m.Run()
	}
	if err == nil {
		bin, err = programs(client)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(bin)
	return m.Run()
}

// programs creates a directory with the gl of this source and the client.
func programs(client string) (string, error) {
	dir, err := os.MkdirTemp("", "claudetest")
	if err != nil {
		return "", err
	}
	if err := os.Symlink(client, filepath.Join(dir, "claude")); err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "gl"),
		"greenlight/cmd/gl").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build gl: %w\n%s", err, out)
	}
	return dir, nil
}

// A world is a project in a git repository, a home, and a client that can reach only the
// stand-in.
type world struct {
	*testing.T
	api        *API
	root, home string
	env        []string
	patience   time.Duration
}

// newWorld creates a project with the slices; "S-02:S-01" depends on S-01.
func newWorld(t *testing.T, slices []string, scripts ...Script) *world {
	t.Helper()
	w := emptyWorld(t, scripts...)
	w.must("gl", "init", "--no-agent", "--graph", w.graph(slices))
	// these scripts write nothing to land
	w.must("gl", "settings", "set", "git.isolation", "shared")
	w.must("git", "add", "-A")
	w.must("git", "commit", "-q", "-m", "start")
	return w
}

// emptyWorld creates a repository without a commit, and a home.
func emptyWorld(t *testing.T, scripts ...Script) *world {
	t.Helper()
	if bin == "" {
		t.Skip(ErrNoClient)
	}
	w := &world{T: t, patience: patience}
	dir := t.TempDir()
	w.root, w.home = filepath.Join(dir, "shop"), filepath.Join(dir, "home")
	for _, d := range []string{w.root, w.home} {
		w.check(os.Mkdir(d, 0o755))
	}
	w.serve(scripts...)
	w.write(filepath.Join(w.home, ".gitconfig"), "[user]\n\tname = Tester\n\temail = tester@example.com\n")
	w.must("git", "init", "-q", "-b", "main")
	return w
}

// serve starts the stand-in with these scripts, in place of a running one.
func (w *world) serve(scripts ...Script) {
	w.api = Start(scripts...)
	w.Cleanup(w.api.Close)
	w.Cleanup(w.tellAsked)
	w.env = Environ(w.api, w.home, bin+":"+os.Getenv("PATH"))
}

// tellAsked logs what the model was asked in a test that failed, and what it answered.
func (w *world) tellAsked() {
	if !w.Failed() {
		return
	}
	for i, r := range w.api.Requests() {
		var said []Block
		if n := len(r.Messages); n > 0 {
			said = r.Messages[n-1].Content
		}
		w.Logf("request %d: %d tools, after %d answers: %.300q\n\tanswered: %.300q",
			i, len(r.Tools), r.Answers(), fmt.Sprint(said), fmt.Sprint(r.Reply))
	}
}

// asked returns the requests of conversations, oldest first. Those without tools are the client's
// own, such as one for a title: it sends them beside a conversation, at any time.
func (w *world) asked() []*Request {
	return slices.DeleteFunc(w.api.Requests(), func(r *Request) bool { return len(r.Tools) == 0 })
}

// first returns the first request of a conversation.
func (w *world) first() *Request {
	w.Helper()
	return w.someAsked()[0]
}

// last returns the last request of a conversation.
func (w *world) last() *Request {
	w.Helper()
	all := w.someAsked()
	return all[len(all)-1]
}

// someAsked is asked, which must not be empty.
func (w *world) someAsked() []*Request {
	w.Helper()
	all := w.asked()
	if len(all) == 0 {
		w.Fatal("the model was never asked")
	}
	return all
}

func (w *world) graph(slices []string) string {
	type entry struct {
		ID   string   `json:"id"`
		Name string   `json:"name"`
		Deps []string `json:"depends_on"`
	}
	var all []entry
	for _, s := range slices {
		id, deps, _ := strings.Cut(s, ":")
		all = append(all, entry{id, "Name of " + id, strings.FieldsFunc(deps, func(r rune) bool {
			return r == ','
		})})
	}
	data, err := json.Marshal(map[string]any{"slices": all})
	w.check(err)
	path := filepath.Join(w.home, "graph.json")
	w.write(path, string(data))
	return path
}

func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) write(path, text string) {
	w.Helper()
	w.check(os.MkdirAll(filepath.Dir(path), 0o755))
	w.check(os.WriteFile(path, []byte(text), 0o644))
}

func (w *world) read(path string) string {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.root, path))
	w.check(err)
	return string(data)
}

// A run is the result of a program.
type run struct {
	code     int // -1 for a signal
	out, err string
}

// command returns a program to run in the project.
func (w *world) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	path := filepath.Join(bin, name)
	if _, err := os.Stat(path); err != nil {
		path = name
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = w.root, w.env
	return cmd
}

// call runs a program in the project to its end.
func (w *world) call(name string, args ...string) run {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), w.patience)
	defer cancel()
	cmd := w.command(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.Fatal(err)
	}
	if ctx.Err() != nil {
		w.Fatalf("%s %q hangs\n%s%s", name, args, out.String(), errs.String())
	}
	r := run{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	if name == "gl" && args[0] == "slice" {
		w.Cleanup(func() {
			if w.Failed() {
				w.Logf("%s %q: exit %d\n%s%s", name, args, r.code, r.out, r.err)
			}
		})
	}
	return r
}

// must is call for a program that must succeed; it returns its stdout.
func (w *world) must(name string, args ...string) string {
	w.Helper()
	r := w.call(name, args...)
	if r.code != 0 {
		w.Fatalf("%s %q: exit %d\n%s%s", name, args, r.code, r.out, r.err)
	}
	return r.out
}

// A job is a program that runs beside the test.
type job struct {
	*exec.Cmd
	log  string // the file of both output streams, which can be read at any time
	done chan struct{}
}

// start starts a program in the project. It is killed when the test ends.
func (w *world) start(name string, args ...string) *job {
	w.Helper()
	log, err := os.CreateTemp(w.TempDir(), "job")
	w.check(err)
	defer log.Close()
	j := &job{Cmd: w.command(context.Background(), name, args...), log: log.Name(),
		done: make(chan struct{})}
	j.Stdout, j.Stderr = log, log
	w.check(j.Start())
	go func() {
		j.Wait()
		close(j.done)
	}()
	w.Cleanup(func() {
		j.Process.Kill()
		<-j.done
	})
	return j
}

// said returns the program's output so far.
func (w *world) said(j *job) string {
	w.Helper()
	data, err := os.ReadFile(j.log)
	w.check(err)
	return string(data)
}

// end waits for the program and returns its exit code, -1 for a signal.
func (w *world) end(j *job) int {
	w.Helper()
	select {
	case <-j.done:
	case <-time.After(w.patience):
		j.Process.Kill()
		<-j.done
		w.Fatalf("%q hangs\n%s", j.Args, w.said(j))
	}
	return j.ProcessState.ExitCode()
}

// within waits until so returns true.
func (w *world) within(what string, so func() bool) {
	w.Helper()
	for deadline := time.Now().Add(w.patience); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("%s: not within %s", what, w.patience)
		}
	}
}

// attempt returns the n-th attempt of the slice, nil until it is settled.
func (w *world) attempt(id string, n int) *attempt.Record {
	w.Helper()
	all, err := attempt.OpenStore(filepath.Join(w.root, ".greenlight", "runs")).History(id)
	w.check(err)
	for _, r := range all {
		if r.ID.N == n && r.Life.Phase == plan.Settled {
			return r
		}
	}
	return nil
}

// build runs gl slice ID until its first attempt is settled, and then ends gl, which may be
// waiting for the end of a hold. It returns the record and gl's output.
func (w *world) build(id string, flags ...string) (*attempt.Record, string) {
	w.Helper()
	j := w.start("gl", append([]string{"slice", id}, flags...)...)
	w.within(id+" is settled", func() bool { return w.attempt(id, 1) != nil || exited(j) })
	// the run reports that in its next round, and then waits
	if r := w.attempt(id, 1); r != nil && r.Judged.Outcome == outcome.Held {
		w.within("the hold is told", func() bool {
			return strings.Contains(w.said(j), "held until") || exited(j)
		})
	}
	j.Process.Signal(os.Interrupt)
	w.end(j)
	r := w.attempt(id, 1)
	if r == nil {
		w.Fatalf("no attempt was made\n%s", w.said(j))
	}
	return r, w.said(j)
}

func exited(j *job) bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// slice returns the fields of the slice.
func (w *world) slice(id string) map[string]string {
	w.Helper()
	fields := map[string]string{}
	for _, line := range strings.Split(w.must("gl", "state", "show", id), "\n") {
		if key, value, ok := strings.Cut(line, ":"); ok {
			fields[key] = strings.TrimSpace(value)
		}
	}
	return fields
}
