package legacy

import (
	"fmt"
	"os"
	"testing"

	"greenlight/internal/testfiles"
)

// TestMain does what a test wants of another process: GREENLIGHT_TEST_CHILD says that it is one.
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
