// Package executortest is the conformance suite of executors. Every implementation must pass
// Run.
package executortest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/proc"
	"greenlight/internal/run/executor"
	"greenlight/internal/workspace/worktree"
)

// A Subject is an executor to test.
type Subject struct {
	Executor executor.Executor
	Self     string // path of gl inside a sandbox
	// Worker means that jobs run on a worker: promises that only a process of this machine can
	// keep are left out, each with its reason; see onlyHere.
	Worker bool
	// Dir returns the directory of a job, which the executor may make as it starts it; nil for a
	// new directory of the test.
	Dir func(t *testing.T) string
	// Place makes a worktree for jobs, and returns its path.
	Place func(t *testing.T) (dir string, p executor.Place)
	// Fetched returns the text of a file in a snapshot of that worktree, trimmed.
	Fetched func(t *testing.T, dir string, snap *worktree.Snapshot, path string) string
	// Starter returns a process that calls Starter with this directory, using an executor of
	// the same kind. A worker's has none.
	Starter func(dir string) *exec.Cmd
}

// onlyHere lists promises that an executor of a worker's jobs doesn't make, with the reason. What
// it promises in their place is tested where it is decided.
var onlyHere = map[string]string{
	"the recorded process is the program":                   "a worker's job is known by its fence; its process belongs to the worker, whose own executor makes this promise",
	"inherited locks are held as long as the program lives": noFiles,
	"files are inherited":                                   noFiles,
	"a sandbox that can't be made is told":                  noBox,
	"a program runs in its sandbox":                         noBox,
	"a sandbox's exit codes are signals again":              noBox,
	"nothing is left below the starter":                     noStarter,
	"the starter is killed before the record: nothing runs": noStarter,
	"the starter is killed: its job is found, and ended":    noStarter,
	"a found job that has ended is over":                    noStarter,
	"another process with the same pid isn't the job":       "a fence is never used twice",
	"a job elsewhere is unknown, not dead":                  "a worker's job is always elsewhere",
}

const (
	noFiles   = "an open file of this process can't be sent; the executor refuses the job"
	noBox     = "a worker makes the sandbox itself, as package hands tests; the executor refuses one that is made here"
	noStarter = "gl serve starts a worker's jobs; that they outlive it and are found again, tests of package away and the script worker_restart hold"
)

// promises lists what every executor promises, by name.
var promises = map[string]func(t *testing.T, s *Subject){
	"words, environment and directory arrive as they are":      promiseWords,
	"a program has no terminal, and a session of its own":      promiseSession,
	"nothing runs before it is recorded":                       promiseRecorded,
	"the recorded process is the program":                      promiseHandle,
	"the starter is killed before the record: nothing runs":    promiseStarterKilledEarly,
	"how a program ends is told":                               promiseEnds,
	"a program that can't be started is told":                  promiseCantStart,
	"stdout and stderr are told apart":                         promiseApart,
	"one stream keeps the order of stdout and stderr":          promiseOneStream,
	"long lines and any bytes arrive":                          promiseLongOutput,
	"unread output holds up nothing":                           promiseUnread,
	"a program hears what it is told":                          promiseTalk,
	"a program that doesn't listen holds up nothing":           promiseDeafToTalk,
	"nothing can be told to a program that doesn't talk":       promiseNoTalk,
	"end gives a program time":                                 promiseGrace,
	"kill ends a deaf program":                                 promiseKill,
	"end reaches a stopped program":                            promiseStopped,
	"nothing is left running":                                  promiseNothingLeft,
	"nothing is left below the starter":                        promiseNothingBelow,
	"a service may stay":                                       promiseService,
	"what stays in a program's group ends":                     promiseGroup,
	"a program is ended at its limit":                          promiseLimit,
	"a program is ended with its context":                      promiseContext,
	"a context that is over starts nothing":                    promiseContextOver,
	"inherited locks are held as long as the program lives":    promiseLocks,
	"a sandbox that can't be made is told":                     promiseNoBox,
	"a program runs in its sandbox":                            promiseBox,
	"a sandbox's exit codes are signals again":                 promiseUnwrap,
	"the starter is killed: its job is found, and ended":       promiseFoundAlive,
	"a found job that has ended is over":                       promiseFoundDead,
	"another process with the same pid isn't the job":          promiseReused,
	"a job elsewhere is unknown, not dead":                     promiseElsewhere,
	"a fetch has everything, and nothing changes after it":     promiseFetch,
	"a log that can't be written ends nothing":                 promiseFullDisk,
	"many jobs at a time":                                      promiseMany,
	"a command's last words tell why it failed":                promiseLastWords,
	"a command that can't be recorded isn't run":               promiseCommandRefused,
	"a command's path and reason are told if it can't be run":  promiseCommandCantStart,
	"a gate that is killed is a program that was killed":       promiseGateKilled,
	"each way of ending is the same for a supervised program":  promiseSupervisedEnds,
	"output that a stranger holds open doesn't delay the end":  promiseHeldOpen,
	"what a program has left is named":                         promiseLeftNamed,
	"a job can be found while it runs, and killed":             promiseKillFound,
	"a program's variables given twice count once":             promiseTwice,
	"files are inherited":                                      promiseFiles,
	"the last of the output comes before the output is closed": promiseLastOutput,
}

// Run tests an executor. newSubject is called for each promise.
func Run(t *testing.T, newSubject func(t *testing.T) *Subject) {
	for name, promise := range promises {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t)
			if reason, here := onlyHere[name]; here && s.Worker {
				t.Skip(reason)
			}
			promise(t, s)
		})
	}
}

// patience is how long the suite waits for what must happen: only a bug takes this long.
const patience = 2 * time.Minute

// until polls until ok.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no sign of it in %v: %s", patience, what)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shell returns a job that runs a script in a directory of its own, with nothing left running.
func (s *Subject) shell(t *testing.T, script string) executor.Job {
	t.Helper()
	dir := s.dir(t)
	mark := "GL_TESTS=" + dir
	return executor.Job{
		Argv: []string{"sh", "-c", script}, Dir: dir, Env: append(os.Environ(), mark),
		Marks: []string{mark}, Leaves: executor.Nothing,
	}
}

// dir returns the directory of a job.
func (s *Subject) dir(t *testing.T) string {
	t.Helper()
	if s.Dir != nil {
		return s.Dir(t)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	return dir
}

func recorded(command.Handle) error { return nil }

// start starts a job, and ends it with the test.
func (s *Subject) start(t *testing.T, j executor.Job) executor.Run {
	t.Helper()
	run, err := s.Executor.Start(t.Context(), j, recorded)
	check(t, err)
	t.Cleanup(run.Kill) // of a promise that isn't kept
	return run
}

// An outcome is everything about a job that has ended.
type outcome struct {
	command.Result
	err         error
	out, stderr string
}

// finish reads a job's output, and waits for its end.
func finish(run executor.Run) outcome {
	var out, stderr strings.Builder
	for c := range run.Output() {
		switch {
		case c.Note: // not the program's
		case c.Stderr:
			stderr.Write(c.Data)
		default:
			out.Write(c.Data)
		}
	}
	res, err := run.Wait()
	return outcome{res, err, out.String(), stderr.String()}
}

// run runs a job to its end.
func (s *Subject) run(t *testing.T, j executor.Job) outcome {
	t.Helper()
	return finish(s.start(t, j))
}

// command runs a script as a configured command.
func (s *Subject) command(t *testing.T, spec command.Spec) (command.Result, error) {
	t.Helper()
	return executor.Command(t.Context(), s.Executor, spec)
}

// spec returns a configured command that runs a script in a directory of its own.
func (s *Subject) spec(t *testing.T, script string) command.Spec {
	t.Helper()
	return command.Spec{Argv: []string{"sh", "-c", script}, Dir: s.dir(t), Env: os.Environ(), Limit: patience}
}

// file returns a file's text without white space around it, "" if there is none.
func file(path ...string) string {
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// gone fails the test if a process whose pid is in a file is still there.
func gone(t *testing.T, path ...string) {
	t.Helper()
	if id, ok := identity(t, path...); ok && id.Alive() {
		t.Errorf("%v, process %d, is still there", path, id.PID)
		_ = id.SignalGroup(9)
	}
}

// identity returns the process whose pid is in a file.
func identity(t *testing.T, path ...string) (proc.ID, bool) {
	t.Helper()
	pid := atoi(t, file(path...))
	id, err := proc.Of(pid)
	return id, err == nil
}

// sized returns a copy of the environment with n variables of that many bytes.
func sized(env []string, n, bytes int) []string {
	env = slices.Clone(env)
	for i := range n {
		env = append(env, "V"+itoa(i)+"="+strings.Repeat("x", bytes))
	}
	return env
}
