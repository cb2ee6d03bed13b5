//go:build !linux && !darwin

package include

import "os"

func clone(*os.File, string) error { return errNoClone }
