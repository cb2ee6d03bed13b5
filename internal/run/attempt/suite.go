package attempt

import (
	"path/filepath"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/testrun"
)

// suiteFile has the last verdict on the whole suite. STATE.md follows from it: package slice
// reads it, too.
const suiteFile = "suite.json"

// Suite returns the last verdict on the whole suite; nil if there is none.
func (s *Proofs) Suite() *plan.Suite {
	var suite plan.Suite
	if !readJSON(filepath.Join(s.dir, suiteFile), &suite) {
		return nil
	}
	return &suite
}

// PutSuite keeps a verdict as the last one on the whole suite.
func (s *Proofs) PutSuite(v *testrun.Verdict, commit string) error {
	suite := plan.Suite{Commit: commit, At: v.At.UTC(), Uncounted: v.Passed == nil, Red: !v.Green(),
		Command: v.Command}
	if v.Passed != nil {
		suite.Passed = *v.Passed
	}
	if suite.Red {
		suite.Failed = max(v.FailedCount(), 0)
	}
	if old := s.Suite(); old != nil && *old == suite {
		return nil
	}
	if err := (Files{s.dir}).Prepare(); err != nil {
		return err
	}
	return durable.WriteJSON(filepath.Join(s.dir, suiteFile), suite)
}
