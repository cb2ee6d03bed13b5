//go:build unix

package durable

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Name is an entry of a directory.
type Name struct {
	Name string
	Dir  bool
}

// Names is like ReadDir, unsorted, for directories of many thousand files: package os allocates
// two objects for each entry and makes a system call per hundred. The names come in parts, so
// that callers can process one while the next are read.
func Names(path string, each func(part []Name)) error {
	dir, err := OpenDir(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	buf := make([]byte, namesBytes)
	for {
		n := 0
		err := retry(func() (err error) {
			n, err = unix.ReadDirent(int(dir.Fd()), buf)
			return err
		})
		if err != nil || n == 0 {
			return named("read", path, err)
		}
		names, err := appendNames(nil, string(buf[:n]), dir)
		if err != nil {
			return named("read", path, err)
		}
		each(names)
	}
}

// namesBytes is how much of a directory is read at a time.
const namesBytes = 64 << 10

// appendNames appends the names in the records returned by the system.
func appendNames(names []Name, records string, dir *os.File) ([]Name, error) {
	const ino, size, kind, start = unsafe.Offsetof(unix.Dirent{}.Ino),
		unsafe.Offsetof(unix.Dirent{}.Reclen), unsafe.Offsetof(unix.Dirent{}.Type),
		unsafe.Offsetof(unix.Dirent{}.Name)
	for len(records) > 0 {
		if len(records) <= int(start) {
			return nil, errRecords
		}
		n := int(binary.NativeEndian.Uint16([]byte(records[size : size+2])))
		if n <= int(start) || n > len(records) {
			return nil, errRecords
		}
		record := records[:n]
		records = records[n:]
		name, _, _ := strings.Cut(record[start:], "\x00")
		// not an entry
		if name == "." || name == ".." || record[ino:ino+8] == "\x00\x00\x00\x00\x00\x00\x00\x00" {
			continue
		}
		is := Name{name, record[kind] == unix.DT_DIR}
		if record[kind] == unix.DT_UNKNOWN {
			info, err := os.Lstat(dir.Name() + string(os.PathSeparator) + name)
			if errors.Is(err, syscall.ENOENT) {
				continue
			}
			is.Dir = err == nil && info.IsDir()
		}
		names = append(names, is)
	}
	return names, nil
}

// errRecords is returned for malformed directory records.
var errRecords = errors.New("records of no known form")
