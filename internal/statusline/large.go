package statusline

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/statedir"
)

const (
	manyFiles = 300       // more slice files, or records of attempts, take too long to read for every prompt
	bigFile   = 256 << 10 // as do more bytes in a single file of state
)

// large says whether the project is too large to be read for every prompt.
func large(root string) bool {
	for _, dir := range []string{"slices", "runs/done"} {
		if names, _ := namesIn(statedir.Path(root, dir), manyFiles+1); names > manyFiles {
			return true
		}
	}
	for _, file := range []string{"GRAPH.json", "STATE.md"} {
		if info, err := os.Stat(statedir.Path(root, file)); err == nil && info.Size() > bigFile {
			return true
		}
	}
	return false
}

// namesIn counts what is in a directory, up to limit.
func namesIn(path string, limit int) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	names, err := f.Readdirnames(limit)
	return len(names), err
}

// roughCounts is what is quick to find out about a large project: the progress that gl last wrote into STATE.md, below the
// table of slices, and how many attempts run.
func roughCounts(pr *project.Project) string {
	var parts []string
	if done, total, ok := writtenProgress(statedir.Path(pr.Root, "STATE.md")); ok {
		parts = append(parts, fmt.Sprintf("%d/%d done", done, total))
	}
	if live, _, err := pr.Runs.Live(); err == nil && len(live) > 0 {
		n := 0
		for _, r := range live {
			if r.Phase != plan.Ended {
				n++
			}
		}
		parts = append(parts, fmt.Sprintf("%d running", n))
	}
	return strings.Join(parts, " | ")
}

// writtenProgress reads the line `Progress: [#####.....] 18/36 slices` at the end of a generated STATE.md.
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

// tailOf is the end of a file, at most limit bytes.
func tailOf(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
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
