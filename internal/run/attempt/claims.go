package attempt

import (
	"path/filepath"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
)

// Claims are the notes about claims that people and their sessions hold, in runs/claims and
// runs/told.
type Claims struct{ dir string }

// ClaimHolder is who made a claim outside an attempt: kept beside the claim, so that claiming
// again is idempotent.
type ClaimHolder struct {
	Token  string `json:"token"`  // valid only while the slice has this session
	Holder string `json:"holder"` // CLAUDE_CODE_SESSION_ID

	Released *plan.Mark `json:"released,omitempty"` // instead: how the slice was when it was given back half-way
}

func (s *Claims) holderPath(slice string) string {
	return filepath.Join(s.dir, "claims", slice+".json")
}

// Holder returns the holder of the slice's claim, "" for unknown.
func (s *Claims) Holder(slice, session string) string {
	var h ClaimHolder
	if session == "" || !readJSON(s.holderPath(slice), &h) || h.Token != session {
		return ""
	}
	return h.Holder
}

// PutHolder remembers the holder of a claim.
func (s *Claims) PutHolder(slice string, h ClaimHolder) error {
	if strings.TrimSpace(h.Holder) == "" {
		return nil
	}
	if err := mkdir(filepath.Dir(s.holderPath(slice))); err != nil {
		return err
	}
	return durable.WriteJSON(s.holderPath(slice), h)
}

// PutReleased remembers that a slice that was begun has been given back by its holder.
func (s *Claims) PutReleased(slice string, as plan.Mark) error {
	if err := mkdir(filepath.Dir(s.holderPath(slice))); err != nil {
		return err
	}
	return durable.WriteJSON(s.holderPath(slice), ClaimHolder{Released: &as})
}

// Released reports whether the slice is as its last holder gave it back.
func (s *Claims) Released(slice string, is plan.Mark) bool {
	var h ClaimHolder
	return readJSON(s.holderPath(slice), &h) && h.Released != nil && *h.Released == is
}
