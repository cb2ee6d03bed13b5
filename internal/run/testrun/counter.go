package testrun

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/text/lines"
)

const (
	maxLine   = 64 << 10 // bytes of a line that are examined
	maxNames  = 200      // limit of the names of failing tests
	maxName   = 300      // limit of each, in bytes
	maxLast   = 40       // number of last lines kept
	maxLastIn = 500      // limit of each, in bytes
	maxCount  = 1 << 30  // a summary with more tests isn't one
)

// A Counter reads a test runner's output as it comes. It stores counts, some names and the last
// lines, for output of any length.
//
// It recognizes runners by their summaries rather than by the command, which may be make or
// npm. Several summaries add up: those of workspaces, of crates, of several runners one after
// another.
type Counter struct {
	pattern *regexp.Regexp // if a person has defined how to count, only this counts
	split   *lines.Splitter
	heard   func(line string) // called with each line; may be nil

	sums    sums
	seen    bool // a summary
	unknown bool // some runner didn't report how many tests passed
	names   names
	last    [][]byte // a ring buffer
	n       int      // number of nonblank lines

	shown  failures
	goRun  goRun
	tap    sums
	tapped bool
	// takes lines whose meaning depends on those before them; false for others
	block func(line string) bool
	file  string // from jest's last FAIL line
	// from unittest's "Ran N tests", whose second line has the rest; -1 for none
	ran   int
	lists bool // phpunit's next list contains failures
	after bool // nextest's summary has been read
}

// sums are the numbers of tests of each kind.
type sums struct{ passed, failed, skipped int }

func (s *sums) add(passed, failed, skipped int) {
	s.passed = clip(s.passed + max(passed, 0))
	s.failed = clip(s.failed + max(failed, 0))
	s.skipped = clip(s.skipped + max(skipped, 0))
}

func clip(n int) int { return min(max(n, 0), maxCount) }

// names are the names of failing tests, without duplicates.
type names struct {
	list []string
	seen map[string]bool
	lost bool // there were more than fit
}

func (n *names) add(name string) {
	name = strings.TrimSpace(name)
	if name == "" {
		return
	}
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "")
	}
	name = sanitize.Line(name)
	switch {
	case n.seen[name]:
	case len(n.list) == maxNames:
		n.lost = true
	default:
		if n.seen == nil {
			n.seen = map[string]bool{}
		}
		n.seen[name] = true
		n.list = append(n.list, name)
	}
}

// NewCounter returns a Counter. pattern finds the counts of an unknown runner; nil to use the
// built-in runners.
func NewCounter(pattern *regexp.Regexp) *Counter {
	return &Counter{pattern: pattern, split: lines.NewSplitter(maxLine), ran: -1}
}

// Write processes the next part of the output. It never fails.
func (c *Counter) Write(data []byte) (int, error) {
	c.split.Write(data, c.piece)
	return len(data), nil
}

// piece processes a line, or the beginning of one that is too long.
func (c *Counter) piece(p lines.Piece) {
	if p.Rest {
		return
	}
	if c.heard != nil {
		c.heard(excerpt(bytes.TrimRight(p.Text, "\r")))
	}
	line := plain(p.Text)
	if len(bytes.TrimSpace(line)) > 0 {
		c.keep(line)
	}
	c.shown.line(line)
	c.line(string(line))
}

// keep stores a line among the last.
func (c *Counter) keep(line []byte) {
	line = bytes.Clone(line[:min(len(line), maxLastIn)])
	if c.last == nil {
		c.last = make([][]byte, maxLast)
	}
	c.last[c.n%maxLast] = line
	c.n++
}

// Last returns the last nonblank lines, safe to print.
func (c *Counter) Last() []string {
	list := []string{}
	for i := max(0, c.n-maxLast); i < c.n; i++ {
		list = append(list, sanitize.Text(strings.ToValidUTF8(string(c.last[i%maxLast]), "\uFFFD")))
	}
	return list
}

// Failure returns the output of the failing tests, if the runner is known, safe to print.
func (c *Counter) Failure() []string { return c.shown.failure() }

// Counts are the test counts according to the output.
type Counts struct {
	Passed, Failed, Skipped *int     // nil if unknown
	Failing                 []string // the names of failing tests; never nil
	More                    bool     // there were more than fit
}

// Counts ends the output and returns its counts. Don't write after calling it.
func (c *Counter) Counts() Counts {
	c.split.End(c.piece)
	if c.pattern == nil {
		c.goRun.end(c)
		if !c.seen && c.tapped {
			c.summary(c.tap.passed, c.tap.failed, c.tap.skipped)
		}
	}
	counts := Counts{Failing: c.names.list, More: c.names.lost}
	if counts.Failing == nil {
		counts.Failing = []string{}
	}
	if !c.seen {
		return counts
	}
	counts.Failed = &c.sums.failed
	if !c.unknown {
		counts.Passed, counts.Skipped = &c.sums.passed, &c.sums.skipped
	}
	return counts
}

// summary adds a runner's summary.
func (c *Counter) summary(passed, failed, skipped int) {
	c.seen = true
	c.sums.add(passed, failed, skipped)
}

// line processes a line without colors.
func (c *Counter) line(line string) {
	if c.pattern != nil {
		c.custom(line)
		return
	}
	if c.block != nil && c.block(line) {
		return
	}
	if strings.Contains(line, "test") {
		line = line[len(workspace().FindString(line)):]
	}
	if c.goRun.line(c, line) {
		return
	}
	for _, r := range rules() {
		if !strings.Contains(line, r.hint) {
			continue
		}
		if m := r.re.FindStringSubmatch(line); m != nil {
			r.take(c, m)
			return
		}
	}
}

// workspace matches what pnpm, turbo and others put before the output lines of a package's test
// script.
var workspace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[@\w./-]+[: ]test[\w:.-]*: `)
})

// custom counts by the person's pattern.
func (c *Counter) custom(line string) {
	for _, m := range c.pattern.FindAllStringSubmatch(line, -1) {
		var found [len(groups)]int
		for i, name := range c.pattern.SubexpNames() {
			for k, group := range groups {
				if name == group {
					found[k] += number(m[i])
				}
			}
		}
		c.summary(found[0], found[1], found[2])
	}
}

// number parses a count; 0 if it isn't one.
func number(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n > maxCount {
		return 0
	}
	return n
}

// plain returns a line without escape sequences, and without text that a carriage return lets
// other text overwrite.
func plain(line []byte) []byte {
	line = bytes.TrimRight(line, "\r")
	if i := bytes.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	if bytes.IndexByte(line, 0x1b) < 0 {
		return line
	}
	return escapes().ReplaceAll(line, nil)
}

// escapes matches sequences that color text, move the cursor, or link.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])`)
})

// goRun parses go test, which, unlike all others, has no summary.
type goRun struct {
	any     bool
	verbose bool
	sums    sums
	tested  bool // a package with tests succeeded without listing them
	held    []string
	heldN   int // number of failed tests whose package isn't known yet
	jsonFor map[string]bool
}

// goEvent is a line of go test -json.
type goEvent struct {
	Action, Package, Test, ImportPath string
}

func (g *goRun) line(c *Counter, line string) bool {
	switch {
	case strings.HasPrefix(line, `{"`) && strings.Contains(line, `"Action":"`):
		return g.json(c, line)
	case strings.HasPrefix(line, "=== RUN   "):
		g.any, g.verbose = true, true
	case strings.HasPrefix(strings.TrimLeft(line, " "), "--- "):
		return g.result(strings.TrimLeft(line, " "))
	case strings.HasPrefix(line, "ok  \t"):
		g.any = true
		if !strings.Contains(line, "[no tests to run]") {
			g.tested = true
		}
		g.flush(c, "")
	case strings.HasPrefix(line, "?   \t"):
		g.any = true
	case strings.HasPrefix(line, "FAIL\t"):
		g.any = true
		pkg, _, _ := strings.Cut(line[len("FAIL\t"):], "\t")
		if g.heldN == 0 { // it doesn't build, or panicked
			g.sums.add(0, 1, 0)
			c.names.add(pkg)
		}
		g.flush(c, pkg)
	default:
		return false
	}
	return true
}

// result parses "--- FAIL: TestX/sub (0.00s)".
func (g *goRun) result(line string) bool {
	how, rest, ok := strings.Cut(line[len("--- "):], ": ")
	name, took, timed := strings.Cut(rest, " (")
	if !ok || !timed || !strings.HasSuffix(took, "s)") {
		return false
	}
	switch how {
	case "PASS":
		g.sums.add(1, 0, 0)
	case "SKIP":
		g.sums.add(0, 0, 1)
	case "FAIL":
		g.sums.add(0, 1, 0)
		g.heldN++
		if len(g.held) < maxNames {
			g.held = append(g.held, name)
		}
	default:
		return false
	}
	g.any = true
	return true
}

// flush prefixes the pending failed tests with the name of their package.
func (g *goRun) flush(c *Counter, pkg string) {
	for _, name := range g.held {
		if pkg != "" {
			name = pkg + "." + name
		}
		c.names.add(name)
	}
	if g.heldN > len(g.held) {
		c.names.lost = true
	}
	g.held, g.heldN = nil, 0
}

func (g *goRun) json(c *Counter, line string) bool {
	var e goEvent
	if json.Unmarshal([]byte(line), &e) != nil || e.Package == "" && e.ImportPath == "" {
		return false
	}
	g.any, g.verbose = true, true
	switch {
	case e.Action == "pass" && e.Test != "":
		g.sums.add(1, 0, 0)
	case e.Action == "skip" && e.Test != "":
		g.sums.add(0, 0, 1)
	case e.Action == "fail" && e.Test != "":
		g.sums.add(0, 1, 0)
		c.names.add(e.Package + "." + e.Test)
		if g.jsonFor == nil {
			g.jsonFor = map[string]bool{}
		}
		if len(g.jsonFor) < maxNames {
			g.jsonFor[e.Package] = true
		}
	case e.Action == "fail" && !g.jsonFor[e.Package]: // it doesn't build, or panicked
		g.sums.add(0, 1, 0)
		c.names.add(e.Package)
	}
	return true
}

// end adds the results of go test. Without -v it lists only failures, so the number of other
// tests is unknown unless there are none.
func (g *goRun) end(c *Counter) {
	if !g.any {
		return
	}
	g.flush(c, "")
	if !g.verbose && (g.tested || g.sums.failed > 0) {
		c.unknown = true
	}
	c.summary(g.sums.passed, g.sums.failed, g.sums.skipped)
}
