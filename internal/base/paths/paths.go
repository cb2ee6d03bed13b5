// Package paths has small operations on file names that package filepath lacks.
package paths

import (
	"os"
	"path/filepath"
	"strings"
)

// Exists reports whether path exists, even as a broken link.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// IsDir reports whether path is a directory or a link to one.
func IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// IsFile reports whether path is a regular file or a link to one, and so can be read to its
// end.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Same reports whether both paths lead to the same existing directory or file.
func Same(a, b string) bool {
	if a == b {
		return true
	}
	at, err := os.Stat(a)
	if err != nil {
		return false
	}
	bt, err := os.Stat(b)
	return err == nil && os.SameFile(at, bt)
}

// Relative returns path relative to root, with forward slashes; path itself if that is impossible.
func Relative(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// Short returns path as people write it: relative to dir if it is below dir, with ~ if it is
// below home. dir and home may be empty.
func Short(path, dir, home string) string {
	if rel, ok := Below(dir, path); ok {
		return rel
	}
	if rel, ok := Below(home, path); ok {
		return filepath.Join("~", rel)
	}
	return path
}

// Below returns path relative to dir; ok reports whether it is dir or below it, without following
// links. Nothing is below "".
func Below(dir, path string) (rel string, ok bool) {
	if dir == "" {
		return "", false
	}
	rel, err := filepath.Rel(dir, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// EscapeGlob returns a pattern for filepath.Glob that matches only path.
func EscapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
