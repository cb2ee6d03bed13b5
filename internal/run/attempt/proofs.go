package attempt

import (
	"path/filepath"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// Proofs are the files of runs/ with what gl has found out about the tests and the work on a
// slice, beside the records: suite.json, and the directories vouched, handed, tests and
// withdrawn.
type Proofs struct{ dir string }

func (s *Proofs) vouchedPath(system, slice string) string {
	return filepath.Join(s.dir, "vouched", fileName(system, slice))
}

// Vouch notes that gl has called a slice verified without an attempt of it that ended so: a
// person accepted what was tested, or gl verify has tested it.
func (s *Proofs) Vouch(system, slice string) error {
	if err := mkdir(filepath.Join(s.dir, "vouched")); err != nil {
		return err
	}
	return durable.WriteFile(s.vouchedPath(system, slice), nil, 0o600)
}

// Vouched reports whether Vouch was called for a slice.
func (s *Proofs) Vouched(system, slice string) bool {
	return paths.Exists(s.vouchedPath(system, slice))
}
