package testrun

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"greenlight/internal/base/paths"
)

// Toolchain identifies the program that a command starts in dir, for reusing verdicts: its real
// path, size and modification time, hashed. This detects another version of go, node or pytest,
// or a PATH that leads to a different one. It doesn't detect changes in what the program starts
// in turn: the compilers behind make or sh, a version manager's shim, installed packages, a
// database. A program in the tree itself, below top, is identified by the tree.
func Toolchain(argv []string, dir, top string) (string, error) {
	program, err := paths.Program(argv[0], dir)
	if err != nil {
		return "", err
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(top); err == nil {
		if rel, ok := paths.Below(real, program); ok {
			return hash("in the tree", filepath.ToSlash(rel)), nil
		}
	}
	info, err := os.Stat(program)
	if err != nil {
		return "", err
	}
	return hash(program, fmt.Sprint(info.Size()), fmt.Sprint(info.ModTime().UnixNano())), nil
}

// hash returns a single name for all parts.
func hash(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:16])
}
