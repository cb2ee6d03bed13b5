// Package merge has the scripts of the work that agents leave: worktrees, tests, the merge queue,
// accepting, undoing.
package merge

import (
	"testing"

	"greenlight/cmd/gl/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m) }

func TestScript(t *testing.T) { scripts.Run(t) }
