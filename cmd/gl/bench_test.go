package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The sizes of the measured projects, in slices.
var benchSizes = []int{50, 1000, 10000}

// BenchmarkCommands measures whole processes, beside a limit if there is one. The limits are
// what a person notices, not the lower bound, which BenchmarkBare measures: an optimization
// stays if it saves 30 ms at 1,000 slices, or 1 % of a night of 60 slices.
func BenchmarkCommands(b *testing.B) {
	gl := buildGl(b)
	limit, set := map[int]float64{1000: 50, 10000: 500}, 0 // in milliseconds, by size
	for _, c := range []struct {
		name string
		args func() []string
	}{
		{"status-compact", func() []string { return []string{"status", "--compact"} }},
		{"status", func() []string { return []string{"status"} }},
		{"state-show", func() []string { return []string{"state", "show", "S-20"} }},
		{"state-set", func() []string {
			set++
			return []string{"state", "set", "S-20", fmt.Sprintf("milestone=m%d", set)}
		}},
		{"status-json", func() []string { return []string{"status", "--json"} }},
	} {
		for _, n := range benchSizes {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				dir := benchProject(b, n, 0)
				for range 3 { // the index, then STATE.md's digest
					time.Sleep(150 * time.Millisecond)
					runIn(b, dir, gl, "status")
				}
				for b.Loop() {
					runIn(b, dir, gl, c.args()...)
				}
				reportLimit(b, limit[n])
			})
		}
	}
}

// BenchmarkBare measures the minimum for all commands: starting a Go process, and a stat or a
// read of each file.
func BenchmarkBare(b *testing.B) {
	hello := buildProgram(b, "hello", helloProgram)
	b.Run("hello", func(b *testing.B) {
		for b.Loop() {
			runIn(b, b.TempDir(), hello)
		}
	})
	for _, n := range benchSizes {
		dir := filepath.Join(benchProject(b, n, 0), ".greenlight", "slices")
		b.Run(fmt.Sprintf("stat/%d", n), func(b *testing.B) {
			for b.Loop() {
				eachFile(b, dir, func(path string) error { _, err := os.Lstat(path); return err })
			}
		})
		b.Run(fmt.Sprintf("read/%d", n), func(b *testing.B) {
			for b.Loop() {
				eachFile(b, dir, func(path string) error {
					_, err := os.ReadFile(path)
					return err
				})
			}
		})
	}
}

const helloProgram = `package main

import "os"

func main() { os.Stdout.WriteString("hello\n") }
`

// BenchmarkAttempt measures what a run adds to an attempt: 100 tasks that only complete their
// slices, 4 at a time, while all other slices are done. The limit doesn't depend on the size.
func BenchmarkAttempt(b *testing.B) {
	const tasks, limit = 100, 40
	gl, agent := buildGl(b), buildProgram(b, "agent", benchAgent)
	for _, n := range []int{200, 2000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				dir := benchProject(b, n, tasks)
				writeConfig(b, dir, agent)
				runIn(b, dir, gl, "trust", "--yes")
				b.StartTimer()
				runIn(b, dir, gl, "slice", "--watch", "--runner", "process", "--max", "4")
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/tasks, "ms/attempt")
			b.ReportMetric(limit, "limit-ms/attempt")
		})
	}
}

// benchAgent marks its slice complete, by rename.
const benchAgent = `package main

import (
	"os"
	"strings"
)

func main() {
	path := ".greenlight/slices/" + os.Getenv("GL_SLICE") + ".md"
	data, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	text := strings.Replace(strings.Replace(string(data), "status: in_progress", "status: complete", 1), "step: none", "step: complete", 1)
	if err := os.WriteFile(path+".tmp", []byte(text), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		panic(err)
	}
}
`

func reportLimit(b *testing.B, ms float64) {
	if ms > 0 {
		b.ReportMetric(ms, "limit-ms")
	}
}

// benchProject creates a project of n slices with GRAPH.json, as gl writes them; open of them
// are left to build.
func benchProject(b *testing.B, n, open int) string {
	b.Helper()
	needs := func(i int) []string {
		if open > 0 || i == 1 {
			return []string{}
		}
		return []string{fmt.Sprintf("S-%d", i/2)}
	}
	return benchProjectOf(b, n, needs, func(i int) bool {
		return i <= n/2 || open > 0 && i <= n-open
	})
}

// benchProjectOf creates a project with the given needs and finished slices.
func benchProjectOf(b *testing.B, n int, needs func(i int) []string, done func(i int) bool) string {
	b.Helper()
	dir := b.TempDir()
	slices := filepath.Join(dir, ".greenlight", "slices")
	if err := os.MkdirAll(slices, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, ".greenlight", "runs"), 0o700); err != nil {
		b.Fatal(err)
	}
	type entry struct {
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		Description string   `json:"description"`
		DependsOn   []string `json:"depends_on"`
		Contracts   []string `json:"contracts"`
	}
	var graph struct {
		Slices []entry `json:"slices"`
	}
	for i := 1; i <= n; i++ {
		id, deps, status, step := fmt.Sprintf("S-%d", i), append([]string{}, needs(i)...),
			"pending", "none"
		if done(i) {
			status, step = "complete", "complete"
		}
		graph.Slices = append(graph.Slices, entry{id, fmt.Sprintf("Slice number %d", i),
			strings.Repeat("words ", 20), deps, []string{}})
		text := fmt.Sprintf("---\nid: %s\nstatus: %s\nstep: %s\nmilestone: m1\nstarted: \nupdated: 2026-01-01T00:00:00Z\ntests: 3\nsecurity_tests: 1\nsession: \ndeps: %s\n---\n\n# %s: Slice number %d\n\n## Why\nbecause\n\n## What\n%s\n## Decisions\n\n## Files\n",
			id, status, step, strings.Join(deps, ", "), id, i,
			strings.Repeat("some prose here\n", 10))
		if err := os.WriteFile(filepath.Join(slices, id+".md"), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	data, err := json.MarshalIndent(graph, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".greenlight", "GRAPH.json"), data, 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	return dir
}

// buildGl builds gl as users have it: the test binary is larger and starts more slowly.
func buildGl(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "gl")
	build(b, "-trimpath", "-o", path, ".")
	return path
}

func buildProgram(b *testing.B, name, source string) string {
	b.Helper()
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name+".go"), []byte(source), 0o600); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, name)
	build(b, "-o", path, filepath.Join(dir, name+".go"))
	return path
}

func build(b *testing.B, args ...string) {
	b.Helper()
	c := exec.Command("go", append([]string{"build"}, args...)...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("go build %q: %v\n%s", args, err, out)
	}
}

func runIn(b *testing.B, dir, program string, args ...string) {
	b.Helper()
	c := commandIn(b.Context(), dir, program, args...)
	var errText strings.Builder
	c.Stderr = &errText
	if err := c.Run(); err != nil {
		b.Fatalf("%s %q: %v\n%s", filepath.Base(program), args, err, errText.String())
	}
}

func commandIn(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, program, args...)
	c.Dir, c.Stdout = dir, io.Discard
	home := dir + ".home" // beside it, because trust must not be recorded inside a project
	c.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "XDG_STATE_HOME="+filepath.Join(home, ".local/state"),
		"GREENLIGHT_ROOT=", "TMUX_TMPDIR="+home, "TMUX=")
	return c
}

func eachFile(b *testing.B, dir string, do func(path string) error) {
	b.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries {
		if err := do(filepath.Join(dir, e.Name())); err != nil {
			b.Fatal(err)
		}
	}
}
