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

// Names is ReadDir in any order, for directories of many thousand files: os makes two objects for each entry, and calls the system for every
// hundred of them. The names come in parts, for who has something to do with one while the next are read.
func Names(path string, each func(part []Name)) error {
	dir, err := OpenDir(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	buf := make([]byte, namesBytes)
	for {
		n := 0
		err := retry(func() (err error) { n, err = unix.ReadDirent(int(dir.Fd()), buf); return err })
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

// namesBytes is how much of a directory the system is asked for at a time.
const namesBytes = 64 << 10

// appendNames appends the names among the records that the system has given.
func appendNames(names []Name, records string, dir *os.File) ([]Name, error) {
	const ino, size, kind, start = unsafe.Offsetof(unix.Dirent{}.Ino), unsafe.Offsetof(unix.Dirent{}.Reclen), unsafe.Offsetof(unix.Dirent{}.Type), unsafe.Offsetof(unix.Dirent{}.Name)
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
		if name == "." || name == ".." || record[ino:ino+8] == "\x00\x00\x00\x00\x00\x00\x00\x00" { // that is no entry
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

// errRecords: the file system has given what nobody can read.
var errRecords = errors.New("records of no known form")
