package project

import (
	"errors"
	"strings"

	"greenlight/internal/contracts"
	"greenlight/internal/tracker"
)

// NeedsReview says why a person is to approve a slice that its agent calls complete; "" where nobody has to. The slice's own front
// matter decides first, then its contracts, in CONTRACTS.md of any of the directories, then the configuration: who wrote a contract
// knew what it is about. A contract without a tier asks for a person.
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
	if why := byContracts(ids, dirs); why != "" {
		return why, nil
	}
	if p.Config.Review == ReviewAlways {
		return "review is always", nil
	}
	return "", nil
}

// byContracts is why the contracts ask for a person, "" if they don't.
func byContracts(ids, dirs []string) string {
	listed, found := false, len(ids) == 0
	for _, dir := range dirs {
		t := contracts.Tiers(dir, ids)
		listed, found = listed || t.File, found || len(t.Found) > 0
		switch {
		case t.ToVerify == "":
		case t.Tier == "":
			return "its contract " + t.ToVerify + " doesn't say Verification: auto"
		default:
			return "its contract " + t.ToVerify + " says " + t.Tier
		}
	}
	if listed && !found {
		return strings.Join(ids, ", ") + ": not in " + contracts.File
	}
	return ""
}
