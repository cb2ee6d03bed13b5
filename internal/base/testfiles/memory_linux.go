package testfiles

import "syscall"

const (
	memory  = "/dev/shm"
	enough  = 3 << 30 // bytes that must be free: other programs share them
	noExec  = 0x8     // ST_NOEXEC: tests start programs there
	tmpfsID = 0x01021994
)

// roomInMemory reports whether temporary files of tests may be in memory.
func roomInMemory() bool {
	var fs syscall.Statfs_t
	if syscall.Statfs(memory, &fs) != nil || fs.Type != tmpfsID || fs.Flags&noExec != 0 {
		return false
	}
	return uint64(fs.Bsize)*fs.Bavail >= enough
}
