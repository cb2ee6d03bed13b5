package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/run/attempt"
)

// nap is how long an agent works.
const nap = 2 * time.Second

// napper is an agent that takes its time and a commit.
const napper = `#!/bin/sh
[ "$1" = --version ] && { echo 1.0; exit; }
sleep 2
echo "$GL_SLICE" >"$GL_SLICE.txt"
git add -A && git commit -qm "$GL_SLICE"
exec gl state set "$GL_SLICE" status=complete step=complete tests=1
`

// BenchmarkWorkers measures whole runs of agents that work for two seconds, so many at once: here,
// and on as many workers with a slot each. The figures are merged slices in a minute, and what an
// attempt takes beyond its agent's sleep: the median from its claim until it is settled.
func BenchmarkWorkers(b *testing.B) {
	programs := b.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", programs+"/", "greenlight/cmd/gl", "greenlight/cmd/gl-remote")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for _, width := range []int{1, 2, 4, 8} {
		for _, where := range []string{"here", "workers"} {
			b.Run(fmt.Sprintf("%d/%s", width, where), func(b *testing.B) {
				for b.Loop() {
					benchWorkers(b, programs, width, where)
				}
			})
		}
	}
}

func benchWorkers(b *testing.B, programs string, width int, where string) {
	b.Helper()
	f := newFleet(b, programs)
	n := 6 + 6*width
	f.project(n, func(int) []string { return nil }, napper, nil, map[string]any{
		"parallel": parallel(width), "test": map[string]any{"command": "true"},
		"workers": map[string]any{"where": where},
	})
	if where == "workers" {
		f.serves()
		for range width {
			f.worker(1)
		}
	}
	began := time.Now()
	out := f.gl("slice", "--watch", "--runner", "process")
	took := time.Since(began)
	if merged := strings.Count(f.git("log", "--first-parent", "--format=%s", "main"), "Land "); merged != n {
		b.Fatalf("%d of %d slices are merged:\n%s", merged, n, out)
	}
	for _, p := range append(f.workers, f.serve) {
		if p != nil {
			p.stop()
		}
	}
	b.ReportMetric(float64(n)/took.Minutes(), "slices/min")
	b.ReportMetric(float64((median(b, f.runs("done", "*.json")) - nap).Milliseconds()), "ms/attempt")
}

// median returns how long most attempts took from their claims until they were settled.
func median(b *testing.B, pattern string) time.Duration {
	b.Helper()
	files, err := filepath.Glob(pattern)
	check(b, err)
	var all []time.Duration
	for _, file := range files {
		data, err := os.ReadFile(file)
		check(b, err)
		r := new(attempt.Record)
		check(b, json.Unmarshal(data, r))
		if r.Life.SettledAt != nil {
			all = append(all, r.Life.SettledAt.Sub(r.Life.ClaimedAt))
		}
	}
	if len(all) == 0 {
		b.Fatal("no attempt is settled")
	}
	slices.Sort(all)
	return all[len(all)/2]
}
