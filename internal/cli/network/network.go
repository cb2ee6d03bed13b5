// Package network joins the commands that need gl-remote with what they run: the hub, and what
// works at its two ends. Only gl-remote and tests import it.
package network

import "greenlight/internal/cli"

// Parts returns what gl-remote has and gl hasn't.
func Parts() *cli.Network { return &cli.Network{Serve: serve, Work: work} }
