package attempt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"greenlight/internal/plan"
	"greenlight/internal/testrun"
)

// suiteFile has the last verdict on the whole suite. STATE.md follows from it: package slice reads it, too.
const suiteFile = "suite.json"

// Suite returns the last verdict on the whole suite; nil if there is none.
func (s *Store) Suite() *plan.Suite {
	var suite plan.Suite
	if !readJSON(filepath.Join(s.dir, suiteFile), &suite) {
		return nil
	}
	return &suite
}

// PutSuite keeps a verdict as the last one on the whole suite. Without counts nothing is known of the suite any more.
func (s *Store) PutSuite(v *testrun.Verdict, commit string) error {
	path := filepath.Join(s.dir, suiteFile)
	if v.Passed == nil {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	suite := plan.Suite{Passed: *v.Passed, Commit: commit, At: v.At.UTC()}
	if !v.Green() {
		suite.Failed = v.FailedCount()
	}
	if old := s.Suite(); old != nil && *old == suite {
		return nil
	}
	if err := s.Prepare(); err != nil {
		return err
	}
	return writeJSON(path, suite)
}
