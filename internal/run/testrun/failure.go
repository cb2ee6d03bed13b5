package testrun

import (
	"bytes"
	"regexp"
	"strings"
	"sync"

	"greenlight/internal/base/sanitize"
)

// To a person, and to the agent that is to fix it, the important part of a red run is the
// output of the failing tests. The end of the output is often something else: the packages that
// passed, a summary, npm's stack trace.

const (
	maxFailure = 80 // number of lines kept for all failures
	maxEach    = 25 // for each failure
	maxBefore  = 10 // output lines of a test before its runner reported the failure
)

// failures collects the lines that show failures.
type failures struct {
	lines  []string
	left   int // in the current failure
	end    func(string) bool
	before []string // output of the running test, with go test -v
	runs   bool
	more   bool // not all lines fit
}

// A shape is how a runner reports a failure.
type shape struct {
	hint       string // a line without it doesn't begin a failure
	begin, end *regexp.Regexp
}

var shapes = sync.OnceValue(func() []shape {
	of := func(hint, begin, end string) shape {
		return shape{hint, regexp.MustCompile(begin), regexp.MustCompile(end)}
	}
	const goEnd = `^(ok  \t|FAIL(\t|$)|\?   \t|PASS$|=== |--- (PASS|SKIP))`
	return []shape{
		of("--- FAIL: ", `^\s*--- FAIL: `, goEnd),
		of("panic: ", `^panic: `, goEnd),
		of("fatal error: ", `^fatal error: `, goEnd),
		of(".go:", `^(vet: )?\S+\.go:\d+:\d+: `, goEnd),
		of("[build failed]", `^FAIL\t.*\[build failed\]`, `^`),
		of("● ", `^\s+● `, `^(Test Suites:|Tests:|Snapshots:|PASS |FAIL )`),
		of("FAIL ", `^\s*FAIL +.*( > | \[ )`, `^(⎯{3,}|\s*Test Files )`),
		of("___", `^_{3,} .+ _{3,}$`, `^=+ `),
		of(": ", `^(FAIL|ERROR): \w+ \(.+\)`, `^(Ran \d+ test|={10,})`),
		of("ERROR ", `^_+ ERROR .* _+$`, `^=+ `),
		of("---- ", `^---- .+ ----$`, `^(failures:|test result:)`),
		of("error", `^error(\[E\d+\])?: `, `^(warning|error)(\[|:)`),
		of("✖ failing tests:", `^✖ failing tests:$`, `^# `),
		of("not ok ", `^\s*not ok \d+`, `^\s*(ok \d+|# (tests|Subtest))`),
		of(" failing", `^\s+\d+ failing$`, `^npm `),
		of(") ", `^\s+\d+\) .+`, `^(Finished in|rspec )`),
	}
})

// line processes a line of output without colors.
func (x *failures) line(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	text := sanitize.Text(strings.ToValidUTF8(string(line[:min(len(line), maxLastIn)]), "\uFFFD"))
	for _, s := range shapes() {
		if strings.Contains(text, s.hint) && s.begin.MatchString(text) {
			x.take(x.before...)
			x.before, x.left, x.end = nil, maxEach, s.end.MatchString
			x.take(text)
			return
		}
	}
	if x.left > 0 && !x.end(text) {
		x.left--
		x.take(text)
		return
	}
	x.left = 0
	switch {
	case strings.HasPrefix(text, "=== RUN "):
		x.runs, x.before = true, nil
	case strings.HasPrefix(text, "--- "):
		x.before = nil
	case x.runs:
		x.before = append(x.before[max(0, len(x.before)-maxBefore+1):], text)
	}
}

func (x *failures) take(lines ...string) {
	for _, l := range lines {
		if len(x.lines) == maxFailure {
			x.more = true
			return
		}
		x.lines = append(x.lines, l)
	}
}

// failure returns the output of the failing tests, if the runner is known; never nil.
func (x *failures) failure() []string {
	list := append([]string{}, x.lines...)
	if x.more {
		list = append(list, "…")
	}
	return list
}

// Shown returns the lines of a red run that people and agents see: the output of the failing
// tests or, for an unknown runner, the last lines.
func (v *Verdict) Shown() []string {
	if len(v.Failure) > 0 {
		return v.Failure
	}
	return v.Last
}
