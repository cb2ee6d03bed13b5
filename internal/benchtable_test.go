package internal

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// The output of go test -bench becomes a table of figures with their limits.
func TestBenchTable(t *testing.T) {
	const out = `goos: linux
BenchmarkCommands/status/50-2    	      20	  5400000 ns/op
BenchmarkCommands/status/10000-2 	      20	105400000 ns/op	        40.00 limit-ms
BenchmarkNight/sleeps=1s-2       	       1	1443300000 ns/op	        83.03 K=1	        65.17 auto
BenchmarkAttempt/200-2           	       1	1443300000 ns/op	        12.00 limit-ms/attempt	        11.40 ms/attempt
PASS
`
	run := func(format, in string) (string, error) {
		c := exec.Command("../.ci/benchtable", format)
		c.Stdin = strings.NewReader(in)
		data, err := c.Output()
		return string(data), err
	}
	text, err := run("text", out)
	if err != nil {
		t.Skip("no awk: ", err)
	}
	if !strings.Contains(text, "Commands/status/10000                               105.4        40.00  ms  over\n") ||
		!strings.Contains(text, "Night/sleeps=1s                                83.03       -       -       -   65.17  s\n") ||
		!strings.Contains(text, "Attempt/200                                          11.4        12.00  ms/attempt\n") {
		t.Error(text)
	}
	text, err = run("json", out)
	var rows []struct {
		Benchmark, Unit string
		Figure          float64
		Limit           *float64
	}
	if err != nil || json.Unmarshal([]byte(text), &rows) != nil || len(rows) != 5 || rows[0].Limit != nil || rows[1].Figure != 105.4 || *rows[4].Limit != 12 || rows[4].Unit != "ms/attempt" {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := run("text", out+"--- FAIL: BenchmarkX\nFAIL\n"); err == nil {
		t.Error("a failure is no failure")
	}
}
