package testrun_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/run/testrun"
)

// outputs are outputs of test runners with their counts. -1 is unknown.
var outputs = []struct {
	name, text              string
	passed, failed, skipped int
	failing                 []string
}{
	{"nothing", "", -1, -1, -1, nil},
	{"no runner", "hello\n3 files copied\nTests were fun\n5 things in 3s\n", -1, -1, -1, nil},

	{"go test", "--- FAIL: TestSub (0.00s)\n    --- FAIL: TestSub/two (0.00s)\n        a_test.go:4: bad\nFAIL\nFAIL\tm/a\t0.066s\nok  \tm/b\t0.025s\n" +
		"?   \tm/n\t[no test files]\n# m/x [m/x.test]\nx/x_test.go:3:28: undefined: y\nFAIL\tm/x [build failed]\nFAIL\n",
		-1, 3, -1, []string{"m/a.TestSub", "m/a.TestSub/two", "m/x [build failed]"}},
	{"go test, green", "ok  \tm/a\t0.1s\nok  \tm/b\t(cached)\n", -1, 0, -1, nil},
	{"go test without tests", "?   \tm/n\t[no test files]\nok  \tm/e\t0.1s [no tests to run]\n", 0, 0, 0, nil},
	{"go test -v", "=== RUN   TestOK\n--- PASS: TestOK (0.00s)\n=== RUN   TestSub\n=== RUN   TestSub/one\n    a_test.go:4: bad\n--- FAIL: TestSub (0.00s)\n" +
		"    --- FAIL: TestSub/one (0.00s)\n=== RUN   TestSkip\n--- SKIP: TestSkip (0.00s)\nFAIL\nFAIL\tm/a\t0.046s\n=== RUN   TestB\n--- PASS: TestB (0.00s)\nPASS\nok  \tm/b\t0.029s\nFAIL\n",
		2, 2, 1, []string{"m/a.TestSub", "m/a.TestSub/one"}},
	{"go test -json", `{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"m/a","Test":"TestSkip","Output":"--- SKIP: TestSkip (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestSkip","Elapsed":0}
{"Action":"fail","Package":"m/a","Test":"TestBad","Elapsed":0}
{"Action":"output","Package":"m/a","Output":"FAIL\tm/a\t0.031s\n"}
{"Action":"fail","Package":"m/a","Elapsed":0.045}
{"ImportPath":"m/x [m/x.test]","Action":"build-fail"}
{"Action":"fail","Package":"m/x","Elapsed":0,"FailedBuild":"m/x [m/x.test]"}
{"Action":"skip","Package":"m/n","Elapsed":0}
{"Action":"pass","Package":"m/b","Test":"TestB","Elapsed":0}
{"Action":"pass","Package":"m/b","Elapsed":0.012}
`, 1, 2, 1, []string{"m/a.TestBad", "m/x"}},

	{"jest", "\x1b[0m\x1b[7m\x1b[1m\x1b[31m FAIL \x1b[39m\x1b[22m\x1b[27m\x1b[0m src/\x1b[1msum.test.js\x1b[22m (5.1 s)\n  sum\n    \x1b[31m✕\x1b[39m adds (3 ms)\n\n" +
		"\x1b[1m\x1b[31m  \x1b[1m● \x1b[22m\x1b[1msum › adds\x1b[39m\x1b[22m\n\n    expect(received).toBe(expected)\n\n FAIL  src/broken.test.js\n  ● Test suite failed to run\n\n    Cannot find module\n\n" +
		"  ● Console\n\n    console.log\n\nTest Suites: 2 failed, 1 passed, 3 total\nTests:       1 failed, 1 skipped, 1 todo, 4 passed, 7 total\nSnapshots:   0 total\nTime:        1.2 s\n",
		4, 1, 2, []string{"sum › adds", "src/broken.test.js"}},
	{"vitest", " \x1b[32m✓\x1b[39m src/ok.test.ts (2 tests) 3ms\n ❯ src/bad.test.ts (2 tests | 1 failed) 5ms\n\n⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯\n\n" +
		" \x1b[41m\x1b[1m FAIL \x1b[22m\x1b[49m src/bad.test.ts\x1b[2m > \x1b[22mmath\x1b[2m > \x1b[22madds\nAssertionError: expected 1 to be 2\n\n FAIL  src/load.test.ts [ src/load.test.ts ]\nError: no\n\n" +
		" Test Files  2 failed | 1 passed (3)\n      Tests  1 failed | 3 passed | 1 skipped (5)\n   Start at  10:00:00\n   Duration  300ms\n",
		3, 1, 1, []string{"src/bad.test.ts > math > adds", "src/load.test.ts"}},
	{"pytest", "collected 5 items\n\ntests/test_x.py F.s                    [100%]\n\n=== FAILURES ===\n___ test_y[a b] ___\n\n=========================== short test summary info ============================\n" +
		"FAILED tests/test_x.py::test_y[a b] - assert 1 == 2\nERROR tests/test_z.py - ImportError: no\nERROR    root:test_x.py:5 a log\n\x1b[31m============= \x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m, \x1b[33m1 skipped\x1b[0m, 1 xfailed, 3 warnings, \x1b[31m1 error\x1b[0m\x1b[31m in 0.12s\x1b[0m\x1b[31m =============\x1b[0m\n",
		2, 2, 2, []string{"tests/test_x.py::test_y[a b]", "tests/test_z.py"}},
	{"pytest -q", "...\n3 passed in 0.01s\n", 3, 0, 0, nil},
	{"pytest, long", "== 3 passed, 2 deselected in 75.30s (0:01:15) ==\n", 3, 0, 0, nil},
	{"pytest without tests", "\nno tests ran in 0.00s\n", 0, 0, 0, nil},
	{"unittest", "Fx.s\n=====\nFAIL: test_bad (t.T.test_bad)\n-----\nAssertionError: x\n\nRan 4 tests in 0.019s\n\nFAILED (failures=1, skipped=1, expected failures=1)\n",
		1, 1, 2, []string{"test_bad (t.T.test_bad)"}},
	{"unittest, green", "....\nRan 4 tests in 0.019s\n\nOK\n", 4, 0, 0, nil},

	{"cargo, two crates", "running 3 tests\ntest tests::ign ... ignored\ntest tests::ok ... ok\ntest tests::bad ... \x1b[31mFAILED\x1b[m\n\nfailures:\n    tests::bad\n\n" +
		"test result: \x1b[31mFAILED\x1b[m. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.19s\n\nrunning 0 tests\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
		3, 1, 1, []string{"tests::bad"}},
	{"nextest", "    Starting 3 tests across 1 binary\n        PASS [   0.004s] c tests::ok\n  TRY 1 FAIL [   0.002s] c tests::shaky\n  TRY 2 PASS [   0.002s] c tests::shaky\n        FAIL [   0.005s] c tests::bad\n────────────\n" +
		"     Summary [   0.010s] 3 tests run: 2 passed (1 flaky), 1 failed, 4 skipped\n        FAIL [   0.005s] c tests::bad\n",
		2, 1, 4, []string{"c tests::bad"}},

	{"node, TAP", "TAP version 13\n# Subtest: adds\nok 1 - adds\n  ---\n  duration_ms: 19.6\n  ...\n# Subtest: suite\n    # Subtest: \\#inner\n    not ok 1 - \\#inner\n    1..1\nnot ok 2 - suite\nok 3 - later # SKIP\nnot ok 4 - some day # TODO\n" +
		"1..4\n# tests 4\n# suites 1\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 1\n# duration_ms 23.4\n",
		1, 1, 2, []string{`\#inner`, "suite"}},
	{"node, spec", "✔ adds (20.014507ms)\n✖ breaks (4.287554ms)\n▶ suite\n  ✖ #inner (150.24ms)\n✖ suite (151ms)\nℹ tests 3\nℹ suites 1\nℹ pass 1\nℹ fail 2\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\n\n✖ failing tests:\n\ntest at a.mjs:2:25\n✖ breaks (4.287554ms)\n",
		1, 2, 0, []string{"breaks", "#inner", "suite"}},
	{"bats", "1..3\nok 1 adds\nnot ok 2 breaks\n# (in test file a.bats, line 3)\nok 3 later # skip not now\n", 1, 1, 1, []string{"breaks"}},
	{"mocha", "  Array\n    ✔ works\n    1) breaks\n\n  3 passing (10ms)\n  1 pending\n  2 failing\n\n  1) Array\n       #indexOf()\n         breaks:\n     AssertionError: x\n      at Context (a.js:1:1)\n\n  2) top:\n     Error\n",
		3, 2, 1, []string{"Array #indexOf() breaks", "top"}},
	{"playwright", "  1) [chromium] › a.spec.ts:3:5 › logs in ─────────\n\n    Error\n\n  1 failed\n    [chromium] › a.spec.ts:3:5 › logs in ───\n  1 flaky\n  2 skipped\n  3 passed (5.0s)\n",
		4, 1, 2, []string{"[chromium] › a.spec.ts:3:5 › logs in"}},
	{"bun", "(pass) adds [0.10ms]\n(fail) math > breaks [0.20ms]\n\n 1 pass\n 1 skip\n 1 fail\nRan 3 tests across 1 file. [9.00ms]\n", 1, 1, 1, []string{"math > breaks"}},
	{"deno", "sum ... ok (1ms)\nsub ... FAILED (3ms)\n\nFAILED | 1 passed | 1 failed | 2 ignored (10ms)\n", 1, 1, 2, []string{"sub"}},

	{"rspec", "Finished in 0.1 seconds\n5 examples, 1 failure, 2 pending\n\nFailed examples:\n\nrspec ./spec/a_spec.rb:3 # A breaks\n", 2, 1, 2, []string{"A breaks"}},
	{"rspec, one", "1 example, 0 failures\n", 1, 0, 0, nil},
	{"minitest", "  1) Failure:\nATest#test_x [test/a_test.rb:5]:\nExpected: 1\n\n  2) Error:\nATest#test_z:\nRuntimeError\n\n5 runs, 7 assertions, 1 failures, 1 errors, 1 skips\n", 2, 2, 1, []string{"ATest#test_x", "ATest#test_z"}},
	{"ExUnit", "  1) test breaks (ATest)\n     test/a_test.exs:3\n\nFinished in 0.03 seconds\n2 doctests, 3 tests, 1 failure, 1 skipped\n", 3, 1, 1, []string{"test breaks (ATest)"}},
	{"phpunit", "There was 1 failure:\n\n1) ATest::testX with data set #0\nFailed asserting\n\n--\n\nThere was 1 skipped test:\n\n1) ATest::testS\n\nFAILURES!\nTests: 5, Assertions: 7, Failures: 1, Skipped: 1.\n", 3, 1, 1, []string{"ATest::testX with data set #0"}},
	{"phpunit, green", "\x1b[30;42mOK (3 tests, 5 assertions)\x1b[0m\n", 3, 0, 0, nil},
	{"ctest", "50% tests passed, 1 tests failed out of 2\n\nTotal Test time (real) =   0.01 sec\n\nThe following tests FAILED:\n\t  2 - breaks (Failed)\n", 1, 1, 0, []string{"breaks"}},
	{"dotnet", "Failed!  - Failed:     1, Passed:     3, Skipped:     2, Total:     6, Duration: 1 s - a.dll (net8.0)\n", 3, 1, 2, nil},
	{"Maven", "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in ATest\n[ERROR] Failures: \n[ERROR]   BTest.breaks:12 expected 1\n[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1\n", 2, 2, 1, []string{"BTest.breaks"}},
	{"Gradle", "ATest > breaks() FAILED\n    AssertionError at ATest.java:3\n\n5 tests completed, 1 failed, 1 skipped\n", 3, 1, 1, []string{"ATest > breaks()"}},

	{"workspaces of pnpm", "packages/a test:       Tests  2 passed (2)\npackages/b test: Tests:       1 failed, 3 total\n", 4, 1, 0, nil},
	{"two mocha runs", "  1 passing (1ms)\n  1 failing\n\n  1) a:\n     Error\n\n  2 passing (1ms)\n", 3, 1, 0, []string{"a"}},
	{"Windows line ends", "3 passed in 0.01s\r\n", 3, 0, 0, nil},
	{"a progress line", "10%\r50%\r3 passed in 0.01s\n", 3, 0, 0, nil},
	{"cut off", "FAILED tests/a.py::test_x - no\n== 1 failed, 2 pas", -1, -1, -1, []string{"tests/a.py::test_x"}},
	{"cut off in an escape", "3 passed in 0.01s\n\x1b[3", 3, 0, 0, nil},
	{"numbers too large", "99999999999999999999 passed in 0.01s\n", 0, 0, 0, nil},
	{"a name to hide behind", "test a\x1b]0;title\x07b\u202e ... FAILED\n", -1, -1, -1, []string{`ab\u202e`}},
}

func TestCounter(t *testing.T) {
	for _, o := range outputs {
		t.Run(o.name, func(t *testing.T) {
			for _, chunk := range []int{len(o.text) + 1, 1, 7} {
				c := testrun.NewCounter(nil)
				for rest := []byte(o.text); len(rest) > 0; {
					n := min(chunk, len(rest))
					c.Write(rest[:n])
					rest = rest[n:]
				}
				got := c.Counts()
				if p, f, s := known(got.Passed), known(got.Failed), known(got.Skipped); p != o.passed || f != o.failed || s != o.skipped {
					t.Errorf("in chunks of %d: %d passed, %d failed, %d skipped; want %d, %d, %d", chunk, p, f, s, o.passed, o.failed, o.skipped)
				}
				if !slices.Equal(got.Failing, o.failing) || got.More {
					t.Errorf("in chunks of %d: failing %q, want %q", chunk, got.Failing, o.failing)
				}
			}
		})
	}
}

func known(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

func TestPattern(t *testing.T) {
	re, err := testrun.ParsePattern(`(?P<passed>\d+) good(?:, (?P<failed>\d+) bad)?`)
	if err != nil {
		t.Fatal(err)
	}
	c := testrun.NewCounter(re)
	c.Write([]byte("\x1b[32m3 good\x1b[0m, 1 bad\n2 good\n9 passed in 0.1s\n"))
	if got := c.Counts(); known(got.Passed) != 5 || known(got.Failed) != 1 || known(got.Skipped) != 0 {
		t.Errorf("%d, %d, %d", known(got.Passed), known(got.Failed), known(got.Skipped))
	}
	for _, bad := range []string{"(", `\d+ ok`, `(?P<ok>\d+)`, `(?=x)(?P<passed>x)`} {
		if _, err := testrun.ParsePattern(bad); err == nil {
			t.Errorf("%q is a pattern", bad)
		}
	}
}

// A Counter's memory doesn't grow with the output.
func TestCounterIsBounded(t *testing.T) {
	c := testrun.NewCounter(nil)
	for i := range 20_000 {
		fmt.Fprintf(c, "test %d%s ... FAILED\n", i, strings.Repeat("x", 400))
	}
	fmt.Fprint(c, strings.Repeat("y", 1<<20))
	got := c.Counts()
	if len(got.Failing) != 200 || !got.More || len(got.Failing[0]) > 300 {
		t.Errorf("%d names, more: %v", len(got.Failing), got.More)
	}
	if last := c.Last(); len(last) != 40 || len(last[39]) != 500 || last[39][0] != 'y' {
		t.Errorf("%d last lines", len(last))
	}
}

func TestLast(t *testing.T) {
	c := testrun.NewCounter(nil)
	c.Write([]byte("\n\x1b[31mone\x1b[0m\n\n  two\x07\n"))
	if got := c.Last(); !slices.Equal(got, []string{"one", `  two\x07`}) {
		t.Errorf("%q", got)
	}
}

func FuzzCounter(f *testing.F) {
	for _, o := range outputs {
		f.Add([]byte(o.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, parts := testrun.NewCounter(nil), testrun.NewCounter(nil)
		whole.Write(data)
		parts.Write(data[:len(data)/2])
		parts.Write(data[len(data)/2:])
		a, b := whole.Counts(), parts.Counts()
		if known(a.Passed) != known(b.Passed) || known(a.Failed) != known(b.Failed) || !slices.Equal(a.Failing, b.Failing) {
			t.Errorf("%+v in one piece, %+v in two", a, b)
		}
		for _, n := range []*int{a.Passed, a.Failed, a.Skipped} {
			if n != nil && (*n < 0 || *n > 1<<30) {
				t.Errorf("%d tests", *n)
			}
		}
		for _, text := range slices.Concat(a.Failing, whole.Last()) {
			if len(text) > 4000 || !utf8.ValidString(text) || sanitize.Text(text) != text || strings.Contains(text, "\n") {
				t.Errorf("%q isn't safe to print", text)
			}
		}
	})
}

// The output of failing tests is found anywhere, and that of other tests is left out.
func TestFailure(t *testing.T) {
	noise := strings.Repeat("ok  \texample.com/x\t(cached)\n", 60)
	for name, o := range map[string]struct{ text, want, not string }{
		"go":     {"ok  \tex/a\t0.1s\n--- FAIL: TestX (0.00s)\n    x_test.go:7: got 1, want 2\nFAIL\nFAIL\tex/b\t0.2s\n" + noise + "FAIL\n", "x_test.go:7: got 1, want 2", "cached"},
		"go -v":  {"=== RUN   TestA\n    a_test.go:1: fine\n--- PASS: TestA (0.00s)\n=== RUN   TestX\n    x_test.go:7: got 1\n--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tex\t0.2s\n" + noise, "x_test.go:7: got 1", "fine"},
		"go vet": {"# ex/b\nb/b.go:3:2: undefined: y\nFAIL\tex/b [build failed]\n" + noise, "b/b.go:3:2: undefined: y", "cached"},
		"panic":  {"panic: boom\n\ngoroutine 1 [running]:\nmain.f()\nFAIL\tex/b\t0.1s\n" + noise, "main.f()", "cached"},
		"jest":   {"PASS a.test.js\nFAIL b.test.js\n  ● sum › adds\n\n    expect(received).toBe(expected)\n    Expected: 3\n    Received: 4\n\nTest Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 4 passed, 5 total\n" + strings.Repeat("npm ERR! x\n", 60), "Received: 4", "npm"},
		"vitest": {" FAIL  src/a.test.ts > sum > adds\nAssertionError: expected 4 to be 3\n ❯ src/a.test.ts:5:1\n⎯⎯⎯⎯⎯⎯[1/1]⎯\n Test Files  1 failed (1)\n      Tests  1 failed (1)\n" + strings.Repeat("npm ERR! x\n", 60), "expected 4 to be 3", "npm"},
		"pytest": {"==== FAILURES ====\n____ test_x ____\n\n    def test_x():\n>       assert 1 == 2\nE       assert 1 == 2\n\nt.py:2: AssertionError\n==== warnings summary ====\n" + strings.Repeat("warn\n", 60) + "==== 1 failed in 0.1s ====\n", "E       assert 1 == 2", "warn"},
		"cargo":  {"running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nthread 'b' panicked at src/lib.rs:3:5:\nassertion failed\n\nfailures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n" + strings.Repeat("   Doc-tests x\n", 60), "panicked at src/lib.rs:3:5", "Doc-tests"},
		"node":   {"✔ a (1ms)\n✖ b (2ms)\nℹ tests 2\nℹ fail 1\n\n✖ failing tests:\n\ntest at b.mjs:3:1\n✖ b (2ms)\n  AssertionError [ERR_ASSERTION]: 1 !== 2\n", "1 !== 2", "ℹ"},
		"none":   {"something else\nwent wrong\n", "", "wrong"},
	} {
		c := testrun.NewCounter(nil)
		c.Write([]byte(o.text))
		c.Counts()
		got := strings.Join(c.Failure(), "\n")
		if !strings.Contains(got, o.want) || strings.Contains(got, o.not) || len(c.Failure()) > 81 {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}
