// Package run has the scripts of everything else that has to do with running agents: gl do, tmux,
// logs, holds, questions, machines.
package run

import (
	"testing"

	"greenlight/cmd/gl/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m) }

func TestScript(t *testing.T) { scripts.Run(t) }
