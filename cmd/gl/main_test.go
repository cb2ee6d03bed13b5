package main

import (
	"testing"

	"greenlight/cmd/gl/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m) }
