package main

import (
	"os"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
)

// The test binary is gl and gl-remote if it is called without a test's flags: these tests are about
// whole processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main()
	}
	os.Exit(testfiles.Run(m))
}
