package specwright

import (
	"path/filepath"

	"greenlight/internal/base/durable"
	"greenlight/internal/state/statedir"
)

// A memory records what the format can't: that an attempt to verify the unit was made. The
// protocol allows an agent to go back from verifying to building and open new tasks. Without
// the record this would look like progress, and would be paid for again and again.
type memory struct {
	Work string `json:"work"`
	Unit string `json:"unit"`
	Step string `json:"step"` // of the last attempt
}

func (s *Store) memoryPath() string { return statedir.Path(s.root, "runs", "specwright.json") }

// remembers reports whether the last attempt at the current unit was a verification. An
// unreadable record counts as none.
func (s *Store) remembers(st *State) bool {
	m, ok := s.readMemory()
	return ok && st.Work != nil && m == memory{st.Work.ID, st.InHand(), Verifying}
}

func (s *Store) readMemory() (m memory, ok bool) {
	ok = durable.ReadJSON(s.memoryPath(), &m) == nil
	return m, ok
}

func (s *Store) remember(st *State) error {
	step := Building
	if st.skill() == "sw-verify" {
		step = Verifying
	}
	m := memory{st.Work.ID, st.InHand(), step}
	if have, ok := s.readMemory(); ok && have == m {
		return nil
	}
	if err := durable.MkdirPrivate(filepath.Dir(s.memoryPath())); err != nil {
		return err
	}
	return durable.WriteJSON(s.memoryPath(), m)
}
