package legacy

import (
	"fmt"
	"os"
	"testing"

	"greenlight/internal/base/testfiles"
)

// TestMain runs a test's child process if GREENLIGHT_TEST_CHILD is set.
func TestMain(m *testing.M) {
	if os.Getenv("GREENLIGHT_TEST_CHILD") == "" {
		os.Exit(testfiles.Run(m))
	}
	if err := crashChild(os.Getenv("GREENLIGHT_TEST_ROOT")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
