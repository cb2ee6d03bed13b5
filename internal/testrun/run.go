// Package testrun runs a project's tests and says how they went: the verdict, which is bound to a tree. It counts tests by what
// their runner prints, remembers verdicts, and knows which command fits a project that has none.
package testrun

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"greenlight/internal/command"
	"greenlight/internal/environ"
	"greenlight/internal/logfile"
	"greenlight/internal/paths"
	"greenlight/internal/proc"
	"greenlight/internal/sanitize"
	"greenlight/internal/words"
)

// A Verdict is how the tests went on one tree.
type Verdict struct {
	SchemaVersion int       `json:"schema_version"` // 1
	Tree          string    `json:"tree"`           // without state files
	Command       string    `json:"command"`        // as a person has allowed it
	Dir           string    `json:"dir"`            // in which it ran, relative to the tree's top; "" for the top
	Toolchain     string    `json:"toolchain"`      // opaque: see Toolchain
	ExitCode      *int      `json:"exit_code"`      // null if a signal ended it, or gl because its time was over
	TimedOut      bool      `json:"timed_out"`
	Signal        string    `json:"signal"` // that ended it; "" for none
	Seconds       float64   `json:"seconds"`
	Passed        *int      `json:"passed"` // null if the runner doesn't tell, or gl doesn't know its output
	Failed        *int      `json:"failed"`
	Skipped       *int      `json:"skipped"`
	Failing       []string  `json:"failing"`      // the names of failing tests, as far as the runner tells; not more than 200
	FailingMore   bool      `json:"failing_more"` // there were more of them
	Last          []string  `json:"last"`         // the last lines of its output
	Failure       []string  `json:"failure"`      // of a red run: what the failing tests printed; empty where gl doesn't know the runner
	Reason        string    `json:"reason"`       // the line of its output that says most about its end
	Log           string    `json:"log"`          // path of its output, relative to the project's root
	At            time.Time `json:"at"`           // when it began
	Flaky         []string  `json:"flaky"`        // tests that failed on this tree, and then didn't

	Caches []string `json:"caches,omitempty"` // directories in which earlier runs have left what this one may have used
}

// Green says whether the tests passed. Without any test they did, and Passed is 0.
func (v *Verdict) Green() bool {
	return v != nil && v.ExitCode != nil && *v.ExitCode == 0 && !v.TimedOut && v.Signal == ""
}

// Named says whether the names of failing tests account for every failure. Then a failure can be told from one that was there
// before.
func (v *Verdict) Named() bool {
	return v != nil && !v.TimedOut && v.Signal == "" && !v.FailingMore && v.Failed != nil && *v.Failed > 0 && len(v.Failing) >= *v.Failed
}

// How says how a run that isn't green has ended.
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

// Count is what a green verdict says: "42 tests".
func (v *Verdict) Count() string {
	if v.Passed == nil {
		return "tests passed"
	}
	return words.Count(*v.Passed, "test")
}

// FailedCount is how many tests of a red verdict failed, as far as its runner counts or names them; 0 for unknown.
func (v *Verdict) FailedCount() int {
	n := len(v.Failing)
	if v.Failed != nil {
		n = max(n, *v.Failed)
	}
	return n
}

// Duration is how long the tests took.
func (v *Verdict) Duration() time.Duration {
	return time.Duration(math.Round(v.Seconds * float64(time.Second)))
}

// A Spec is a run of the tests.
type Spec struct {
	Self      string // path of gl: see command.Spec
	Command   Command
	Root      string // the project's; Log is named relative to it
	Top       string // of the tree that is tested
	Dir       string // where the command runs: Top, or below it
	Env       []string
	Files     []*os.File                                  // that the tests inherit
	Box       func(command.Program) (*command.Box, error) // makes their sandbox; nil for none
	Limit     time.Duration                               // 0 for none
	Pattern   *regexp.Regexp                              // how to count; nil for the runners that gl knows
	Tree      string
	Toolchain string
	Log       string            // path of a log for the output; "" for none
	Line      func(line string) // gets each line as it comes, safe to print; nil for nobody
	Started   func(proc.ID) error
	Caches    []string // for Verdict.Caches

	// Mark tells the run from others of the project that take place at the same time, and is the same for those that take place one after the
	// other: what one of them has left running is found by it. "" is Dir.
	Mark string
}

// MarkOf is the variable, "NAME=value", that tests of the project carry, for a Spec with this mark.
func MarkOf(root, mark string) string { return environ.MarksOf(root) + mark }

// Run runs the tests to their end, in a session of their own with nothing to read and without the variables of a claim. How they
// went is the verdict; an error means that there is none: they couldn't be started, or ctx is over.
func Run(ctx context.Context, s Spec) (*Verdict, error) {
	out := output{count: NewCounter(s.Pattern)}
	v := &Verdict{SchemaVersion: 1, Tree: s.Tree, Command: s.Command.Line, Dir: paths.Relative(s.Top, s.Dir), Toolchain: s.Toolchain,
		At: time.Now().UTC(), Flaky: []string{}, Caches: s.Caches}
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
	res, err := command.Run(ctx, command.Spec{
		Self: s.Self, Argv: s.Command.Argv, Dir: s.Dir, Env: environ.WithoutClaim(s.Env), Files: s.Files, Limit: s.Limit, Box: s.Box, Log: &out,
		Started: s.Started, Mark: MarkOf(s.Root, cmp.Or(s.Mark, s.Dir)),
	})
	if err != nil {
		return nil, err
	}
	out.tellLeft(res)
	if res.Signal == "" && !res.TimedOut {
		v.ExitCode = &res.ExitCode
	}
	v.TimedOut, v.Signal, v.Reason = res.TimedOut, res.Signal, res.Last
	v.Seconds = math.Round(res.Duration.Seconds()*1000) / 1000
	counts := out.count.Counts()
	v.Passed, v.Failed, v.Skipped, v.Failing, v.FailingMore = counts.Passed, counts.Failed, counts.Skipped, counts.Failing, counts.More
	v.Last, v.Failure = out.count.Last(), []string{}
	if !v.Green() {
		v.Failure = out.count.Failure()
	}
	v.Reason = decisive(v.Last, res.Last)
	return v, nil
}

// output goes to the log as it is, and to the counter.
type output struct {
	log   *logfile.Writer
	count *Counter
}

func (o *output) Write(data []byte) (int, error) {
	if o.log != nil {
		o.log.Write(data) // a full disk is no reason to end the tests
	}
	return o.count.Write(data)
}

// tellLeft notes in the log what the tests left running.
func (o *output) tellLeft(res command.Result) {
	if o.log == nil {
		return
	}
	if len(res.Left) > 0 {
		fmt.Fprintf(o.log, "gl: the tests left processes running, which gl has ended: %s\n", sanitize.Line(strings.Join(res.Left, ", ")))
	}
	if res.Leftover != nil {
		fmt.Fprintf(o.log, "gl: what the tests left running can't be ended: %s\n", sanitize.Line(res.Leftover.Error()))
	}
}

// excerpt is a line as it is shown.
func excerpt(line []byte) string { return sanitize.Text(string(line[:min(len(line), 4096)])) }

// failing is what a line says that tells of a failure, in the words of most runners.
var failing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(fail(s|ed|ures?|ing)?|errors?|not ok|panic|assert\w*)\b|✗|✖|✕|×`)
})

// decisive is the last line that tells of a failure; that last one which says anything where none does.
func decisive(lines []string, last string) string {
	for _, line := range slices.Backward(lines) {
		if failing().MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	return last
}
