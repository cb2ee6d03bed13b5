package gsd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"greenlight/internal/durable"
	"greenlight/internal/statedir"
)

// claimsRel is the file that says who works on which phase. It belongs to this machine, as claims do.
const claimsRel = statedir.Name + "/runs/gsd.json"

// A claim is one phase's, by its id; in a workstream by "workstream/id".
type claim struct {
	Session string `json:"session"`
	Started string `json:"started,omitempty"` // day
}

func (t *Tracker) claimKey(id string) string { return path.Join(t.Part(), id) }

func (t *Tracker) claimsPath() string { return statedir.Path(t.root, "runs", "gsd.json") }

func (t *Tracker) readClaims() (map[string]claim, error) {
	_, claims, err := t.loadClaims()
	return claims, err
}

// loadClaims returns the file's bytes too; nil where there is none.
func (t *Tracker) loadClaims() ([]byte, map[string]claim, error) {
	data, err := durable.ReadFile(t.claimsPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var claims map[string]claim
	if err := json.Unmarshal(data, &claims); err != nil {
		return data, nil, err
	}
	return data, claims, nil
}

// setClaim notes a claim, or clears it where it is empty. The caller holds the project's lock.
func (t *Tracker) setClaim(id string, c claim) error {
	id = t.claimKey(id)
	old, claims, err := t.loadClaims()
	if err != nil {
		return fmt.Errorf("%s can't be read: %w; it only holds claims: remove it if you can't repair it", claimsRel, err)
	}
	if claims[id] == c {
		return nil
	}
	if claims == nil {
		claims = map[string]claim{}
	}
	if claims[id] = c; c.Session == "" {
		delete(claims, id)
	}
	data, err := json.MarshalIndent(claims, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.MkdirPrivate(filepath.Dir(t.claimsPath())); err != nil {
		return err
	}
	return durable.Replace(t.claimsPath(), old, append(data, '\n'))
}
