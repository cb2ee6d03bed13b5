package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"greenlight/cmd/gl/scripts"
)

// BenchmarkIdle measures gl's cost while it waits: a run with all agents held, and a run
// with four silent agents, including their wrappers. An iteration is a minute, so run it with
// -benchtime 1x. The goal is 0.1 % of a processor.
func BenchmarkIdle(b *testing.B) {
	gl := buildGl(b)
	const window = time.Minute
	for _, c := range []struct {
		name    string
		running int
	}{{"held", 0}, {"silent", 4}} {
		b.Run(c.name, func(b *testing.B) {
			dir := benchProject(b, 50, 0)
			runs := filepath.Join(dir, ".greenlight", "runs")
			if c.running == 0 {
				runIn(b, dir, gl, "hold", "--until", "8h")
			}
			drain := exec.Command(gl, "slice", "--watch", "--runner", "process", "--max", "4", "--agent", "rehearsal:here,step=10h")
			drain.Dir = dir
			if err := drain.Start(); err != nil {
				b.Fatal(err)
			}
			defer func() {
				runIn(b, dir, gl, "stop", "--all")
				drain.Wait()
			}()
			pids := []int{drain.Process.Pid}
			for deadline := time.Now().Add(scripts.Patience); len(pids) < 1+
				c.running; time.Sleep(100 * time.Millisecond) {
				if time.Now().After(deadline) {
					b.Fatalf("%d of %d wrappers after %s", len(pids)-1, c.running, scripts.Patience)
				}
				pids = append(pids[:1], wrappers(b, runs)...)
			}
			time.Sleep(5 * time.Second) // for the work after the launches
			for b.Loop() {
				before := make([]time.Duration, len(pids))
				for i, pid := range pids {
					before[i] = processorTime(b, pid)
				}
				time.Sleep(window)
				var sum, whole, wrapper float64
				for i, pid := range pids {
					cpu, mb := 100*float64(processorTime(b, pid)-before[i])/float64(window),
						proportionalMB(b, pid)
					sum, whole = sum+cpu, whole+mb
					if i > 0 {
						wrapper = max(wrapper, cpu)
					}
					b.Logf("pid %d: %.3f %% of a processor, %.1f MB", pid, cpu, mb)
				}
				b.ReportMetric(sum, "%cpu")
				b.ReportMetric(wrapper, "%cpu/wrapper")
				b.ReportMetric(whole, "MB")
			}
		})
	}
}

// wrappers returns the pids of the wrappers of started attempts.
func wrappers(b *testing.B, runs string) (pids []int) {
	files, err := filepath.Glob(filepath.Join(runs, "live", "*.json"))
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range files {
		var rec struct {
			Phase   string
			Wrapper struct{ PID int }
		}
		if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &rec) == nil &&
			rec.Phase == "started" {
			pids = append(pids, rec.Wrapper.PID)
		}
	}
	return pids
}

// proportionalMB returns the memory of a process with its share of shared pages.
func proportionalMB(b *testing.B, pid int) float64 {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Skip(err)
	}
	return megabytes(b, string(data), "Pss:")
}
