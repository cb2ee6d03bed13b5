// Package statcache tells by a file's stamp whether its content is what was read before, as
// git's index does. What was read is valid only for a file with exactly that stamp.
package statcache

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// A Stamp distinguishes one content of a file from another without reading it.
type Stamp struct {
	Size  int64
	Mtime int64 // nanoseconds since 1970
	Ctime int64 // the same, of the inode's last change: no program can set it
	Ino   uint64
	Dev   uint64
}

// Changed returns the file's mtime.
func (s Stamp) Changed() time.Time { return time.Unix(0, s.Mtime) }

// fineTick exceeds one clock tick of file systems with subsecond timestamps: Linux has ticks of
// 1 to 10 ms.
var fineTick = 100 * time.Millisecond

// coarseTick exceeds those of others: ext3 and HFS+ count whole seconds, FAT every other.
const coarseTick = 3 * time.Second

// Tick returns how old a change must be for a stamp to identify what was read, on file systems
// with subsecond timestamps.
func Tick() time.Duration { return fineTick }

// LowerTick changes that for a test, until restore is called.
func LowerTick(to time.Duration) (restore func()) {
	was := fineTick
	fineTick = to
	return func() { fineTick = was }
}

// Settled reports whether the stamp identifies what was read at now: a second write within one
// tick would leave it unchanged.
func (s Stamp) Settled(now time.Time) bool {
	tick := fineTick
	if s.Mtime%int64(time.Second) == 0 && s.Ctime%int64(time.Second) == 0 {
		tick = coarseTick
	}
	return now.Sub(time.Unix(0, max(s.Mtime, s.Ctime))) >= tick
}

// Append appends the stamp's bytes.
func (s Stamp) Append(to []byte) []byte {
	for _, n := range [...]uint64{uint64(s.Size), uint64(s.Mtime), uint64(s.Ctime), s.Ino, s.Dev} {
		to = binary.LittleEndian.AppendUint64(to, n)
	}
	return to
}

// OfOpen returns the stamp of an open file, and whether it is a regular one.
func OfOpen(fd int) (s Stamp, regular bool, err error) {
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return Stamp{}, false, err
	}
	return of(&st), st.Mode&unix.S_IFMT == unix.S_IFREG, nil
}

// of returns the stamp in the result of a stat call.
func of(st *unix.Stat_t) Stamp {
	return Stamp{Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), Ino: st.Ino, Dev: uint64(st.Dev)} //nolint:unconvert // it is an int32 on macOS
}

// Stat is os.Lstat, reduced to what a stamp needs.
func Stat(path string) (Stamp, error) { return statAt(unix.AT_FDCWD, path, path) }

// A Dir is a directory whose files are checked by name, so that the system needn't resolve the
// directory's path for each.
type Dir struct{ fd int }

// OpenDir opens a directory.
func OpenDir(path string) (*Dir, error) {
	d := &Dir{}
	err := again(func() (err error) {
		d.fd, err = unix.Open(path,
			unix.O_RDONLY|unix.O_CLOEXEC|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return d, nil
}

// Stat returns the stamp of a file.
func (d *Dir) Stat(name string) (Stamp, error) { return statAt(d.fd, name, name) }

// Close closes the directory.
func (d *Dir) Close() { _ = unix.Close(d.fd) }

func statAt(dir int, name, path string) (Stamp, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	for errors.Is(err, unix.EINTR) {
		err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return Stamp{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return of(&st), nil
}

// again repeats a call interrupted by a signal.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
