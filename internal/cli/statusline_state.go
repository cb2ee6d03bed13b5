package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"greenlight/internal/gsd"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/specwright"
	"greenlight/internal/statedir"
)

// projectState is where the project that dir belongs to stands, in the words of each system that keeps its state; "" where
// there is none.
func projectState(getenv func(string) string, dir string, compact bool) string {
	position := func() string {
		p, _ := gsd.ReadPosition(dir, getenv)
		return p.Line(compact)
	}
	root, err := project.Find(dir, getenv)
	if err != nil {
		return position()
	}
	pr, err := project.Open(root)
	if err != nil {
		return position()
	}
	var states []string
	for _, view := range pr.Views() {
		text := position
		if view.Tracker.Format() != gsdFormat {
			text = func() string { return stateOf(view, compact) }
		}
		if s := text(); s != "" {
			states = append(states, s)
		}
	}
	return strings.Join(states, separator)
}

const gsdFormat = "gsd"

// stateOf is "18/36 done | 4 running | 1 needs you". In the place of the counts a Specwright project has its work:
// "shop/cart building 1/3 | 1 running".
func stateOf(pr *project.Project, compact bool) string {
	store, ok := pr.Tracker.(*specwright.Store)
	if !ok {
		return countsOf(pr)
	}
	st, err := store.Read()
	if err != nil {
		return filepath.Base(specwright.StateFile) + " can't be understood"
	}
	now := time.Now()
	line := st.Line(pr.Root, specwright.ReadConfig(pr.Root), now, compact)
	if p, err := pr.Plan(now, pr.Options()); err == nil {
		line = strings.Join(append([]string{line}, concerns(p)...), " | ")
	}
	return line
}

func countsOf(pr *project.Project) string {
	if pr.Slices != nil && large(pr.Root) {
		return roughCounts(pr)
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return ""
	}
	return strings.Join(append([]string{fmt.Sprintf("%d/%d done", p.Done, p.Total)}, concerns(p)...), " | ")
}

// concerns are what runs, what needs a person, and a hold.
func concerns(p *plan.Plan) []string {
	var parts []string
	if n := len(p.Running); n > 0 {
		parts = append(parts, fmt.Sprintf("%d running", n))
	}
	switch n := len(p.Failed) + len(p.Stalled) + len(p.Waiting) + len(p.Unknown); n {
	case 0:
	case 1:
		parts = append(parts, "1 needs you")
	default:
		parts = append(parts, fmt.Sprintf("%d need you", n))
	}
	if p.Hold != nil {
		parts = append(parts, "held until "+p.Hold.Until.Local().Format("15:04"))
	}
	return parts
}

const (
	manyFiles = 300       // slice files, and records of attempts, that can be read for every prompt
	bigFile   = 256 << 10 // bytes of a single file of state
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

// roughCounts is what a large project costs little to say: the progress as gl last wrote it into STATE.md, behind the table
// of slices, and the attempts that run.
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
