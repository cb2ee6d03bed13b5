package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/core/gate"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/testrun"
	"greenlight/internal/show/attempttext"
	"greenlight/internal/workspace/worktree"
)

type verifyOptions struct {
	audit bool
	since string
	json  bool
}

func newVerify(app *cmdutil.App) *cobra.Command {
	var o verifyOptions
	c := &cobra.Command{
		Use:   "verify [ID]",
		Short: "Run the tests on slices' work, before or after the merge",
		Long: `Run the test command (test.command in config.json) on a slice: on its current work, merged into the merge queue's branch, which
doesn't change. For a slice that is done, run it on the commit that merged the slice or, if that isn't known, on the target branch;
if the tests pass, the slice is no longer unverified.

Without an ID, run it on everything that was merged. That runs only the tests; the questions below are about one slice or, with
--audit, about every merged slice.

For a slice that is done, gl also repeats its questions from before the merge: is this the tree that its agent left, does the
same merge give the same result, how do the tests and their runner differ from what it was merged into and from the hand-over,
did a person see what a person had to see? The answers come from git and from gl's records; an answer that these no longer give
is unknown. A test that is gone or skipped, another test script, or another configuration of the runner is a failure, unless a
person approved it.

--audit does that for every commit that merged a slice, one after the other, in a clone in a temporary directory, and compares
the result with the commit's message. git.setup runs there first.

Exit codes: 0 the tests pass; 1 they fail, the work doesn't merge, a commit's message says otherwise, or another gl is
working on the merge queue; 2 wrong usage.`,
		Example:           "  gl verify S-07\n  gl verify\n  gl verify --audit --since v1.2",
		Args:              cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: cmdutil.CompleteFirst(app.CompleteIDs),
		RunE: func(c *cobra.Command, a []string) error {
			switch {
			case o.audit && len(a) > 0:
				return cmdutil.Usage("--audit goes without an id")
			case o.since != "" && !o.audit:
				return cmdutil.Usage("--since goes with --audit")
			}
			return runVerify(c.Context(), app, append(a, "")[0], o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.audit, "audit", false, "test every commit that merged a slice, in a clone")
	f.StringVar(&o.since, "since", "", "with --audit, only what was merged after `REV`")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	return c
}

// A verifyDoc is what gl verify --json prints.
type verifyDoc struct {
	SchemaVersion int           `json:"schema_version"`
	Green         bool          `json:"green"` // all checks passed, and no commit contradicts them
	Checks        []verifyCheck `json:"checks"`
}

// A verifyCheck is one run of the tests.
type verifyCheck struct {
	// what was tested
	Of        lane.CheckOf `json:"of" jsonschema:"enum=merge,enum=landed,enum=target,enum=lane"`
	Slice     *string      `json:"slice"`
	Commit    *string      `json:"commit"`    // the tested commit; null if the work doesn't merge
	Green     bool         `json:"green"`     // the tests passed, and there are no other problems
	Conflicts []string     `json:"conflicts"` // paths
	// another problem, such as changed protected tests
	Problem *string `json:"problem"`
	// verification claimed by the message of an audited commit
	Claim   *string          `json:"claim"`
	Verdict *testrun.Verdict `json:"verdict"` // null if no tests could be run
	// for merged work, the gate's questions, asked again; empty without an id
	Gate []gate.Answer `json:"gate"`
	Set  bool          `json:"set"` // the slice is no longer unverified
}

func runVerify(ctx context.Context, app *cmdutil.App, id string, o verifyOptions) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	if id != "" {
		if pr, id, err = app.Slice(id); err != nil {
			return err
		}
	}
	l, err := permittedLane(ctx, app, pr)
	if err != nil {
		return err
	}
	doc := verifyDoc{SchemaVersion: 1, Green: true, Checks: []verifyCheck{}}
	busy := app.IO.Progress("looking at what was merged")
	l.Told = func(line string) {
		busy.Step(sanitize.Text(line))
		app.IO.Detail("%s", sanitize.Text(line))
	}
	tell := func(c *lane.Check) {
		busy.Clear()
		doc.Green = doc.Green && c.Green() && !c.Belied()
		doc.Checks = append(doc.Checks, verifyCheck{c.What, jsondoc.OrNull(c.Slice),
			jsondoc.OrNull(c.Commit), c.Green(), jsondoc.OrEmpty(c.Conflicts),
			jsondoc.OrNull(c.Problem), jsondoc.OrNull(c.Claim), c.Verdict,
			answersOf(c.Gate), c.Set})
		if !o.json {
			printCheck(app, c, worktree.Short(l.Repo.Target()), pr.Config.Test.Limit, !o.audit)
		}
	}
	var c *lane.Check
	switch {
	case o.audit:
		err = l.Audit(ctx, o.since, tell)
	case id == "":
		c, err = l.CheckLane(ctx)
	default:
		c, err = l.CheckSlice(ctx, id)
	}
	busy.Done()
	if err != nil {
		return err
	}
	if c != nil {
		tell(c)
	}
	if err := pr.Tracker.Refresh(ctx); err != nil {
		return err
	}
	switch {
	case o.json:
		err = app.IO.JSON(doc)
	case len(doc.Checks) == 0:
		app.IO.Printf("nothing was merged into %s yet\n", worktree.Short(l.Repo.Target()))
	}
	if err == nil && !doc.Green {
		err = &cmdutil.ExitError{Code: cmdutil.ExitFailed}
	}
	return err
}

// testsAlone explains the limits of a check without an id.
const testsAlone = "  only the tests were run: gl verify ID also repeats gl's questions from before the merge, " +
	"and gl verify --audit does that for every slice"

// answersOf returns the gate's answers, empty for none.
func answersOf(r *gate.Ruling) []gate.Answer {
	if r == nil {
		return []gate.Answer{}
	}
	return jsondoc.OrEmpty(r.Answers)
}

// printCheck prints one check: a line and, with more, the end of the output of failing tests.
func printCheck(app *cmdutil.App, c *lane.Check, target string, limit time.Duration, more bool) {
	line := checkText(c, target, limit)
	if c.Belied() {
		line += "; the commit says: " + c.Claim
	}
	app.IO.Printf("%s\n", term.Wrap(sanitize.Line(line), app.IO.Width(), 2))
	for _, line := range append(attempttext.AtGate(c.Gate), attempttext.Gate(c.Gate)) {
		if line != "" {
			app.IO.Printf("%s\n", term.Wrap("  "+sanitize.Line(line), app.IO.Width(), 4))
		}
	}
	if c.What == lane.OfLanded && c.Verdict.Green() && c.Problem != "" {
		app.IO.Printf("%s\n", term.Wrap("  "+sanitize.Line(fmt.Sprintf("%s stays unverified: gl diff %[1]s shows what was merged, gl undo %[1]s takes it back",
			c.Slice)), app.IO.Width(), 4))
	}
	if c.Set {
		app.IO.Printf("%s is verified now\n", sanitize.Line(c.Slice))
	}
	if c.What == lane.OfLane {
		app.IO.Printf("%s\n", term.Wrap(testsAlone, app.IO.Width(), 4))
	}
	if v := c.Verdict; more && v != nil && !v.Green() {
		for _, l := range v.Shown() {
			app.IO.Printf("    %s\n", sanitize.Line(l))
		}
		if v.Log != "" {
			app.IO.Printf("all of it is in %s\n", sanitize.Line(v.Log))
		}
	}
}

func checkText(c *lane.Check, target string, limit time.Duration) string {
	commit := c.Commit[:min(len(c.Commit), 10)]
	subject := "the merged work"
	switch c.What {
	case lane.OfMerge:
		subject = c.Slice + " with the merged work"
	case lane.OfLanded:
		subject = c.Slice + " as merged in " + commit
	case lane.OfTarget:
		subject = c.Slice + " as it is in " + target
	case lane.OfLane:
	}
	switch v := c.Verdict; {
	case len(c.Conflicts) > 0:
		return fmt.Sprintf("%s conflicts with the merged work: %s", c.Slice,
			words.Some(c.Conflicts))
	case c.Problem != "" && (v == nil || v.Green()):
		return subject + ": " + c.Problem
	case v.Green() && v.Passed != nil:
		return fmt.Sprintf("%s: tests pass (%s, %.1fs)", subject,
			words.Count(*v.Passed, "test"), v.Seconds)
	case v.Green():
		return fmt.Sprintf("%s: tests pass (%.1fs)", subject, v.Seconds)
	default:
		text := fmt.Sprintf("%s: tests fail (%s, %.1fs)", subject,
			strings.TrimPrefix(lane.How(v, limit), "tests: "), v.Seconds)
		if c.Problem != "" {
			text += ", and " + c.Problem
		}
		return text
	}
}
