package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// BootTime returns when the machine was started; false unless the system reports it like Linux.
func BootTime() (time.Time, bool) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, false
	}
	for line := range bytes.Lines(data) {
		if text, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("btime ")); ok {
			seconds, err := strconv.ParseInt(string(text), 10, 64)
			return time.Unix(seconds, 0), err == nil && seconds > 0
		}
	}
	return time.Time{}, false
}

// mostNamed is how many processes are named.
const mostNamed = 5

// Users names the processes that have the file open, as far as they are visible.
func Users(path string) []string {
	return processes(func(dir string) bool {
		open, _ := os.ReadDir(filepath.Join(dir, "fd"))
		return slices.ContainsFunc(open, func(e os.DirEntry) bool {
			to, err := os.Readlink(filepath.Join(dir, "fd", e.Name()))
			return err == nil && to == path
		})
	})
}

// Gits names the git processes in the repository, by their working directories.
func Gits(common string) []string {
	top := filepath.Dir(common)
	return processes(func(dir string) bool {
		name, _ := os.ReadFile(filepath.Join(dir, "comm"))
		at, err := os.Readlink(filepath.Join(dir, "cwd"))
		return err == nil && strings.HasPrefix(string(name), "git") &&
			(at == top || strings.HasPrefix(at, top+"/"))
	})
}

// processes names the processes for whose directory in /proc is returns true; none without
// /proc.
func processes(is func(dir string) bool) (list []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	more := 0
	for _, dir := range dirs {
		if !is(dir) {
			continue
		}
		if len(list) == mostNamed {
			more++
			continue
		}
		name, _ := os.ReadFile(filepath.Join(dir, "comm"))
		list = append(list,
			fmt.Sprintf("pid %s (%s)", filepath.Base(dir), strings.TrimSpace(string(name))))
	}
	if more > 0 {
		list[len(list)-1] += fmt.Sprintf(" and %d more", more)
	}
	return list
}
