package crashtest

import "syscall"

// olderCalls returns the system calls that only older ports have.
func olderCalls() map[uint64]string {
	return map[uint64]string{
		syscall.SYS_RENAME: "rename", syscall.SYS_LINK: "link", syscall.SYS_UNLINK: "unlink",
		syscall.SYS_RMDIR: "rmdir",
		syscall.SYS_MKDIR: "mkdir", 316: "renameat2",
	}
}
