package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/slice"
)

const wordExit = `

Exit codes: 0 done; 1 the slice waits for nobody, or can't be written; 2 wrong usage; 3 somebody works on it.`

func newAccept(app *cmdutil.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:        "accept ID",
		SuggestFor: []string{"approve", "ok", "yes", "merge"},
		Short:      "Say yes to a slice that waits for you: it is complete",
		Long: `Say yes to a slice that waits for a person's word: it is complete, and what needs it can be built.

--force also takes a slice that is being verified or has stalled, never one whose agent still runs.` + wordExit,
		Example:           "  gl accept S-07",
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: cmdutil.CompleteFirst(app.CompleteSome(waiting)),
		RunE: func(c *cobra.Command, a []string) error {
			return runAccept(c.Context(), app, a[0], force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "also a slice that is being verified, or has stalled")
	return c
}

func newReject(app *cmdutil.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:        "reject ID TEXT",
		SuggestFor: []string{"deny", "no", "refuse"},
		Short:      "Say no to a slice that waits for you, and why: it is pending again",
		Long: `Say no to a slice that waits for a person's word. TEXT, what is wrong with it, goes among its decisions, and the slice is
pending: the next gl slice, or one that runs, builds it with that in mind.

--force also takes a slice that is being verified or has stalled, never one whose agent still runs.` + wordExit,
		Example:           `  gl reject S-07 "the mail must not name the customer"`,
		Args:              cmdutil.Args(cobra.MinimumNArgs(2)),
		ValidArgsFunction: cmdutil.CompleteFirst(app.CompleteSome(waiting)),
		RunE: func(c *cobra.Command, a []string) error {
			return runReject(c.Context(), app, a[0], strings.Join(a[1:], " "), force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "also a slice that is being verified, or has stalled")
	return c
}

// waiting are the slices that wait for somebody.
func waiting(p *plan.Plan) []string { return p.Waiting }

// errAccepted ends an edit that has nothing to do.
var errAccepted = errors.New("complete already")

func runAccept(ctx context.Context, app *cmdutil.App, id string, force bool) error {
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	before, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return err
	}
	err = word(ctx, app, pr, id, force, func(st *plan.State, f *slice.File) error {
		if st.Class == plan.Done {
			return errAccepted
		}
		return f.SetAll([][2]string{{"status", "complete"}, {"step", "complete"},
			{"waiting_for", ""}, {"session", ""}})
	})
	if errors.Is(err, errAccepted) {
		app.IO.Printf("%s is complete already\n", id)
		return nil
	}
	if err != nil {
		return err
	}
	app.IO.Printf("%s is complete\n", id)
	after, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return err
	}
	after.Ready = slices.DeleteFunc(after.Ready, func(id string) bool { return slices.Contains(before.Ready, id) })
	if len(after.Ready) > 0 {
		app.IO.Printf("Ready now: %s\n", strings.Join(after.Ready, ", "))
	}
	return nil
}

func runReject(ctx context.Context, app *cmdutil.App, id, text string, force bool) error {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsFunc(text, unicode.IsControl) {
		return cmdutil.Usage("say in one line, without control characters, what is wrong with %s", id)
	}
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	note := time.Now().UTC().Format(time.DateOnly) + ": Rejected: " + text
	err = word(ctx, app, pr, id, force, func(st *plan.State, f *slice.File) error {
		if st.Class == plan.Done {
			return fmt.Errorf("%s is complete: gl state set %s status=pending has it built again", id, id)
		}
		if err := f.AppendToSection("Decisions", note); err != nil {
			return err
		}
		return f.SetAll([][2]string{{"status", "pending"}, {"step", "none"},
			{"waiting_for", ""}, {"session", ""}})
	})
	if err != nil {
		return err
	}
	// As in gl retry: after the slice's file, so that a kill between the two can't make it look as if somebody worked on it.
	if err := pr.Runs.MarkRetried(id); err != nil {
		return err
	}
	app.IO.Printf("%s is pending again\n", id)
	return nil
}

// word is a person's yes or no: one write, if the slice is one that waits for it.
func word(ctx context.Context, app *cmdutil.App, pr *project.Project, id string, force bool, f func(*plan.State, *slice.File) error) error {
	return pr.Slices.Edit(ctx, id, func(file *slice.File) error {
		now := time.Now()
		p, err := pr.Plan(now, pr.Options())
		if err != nil {
			return err
		}
		st := p.State(id)
		if err := mayDecide(app, pr, p, st, force, now); err != nil {
			return err
		}
		return f(st, file)
	})
}

// mayDecide refuses a slice that isn't a person's to decide about.
func mayDecide(app *cmdutil.App, pr *project.Project, p *plan.Plan, st *plan.State, force bool, now time.Time) error {
	verifying := st.Class == plan.Active && strings.EqualFold(strings.TrimSpace(st.Status), "verifying")
	why := p.Why(st.ID, now)
	switch {
	case st.Attempt.Open():
		return cmdutil.Taken("%s is being worked on by attempt %d (%s): run gl stop %s", st.ID, st.Attempt.N, st.Attempt.Agent, st.ID)
	case st.Class == plan.Done:
		return nil
	case st.Class == plan.Waiting && st.WaitingFor != "":
		return nil
	case st.Class == plan.Waiting:
		return fmt.Errorf("%s is paused, it waits for nobody's word: run gl resume %s", st.ID, st.ID)
	case (verifying || st.Class == plan.Stalled) && force:
		return nil
	case verifying || st.Class == plan.Stalled:
		why.Next = []string{"gl accept " + st.ID + " --force or gl reject " + st.ID + " TEXT --force to decide all the same"}
		return decided(st, "%s", why)
	case st.Class == plan.Active:
		return cmdutil.Taken("%s", why)
	}
	return fmt.Errorf("%s waits for nobody's word: %s", st.ID, why)
}

// decided is the refusal of a slice that --force would take: somebody may be at work on it.
func decided(st *plan.State, format string, a ...any) error {
	if st.Class == plan.Active {
		return cmdutil.Taken(format, a...)
	}
	return fmt.Errorf(format, a...)
}
