package plan

import (
	"fmt"
	"slices"
	"time"

	"greenlight/internal/base/words"
)

// Uncounted is the number of failing tests of a red slice whose test runner prints no counts.
const Uncounted = -1

// A Suite is the last verdict on the project's tests as a whole: on the merge queue's branch
// or, without a queue, on the checkout.
type Suite struct {
	Passed    int       `json:"passed"`
	Failed    int       `json:"failed"`
	Uncounted bool      `json:"uncounted,omitempty"` // the test runner prints no counts
	Red       bool      `json:"red,omitempty"`
	Commit    string    `json:"commit,omitempty"` // the commit that was tested; "" for a checkout
	At        time.Time `json:"at"`
	Command   string    `json:"command,omitempty"` // "" in files of older versions
}

// Of returns the suite if it is a verdict of this test command, "" for none; otherwise nil. A
// verdict goes with its command: a failure of tests that no longer run can't be fixed.
func (s *Suite) Of(command string) *Suite {
	if s == nil || command == "" || s.Command != "" && s.Command != command {
		return nil
	}
	return s
}

// LastRun is gl's last run of the project's tests.
type LastRun struct {
	Suite        *Suite // nil if gl hasn't run them by this test command
	OtherCommand bool   // gl has run them by another test command
}

// TestCounts is what is known about a project's tests: gl's last run of the suite, and what the
// slices record.
type TestCounts struct {
	Recorded  int // by all slices
	OfDone    int // by done slices
	Brought   int // added to the suite by done slices, as counted by gl
	Removed   int // removed from the suite by done slices
	Untold    int // done slices that record tests whose additions gl hasn't counted
	Untested  int // done slices that gl completed without running tests
	Security  int
	Failing   int // on red work
	Uncounted int // red slices with an unknown number of failing tests
	Ran       LastRun
}

// Add counts a slice n times.
func (c *TestCounts) Add(it *Item, done bool, n int) {
	c.Recorded += n * it.Counting(done)
	if done {
		c.OfDone += n * it.Tests
		c.Brought += n * max(it.NewTests, 0)
		c.Removed += n * max(-it.NewTests, 0)
		if it.Tests > 0 && !it.Counted {
			c.Untold += n
		}
		if it.Verified == Unverified {
			c.Untested += n
		}
	}
	c.Security += n * it.SecurityTests
	if it.Failing == Uncounted {
		c.Uncounted += n
	} else {
		c.Failing += n * it.Failing
	}
}

// Counting returns how many of the tests that an item records count as passing. For a slice that
// isn't done and whose tests fail it returns 0: its agent counted them, but gl saw them fail.
func (it *Item) Counting(done bool) int {
	if !done && it.Failing != 0 {
		return 0
	}
	return it.Tests
}

// Counted reports whether the suite has run and its runner printed counts. Only then are a
// slice's tests known to be new.
func (c TestCounts) Counted() bool { return c.Ran.Suite != nil && !c.Ran.Suite.Uncounted }

// Passing returns how many tests pass; false if unknown. If gl hasn't run the suite, it returns
// what the slices record.
func (c TestCounts) Passing() (int, bool) {
	if c.Ran.Suite == nil {
		return c.Recorded, true
	}
	return c.Ran.Suite.Passed, !c.Ran.Suite.Uncounted
}

// Fail returns how many tests fail, in the suite and on red work; false if unknown.
func (c TestCounts) Fail() (int, bool) {
	if c.Ran.Suite == nil {
		return c.Failing, c.Uncounted == 0
	}
	return c.Ran.Suite.Failed + c.Failing, c.Uncounted == 0 && !(c.Ran.Suite.Uncounted && c.Ran.Suite.Red)
}

// New returns how many tests the done slices added to the suite, as far as gl has counted;
// false if it has counted none.
func (c TestCounts) New() (int, bool) {
	return c.Brought, c.Counted() && (c.Brought > 0 || c.Removed > 0 || c.Untold == 0)
}

// Claimed reports whether the number of passing tests is only what agents say: gl could have run
// tests, and there were none to run.
func (c TestCounts) Claimed() bool { return c.Ran.Suite == nil && c.Untested > 0 && c.Recorded > 0 }

// Red reports whether tests fail.
func (c TestCounts) Red() bool {
	n, known := c.Fail()
	return n > 0 || !known
}

// String returns "29 passing, 0 failing, 4 security" or "passed (no counts)", without thousands
// separators.
func (c TestCounts) String() string { return c.text(func(n int) string { return fmt.Sprint(n) }, "") }

// Text returns "1,829 passing, 0 failing, 4 security (12 new, 2 removed)", "… (12 or more new)" if
// slices landed together, "passed (no counts); agents report 18", or "18 passing, 0 failing, 0
// security (reported by agents; gl ran no tests)".
func (c TestCounts) Text() string {
	note := ""
	if n, ok := c.New(); ok {
		note = " (" + words.Thousands(n) + map[bool]string{true: " new", false: " or more new"}[c.Untold == 0]
		if c.Removed > 0 {
			note += ", " + words.Thousands(c.Removed) + " removed"
		}
		note += ")"
	} else if c.Ran.Suite != nil && c.Ran.Suite.Uncounted && c.OfDone > 0 {
		note = fmt.Sprintf("; agents report %s", words.Thousands(c.OfDone))
	} else if c.Claimed() {
		note = " (reported by agents; gl ran no tests)"
	} else if c.Ran.Suite == nil && c.Ran.OtherCommand && c.Untold > 0 {
		note = " (reported by agents; gl hasn't run this test command)"
	}
	return c.text(words.Thousands, note)
}

func (c TestCounts) text(number func(int) string, note string) string {
	fail, _ := c.Fail()
	if passing, known := c.Passing(); known {
		text := number(passing) + " passing, " + number(fail) + " failing, " + number(c.Security) + " security" + note
		return text + c.uncounted()
	}
	text := c.Ran.Suite.verdict()
	if fail > 0 {
		text += ", " + number(fail) + " failing"
	}
	if c.Security > 0 {
		text += ", " + number(c.Security) + " security"
	}
	return text + note + c.uncounted()
}

// Unknown reports whether no test is known: gl has run none, and the slices record none.
func (c TestCounts) Unknown() bool {
	return c.Ran.Suite == nil && c.Recorded+c.Failing+c.Security+c.Uncounted == 0
}

// Brief returns "1,829 tests, 3 failing", "tests passed (no counts)", "no tests run" or, where only
// agents have counted, "gl ran no tests, agents report 9".
func (c TestCounts) Brief() string {
	switch {
	case c.Unknown():
		return "no tests run"
	case c.Claimed() && c.Failing+c.Uncounted == 0:
		return "gl ran no tests, agents report " + words.Thousands(c.Recorded)
	}
	text := ""
	if n, known := c.Passing(); known {
		text = words.Thousands(n) + map[bool]string{true: " test", false: " tests"}[n == 1]
	} else {
		text = "tests " + c.Ran.Suite.verdict()
	}
	if n, _ := c.Fail(); n > 0 {
		text += fmt.Sprintf(", %s failing", words.Thousands(n))
	}
	return text + c.uncounted()
}

// verdict returns the result of a runner without counts.
func (s *Suite) verdict() string {
	if s.Red {
		return "failed (no counts)"
	}
	return "passed (no counts)"
}

// uncounted describes red slices without counts.
func (c TestCounts) uncounted() string {
	if c.Uncounted == 0 {
		return ""
	}
	return "; " + words.Count(c.Uncounted, "slice") + " failed without counts"
}

// Gain describes by how much an item changed the number of tests: "3 new", "2 removed".
func Gain(n int) string {
	if n < 0 {
		return words.Thousands(-n) + " removed"
	}
	return words.Thousands(n) + " new"
}

// Tested reports whether tests ran on all of these done items.
func Tested(p *Plan, ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		st := p.State(id)
		return st == nil || st.Verified == Unverified
	})
}

// TestsOf describes how many tests an item has added: "3 new tests", "2 tests removed"; "3 tests
// reported", by its agent, if gl hasn't counted what they add to the suite.
func (p *Plan) TestsOf(st *State) string {
	switch {
	case st.Class == Done && st.Counted && st.NewTests < 0:
		return words.Count(-st.NewTests, "test") + " removed"
	case st.Class == Done && st.Counted:
		return words.Count(st.NewTests, "new test")
	}
	if n := st.Counting(st.Class == Done); n > 0 {
		return words.Count(n, "test") + " reported"
	}
	return "no tests reported"
}
