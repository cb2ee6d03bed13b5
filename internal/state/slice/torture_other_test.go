//go:build !linux

package slice

import "errors"

// saveByRename needs an atomic exchange of two names, to know what it overwrote.
func saveByRename(path, text string) (over string, err error) { return "", errors.ErrUnsupported }
