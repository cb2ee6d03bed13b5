// Package slice has the scripts of gl slice: what it starts, in which order, and how each agent
// ends.
package slice

import (
	"testing"

	"greenlight/cmd/gl/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m) }

func TestScript(t *testing.T) { scripts.Run(t) }
