package testrun

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"greenlight/internal/sanitize"
	"greenlight/internal/text/lines"
)

const (
	maxLine   = 64 << 10 // of a line are looked at
	maxNames  = 200      // names of failing tests are kept
	maxName   = 300      // bytes of each
	maxLast   = 40       // last lines are kept
	maxLastIn = 500      // bytes of each
	maxCount  = 1 << 30  // what says that it ran more tests is no summary
)

// A Counter reads a test runner's output as it comes. It holds counts, some names and the last lines, whatever the output's length.
//
// It knows runners by their summaries and not by the command, which may be make or npm. Several summaries add up: those of
// workspaces, of crates, of several runners after each other.
type Counter struct {
	pattern *regexp.Regexp // where a person has said how to count, nothing else counts
	split   *lines.Splitter
	heard   func(line string) // gets each line; nil for nobody

	sums    sums
	seen    bool // a summary
	unknown bool // some runner didn't say how many tests passed
	names   names
	last    [][]byte // a ring
	n       int      // of all lines with something on them

	shown  failures
	goRun  goRun
	tap    sums
	tapped bool
	block  func(line string) bool // takes lines that only those before them give a meaning; false for others
	file   string                 // of the last FAIL line of jest
	ran    int                    // by unittest's "Ran N tests", whose second line has the rest; -1 for none
	lists  bool                   // phpunit's list that follows is of failures
	after  bool                   // nextest's summary came
}

// sums are how many tests there were of each kind.
type sums struct{ passed, failed, skipped int }

func (s *sums) add(passed, failed, skipped int) {
	s.passed = clip(s.passed + max(passed, 0))
	s.failed = clip(s.failed + max(failed, 0))
	s.skipped = clip(s.skipped + max(skipped, 0))
}

func clip(n int) int { return min(max(n, 0), maxCount) }

// names are those of failing tests, each once.
type names struct {
	list []string
	seen map[string]bool
	lost bool // there are more than there is room for
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

// NewCounter returns a Counter. pattern finds the counts of a runner that gl doesn't know; nil for the runners that it does.
func NewCounter(pattern *regexp.Regexp) *Counter {
	return &Counter{pattern: pattern, split: lines.NewSplitter(maxLine), ran: -1}
}

// Write takes what comes next. It never fails.
func (c *Counter) Write(data []byte) (int, error) {
	c.split.Write(data, c.piece)
	return len(data), nil
}

// piece takes a line; of one that is longer than the bound, its beginning.
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

// keep remembers a line among the last.
func (c *Counter) keep(line []byte) {
	line = bytes.Clone(line[:min(len(line), maxLastIn)])
	if c.last == nil {
		c.last = make([][]byte, maxLast)
	}
	c.last[c.n%maxLast] = line
	c.n++
}

// Last are the last lines with something on them, safe to print.
func (c *Counter) Last() []string {
	list := []string{}
	for i := max(0, c.n-maxLast); i < c.n; i++ {
		list = append(list, sanitize.Text(strings.ToValidUTF8(string(c.last[i%maxLast]), "\uFFFD")))
	}
	return list
}

// Failure is what the failing tests printed, as far as their runner is known, safe to print.
func (c *Counter) Failure() []string { return c.shown.failure() }

// Counts is what the output says of its tests.
type Counts struct {
	Passed, Failed, Skipped *int     // nil for unknown
	Failing                 []string // the names of failing tests; never nil
	More                    bool     // more of them than there was room for
}

// Counts ends the output. Nothing may be written after it.
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

// summary takes what a runner said.
func (c *Counter) summary(passed, failed, skipped int) {
	c.seen = true
	c.sums.add(passed, failed, skipped)
}

// line looks at a line without colors.
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

// workspace is what pnpm, turbo and others put before the lines of a package's script called test.
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

// number is 0 for what is none.
func number(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n > maxCount {
		return 0
	}
	return n
}

// plain is a line without escape sequences, and without what a carriage return lets another text take the place of.
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

// escapes are the sequences that color text, move the cursor, or link.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])`)
})

// goRun reads go test, whose words are unlike those of all others: it has no summary.
type goRun struct {
	any     bool
	verbose bool
	sums    sums
	tested  bool // a package with tests succeeded, and its tests weren't listed
	held    []string
	heldN   int // of failed tests whose package is still to come
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

// result takes "--- FAIL: TestX/sub (0.00s)".
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

// flush gives the failed tests that have come the name of their package.
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

// end adds what go test said. Without -v it lists failures alone, so that the others are unknown unless there is none.
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
