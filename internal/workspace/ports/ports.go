// Package ports gives each worktree ten TCP ports of its own, so that servers of parallel
// agents don't collide. A block of ports is a file whose kernel lock marks it as taken. A
// process that inherits the open file shares the block, and the kernel frees it when the last
// of these processes ends, in any way.
package ports

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"greenlight/internal/base/durable"
)

// Size is how many ports a block has.
const Size = 10

// Blocks lie below the ports that systems use for outgoing connections, and below Kubernetes'
// node ports.
const (
	lowest  = 20_000
	highest = 30_000
)

// known returns ports in the range that programs use by default, and that blocks must leave
// free.
func known() []int {
	return []int{
		24678,               // Vite
		25565,               // Minecraft
		27015, 27017, 27018, // Steam, MongoDB
		28015, // RethinkDB
		29418, // Gerrit
	}
}

// ErrNone: every block is taken.
var ErrNone = errors.New("no free block of ten ports")

// A Block is ten ports starting at First. It is held until Close has been called and every
// process that inherited File is gone.
type Block struct {
	First int
	File  *os.File // locked
	Busy  []int    // ports in use; only a preferred block may have any
}

// Close releases this process's hold on the block.
func (b *Block) Close() error { return b.File.Close() }

// Dir returns the directory of this user's blocks: $XDG_STATE_HOME/gl/ports.
func Dir(getenv func(string) string) (string, error) {
	base := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("HOME or XDG_STATE_HOME must name an absolute directory, for the ports that are taken")
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "gl", "ports"), nil
}

// Allocate takes the block that begins at prefer or, if that is taken, the first free one
// without ports in use. The preferred block may have ports in use: the services that setup has
// started for this worktree. dir is the directory of the blocks' files. The error is ErrNone if
// no block is left.
func Allocate(dir string, prefer int) (*Block, error) {
	text, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range") // exists only on Linux
	low, high := limits(string(text))
	return allocate(dir, prefer, blocks(low, high), listening)
}

// limits returns the range for blocks, given the range for outgoing connections in the kernel's
// format.
func limits(outgoing string) (low, high int) {
	if fields := strings.Fields(outgoing); len(fields) == 2 {
		if first, err := strconv.Atoi(fields[0]); err == nil && first >= 11_000 && first < highest {
			return max(10_000, first-(highest-lowest)), first
		}
	}
	return lowest, highest // also if the system's range begins too low to stay below it
}

// blocks returns the first ports of all blocks in a range.
func blocks(low, high int) []int {
	var list []int
	for first := (low + Size - 1) / Size * Size; first+Size <= high; first += Size {
		if !slices.ContainsFunc(known(), func(p int) bool { return p >= first && p < first+Size }) {
			list = append(list, first)
		}
	}
	return list
}

func allocate(dir string, prefer int, all []int, listening func(port int) bool) (*Block, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if slices.Contains(all, prefer) {
		b, err := take(dir, prefer)
		if err != nil {
			return nil, err
		}
		if b != nil {
			b.Busy = busy(prefer, listening)
			return b, nil
		}
	}
	for _, first := range all {
		b, err := take(dir, first)
		if err != nil {
			return nil, err
		}
		if b == nil {
			continue
		}
		if len(busy(first, listening)) == 0 {
			return b, nil
		}
		b.Close()
	}
	return nil, ErrNone
}

// take locks a block's file; it returns nil if the lock is taken. The files are never removed,
// so that a lock excludes all processes.
func take(dir string, first int) (*Block, error) {
	f, err := durable.OpenAppend(filepath.Join(dir, strconv.Itoa(first)), 0o600)
	if err == nil {
		if err = durable.Claim(f); err == nil {
			return &Block{First: first, File: f}, nil
		}
		f.Close()
	}
	if errors.Is(err, durable.ErrLocked) {
		return nil, nil
	}
	return nil, fmt.Errorf("take the ports from %d on: %w", first, err)
}

func busy(first int, listening func(port int) bool) []int {
	var list []int
	for port := first; port < first+Size; port++ {
		if listening(port) {
			list = append(list, port)
		}
	}
	return list
}

// listening reports whether the port is in use: on the loopback addresses, or on all addresses
// of a kind, which on some systems doesn't keep others from the loopback.
func listening(port int) bool {
	for _, at := range [][2]string{{"tcp4", "127.0.0.1"}, {"tcp6", "::1"}, {"tcp4", "0.0.0.0"},
		{"tcp6", "::"}} {
		l, err := net.Listen(at[0], net.JoinHostPort(at[1], strconv.Itoa(port)))
		if err == nil {
			l.Close()
		} else if errors.Is(err, syscall.EADDRINUSE) { // without IPv6 the error is a different one
			return true
		}
	}
	return false
}
