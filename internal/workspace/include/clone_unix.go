//go:build linux || darwin

package include

import (
	"errors"
	"syscall"
)

// cloneError interprets a failed clone: a full disk is the only failure that copying would meet
// as well.
func cloneError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return errNoClone
}
