package main

import (
	"context"
	"io"
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

// A person who starts gl-remote learns what to start instead.
func TestByItself(t *testing.T) {
	for _, args := range [][]string{nil, {"status"}, {"serv"}} {
		var stderr strings.Builder
		code := cli.RemoteMain(t.Context(), nil, args, nil, io.Discard, &stderr, nil)
		if code != 2 || !strings.Contains(stderr.String(), "use gl") {
			t.Errorf("gl-remote %s: exit code %d: %s", args, code, stderr.String())
		}
	}
	var help strings.Builder
	if code := cli.RemoteMain(t.Context(), nil, []string{"--help"}, nil, &help, io.Discard, nil); code != 0 ||
		!strings.Contains(help.String(), "serve") || strings.Contains(help.String(), "Start\n") {
		t.Errorf("exit code %d: %s", code, help.String())
	}
}
