package specwright

import (
	"fmt"
	"os"
	"testing"

	"greenlight/internal/base/testfiles"
)

// The test binary also serves as the processes that torture the state, and those that are
// killed.
func TestMain(m *testing.M) {
	root, err := os.Getenv("GREENLIGHT_TEST_ROOT"), error(nil)
	switch os.Getenv("GREENLIGHT_TEST_CHILD") {
	case "":
		os.Exit(testfiles.Run(m))
	case "crash":
		err = crashChild(root, os.Getenv("GREENLIGHT_TEST_OP"))
	default:
		err = workerChild(root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
