// Package local has the scripts of commands that start no agent: state, status, settings, doctor,
// and the sibling systems.
package local

import (
	"testing"

	"greenlight/cmd/gl/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m) }

func TestScript(t *testing.T) { scripts.Run(t) }
