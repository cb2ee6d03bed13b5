package testrun

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"greenlight/internal/paths"
)

// Toolchain identifies the program that a command starts in dir, for a verdict that is to be used again: its real path, size and
// modification time, hashed. So another version of go, node or pytest is noticed, or a PATH that leads to another one. What the
// program starts in its turn isn't: the compilers behind make or sh, a version manager's shim, installed packages, a database.
// The program of the tree itself, below top, is known by the tree.
func Toolchain(argv []string, dir, top string) (string, error) {
	program, err := paths.Program(argv[0], dir)
	if err != nil {
		return "", err
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(top); err == nil {
		if rel, err := filepath.Rel(real, program); err == nil && filepath.IsLocal(rel) {
			return hash("in the tree", filepath.ToSlash(rel)), nil
		}
	}
	info, err := os.Stat(program)
	if err != nil {
		return "", err
	}
	return hash(program, fmt.Sprint(info.Size()), fmt.Sprint(info.ModTime().UnixNano())), nil
}

// hash is one name for all parts.
func hash(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:16])
}
