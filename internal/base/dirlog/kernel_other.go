//go:build !linux

package dirlog

import "errors"

// kernelLog is a stub: other kernels have no log that can be read synchronously.
type kernelLog struct{}

func openLog(string) (*kernelLog, error) { return nil, errors.ErrUnsupported }

func (*kernelLog) read() ([]string, bool) { return nil, true }

func (*kernelLog) close() {}
