// Package ports gives each worktree ten TCP ports of its own, so that the servers of agents that work side by side don't meet. A
// block of ports is a file whose kernel lock says that it is taken. Whoever inherits the open file has the block too, and the
// kernel frees it when the last of them is gone, however it went.
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

	"greenlight/internal/durable"
)

// Size is how many ports a block has.
const Size = 10

// Blocks lie below the ports that systems give to outgoing connections, and below Kubernetes' node ports.
const (
	lowest  = 20_000
	highest = 30_000
)

// known are ports in the range that programs use by themselves: nobody's server should find them taken.
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

// A Block is ten ports, from First on, until Close and until every process that inherited File is gone.
type Block struct {
	First int
	File  *os.File // locked
	Busy  []int    // ports on which somebody listens; only a block that was preferred may have any
}

// Close gives the block back as far as this process is concerned.
func (b *Block) Close() error { return b.File.Close() }

// Dir is where the blocks of this user are: $XDG_STATE_HOME/gl/ports.
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

// Allocate takes the block that begins at prefer or, if that is somebody else's, the first one that is free and on whose ports
// nobody listens. In the preferred block somebody may: the services that setup has started for this worktree. dir is the
// directory with the blocks' files. The error is ErrNone where there is nothing left.
func Allocate(dir string, prefer int) (*Block, error) {
	text, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range") // only Linux has it
	low, high := limits(string(text))
	return allocate(dir, prefer, blocks(low, high), listening)
}

// limits are the range for blocks, by the range for outgoing connections as the kernel writes it.
func limits(outgoing string) (low, high int) {
	if fields := strings.Fields(outgoing); len(fields) == 2 {
		if first, err := strconv.Atoi(fields[0]); err == nil && first >= 11_000 && first < highest {
			return max(10_000, first-(highest-lowest)), first
		}
	}
	return lowest, highest // also where the system's range begins too low to stay below it
}

// blocks are the first ports of all blocks in a range.
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

// take locks a block's file; nil where somebody has it. The files are never removed, so that the lock of one is the lock of all.
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

// listening says whether anybody listens on the port: on the loopback addresses, or on all of a kind, which on some systems
// doesn't keep others from the loopback.
func listening(port int) bool {
	for _, at := range [][2]string{{"tcp4", "127.0.0.1"}, {"tcp6", "::1"}, {"tcp4", "0.0.0.0"}, {"tcp6", "::"}} {
		l, err := net.Listen(at[0], net.JoinHostPort(at[1], strconv.Itoa(port)))
		if err == nil {
			l.Close()
		} else if errors.Is(err, syscall.EADDRINUSE) { // without IPv6 it is another error
			return true
		}
	}
	return false
}
