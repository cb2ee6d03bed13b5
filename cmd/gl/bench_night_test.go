package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// A benchSuite is the tests of a night: they do nothing but take time, as suites do.
type benchSuite struct {
	name   string
	slices int
	script func(b *testing.B) string
}

// benchSuites leave the processors alone, use one, or use all.
var benchSuites = []benchSuite{
	{"sleeps=1s", 60, func(*testing.B) string { return "sleep 1\n" }},
	{"sleeps=10s", 60, func(*testing.B) string { return "sleep 10\n" }},
	{"one-core=2s", 16, func(b *testing.B) string { return busyLoop(b, 2*time.Second) + "\n" }},
	{"whole-machine=2s", 16, func(b *testing.B) string {
		return strings.Repeat(busyLoop(b, 2*time.Second)+" &\n", runtime.NumCPU()) + "wait\n"
	}},
}

// busyLoop returns a command that keeps a processor busy for about that long, if it has it for
// itself.
func busyLoop(b *testing.B, d time.Duration) string {
	b.Helper()
	loop := func(n int) string { return fmt.Sprintf("awk 'BEGIN { for (i = 0; i < %d; i++) x += i }'", n) }
	const n = 5_000_000
	least := time.Hour
	for range 3 {
		began := time.Now()
		if err := exec.Command("sh", "-c", loop(n)).Run(); err != nil {
			b.Skip(err)
		}
		least = min(least, time.Since(began))
	}
	return loop(int(n * float64(d) / float64(least)))
}

// BenchmarkNight measures whole runs of gl slice --watch in a git repository: rehearsal agents that
// work for six seconds, eight at once, and tests of each merge, with different values of
// test.parallel (GREENLIGHT_WIDTHS=1,4,auto; default 1,auto). The figures are seconds.
func BenchmarkNight(b *testing.B) {
	widths := strings.Split(cmp.Or(os.Getenv("GREENLIGHT_WIDTHS"), "1,auto"), ",")
	for _, suite := range benchSuites {
		b.Run(suite.name, func(b *testing.B) {
			gl, script, took := buildGl(b), suite.script(b), map[string]time.Duration{}
			for b.Loop() {
				for _, width := range widths { // in turns, so that all see the same machine
					began := time.Now()
					benchNight(b, gl, suite.slices, width, script)
					took[width] += time.Since(began)
				}
			}
			for width, d := range took {
				column := width
				if width != "auto" {
					column = "K=" + width
				}
				b.ReportMetric(d.Seconds()/float64(b.N), column)
			}
		})
	}
}

// benchNight builds a graph of slices, each of which needs up to two of the ten before it.
func benchNight(b *testing.B, gl string, n int, width, script string) {
	b.Helper()
	random := rand.New(rand.NewPCG(6, 1))
	dir := benchProjectOf(b, n, func(i int) (ids []string) {
		for range 2 {
			if id := fmt.Sprintf("S-%d", i-16+random.IntN(11)); !slices.Contains(ids, id) && i > 16 {
				ids = append(ids, id)
			}
		}
		return ids
	}, func(int) bool { return false })
	config, err := json.Marshal(map[string]any{
		"parallel": map[string]any{"max": 8},
		"test":     map[string]any{"command": "sh test.sh", "parallel": benchWidth(width)},
	})
	if err != nil {
		b.Fatal(err)
	}
	writeBench(b, filepath.Join(dir, ".greenlight", "config.json"), string(config))
	writeBench(b, filepath.Join(dir, "test.sh"), script)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first"}} {
		runIn(b, dir, "git", args...)
	}
	runIn(b, dir, gl, "trust", "--yes")
	runIn(b, dir, gl, "slice", "--watch", "--runner", "process", "--max", "8", "--agent",
		"rehearsal:here,seed=1,step=1500ms")
	out, err := exec.Command("git", "-C", dir, "log", "--first-parent", "--format=%s", "main").Output()
	if merged := strings.Count(string(out), "Land "); err != nil || merged != n {
		b.Fatalf("%d of %d slices were merged: %v", merged, n, err)
	}
}

// benchWidth is the value of test.parallel in config.json.
func benchWidth(width string) any {
	var n int
	if _, err := fmt.Sscan(width, &n); err == nil {
		return n
	}
	return width
}
