// Gl keeps the state of agent-driven software work and runs coding agents over a dependency
// graph until all slices are done.
package main

import (
	"context"
	"os"

	"greenlight/internal/cli"
)

// What a release is linked with (-ldflags "-X main.version=1.2.3 -X main.commit=…").
var version, commit string

func main() {
	cli.Stamp(version, commit)
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr,
		os.Environ()))
}
