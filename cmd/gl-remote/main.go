// Gl-remote has what of gl needs the network: the server of workers, and workers. gl serve and gl
// worker start it in their place, so that gl itself stays small.
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
	os.Exit(cli.RemoteMain(context.Background(), network.Parts(), os.Args[1:], os.Stdin, os.Stdout,
		os.Stderr, os.Environ()))
}
