package slice

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/state/tracker"
)

const (
	manyFiles = 300       // slice files, or records of attempts, that can be read for every prompt
	bigFile   = 256 << 10 // bytes of a single state file
)

// Line implements tracker.Tracker. For a large project it returns the progress that gl last
// wrote to STATE.md.
func (d *Dir) Line(bool) tracker.Line {
	if !d.large() {
		return tracker.Line{}
	}
	line := tracker.Line{Rest: tracker.WithRunning}
	if done, total, ok := writtenProgress(d.path("STATE.md")); ok {
		line.Text = fmt.Sprintf("%d/%d done", done, total)
	}
	return line
}

// large reports whether the project is too large to be read for every prompt.
// There is no cache instead: the status line would have to write it, and it writes nothing.
func (d *Dir) large() bool {
	for _, dir := range []string{"slices", "runs/done"} {
		if countFiles(d.path(dir), manyFiles+1) > manyFiles {
			return true
		}
	}
	for _, file := range []string{"GRAPH.json", "STATE.md"} {
		if info, err := durable.Stat(d.path(file)); err == nil && info.Size() > bigFile {
			return true
		}
	}
	return false
}

// countFiles counts the entries of a directory, up to limit.
func countFiles(path string, limit int) int {
	f, err := durable.OpenDir(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	names, _ := f.Readdirnames(limit)
	return len(names)
}

// writtenProgress reads the line `Progress: [#####.....] 18/36 slices` at the end of a
// generated STATE.md.
func writtenProgress(path string) (done, total int, ok bool) {
	tail, err := tailOf(path, bigFile)
	if err != nil {
		return 0, 0, false
	}
	i := bytes.LastIndex(tail, []byte("\nProgress: ["))
	if i < 0 {
		return 0, 0, false
	}
	line, _, _ := strings.Cut(string(tail[i+1:]), "\n")
	_, counts, _ := strings.Cut(line, "] ")
	n, err := fmt.Sscanf(counts, "%d/%d slices", &done, &total)
	return done, total, err == nil && n == 2
}

// tailOf returns the end of a file, at most limit bytes.
func tailOf(path string, limit int64) ([]byte, error) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	var b bytes.Buffer
	_, err = b.ReadFrom(io.NewSectionReader(f, max(0, info.Size()-limit), limit))
	return b.Bytes(), err
}
