package proc

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OfConnection returns the processes of this machine that have the end near of a TCP connection
// from near to far, as far as they are visible: this user's.
func OfConnection(near, far netip.AddrPort) (pids []int) {
	inode := ""
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		if data, err := os.ReadFile(name); err == nil && inode == "" {
			inode = inodeOf(data, near, far)
		}
	}
	if inode == "" || inode == "0" {
		return nil
	}
	socket := "socket:[" + inode + "]"
	dirs, _ := filepath.Glob("/proc/[0-9]*/fd") // the pattern is valid
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		files, err := os.ReadDir(dir)
		if err != nil { // another user's, or gone
			continue
		}
		for _, f := range files {
			if to, err := os.Readlink(filepath.Join(dir, f.Name())); err == nil && to == socket {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// inodeOf finds a connection in the kernel's table; "" for none.
func inodeOf(table []byte, near, far netip.AddrPort) string {
	const local, remote, inode = 1, 2, 9
	for line := range bytes.Lines(table) {
		f := strings.Fields(string(line))
		if len(f) > inode && isAt(f[local], near) && isAt(f[remote], far) {
			return f[inode]
		}
	}
	return ""
}

// isAt compares an address with the kernel's notation: words in the machine's byte order.
func isAt(text string, at netip.AddrPort) bool {
	host, port, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if !ok || err != nil || len(raw)%4 != 0 || port != fmt.Sprintf("%04X", at.Port()) {
		return false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.BigEndian.PutUint32(raw[i:], binary.NativeEndian.Uint32(raw[i:]))
	}
	ip, ok := netip.AddrFromSlice(raw)
	return ok && ip.Unmap() == at.Addr().Unmap()
}
