package slice

import (
	"fmt"
	"os"
	"testing"

	"greenlight/internal/base/testfiles"
)

// children are what this test binary does when a test starts it as another process;
// GREENLIGHT_TEST_CHILD names one.
var children = map[string]func(root string) error{
	"crash":    crashChild,
	"writer":   writerChild,
	"claimant": claimantChild,
}

func TestMain(m *testing.M) {
	child, ok := children[os.Getenv("GREENLIGHT_TEST_CHILD")]
	if !ok {
		os.Exit(testfiles.Run(m))
	}
	if err := child(os.Getenv("GREENLIGHT_TEST_ROOT")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
