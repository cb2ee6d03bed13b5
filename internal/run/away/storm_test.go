package away_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Servers are replaced and lines are cut at random instants: every slice is merged, once, and its
// work is there. GREENLIGHT_STORM=30m repeats it for so long.
func TestStorm(t *testing.T) {
	length, _ := time.ParseDuration(os.Getenv("GREENLIGHT_STORM"))
	for end, round := time.Now().Add(length), 0; round == 0 || time.Now().Before(end) && !t.Failed(); round++ {
		t.Run(fmt.Sprint(round), storm)
	}
}

func storm(t *testing.T) {
	const stormy, harms = 6, 8
	f := newFarm(t, `sleep 0.$(( ($$ * 7919) % 700 + 100 ))`+works)
	for i := 1; i <= stormy; i++ {
		deps := ""
		if i > 2 {
			deps = fmt.Sprint("S-", i-1-rand.IntN(2))
		}
		f.slice(fmt.Sprint("S-", i), deps)
	}
	f.begin()
	f.policy.Silent, f.policy.Lost = time.Second, 3*time.Second
	stop := f.serve()
	f.worker("w1", 2)
	f.worker("w2", 2)
	f.listed("w1")
	f.listed("w2")
	wait := f.watch()
	for range harms {
		time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond) // at any instant
		line := f.lines[fmt.Sprint("w", 1+rand.IntN(2))]
		switch rand.IntN(3) {
		case 0:
			stop()
			stop = f.serve()
		case 1:
			line.cut.Store(true)
		case 2:
			line.cut.Store(false)
		}
	}
	for _, line := range f.lines {
		line.cut.Store(false)
	}
	out := wait()
	for range 3 { // by what gl itself names
		if strings.Contains(out, "All slices complete") {
			break
		}
		f.run("retry", "--all-failed")
		out = f.run("slice", "--watch", "--runner", "process")
	}
	files := f.git("ls-tree", "-r", "--name-only", "main")
	journal, _ := filepath.Glob(filepath.Join(f.root, ".greenlight/runs/journal*"))
	text := ""
	for _, path := range journal {
		data, _ := os.ReadFile(path)
		text += string(data)
	}
	for i := 1; i <= stormy; i++ {
		id := fmt.Sprint("S-", i)
		landed := 0
		for line := range strings.Lines(text) {
			if strings.Contains(line, `"kind":"landed"`) && strings.Contains(line, `"slice":"`+id+`"`) {
				landed++
			}
		}
		if !strings.Contains(files, id+".txt") || landed != 1 {
			t.Errorf("%s was merged %d times; main has %q\n%s\n%s", id, landed, files, f.run("why", id), out)
		}
	}
}
