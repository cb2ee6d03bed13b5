package testrun

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// A rule handles the lines that match its expression.
type rule struct {
	hint string // substring that the line must contain, which quickly excludes most lines
	re   *regexp.Regexp
	take func(c *Counter, m []string)
}

// kinds maps the words that runners use for counts.
var kinds = map[string]int{
	"passed": 0, "pass": 0, "passing": 0, "xpassed": 0, "flaky": 0,
	"failed": 1, "fail": 1, "failing": 1, "failure": 1, "failures": 1, "error": 1, "errors": 1, "timed out": 1, "exec failed": 1,
	"cancelled": 1, "interrupted": 1, "invalid": 1,
	"skipped": 2, "skip": 2, "skips": 2, "pending": 2, "pendings": 2, "todo": 2, "ignored": 2, "xfailed": 2, "omissions": 2,
	"incomplete": 2, "did not run": 2, "excluded": 2,
	"total": 3, "tests": 3, "test": 3, "tests run": 3, "runs": 3, "run": 3, "examples": 3, "example": 3, "doctests": 4, "doctest": 4,
	"properties": 4, "property": 4,
}

// numbered finds "3 passed"; worded finds "Failures: 3" and "failures=3".
var (
	numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+) (timed out|exec failed|did not run|[a-z]+)`) })
	worded   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([A-Za-z]+(?: run)?)[:=] *(\d+)`) })
)

// tally adds a summary in which each number is next to its word. If it doesn't say how many
// passed, they are the rest.
func (c *Counter) tally(text string) {
	var found [5]int
	var had [5]bool
	add := func(word, n string) {
		if kind, ok := kinds[strings.ToLower(word)]; ok {
			found[kind] = clip(found[kind] + number(n))
			had[kind] = true
		}
	}
	for _, m := range numbered().FindAllStringSubmatch(text, -1) {
		add(m[2], m[1])
	}
	for _, m := range worded().FindAllStringSubmatch(text, -1) {
		add(m[1], m[2])
	}
	if !had[0] && (had[3] || had[4]) {
		found[0] = found[3] + found[4] - found[1] - found[2]
	}
	c.summary(found[0], found[1], found[2])
}

// rules lists the rules; the first that matches a line handles it.
var rules = sync.OnceValue(func() []rule {
	whole := func(c *Counter, m []string) { c.tally(m[0]) }
	part := func(c *Counter, m []string) { c.tally(m[1]) }
	name := func(c *Counter, m []string) { c.names.add(m[1]) }
	none := func(c *Counter, _ []string) { c.summary(0, 0, 0) }
	var list []rule
	on := func(hint, re string, take func(*Counter, []string)) {
		list = append(list, rule{hint, regexp.MustCompile(re), take})
	}

	// cargo test
	on("test result: ", `^test result: \w+\. (\d+ passed; \d+ failed; \d+ ignored)`, part)
	on("... FAILED", `^test (.+) \.\.\. FAILED$`, name)
	// nextest
	inner := regexp.MustCompile(`\([^)]*\)`)
	on("Summary [", `^\s*Summary \[[^\]]*\]\s+(?:\d+/)?\d+ tests? run: (.*)$`, func(c *Counter, m []string) {
		c.after = true
		c.tally(inner.ReplaceAllString(m[1], "")) // as in "3 passed (1 slow, 1 flaky)"
	})
	on(" [", `^\s*(?:TRY \d+ )?(?:FAIL|TIMEOUT|ABORT|SIG[A-Z]+) \[[^\]]*\] (?:\([^)]*\) )?(.+)$`, func(c *Counter, m []string) {
		// a failed try may be followed by a successful one
		if c.after || !strings.HasPrefix(strings.TrimSpace(m[0]), "TRY ") {
			c.names.add(m[1])
		}
	})
	// jest
	on("total", `^\s*Tests: +((?:\d+ [a-z]+, )*\d+ total)`, part)
	on("● ", `^\s+● (.+)$`, func(c *Counter, m []string) {
		switch text := m[1]; {
		case text == "Console", strings.HasSuffix(text, "Warning:"), strings.HasSuffix(text, "Error:"):
		case text == "Test suite failed to run":
			c.names.add(c.file)
		default:
			c.names.add(text)
		}
	})
	// vitest; also the file that jest's next lines are about
	on("Tests", `^\s*Tests  +((?:\d+ [a-z]+ \| )*\d+ [a-z]+(?: [a-z]+)?) \(\d+\)`, part)
	on("Tests", `^\s*Tests  +no tests`, none)
	on("FAIL", `^\s*FAIL +(.+?)(?: \([\d.]+ m?s\))?$`, func(c *Counter, m []string) {
		c.file = m[1]
		// the file can't be loaded
		if file, again, ok := strings.Cut(strings.TrimSuffix(m[1], " ]"), " [ "); ok && file == again {
			c.names.add(file)
		} else if strings.Contains(m[1], " > ") {
			c.names.add(m[1])
		}
	})
	// pytest
	on(" in ", `^=* ?((?:\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?|rerun|subtests [a-z]+)(?:, )?)+) in \d[\d.]*s`, part)
	on("no tests ran", `^=* ?no tests ran in `, none)
	on(".py", `^(?:FAILED|ERROR) (\S+\.py(?:::.*?)?)(?: - .*)?$`, name)
	// unittest
	on("Ran ", `^Ran (\d+) tests? in `, func(c *Counter, m []string) { c.ran = number(m[1]) })
	on("OK", `^OK(?: \(((?:[a-z ]+=\d+(?:, )?)+)\))?$`, func(c *Counter, m []string) { c.unittest(m[1]) })
	on("FAILED (", `^FAILED \(((?:[a-z ]+=\d+(?:, )?)+)\)$`, func(c *Counter, m []string) { c.unittest(m[1]) })
	on(": ", `^(?:FAIL|ERROR): (\w+ \(.+\))`, name)
	// node's runner, tape
	on(" ", `^(?:#|ℹ) (pass|fail|cancelled|skipped|todo) +(\d+)$`, func(c *Counter, m []string) { c.tally(m[2] + " " + m[1]) })
	on("✖ ", `^\s*✖ (.+) \([\d.]+ms\)$`, name)
	on("ok ", `^(\s*)(not ok|ok) \d+(?: -)?(?: (.*?))?(?: # ?(?i:(todo|skip))\b.*)?(?: # .*)?$`, func(c *Counter, m []string) { c.tapLine(m) })
	// mocha, playwright, bun
	on("ing", `^ +(\d+ (?:passing|pending))(?: \(.*\))?$`, part)
	on("failing", `^ +(\d+ failing)$`, func(c *Counter, m []string) {
		c.tally(m[1])
		c.block = c.mochaList()
	})
	on(" ", `^ +(\d+ (?:passed|failed|flaky|skipped|did not run|interrupted))(?: \(.*\))?$`, part)
	on(" › ", `^ +\d+\) (.+ › .+?)[ ─]*$`, name)
	on(" ", `^ *(\d+ (?:pass|fail|skip|todo))$`, part)
	on("(fail) ", `^\(fail\) (.+?)(?: \[[\d.]+ms\])?$`, name)
	// rspec, minitest, test-unit, ExUnit
	on(" examples", `^\d+ examples, \d+ failures?(?:, \d+ pending)?(?:, \d+ errors?.*)?$`, whole)
	on(" example,", `^\d+ example, \d+ failures?(?:, \d+ pending)?(?:, \d+ errors?.*)?$`, whole)
	on("rspec ", `^rspec \S+ # (.+)$`, name)
	on(" assertions, ", `^\d+ (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors(?:, \d+ [a-z]+)*`, whole)
	on(":", `^(?: *\d+\) )?(?:Failure|Error):$`, func(c *Counter, _ []string) { c.block = c.minitestName() })
	on(" failure", `^(?:\d+ (?:doctests?|propert[a-z]+|tests?), )+\d+ failures?(?:, \d+ (?:excluded|skipped|invalid))*$`, whole)
	on(") ", `^ +\d+\) ((?:test|doctest|property) .+ \(.+\))$`, name)
	// phpunit
	on("OK (", `^OK \((\d+) tests?, \d+ assertions?\)`, func(c *Counter, m []string) { c.summary(number(m[1]), 0, 0) })
	on("Assertions: ", `^Tests: \d+, Assertions: \d+.*$`, whole)
	on("There w", `^There (?:was|were) \d+ (.*):$`, func(c *Counter, m []string) {
		c.lists = strings.HasPrefix(m[1], "failure") || strings.HasPrefix(m[1], "error")
	})
	on("::", `^\d+\) (\S+::\S+.*)$`, func(c *Counter, m []string) {
		if c.lists {
			c.names.add(m[1])
		}
	})
	on("No tests executed!", `^No tests executed!`, none)
	// ctest
	on("tests passed, ", `^\d+% tests passed, (\d+ tests?) failed out of (\d+)`, func(c *Counter, m []string) {
		failed := number(strings.Fields(m[1])[0])
		c.summary(number(m[2])-failed, failed, 0)
	})
	on(" - ", `^\s+\d+ - (.+) \((?:Failed|Timeout|SEGFAULT|ILLEGAL|NUMERICAL|OTHER_FAULT|BAD_COMMAND|Subprocess [a-z]+|Not Run)\)`, name)
	// deno, dotnet, Maven, Gradle
	on(" passed", `^(?:ok|FAILED) \| (\d+ passed)(?: \([^)]*\))?( \| \d+ failed)(?: \([^)]*\))?( \| \d+ ignored)?`, func(c *Counter, m []string) { c.tally(m[1] + m[2] + m[3]) })
	on(" ... FAILED (", `^(.+?) \.\.\. FAILED \([^)]*\)$`, name)
	on("ed!", `^(?:Passed|Failed)! +- (Failed: +\d+, Passed: +\d+, Skipped: +\d+), Total`, part)
	on("Tests run: ", `^(?:\[[A-Z]+\] )?(Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+)$`, part)
	on("[ERROR]", `^\[ERROR\] +(\w[\w$.]*\.\w+):\d+`, name)
	on(" completed", `^(\d+) tests? completed(.*)$`, func(c *Counter, m []string) { c.tally(m[1] + " tests" + m[2]) })
	on(" FAILED", `^(\S+ > .+) FAILED$`, name)
	return list
})

// unittest processes the second line of Python's summary; the first has the number of tests.
func (c *Counter) unittest(text string) {
	if c.ran < 0 {
		return
	}
	c.tally("tests=" + strconv.Itoa(c.ran) + ", " + strings.ReplaceAll(text, "expected failures", "xfailed"))
	c.ran = -1
}

// tapLine counts a line of TAP, for runners without a summary; nested lines are parts of
// others.
func (c *Counter) tapLine(m []string) {
	indent, result, name, directive := m[1], m[2], m[3], strings.ToLower(m[4])
	failed := result == "not ok" && directive == ""
	if failed {
		c.names.add(name)
	}
	if indent != "" {
		return
	}
	c.tapped = true
	switch {
	case failed:
		c.tap.add(0, 1, 0)
	case directive != "":
		c.tap.add(0, 0, 1)
	default:
		c.tap.add(1, 0, 0)
	}
}

// maxTitles is the maximum number of lines of a name in mocha's list.
const maxTitles = 10

// mochaList parses the list after "N failing", in which a name has a line for each suite around
// the test, the last with a colon.
func (c *Counter) mochaList() func(string) bool {
	var titles []string
	return func(line string) bool {
		text := strings.TrimSpace(line)
		if m := mochaTitle().FindStringSubmatch(line); m != nil {
			titles, text = []string{}, m[1]
		}
		switch {
		case titles == nil:
			return false
		case text == "" || len(titles) == maxTitles:
			titles = nil
			return true
		}
		title, last := strings.CutSuffix(text, ":")
		titles = append(titles, title)
		if last {
			c.names.add(strings.Join(titles, " "))
			titles = nil
		}
		return true
	}
}

var mochaTitle = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ +\d+\) (.+)$`) })

// minitestName parses the line after "1) Failure:".
func (c *Counter) minitestName() func(string) bool {
	return func(line string) bool {
		c.block = nil
		m := minitestTitle().FindStringSubmatch(line)
		if m != nil {
			c.names.add(m[1])
		}
		return m != nil
	}
}

var minitestTitle = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([\w:]+#\S.*?)(?: \[.*\])?:?$`) })
