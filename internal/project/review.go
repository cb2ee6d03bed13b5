package project

import (
	"errors"
	"strings"

	"greenlight/internal/contracts"
	"greenlight/internal/tracker"
)

// NeedsReview says why a person is to approve a slice that its agent calls complete; "" where nobody has to. The slice's own front
// matter decides first, then its contracts, in CONTRACTS.md of any of the directories, then the configuration: who wrote a contract
// knew what it is about.
func (p *Project) NeedsReview(id string, dirs ...string) (string, error) {
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
	switch strings.ToLower(strings.TrimSpace(own)) {
	case ReviewAlways:
		return "review is always for it", nil
	case ReviewNever:
		return "", nil
	}
	field, _ := f.Get("contracts")
	ids := contracts.In(string(f.Bytes()), field)
	for _, dir := range dirs {
		if c := contracts.ToVerify(dir, ids); c != "" {
			return "its contract " + c + " says verify", nil
		}
	}
	if p.Config.Review == ReviewAlways {
		return "review is always", nil
	}
	return "", nil
}
