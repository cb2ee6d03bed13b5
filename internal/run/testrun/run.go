// Package testrun runs a project's tests and reports the verdict, which is bound to a tree. It
// counts tests from their runner's output, caches verdicts, and proposes a command for a
// project without one.
package testrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/environ"
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/run/executor"
)

// A Verdict is the result of the tests on one tree.
type Verdict struct {
	SchemaVersion int    `json:"schema_version"` // 1
	Tree          string `json:"tree"`           // without state files
	Command       string `json:"command"`        // as a person has allowed it
	// where it ran, relative to the tree's top; "" for the top
	Dir       string `json:"dir"`
	Toolchain string `json:"toolchain"` // opaque: see Toolchain
	// null if it was ended by a signal, or by gl at its time limit
	ExitCode *int    `json:"exit_code"`
	TimedOut bool    `json:"timed_out"`
	Signal   string  `json:"signal"` // the signal that ended it; "" for none
	Seconds  float64 `json:"seconds"`
	// null if the runner doesn't report it, or gl doesn't know its output
	Passed  *int `json:"passed"`
	Failed  *int `json:"failed"`
	Skipped *int `json:"skipped"`
	// the names of failing tests, if the runner reports them; at most 200
	Failing     []string `json:"failing"`
	FailingMore bool     `json:"failing_more"` // there were more
	Last        []string `json:"last"`         // the last lines of its output
	// of a red run: the output of the failing tests; empty if gl doesn't know the runner
	Failure []string `json:"failure"`
	// the most informative line of its output about how it ended
	Reason string `json:"reason"`
	// path of its output, relative to the project's root
	Log string    `json:"log"`
	At  time.Time `json:"at"` // when it began
	// tests that failed on this tree, and then passed
	Flaky []string `json:"flaky"`

	// directories with results of earlier runs that this one may have used
	Caches []string `json:"caches,omitempty"`
	// the worker that ran it; "" for this machine
	Worker string `json:"worker,omitempty"`

	Used Usage `json:"-"` // of a run that has just ended
}

// A Usage is what became of the machine's processors during a run, as shares of all of them.
type Usage struct {
	Own  float64 // used by the run itself
	Idle float64 // used by no program
}

// Green reports whether the tests passed. A run without tests passes, with Passed 0.
func (v *Verdict) Green() bool {
	return v != nil && v.ExitCode != nil && *v.ExitCode == 0 && !v.TimedOut && v.Signal == ""
}

// Named reports whether the names of failing tests account for every failure. If so, new
// failures can be distinguished from earlier ones.
func (v *Verdict) Named() bool {
	return v != nil && !v.TimedOut && v.Signal == "" && !v.FailingMore &&
		v.Failed != nil && *v.Failed > 0 && len(v.Failing) >= *v.Failed
}

// How describes how a run that isn't green ended.
func (v *Verdict) How(limit string) string {
	res := command.Result{TimedOut: v.TimedOut, Signal: v.Signal, Last: v.Reason}
	if n := len(v.Failing); n > 0 {
		const most = 3
		res.Last = "failed: " + strings.Join(v.Failing[:min(most, n)], ", ") + words.More(n-most)
	}
	if v.ExitCode != nil {
		res.ExitCode = *v.ExitCode
	}
	return res.How(limit)
}

// Count returns the count of a green verdict: "42 tests".
func (v *Verdict) Count() string {
	if v.Passed == nil {
		return "tests passed"
	}
	return words.Count(*v.Passed, "test")
}

// FailedCount returns how many tests of a red verdict failed, if its runner counts or names
// them; 0 if unknown.
func (v *Verdict) FailedCount() int {
	n := len(v.Failing)
	if v.Failed != nil {
		n = max(n, *v.Failed)
	}
	return n
}

// Duration returns how long the tests took.
func (v *Verdict) Duration() time.Duration {
	return time.Duration(math.Round(v.Seconds * float64(time.Second)))
}

// A Spec is a run of the tests.
type Spec struct {
	Executor executor.Starter
	Command  Command
	Root     string // the project's root, to which the path of Log is relative
	Top      string // top of the tested tree
	Dir      string // working directory: Top, or below it
	Env      []string
	Files    []*os.File                                  // inherited by the tests
	Box      func(command.Program) (*command.Box, error) // creates their sandbox; nil for none
	Limit    time.Duration                               // 0 for none
	// how to count; nil to use the built-in runners
	Pattern   *regexp.Regexp
	Tree      string
	Toolchain string
	Log       string // path of a log for the output; "" for none
	// called with each line as it comes, safe to print; may be nil
	Line    func(line string)
	Started func(command.Handle) error // see command.Spec
	Caches  []string                   // for Verdict.Caches

	// Mark distinguishes the run from concurrent runs in the project, and is the same for
	// consecutive ones: it identifies processes that they have left running. "" means Dir.
	Mark string
}

// MarkOf returns the variable, "NAME=value", in the environment of tests run by a Spec with
// this mark.
func MarkOf(root, mark string) string { return environ.MarksOf(root) + mark }

// Run runs the tests to their end, in a session of their own, with nothing to read and without
// the variables of a claim. It returns the verdict; an error means that there is none, because
// they couldn't be started or ctx is over.
func Run(ctx context.Context, s Spec) (*Verdict, error) {
	out := output{count: NewCounter(s.Pattern)}
	v := &Verdict{
		SchemaVersion: 1, Tree: s.Tree, Command: s.Command.Line, Dir: paths.Relative(s.Top, s.Dir),
		Toolchain: s.Toolchain, At: time.Now().UTC(), Flaky: []string{}, Caches: s.Caches,
	}
	if v.Dir == "." {
		v.Dir = ""
	}
	out.count.heard = s.Line
	if s.Log != "" {
		log, err := logfile.Create(s.Log)
		if err != nil {
			return nil, err
		}
		defer log.Close()
		out.log, v.Log = log, paths.Relative(s.Root, s.Log)
	}
	idle := proc.Idle()
	res, err := executor.Command(ctx, s.Executor, command.Spec{
		Argv: s.Command.Argv, Dir: s.Dir, Env: environ.WithoutClaim(s.Env), Files: s.Files,
		Limit: s.Limit, Box: s.Box, Log: &out,
		Started: s.Started, Mark: MarkOf(s.Root, cmp.Or(s.Mark, s.Dir)),
	})
	if missing := new(exec.Error); errors.As(err, &missing) {
		return nil, fmt.Errorf("the test command %s can't be started: %w", s.Command.Line, err)
	}
	if err != nil {
		return nil, err
	}
	out.tellLeft(res)
	v.Used = usage(res, idle)
	if res.Signal == "" && !res.TimedOut {
		v.ExitCode = &res.ExitCode
	}
	v.TimedOut, v.Signal, v.Reason = res.TimedOut, res.Signal, res.Last
	v.Seconds = math.Round(res.Duration.Seconds()*1000) / 1000
	counts := out.count.Counts()
	v.Passed, v.Failed, v.Skipped = counts.Passed, counts.Failed, counts.Skipped
	v.Failing, v.FailingMore = counts.Failing, counts.More
	v.Last, v.Failure = out.count.Last(), []string{}
	if !v.Green() {
		v.Failure = out.count.Failure()
	}
	v.Reason = decisive(v.Last, res.Last)
	return v, nil
}

// usage returns what became of the processors; idle is proc.Idle before the run began. Where the
// system doesn't say what is idle, it is all that the run didn't use itself.
func usage(res command.Result, idle time.Duration) Usage {
	all := max(res.Duration.Seconds(), 1e-3) * float64(runtime.GOMAXPROCS(0))
	u := Usage{Own: res.CPU.Seconds() / all}
	u.Idle = max(0, 1-u.Own)
	if idle > 0 {
		u.Idle = min(u.Idle, (proc.Idle()-idle).Seconds()/all)
	}
	return u
}

// output copies the output verbatim to the log and to the counter.
type output struct {
	log   *logfile.Writer
	count *Counter
}

func (o *output) Write(data []byte) (int, error) {
	if o.log != nil {
		_, _ = o.log.Write(data) // a full disk must not end the tests
	}
	return o.count.Write(data)
}

// tellLeft logs the processes that the tests left running.
func (o *output) tellLeft(res command.Result) {
	if o.log == nil {
		return
	}
	if len(res.Left) > 0 {
		fmt.Fprintf(o.log, "gl: the tests left processes running, which gl has ended: %s\n",
			sanitize.Line(strings.Join(res.Left, ", ")))
	}
	if res.Leftover != nil {
		fmt.Fprintf(o.log, "gl: what the tests left running can't be ended: %s\n",
			sanitize.Line(res.Leftover.Error()))
	}
}

// excerpt returns a line for display.
func excerpt(line []byte) string { return sanitize.Text(string(line[:min(len(line), 4096)])) }

// failing matches the words that most runners use for a failure.
var failing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(fail(s|ed|ures?|ing)?|errors?|not ok|panic|assert\w*)\b|✗|✖|✕|×`)
})

// afterword matches what npm, yarn, pnpm and make print after a command that failed: that it did,
// and where to read more.
var afterword = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^npm (error|ERR!)(\s*$|\s{2}|\s(code|errno|path|command|workspace|location|cwd|signal|Lifecycle script|` +
		`To see a list|Did you mean|A complete log|Test failed)\b)` +
		`|^\s*ELIFECYCLE\b|^error Command failed with (exit )?(code|signal)|^info Visit https?:|^make(\[\d+\])?: \*\*\* .*Error \d+`)
})

// decisive returns the last line that reports a failure, or the last one of the output if there is
// none. What a program says about the one it ran comes second.
func decisive(lines []string, last string) string {
	telling := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return strings.TrimSpace(line) == "" || afterword().MatchString(line)
	})
	for _, from := range [][]string{telling, lines} {
		for _, line := range slices.Backward(from) {
			if failing().MatchString(line) {
				return strings.TrimSpace(line)
			}
		}
		if len(from) > 0 && len(from) < len(lines) {
			return strings.TrimSpace(from[len(from)-1])
		}
	}
	return last
}

// FailsLike reports whether two runs that aren't green failed in the same way, as far as they tell:
// then what is in one tree and not in the other has nothing to do with it.
func (v *Verdict) FailsLike(other *Verdict) bool {
	if v == nil || other == nil || v.TimedOut || other.TimedOut || v.Signal != other.Signal ||
		v.ExitCode == nil || other.ExitCode == nil || *v.ExitCode != *other.ExitCode {
		return false
	}
	same := func(a, b *int) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	return same(v.Passed, other.Passed) && same(v.Failed, other.Failed) &&
		v.FailingMore == other.FailingMore && slices.Equal(v.Failing, other.Failing) &&
		slices.EqualFunc(v.Shown(), other.Shown(), sameLine)
}

// varying matches what differs between two runs of the same thing: times, process ids, ports,
// addresses, temporary files and gl's worktrees. Short numbers don't: they tell tests apart.
var varying = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\d+(\.\d+)? ?([mµn]?s|sec(onds?)?|min)\b|\d\d:\d\d(:\d\d)?([.,]\d+)?|\d{4}-\d\d-\d\d[T _]?[\d:_.Z+-]*|` +
		`0x[0-9a-f]+|\b[0-9a-f]{7,}\b|\d{4,}|/(tmp|shm|T)/\S+|\blane(-\d+)?\.\d+`)
})

func sameLine(a, b string) bool {
	return a == b || varying().ReplaceAllString(a, "0") == varying().ReplaceAllString(b, "0")
}
