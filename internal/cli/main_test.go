package cli

import (
	"context"
	"os"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
)

// Commands start gl again, which is this test program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr,
			os.Environ()))
	}
	os.Exit(testfiles.Run(m))
}
