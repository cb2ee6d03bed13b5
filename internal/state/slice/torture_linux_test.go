package slice

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"
)

// saveByRename replaces a file and returns the old text. It exchanges the two files in one step
// (renameat2 with RENAME_EXCHANGE), so that the overwritten text is known for certain.
func saveByRename(path, text string) (over string, err error) {
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".swp")
	if err := os.WriteFile(temp, []byte(text), 0o644); err != nil {
		return "", err
	}
	defer os.Remove(temp)
	number := uintptr(276) // all ports added after these
	switch runtime.GOARCH {
	case "amd64":
		number = 316
	case "386":
		number = 353
	case "arm":
		number = 382
	}
	from, err := syscall.BytePtrFromString(temp)
	if err != nil {
		return "", err
	}
	to, err := syscall.BytePtrFromString(path)
	if err != nil {
		return "", err
	}
	const here, exchange = ^uintptr(99), 2 // AT_FDCWD is -100
	if _, _, errno := syscall.Syscall6(number, here, uintptr(unsafe.Pointer(from)), here, uintptr(unsafe.Pointer(to)), exchange, 0); errno != 0 {
		return "", errno
	}
	data, err := os.ReadFile(temp)
	return string(data), err
}
