package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/cli"
)

// The test binary is gl, or gl-remote by that name, if it is called without a test's flags: these
// tests are about whole processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		if filepath.Base(os.Args[0]) == "gl-remote" {
			main()
		}
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr,
			os.Environ()))
	}
	os.Exit(testfiles.Run(m))
}
