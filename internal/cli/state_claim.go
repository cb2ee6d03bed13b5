package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/attempt"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/slice"
	"greenlight/internal/tracker"
)

const claimHelp = `
Exit codes: 0 it is yours; 1 it is complete, or can't be written; 2 wrong usage; 3 claimed by another session.`

func newStateClaim(app *cmdutil.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "claim ID",
		Short: "Take a slice to work on, and print the session token",
		Long: `Take a slice to work on it: its status becomes in_progress and its session the token, which is printed. Of any number
of claims at the same time one wins. Claiming again from the same session prints the same token.

A claim of another session is refused; on a terminal gl asks about it. In yolo mode (config.json) a stale claim is taken
over without asking.` + "\n" + claimHelp,
		Example: `  gl state claim S-07
  TOKEN=$(gl state claim S-07) || exit
  gl state claim S-07 --force   also where another session has it, or it is complete; never beside a running attempt`,
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: app.CompleteIDs,
		RunE: func(c *cobra.Command, a []string) error {
			return runClaim(c.Context(), app, a[0], force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "take over another session's claim; also a complete slice")
	return c
}

func runClaim(ctx context.Context, app *cmdutil.App, id string, force bool) error {
	pr, err := app.Greenlight()
	if err != nil {
		return err
	}
	if pr.ConfigErr != nil {
		app.IO.Message("warning: %v", pr.ConfigErr)
	}
	c := &claiming{app: app, pr: pr, force: force}
	token, err := c.try(ctx, id)
	if err != nil && c.over != nil && app.Confirm(c.over.ClaimText(time.Now())+". Take it over?") {
		agreed := c.over.Session
		c.agreed = &agreed
		token, err = c.try(ctx, id)
	}
	if err != nil {
		return err
	}
	if err := pr.Tracker.Refresh(ctx); err != nil {
		app.IO.Message("warning: %v", err) // the claim stands
	}
	app.IO.Printf("%s\n", token)
	return nil
}

// claiming is one gl state claim.
type claiming struct {
	app    *cmdutil.App
	pr     *project.Project
	force  bool
	agreed *string     // the session whose claim may be taken over: the person has said so
	over   *plan.State // the claim that a person may be asked about
}

// try compares and sets under the lock.
func (c *claiming) try(ctx context.Context, id string) (token string, err error) {
	err = c.pr.Tracker.Do(ctx, func(tx tracker.Tx) error {
		s, err := c.pr.Snapshot(tx.Load)
		if err != nil {
			return err
		}
		now := time.Now()
		p := plan.New(s, now, c.pr.Options())
		if id, err = c.app.Resolve(p, id); err != nil {
			return err
		}
		st, who := p.State(id), attempt.NewClaimant(c.app.Getenv, id)
		if token, err = c.admit(st, who, now); err != nil || token != "" {
			return err
		}
		if len(st.Needs) > 0 {
			c.app.IO.Message("warning: %s needs %s, not done yet", id, strings.Join(st.Needs, ", "))
		}
		token = attempt.NewToken(now)
		// The holder first: beside another session it means nothing, so a kill between the two does no harm.
		if err := c.pr.Runs.PutHolder(id, attempt.ClaimHolder{Token: token, Holder: who.Holder}); err != nil {
			return err
		}
		return tx.Claim(id, token)
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// admit returns the token of a claim that is the caller's already, an error where the slice can't be had, and neither
// where it is to be claimed.
func (c *claiming) admit(st *plan.State, who attempt.Claimant, now time.Time) (token string, err error) {
	status := plan.Classify(st.Status)
	switch {
	case st.Corrupt != "":
		return "", fmt.Errorf("%s can't be claimed: %s: %s", st.ID, st.File, st.Corrupt)
	case status != plan.Done && who.Token != "" && who.Holds(c.pr.Runs, st):
		return who.Token, nil
	case status != plan.Done && who.Token != "":
		return "", cmdutil.Taken("%s isn't this session's any more: %s", st.ID, st.ClaimText(now))
	case st.Attempt.Open():
		return "", cmdutil.Taken("%s is being worked on by attempt %d (%s): run gl stop %s", st.ID, st.Attempt.N, st.Attempt.Agent, st.ID)
	case status == plan.Active && who.Holds(c.pr.Runs, st):
		return st.Session, nil
	case status == plan.Done && !c.force:
		return "", fmt.Errorf("%s is complete: to work on it again, run gl state claim %s --force", st.ID, st.ID)
	case st.Class == plan.Active:
		return "", c.takeOver(st, now)
	}
	return "", nil
}

// takeOver decides about a slice that somebody else works on.
func (c *claiming) takeOver(st *plan.State, now time.Time) error {
	yolo := st.Stale && c.pr.Config.Mode == "yolo"
	switch {
	case c.agreed != nil && *c.agreed == st.Session:
		return nil
	case c.force, yolo:
		c.app.IO.Message("%s: taken over", st.ClaimText(now))
		return nil
	}
	if c.agreed == nil {
		c.over = st
	}
	return cmdutil.Taken("%s: to take it over, run gl state claim %s --force", st.ClaimText(now), st.ID)
}

func newStateRelease(app *cmdutil.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "release ID",
		Short: "Give a claim back",
		Long: `Give a claim back: the session is cleared, and a slice on which no step was reached is pending again. A stale claim is
anybody's to clear, a fresh one only its holder's. An attempt that runs is ended by gl stop instead.

Exit codes: 0 nobody has it now; 1 it failed; 2 wrong usage; 3 it is another session's.`,
		Example:           "  gl state release S-07\n  gl state release S-07 --force   another session's claim",
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: app.CompleteIDs,
		RunE: func(c *cobra.Command, a []string) error {
			return runRelease(c.Context(), app, a[0], force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "also another session's claim")
	return c
}

// errUnclaimed ends an edit that has nothing to do.
var errUnclaimed = errors.New("not claimed")

func runRelease(ctx context.Context, app *cmdutil.App, id string, force bool) error {
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	status := ""
	err = change(ctx, pr, id, func(st *plan.State, f *slice.File) error {
		if err := mayRelease(app, pr, st, force); err != nil {
			return err
		}
		status = st.Status
		if err := giveBack(st, f, &status); err != nil || plan.Classify(status) != plan.Active {
			return err
		}
		return pr.Runs.PutReleased(id, plan.Mark{Status: st.Status, Step: st.Step}) // while it has a session it means nothing
	})
	if errors.Is(err, errUnclaimed) {
		app.IO.Message("%s isn't claimed", id)
		return nil
	}
	if err != nil {
		return err
	}
	if plan.Classify(status) == plan.Active {
		app.IO.Message("%s is released, its status stays %s: gl state claim %s goes on with it, gl state set %s status=pending puts it back",
			id, status, id, id)
		return nil
	}
	app.IO.Message("%s is released, its status is %s", id, status)
	return nil
}

func mayRelease(app *cmdutil.App, pr *project.Project, st *plan.State, force bool) error {
	who, now := attempt.NewClaimant(app.Getenv, st.ID), time.Now()
	switch {
	case who.Holds(pr.Runs, st):
		return nil
	case st.Attempt.Open():
		return cmdutil.Taken("%s is being worked on by attempt %d (%s): run gl stop %s", st.ID, st.Attempt.N, st.Attempt.Agent, st.ID)
	case st.Session == "" && st.Class != plan.Active:
		return errUnclaimed
	case force, who.IsPerson() && st.Stale:
		return nil
	}
	return cmdutil.Taken("%s: to clear it all the same, run gl state release %s --force", st.ClaimText(now), st.ID)
}

// giveBack clears the claim; status becomes what the slice has then.
func giveBack(st *plan.State, f *slice.File, status *string) error {
	if _, ok := f.Get("session"); ok {
		if err := f.Set("session", ""); err != nil {
			return err
		}
	}
	begun := plan.IsStep(st.Status) || plan.StepReached(st.Step)
	if plan.Classify(st.Status) != plan.Active || begun {
		return nil
	}
	*status = "pending"
	return f.Set("status", "pending")
}
