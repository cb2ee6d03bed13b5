//go:build linux && !amd64

package crashtest

// olderCalls are those that only older ports have; newer ones have renameat2, under the number of the common table.
func olderCalls() map[uint64]string {
	return map[uint64]string{276: "renameat2"}
}
