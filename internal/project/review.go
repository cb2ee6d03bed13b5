package project

import (
	"errors"
	"strings"

	"greenlight/internal/contracts"
	"greenlight/internal/tracker"
)

// OwnReview is why a slice is to be approved whose own front matter asks for it.
const OwnReview = "review is always for it"

// NeedsReview says why a person is to approve a slice that its agent calls complete; "" where nobody has to. The slice's front matter
// says whose word counts, else the configuration; where that is the contracts', they are looked up in the books.
func (p *Project) NeedsReview(id string, books ...*contracts.Book) (string, error) {
	if p.Slices == nil || !p.Tracker.Traits().Lands {
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
