//go:build !linux

package testfiles

const memory = ""

func roomInMemory() bool { return false }
