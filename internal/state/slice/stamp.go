package slice

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/statcache"
)

// readInState reads a whole file that may come from a clone.
func readInState(path string) ([]byte, error) {
	if err := durable.CheckDirs(path); err != nil {
		return nil, err
	}
	data, _, err := readStamped(path)
	return data, err
}

// readStamped reads a whole file and returns its stamp. It makes system calls directly: os.File
// costs six more per file, to handle files that block, and a big project has ten thousand files
// that don't. The caller has package durable check the directories above.
func readStamped(path string) (data []byte, s statcache.Stamp, err error) {
	fail := func(op string, err error) ([]byte, statcache.Stamp, error) {
		return nil, statcache.Stamp{}, &fs.PathError{Op: op, Path: path, Err: err}
	}
	fd := -1
	// Without O_NONBLOCK, opening a named pipe would wait for its writer.
	err = again(func() error {
		fd, err = syscall.Open(path,
			syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		return err
	})
	if errors.Is(err, syscall.ELOOP) {
		if link := durable.CheckPath(path); link != nil {
			return nil, statcache.Stamp{}, link
		}
	}
	if err != nil {
		return fail("open", err)
	}
	defer syscall.Close(fd)
	s, regular, err := statcache.OfOpen(fd)
	if err != nil {
		return fail("stat", err)
	}
	if !regular {
		return fail("read", durable.ErrIrregular)
	}
	if most := maxSize(path); s.Size > most {
		return fail("read", &durable.SizeError{Max: most})
	}
	data, err = readAll(fd, s.Size)
	if err != nil {
		return fail("read", err)
	}
	return data, s, nil
}

// maxSlice is the maximum size of a slice file: people and agents read it, too.
const maxSlice = 16 << 20

func maxSize(path string) int64 {
	if filepath.Base(filepath.Dir(path)) == "slices" {
		return maxSlice
	}
	return durable.MaxFile
}

// readAll reads to the end of the file, which is size bytes unless the file is growing.
func readAll(fd int, size int64) ([]byte, error) {
	data := make([]byte, 0, size+1)
	for {
		n := 0
		err := again(func() (err error) {
			n, err = syscall.Read(fd, data[len(data):cap(data)])
			return err
		})
		if err != nil {
			return nil, err
		}
		data = data[:len(data)+n]
		switch {
		case n == 0 || int64(len(data)) == size && cap(data) > len(data):
			return data, nil
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
		}
	}
}

// again repeats a call interrupted by a signal.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
