package proc

import (
	"bytes"
	"os"
	"path/filepath"
)

// HasVariable reports whether a process of this PID namespace was started with the variable, "NAME=value", in its
// environment. Processes of other users don't count: their environments can't be read.
func HasVariable(variable string) (bool, error) {
	if err := foreign(); err != nil {
		return false, err
	}
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return false, err
	}
	for _, path := range paths {
		data, err := os.ReadFile(path) // empty for a zombie
		if err != nil {
			continue
		}
		for v := range bytes.SplitSeq(data, []byte{0}) {
			if string(v) == variable {
				return true, nil
			}
		}
	}
	return false, nil
}
