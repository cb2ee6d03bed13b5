package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/tracker"
)

// ClaimOptions name the claimant of a slice, and what to override.
type ClaimOptions struct {
	Who   attempt.Claimant
	Force bool // take over another session's claim, or a complete slice

	// Over takes over the claim of this session alone. It is set after asking a person: in the
	// meantime another session may have claimed the slice.
	Over *string
}

// A Claimed is a slice that the caller now has.
type Claimed struct {
	Token string
	Notes []string
}

// Claim takes a slice to work on. It compares and sets under the lock: one of any number of
// concurrent claims wins. A *TakenError with a Claim means that the claim can be taken over.
// STATE.md is left for the caller to refresh, because the claim holds whether that succeeds or not.
func Claim(ctx context.Context, pr *project.Project, id string, o ClaimOptions) (*Claimed, error) {
	var c *Claimed
	err := pr.Tracker.Do(ctx, func(tx tracker.Tx) error {
		s, err := pr.Snapshot(tx.Load)
		if err != nil {
			return err
		}
		now := time.Now()
		st := plan.New(s, now, pr.Options()).State(id)
		if st == nil {
			return notFound(id)
		}
		if c, err = admit(pr, st, o, now); err != nil || c.Token != "" {
			return err
		}
		if len(st.Needs) > 0 {
			c.Notes = append(c.Notes,
				fmt.Sprintf("warning: %s %s, not done yet", id, plan.NeedsText(st.Needs)))
		}
		c.Token = attempt.NewToken(now)
		// The holder first: it means nothing next to another session, so a kill between the two is
		// harmless.
		if err := pr.Runs.Claims.PutHolder(id,
			attempt.ClaimHolder{Token: c.Token, Holder: o.Who.Holder}); err != nil {
			return err
		}
		if err := tx.Claim(id, c.Token); err != nil {
			return err
		}
		if st.Class == plan.Done { // otherwise what has landed counts
			if err := pr.Runs.Within(tx.Held()).MarkRetried(id); err != nil {
				return err
			}
		}
		_ = pr.Runs.Journal().Append(journal.Event{Kind: journal.Claimed, System: pr.Key(),
			Slice: id, By: cmp.Or(o.Who.Holder, "a session")})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// admit refuses a slice that can't be claimed. It returns the token if the caller already has the
// claim, "" if the slice is free to claim.
func admit(pr *project.Project, st *plan.State, o ClaimOptions, now time.Time) (*Claimed, error) {
	status, holds := plan.Classify(st.Status), o.Who.Holds(pr.Runs, st)
	switch {
	case st.Corrupt != "":
		return nil, fmt.Errorf("%s can't be claimed: %s: %s; gl doctor says more", st.ID,
			st.File, st.Corrupt)
	case status != plan.Done && o.Who.Token != "" && holds:
		return &Claimed{Token: o.Who.Token}, nil
	case status != plan.Done && o.Who.Token != "":
		return nil, taken("%s isn't this session's any more: %s", st.ID, st.ClaimText(now))
	case st.Attempt.Open():
		return nil, atWork(st)
	case status == plan.Active && holds:
		return &Claimed{Token: st.Session}, nil
	case status == plan.Done && !o.Force:
		return nil, fmt.Errorf("%s is complete: to work on it again, run gl state claim %s --force",
			st.ID, st.ID)
	case st.Class == plan.Active, st.Stale:
		return takeOver(pr, st, o, now)
	}
	return &Claimed{}, nil
}

// takeOver decides whether to take over a slice that another session works on.
func takeOver(pr *project.Project, st *plan.State, o ClaimOptions,
	now time.Time) (*Claimed, error) {
	yolo := st.Stale && pr.Config.Mode == "yolo"
	switch {
	case o.Over != nil && *o.Over == st.Session:
		return &Claimed{}, nil
	case o.Force, yolo:
		return &Claimed{Notes: []string{st.ClaimText(now) + ": taken over"}}, nil
	}
	return nil, &TakenError{Claim: st,
		Reason: fmt.Sprintf("%s: to take it over, run gl state claim %s --force",
			st.ClaimText(now), st.ID)}
}

// Release gives up the caller's claim and returns the slice's new status: pending, unless a step
// was reached. Any caller may release a stale claim, and with force any claim. The error is
// ErrNothingToDo if the slice isn't claimed.
func Release(ctx context.Context, pr *project.Project, id string, who attempt.Claimant,
	force bool) (status string, err error) {
	err = edit(ctx, pr, id, func(m moment, f *slice.File) error {
		if err := mayRelease(pr, m, who, force); err != nil {
			return err
		}
		if status, err = giveBack(m.st, f); err != nil || plan.Classify(status) != plan.Active {
			return err
		}
		// The mark means nothing while the slice has a session.
		return pr.Runs.Claims.PutReleased(id, plan.Mark{Status: m.st.Status, Step: m.st.Step})
	})
	if err == nil {
		_ = pr.Runs.Journal().Append(journal.Event{Kind: journal.GivenBack, System: pr.Key(),
			Slice: id, Status: status})
	}
	return status, err
}

func mayRelease(pr *project.Project, m moment, who attempt.Claimant, force bool) error {
	st := m.st
	switch {
	case who.Holds(pr.Runs, st):
		return nil
	case st.Attempt.Open():
		return atWork(st)
	case st.Session == "" && st.Class != plan.Active:
		return ErrNothingToDo
	case force, who.IsPerson() && st.Stale:
		return nil
	}
	return taken("%s: to clear it anyway, run gl state release %s --force",
		st.ClaimText(m.now), st.ID)
}

// giveBack clears the claim and returns the slice's new status.
func giveBack(st *plan.State, f *slice.File) (status string, err error) {
	if _, ok := f.Get("session"); ok {
		if err := f.Set("session", ""); err != nil {
			return "", err
		}
	}
	if st.Reverted != nil && st.Class != plan.Done {
		// The file says complete, but only by the word of an attempt that left the slice open.
		if err := errors.Join(f.Set("status", st.Status), f.Set("step", st.Step)); err != nil {
			return "", err
		}
	}
	begun := plan.IsStep(st.Status) || plan.StepReached(st.Step)
	if plan.Classify(st.Status) != plan.Active || begun {
		return st.Status, nil
	}
	return "pending", f.Set("status", "pending")
}
