package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/contracts"
)

// newBrief returns what an agent without our slash commands gets: slice is the output of gl slice,
// and brief adds its job and how to finish it. For a task, both are the notes about its worktree
// and how to finish it.
func newBrief(ctx context.Context, pr *project.Project,
	r *attempt.Record) (brief, slice string, err error) {
	var b bytes.Buffer
	out := iostreams.New(nil, &b, &b, nil)
	if r.ID.IsTask() {
		tellHandoff(out, r)
		text := b.String() + "\n" + taskFinish(r, pr.Root)
		return strings.TrimLeft(text, "\n"), text, nil
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return "", "", err
	}
	if p.State(r.ID.Slice) == nil {
		return "", "", fmt.Errorf("%s isn't in the project any more", r.ID.Slice)
	}
	if err := describeTo(ctx, out, pr, p, r.ID.Slice, r,
		keyValue{"headless", "no one can answer"}); err != nil {
		return "", "", err
	}
	slice = b.String()
	return sliceTask(r) + "\n" + slice + "\n" + sliceFinish(r.ID.Slice), slice, nil
}

// sliceTask returns the job for an agent with a method of its own.
func sliceTask(r *attempt.Record) string {
	where := "Work in " + r.Job.Dir + ", which is yours alone, and commit on its branch."
	if r.Place.Lineage == 0 {
		where = "Work in " + r.Job.Dir +
			". Other sessions may work there, too: commit only this slice's files, by name."
	}
	return "Build the slice below, test first: each line of its contracts has a test, and all tests pass. " + where + `
What people have said, and what came of earlier attempts, comes before everything else.
`
}

// sliceFinish explains how the agent of a slice finishes.
func sliceFinish(id string) string {
	return fmt.Sprintf(`=== How to finish ===

The slice is claimed for you. No one can answer while you work. Change its state only with gl, and leave everything else below .greenlight as it is.

- Before you change code, hand your tests over: gl state set %[1]s status=implementing step=implementing
  From then on they, their data, their runner's configuration and CONTRACTS.md stay as they are.
- Done: commit everything, then gl state set %[1]s status=complete step=complete tests=N, and exit with 0. gl runs the test command itself.
- A person is needed: commit what you have, then gl state set %[1]s waiting_for="THE QUESTION, AND YOUR PROPOSAL", and exit with 0.
- A decision worth keeping: gl state note %[1]s --decision "TEXT"
- It can't be done: say why in the last line of your output, and exit with 1.
`, id)
}

// taskFinish explains how the agent of a task finishes.
func taskFinish(r *attempt.Record, root string) string {
	text := "No one can answer while you work. When you are done, commit what you changed and exit with 0; another exit code says that it failed.\n"
	if r.Task.Summary != "" {
		text += "Write a summary of what changed, one paragraph, to " + r.SummaryPath(root) + "\n"
	}
	return text
}

// methodFacts returns the other facts that a session needs from gl before it can build a slice.
func methodFacts(ctx context.Context, pr *project.Project, id string, named bool) []keyValue {
	if !pr.Tracker.Traits().Managed {
		return nil
	}
	facts := []keyValue{{"tier", tier(ctx, pr, id, named)},
		{"test command", pr.Config.Test.Command.Line}}
	s, err := pr.Settings()
	if err != nil {
		return facts
	}
	get := func(key string) string {
		set, err := s.Get("workflow." + key)
		if err != nil || set.Wrong != "" {
			return ""
		}
		return strings.Trim(string(set.Value), `"`)
	}
	security := "at most " + get("max_security_retries") + " rounds"
	if get("security_scan") == "false" {
		security = "skip it"
	}
	return append(facts, keyValue{"rounds", get("max_implementation_retries") +
		" at one test, 7 in the slice, then the circuit breaker"}, keyValue{"security", security})
}

// tier returns how the slice is accepted: by its tests, or by a person. named reports whether it
// names contracts.
func tier(ctx context.Context, pr *project.Project, id string, named bool) string {
	because, err := pr.Approvals().Of(id, contracts.ReadBook(pr.Root),
		contracts.ReadBook(ops.PlaceOf(ctx, pr, id)))
	switch {
	case err != nil:
		return ""
	case because == "" && !named && pr.Config.Review != project.ReviewNever:
		return "by the contracts, once the slice names some"
	case because == "":
		return "auto"
	case because == project.OwnReview || pr.Config.Review == project.ReviewAlways:
		return "auto (gl asks a person before it is merged)"
	}
	return "verify (" + because + ")"
}
