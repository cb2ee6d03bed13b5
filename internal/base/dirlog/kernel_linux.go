package dirlog

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"syscall"
)

// local are the file systems that only this machine's kernel changes; it doesn't see all
// changes to others.
var local = []int64{
	0xef53,     // ext2, ext3, ext4
	0x58465342, // xfs
	0x9123683e, // btrfs
	0x01021994, // tmpfs
	0xf2f52010, // f2fs
	0x2fc12fc1, // zfs
	0xca451a4e, // bcachefs
	0x794c7630, // overlayfs, in containers
}

const (
	changes = syscall.IN_CREATE | syscall.IN_DELETE | syscall.IN_MODIFY | syscall.IN_ATTRIB |
		syscall.IN_MOVED_FROM | syscall.IN_MOVED_TO
	ends = syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF | syscall.IN_IGNORED |
		syscall.IN_UNMOUNT
)

// A kernelLog is an inotify queue.
type kernelLog struct {
	fd  int
	buf [16 << 10]byte
}

func openLog(dir string) (*kernelLog, error) {
	var fs syscall.Statfs_t
	if err := again(func() error { return syscall.Statfs(dir, &fs) }); err != nil {
		return nil, err
	}
	if !slices.Contains(local, int64(fs.Type)) { //nolint:unconvert // 32 bits on some systems
		return nil, errors.ErrUnsupported
	}
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	const mask = changes | syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF | syscall.IN_ONLYDIR |
		syscall.IN_DONT_FOLLOW
	if _, err := syscall.InotifyAddWatch(fd, dir, mask); err != nil {
		syscall.Close(fd)
		return nil, err
	}
	return &kernelLog{fd: fd}, nil
}

// read empties the queue. over reports that changes are missing, or that the directory itself
// has changed.
func (l *kernelLog) read() (names []string, over bool) {
	for {
		n := 0
		err := again(func() (err error) {
			n, err = syscall.Read(l.fd, l.buf[:])
			return err
		})
		if errors.Is(err, syscall.EAGAIN) {
			return names, over
		}
		if err != nil || n == 0 {
			return nil, true
		}
		for rest := l.buf[:n]; len(rest) >= syscall.SizeofInotifyEvent; {
			mask := binary.NativeEndian.Uint32(rest[4:])
			end := syscall.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(rest[12:]))
			name := strings.TrimRight(string(rest[syscall.SizeofInotifyEvent:end]), "\x00")
			rest = rest[end:]
			if mask&(syscall.IN_Q_OVERFLOW|ends) != 0 || name == "" {
				over = true
			} else if len(names) == 0 || names[len(names)-1] != name {
				names = append(names, name)
			}
		}
	}
}

func (l *kernelLog) close() { syscall.Close(l.fd) }

// again repeats a call interrupted by a signal.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
