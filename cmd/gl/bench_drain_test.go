package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A benchTask is a task of a graph: its duration, and the earlier tasks that it needs.
type benchTask struct {
	ms    int
	needs []int
}

// benchGraph returns 200 tasks of 0.05 to 0.5 s that need up to three of the forty before them.
func benchGraph() []benchTask {
	random := rand.New(rand.NewPCG(4, 2))
	tasks := make([]benchTask, 200)
	for i := range tasks {
		tasks[i].ms = 50 + random.IntN(450)
		for range random.IntN(4) {
			if d := max(0, i-1-random.IntN(40)); i > 0 && !slices.Contains(tasks[i].needs, d) {
				tasks[i].needs = append(tasks[i].needs, d)
			}
		}
	}
	return tasks
}

// lowerBound returns the shortest possible time: the greater of all work spread over all slots,
// and the longest path.
func lowerBound(tasks []benchTask, slots int) time.Duration {
	work, path := 0, 0
	until := make([]int, len(tasks))
	for i, t := range tasks {
		work += t.ms
		for _, d := range t.needs {
			until[i] = max(until[i], until[d])
		}
		until[i] += t.ms
		path = max(path, until[i])
	}
	return time.Duration(max(work/slots, path)) * time.Millisecond
}

// benchSleeper waits for the duration of its task: as an agent, which gets its slice and marks
// it complete, or for ninja, which passes the time and the file to write.
const benchSleeper = `package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	id := os.Getenv("GL_SLICE")
	if len(os.Args) == 3 {
		ms, _ := strconv.Atoi(os.Args[1])
		time.Sleep(time.Duration(ms) * time.Millisecond)
		check(os.WriteFile(os.Args[2], nil, 0o600))
		return
	}
	text, err := os.ReadFile("ms/" + id)
	check(err)
	ms, _ := strconv.Atoi(string(text))
	time.Sleep(time.Duration(ms) * time.Millisecond)
	path := ".greenlight/slices/" + id + ".md"
	data, err := os.ReadFile(path)
	check(err)
	done := strings.Replace(strings.Replace(string(data), "status: in_progress", "status: complete", 1), "step: none", "step: complete", 1)
	check(os.WriteFile(path+".tmp", []byte(done), 0o600))
	check(os.Rename(path+".tmp", path))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

// BenchmarkDrain compares whole runs with the lower bound and, if ninja is installed, with
// ninja on the same graph.
func BenchmarkDrain(b *testing.B) {
	gl, sleeper, tasks := buildGl(b), buildProgram(b, "sleeper", benchSleeper), benchGraph()
	const limit = 1.10
	for _, slots := range []int{4, 8} {
		bound := lowerBound(tasks, slots)
		ofBound := func(b *testing.B, f func()) {
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(bound), "of-bound")
		}
		for _, runner := range []string{"process", "tmux"} {
			b.Run(fmt.Sprintf("%s/%d", runner, slots), func(b *testing.B) {
				if _, err := exec.LookPath("tmux"); err != nil && runner == "tmux" {
					b.Skip("no tmux")
				}
				ofBound(b, func() {
					b.StopTimer()
					dir := graphProject(b, tasks, sleeper)
					runIn(b, dir, gl, "trust", "--yes")
					b.StartTimer()
					runIn(b, dir, gl, "slice", "--watch", "--runner", runner, "--max",
						strconv.Itoa(slots))
					b.StopTimer()
					endTmux(dir)
					b.StartTimer()
				})
				b.ReportMetric(limit, "limit-of-bound")
			})
		}
		b.Run(fmt.Sprintf("ninja/%d", slots), func(b *testing.B) {
			if _, err := exec.LookPath("ninja"); err != nil {
				b.Skip("no ninja")
			}
			ofBound(b, func() {
				b.StopTimer()
				dir := ninjaProject(b, tasks, sleeper)
				b.StartTimer()
				runIn(b, dir, "ninja", "-j", strconv.Itoa(slots))
			})
		})
	}
}

// endTmux ends the server that a run left, whose socket is beside the project.
func endTmux(dir string) {
	sockets, _ := filepath.Glob(filepath.Join(dir+".home", "tmux-*", "*"))
	for _, s := range sockets {
		_ = exec.Command("tmux", "-S", s, "kill-server").Run()
	}
}

func graphProject(b *testing.B, tasks []benchTask, agent string) string {
	b.Helper()
	needs := func(i int) (ids []string) {
		for _, d := range tasks[i-1].needs {
			ids = append(ids, fmt.Sprintf("S-%d", d+1))
		}
		return ids
	}
	dir := benchProjectOf(b, len(tasks), needs, func(int) bool { return false })
	writeConfig(b, dir, agent)
	for i, t := range tasks {
		writeBench(b, filepath.Join(dir, "ms", fmt.Sprintf("S-%d", i+1)), strconv.Itoa(t.ms))
	}
	return dir
}

func ninjaProject(b *testing.B, tasks []benchTask, sleeper string) string {
	b.Helper()
	dir := b.TempDir()
	var text strings.Builder
	fmt.Fprintf(&text, "rule task\n  command = %s $ms $out\n", sleeper)
	for i, t := range tasks {
		fmt.Fprintf(&text, "build t%d: task", i)
		for _, d := range t.needs {
			fmt.Fprintf(&text, " t%d", d)
		}
		fmt.Fprintf(&text, "\n  ms = %d\n", t.ms)
	}
	writeBench(b, filepath.Join(dir, "build.ninja"), text.String())
	return dir
}

// writeConfig makes the program the project's agent.
func writeConfig(b *testing.B, dir, agent string) {
	b.Helper()
	config, err := json.Marshal(map[string]any{"parallel": map[string]any{
		"agent":  "bench",
		"agents": map[string]any{"bench": map[string]any{"command": []string{agent}}}}})
	if err != nil {
		b.Fatal(err)
	}
	writeBench(b, filepath.Join(dir, ".greenlight", "config.json"), string(config))
}

func writeBench(b *testing.B, path, text string) {
	b.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkDrainAtRest measures a run of 10,000 slices while its one agent works: its peak
// memory and its processor time.
func BenchmarkDrainAtRest(b *testing.B) {
	const rest = 40 * time.Second
	gl, sleeper := buildGl(b), buildProgram(b, "sleeper", benchSleeper)
	dir := benchProject(b, 10000, 20)
	writeConfig(b, dir, sleeper)
	for i := 9981; i <= 10000; i++ {
		ms := "1"
		if i == 10000 {
			ms = strconv.Itoa(int(time.Minute / time.Millisecond))
		}
		writeBench(b, filepath.Join(dir, "ms", fmt.Sprintf("S-%d", i)), ms)
	}
	runIn(b, dir, gl, "trust", "--yes")
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		c := commandIn(ctx, dir, gl, "slice", "--watch", "--runner", "process", "--max", "4")
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		for left := 20; left > 1; time.Sleep(100 * time.Millisecond) {
			done, _ := filepath.Glob(filepath.Join(dir, ".greenlight/runs/done/*"))
			left = 20 - len(done)
		}
		time.Sleep(3 * time.Second) // for STATE.md, and files that are read again
		before := processorTime(b, c.Process.Pid)
		time.Sleep(rest)
		used := processorTime(b, c.Process.Pid) - before
		b.ReportMetric(float64(used)/float64(rest)*100, "%-cpu")
		b.ReportMetric(0.1, "limit-%-cpu")
		b.ReportMetric(peakMB(b, c.Process.Pid), "MB-peak")
		b.ReportMetric(100, "limit-MB-peak")
		cancel()
		_ = c.Wait()
		runIn(b, dir, gl, "stop", "--all")
	}
}

// processorTime returns the processor time that a process has used.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	// the process's own file covers only its first thread
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if len(tasks) == 0 {
		b.Skip("there is no schedstat here")
	}
	var total time.Duration
	for _, path := range tasks {
		if data, err := os.ReadFile(path); err == nil {
			ns, _ := strconv.ParseInt(strings.Fields(string(data))[0], 10, 64)
			total += time.Duration(ns)
		}
	}
	return total
}

// peakMB returns the peak memory of a process so far.
func peakMB(b *testing.B, pid int) float64 {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip(err)
	}
	return megabytes(b, string(data), "VmHWM:")
}

// megabytes returns the value of a key in a file of /proc, which is in kilobytes.
func megabytes(b *testing.B, text, key string) float64 {
	b.Helper()
	_, rest, _ := strings.Cut(text, key)
	kb, err := strconv.ParseFloat(strings.Fields(rest + " 0")[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kb / 1024
}

// BenchmarkFinishedAttempts measures the cost of 100,000 finished attempts for gl status.
func BenchmarkFinishedAttempts(b *testing.B) {
	gl := buildGl(b)
	for _, n := range []int{0, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := benchProject(b, 1000, 0)
			done := filepath.Join(dir, ".greenlight", "runs", "done")
			if err := os.MkdirAll(done, 0o700); err != nil {
				b.Fatal(err)
			}
			for i := range n {
				if err := os.WriteFile(filepath.Join(done,
					fmt.Sprintf("S-%d.%d.done.json", i%500+1, i/500+1)), nil, 0o600); err != nil {
					b.Fatal(err)
				}
			}
			for range 3 {
				time.Sleep(150 * time.Millisecond)
				runIn(b, dir, gl, "status")
			}
			for b.Loop() {
				runIn(b, dir, gl, "status", "--compact")
			}
		})
	}
}
