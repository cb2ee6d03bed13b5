//go:build !linux

package runner_test

// onSmallDisk can't be had without a file system in memory.
func (s *site) onSmallDisk() bool { return false }

func (s *site) smallDisk(string, string) bool { return false }
