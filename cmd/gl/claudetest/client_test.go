package claudetest

import (
	"os"
	"strings"
	"testing"
)

// The Makefile installs the client version that gl is tested with.
func TestPinned(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil || !strings.Contains(string(makefile), "\nCLAUDE_PINNED = "+Version+"\n") {
		t.Errorf("the Makefile doesn't pin %s: %v", Version, err)
	}
}
