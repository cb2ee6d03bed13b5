//go:build linux && !amd64

package crashtest

// olderCalls returns the system calls that only older ports have. Newer ports have renameat2,
// under the number of the common table.
func olderCalls() map[uint64]string {
	return map[uint64]string{276: "renameat2"}
}
