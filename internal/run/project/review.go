package project

import (
	"errors"
	"strings"

	"greenlight/internal/run/attempt"
	"greenlight/internal/state/contracts"
	"greenlight/internal/state/tracker"
)

// OwnReview is the reason for approving a slice whose own front matter requires it.
const OwnReview = "review is always for it"

// Approvals decides which work a person must approve.
type Approvals struct {
	root    string
	slices  SliceKeeper // nil for other systems
	tracker tracker.Tracker
	rule    string // of the configuration
}

// Approvals returns the rules of the project.
func (p *Project) Approvals() Approvals {
	return Approvals{p.Root, p.Slices, p.Tracker, p.Config.Review}
}

// Terms returns the terms for a slice that is about to be claimed.
func (a Approvals) Terms(id string) (*attempt.Terms, error) {
	why, err := a.Of(id, contracts.ReadBook(a.root))
	if err != nil {
		return nil, err
	}
	t := &attempt.Terms{Review: why}
	if a.slices != nil {
		if f, err := a.slices.Read(id); err == nil {
			t.Wraps = len(f.List("wraps")) > 0
		}
	}
	return t, nil
}

// OfAttempt returns why a person must approve the result of an attempt; "" if that isn't
// required. It considers the decision at the time of the claim, and any requirement since, such
// as a contract that the agent has named.
func (a Approvals) OfAttempt(r *attempt.Record, books ...*contracts.Book) (string, error) {
	if r.Conditions.Terms != nil && r.Conditions.Terms.Review != "" {
		return r.Conditions.Terms.Review, nil
	}
	return a.Of(r.ID.Slice, books...)
}

// Of returns why a person must approve a slice that its agent reports complete; "" if
// that isn't required. The slice's front matter decides, or else the configuration; if that
// defers to contracts, they are looked up in the books.
func (a Approvals) Of(id string, books ...*contracts.Book) (string, error) {
	if a.slices == nil || !a.tracker.Traits().Completes {
		return "", nil
	}
	f, err := a.slices.Read(id)
	if errors.Is(err, tracker.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	own, _ := f.Get("review")
	switch own = strings.ToLower(strings.TrimSpace(own)); own {
	case ReviewAlways:
		return OwnReview, nil
	case ReviewNever:
		return "", nil
	case ReviewVerify:
	default:
		switch a.rule {
		case ReviewAlways:
			return "review is always", nil
		case ReviewNever:
			return "", nil
		}
	}
	field, _ := f.Get("contracts")
	return contracts.ToVerify(contracts.In(string(f.Bytes()), field), books...), nil
}
