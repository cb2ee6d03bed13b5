package project

import (
	"errors"
	"strings"

	"greenlight/internal/attempt"
	"greenlight/internal/contracts"
	"greenlight/internal/tracker"
)

// OwnReview is why a slice is to be approved whose own front matter asks for it.
const OwnReview = "review is always for it"

// Terms are those of a slice that is about to be claimed.
func (p *Project) Terms(id string) (*attempt.Terms, error) {
	why, err := p.NeedsReview(id, contracts.ReadBook(p.Root))
	if err != nil {
		return nil, err
	}
	t := &attempt.Terms{Review: why}
	if p.Slices != nil {
		if f, err := p.Slices.Read(id); err == nil {
			t.Wraps = len(f.List("wraps")) > 0
		}
	}
	return t, nil
}

// MustApprove says why a person is to approve what an attempt has built; "" where nobody has to. What a person had decided when the slice was
// claimed counts, and what has come to ask for it since, such as a contract that the agent has named.
func (p *Project) MustApprove(r *attempt.Record, books ...*contracts.Book) (string, error) {
	if r.Terms != nil && r.Terms.Review != "" {
		return r.Terms.Review, nil
	}
	return p.NeedsReview(r.Slice, books...)
}

// NeedsReview says why a person is to approve a slice that its agent calls complete; "" where nobody has to. The slice's front matter
// says whose word counts, else the configuration; where that is the contracts', they are looked up in the books.
func (p *Project) NeedsReview(id string, books ...*contracts.Book) (string, error) {
	if p.Slices == nil || !p.Tracker.Traits().Completes {
		return "", nil
	}
	f, err := p.Slices.Read(id)
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
		switch p.Config.Review {
		case ReviewAlways:
			return "review is always", nil
		case ReviewNever:
			return "", nil
		}
	}
	field, _ := f.Get("contracts")
	return contracts.ToVerify(contracts.In(string(f.Bytes()), field), books...), nil
}
