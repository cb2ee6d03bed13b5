// Package statcache keeps what was read of files from one run of gl to the next, with the stamps of the files, as git's index does. What is kept
// is never the truth: it counts for a file that has the very stamp, and for no other, and whoever can't use it reads the files. The
// package knows stamps, the coding and the kept file itself; not what is in it.
package statcache

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// A Stamp is what tells one content of a file from another without reading it.
type Stamp struct {
	Size  int64
	Mtime int64 // nanoseconds since 1970
	Ctime int64 // the same, of the inode's last change: no program can set it
	Ino   uint64
	Dev   uint64
}

// Changed is the file's mtime.
func (s Stamp) Changed() time.Time { return time.Unix(0, s.Mtime) }

// fineTick is longer than one tick of the clocks of file systems that count in parts of a second: Linux has ticks of 1 to 10 ms.
var fineTick = 100 * time.Millisecond

// coarseTick is longer than those of the others: ext3 and HFS+ count whole seconds, FAT two of them.
const coarseTick = 3 * time.Second

// Tick is how old a change must be for a stamp to vouch for what was read, where the file system counts in parts of a second.
func Tick() time.Duration { return fineTick }

// LowerTick changes that for a test, until it calls restore.
func LowerTick(to time.Duration) (restore func()) {
	was := fineTick
	fineTick = to
	return func() { fineTick = was }
}

// Settled says whether the stamp vouches for what was read at now: a second write within one tick would leave it as it is.
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

// OfOpen is the stamp of an open file, and whether that is a regular one.
func OfOpen(fd int) (s Stamp, regular bool, err error) {
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return Stamp{}, false, err
	}
	return of(&st), st.Mode&unix.S_IFMT == unix.S_IFREG, nil
}

// of is the stamp in what the system says of a file.
func of(st *unix.Stat_t) Stamp {
	return Stamp{Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), Ino: st.Ino, Dev: uint64(st.Dev)} //nolint:unconvert // it is an int32 on macOS
}

// Stat is os.Lstat as far as a stamp needs it.
func Stat(path string) (Stamp, error) { return statAt(unix.AT_FDCWD, path, path) }

// A Dir is a directory whose files are looked at, each by its name: the system then doesn't walk down to it for each of them.
type Dir struct{ fd int }

// OpenDir opens a directory. One that can't be opened has no files.
func OpenDir(path string) (*Dir, error) {
	d := &Dir{}
	err := again(func() (err error) {
		d.fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return d, nil
}

// Stat is the stamp of a file.
func (d *Dir) Stat(name string) (Stamp, error) { return statAt(d.fd, name, name) }

// Close ends the use of it.
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

// again repeats a call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
