package slice

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"greenlight/internal/durable"
	"greenlight/internal/statcache"
)

// readInState reads a whole file that may have come with a clone.
func readInState(path string) ([]byte, error) {
	if err := durable.CheckDirs(path); err != nil {
		return nil, err
	}
	data, _, err := readStamped(path)
	return data, err
}

// readStamped reads a whole file and says which content it was. It goes to the system directly: os.File costs six more
// calls for each file, to be ready for files that make one wait, and a big project has ten thousand that don't. The caller
// has package durable look at the directories above.
func readStamped(path string) (data []byte, s statcache.Stamp, err error) {
	fail := func(op string, err error) ([]byte, statcache.Stamp, error) {
		return nil, statcache.Stamp{}, &fs.PathError{Op: op, Path: path, Err: err}
	}
	fd := -1
	// Without O_NONBLOCK a named pipe would make us wait for its writer.
	err = again(func() error {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
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

// maxSlice is how large a slice file may be: people and agents read it, too.
const maxSlice = 16 << 20

func maxSize(path string) int64 {
	if filepath.Base(filepath.Dir(path)) == "slices" {
		return maxSlice
	}
	return durable.MaxFile
}

// readAll reads until the end, which for a file that isn't growing is its size.
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

// again repeats a call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
