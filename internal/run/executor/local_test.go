package executor_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/executor/executortest"
	"greenlight/internal/workspace/worktree"
)

// starterArg makes the test binary start a job that a test describes.
const starterArg = "start-a-job"

// TestMain makes the test binary act as gl when it is called as gl: gates are real processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasSuffix(os.Args[0], "gl") {
		switch os.Args[1] {
		case command.GateArg:
			os.Exit(command.Gate(os.Args[2:]))
		case command.InsideArg:
			os.Exit(command.Inside(os.Args[2:]))
		}
	}
	if len(os.Args) > 2 && os.Args[1] == starterArg {
		os.Exit(executortest.Starter(local(os.Args[0]), os.Args[2]))
	}
	os.Exit(testfiles.Run(m))
}

func local(self string) *executor.Local { return executor.NewLocal(self) }

// subject returns the executor of local processes.
func subject(t *testing.T) *executortest.Subject {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// inside a sandbox, the program is known by its path alone
	gl := filepath.Join(t.TempDir(), "gl")
	if err := os.Symlink(self, gl); err != nil {
		t.Fatal(err)
	}
	return &executortest.Subject{
		Executor: local(self), Self: gl, Place: place, Fetched: fetched,
		Starter: func(dir string) *exec.Cmd { return exec.Command(self, starterArg, dir) },
	}
}

func TestConformance(t *testing.T) { executortest.Run(t, subject) }

// place makes a project with a slice's worktree.
func place(t *testing.T) (string, executor.Place) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(root, "repo")
	testfiles.Write(t, root, map[string]string{"a.txt": "a\n", ".greenlight/.gitignore": "*\n"})
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.name", "t"}, {"config", "user.email", "t@t"}, {"add", "-A"}, {"commit", "-q", "-m", "first"},
	} {
		gitIn(t, root, args...)
	}
	ctx := t.Context()
	repo, err := worktree.Open(ctx, root, worktree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lineage, err := repo.Lineages.Plan(ctx, "greenlight", "S-1", gitIn(t, root, "rev-parse", "HEAD"), false)
	if err != nil {
		t.Fatal(err)
	}
	hold, err := repo.Make(ctx, lineage, worktree.Making{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hold.Release() })
	return lineage.Path, func(context.Context) (*worktree.Repo, *worktree.Lineage, error) {
		l, err := repo.Lineages.Get("greenlight", "S-1")
		return repo, l, err
	}
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// A program that ignores signals is killed along with what it started, and the gate survives to
// do that.
func TestDeafTreeIsEnded(t *testing.T) {
	testfiles.Slow(t)
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("it takes seconds, and a subreaper")
	}
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "pid")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for data, _ := os.ReadFile(file); len(data) < 2; data, _ = os.ReadFile(file) {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	res, err := executor.Command(ctx, local(self), command.Spec{
		Argv: []string{"sh", "-c", `trap "" TERM; env -i PATH="$PATH" setsid sh -c 'trap "" TERM; echo $$ >$1; while :; do sleep 1200; done' x ` + file + ` & while :; do sleep 1; done`},
		Dir:  dir, Env: os.Environ(), Limit: time.Minute, Mark: "GL_TESTS=" + file,
	})
	if !errors.Is(err, context.Canceled) || res.Signal != "killed" {
		t.Errorf("%+v, %v", res, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("%d is still there: %v", pid, err)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// A gate that was started ahead becomes the job's, and ends if the job never comes.
func TestAhead(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x := local(self)
	dir := t.TempDir() // no other run of this test has its name
	first, second := "GL_TESTS="+dir+"/first", "GL_TESTS="+dir+"/second"
	for _, mark := range []string{first, second} {
		if err := x.Ahead(mark); err != nil {
			t.Fatal(err)
		}
	}
	j := executor.Job{Argv: []string{"sh", "-c", "echo ${GL_TESTS##*/}; cat; echo over >&2"}, Dir: dir, Talks: true, Apart: true,
		Env: append(os.Environ(), first), Marks: []string{first}, Leaves: executor.Nothing}
	begun := time.Now()
	run, err := x.Start(t.Context(), j, func(h command.Handle) error {
		if id, err := proc.Of(h.Process.PID); err != nil || id != h.Process || !h.Process.Alive() {
			t.Errorf("%+v, %v", h, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Talk([]byte("hello\n")); err != nil {
		t.Error(err)
	}
	run.CloseTalk()
	got := map[bool]string{}
	for c := range run.Output() {
		got[c.Stderr] += string(c.Data)
	}
	res, err := run.Wait()
	if err != nil || !res.OK() || got[false] != "first\nhello\n" || got[true] != "over\n" || time.Since(begun) < res.Duration {
		t.Errorf("%+v, %v, %v", res, err, got)
	}
	x.Close()
	if lives, err := proc.HasVariable(second); err != nil || lives {
		t.Errorf("a gate without a job lives: %v, %v", lives, err)
	}
}

// fetched returns the text of a file in a snapshot of the worktree that place made.
func fetched(t *testing.T, dir string, snap *worktree.Snapshot, path string) string {
	t.Helper()
	return gitIn(t, dir, "show", snap.Whole+":"+path)
}
