// Gl-remote is gl with the network: the server of workers, and workers. gl starts it where that is
// needed, so that gl itself stays small.
package main

import (
	"context"
	"os"

	"greenlight/internal/cli"
	"greenlight/internal/cli/network"
)

// What a release is linked with (-ldflags "-X main.version=1.2.3 -X main.commit=…").
var version, commit string

func main() {
	cli.Stamp(version, commit)
	cli.Remote = network.Parts()
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr,
		os.Environ()))
}
