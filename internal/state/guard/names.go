package guard

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// This file finds the names of tests in a file by the rules of its language's runners, well
// enough to see that one is gone or skipped, not to run it.

// A TestName is a test in a file.
type TestName struct {
	Name    string
	Skipped bool // by a mark in the file
	Lines   int  // lines of code, including the head
}

// A dialect describes how tests are written in a language. The expressions in names have
// groups; the first that matches is the name.
type dialect struct {
	ends    []string // file extensions
	names   string   // matches the beginning of a test
	skips   string   // in a test, or just before it, means that it isn't run
	all     string   // anywhere in the file, means that not all of its tests are run
	comment string   // begins a comment line
	inline  bool     // tests may be in any file, beside the code
}

// dialects returns the table of languages.
func dialects() []dialect {
	const quoted = "(?:'((?:[^'\\\\\n]|\\\\.)*)'|\"((?:[^\"\\\\\n]|\\\\.)*)\"|`((?:[^`\\\\]|\\\\.)*)`)"
	const jvm = `@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property)\b(?:\([^)]*\))?` +
		`(?:\s*@\w+(?:\([^)]*\))?)*\s*(?:[\w<>\[\].?, ]+?\s+)?(?:fun\s+)?(?:` + "`([^`\n]+)`" +
		`|(\w+))\s*\(`
	return []dialect{
		{ends: []string{".go"}, names: `(?m)^func\s+(?:\(\s*\w+\s+\*?\w+\s*\)\s+)?((?:Test|Fuzz|Benchmark|Example)\w*)\s*\(`,
			skips: `\.Skip(?:Now|f)?\(`, all: `(?m)^//(?:go:build| ?\+build) .*$`, comment: "//"},
		{ends: []string{".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts",
			".vue", ".svelte"},
			names: `\b[xf]?(?:it|test|describe|suite|context|specify)(?:\.\w+)*(?:\([^()\n]*\)|` +
				"`[^`]*`" + `)?\s*\(\s*` + quoted,
			skips:   `\bx(?:it|test|describe|context|specify)\s*\(|\b(?:it|test|describe|suite|context|specify)(?:\.\w+)*\.(?:skip|todo|fixme|failing|fails)\b|\bthis\.skip\(|\{\s*skip:\s*(?:true|['"])`,
			all:     `\b(?:it|test|describe|suite|context|specify)(?:\.\w+)*\.only\b|\bf(?:it|describe)\s*\(`,
			comment: "//"},
		{ends: []string{".py"},
			names: `(?m)^[ \t]*(?:async\s+)?def\s+(test\w*)\s*\(|^class\s+(Test\w*)`,
			skips: `@[\w.]*(?:skip\w*|xfail|expectedFailure)\b|\bpytest\.(?:skip|xfail)\(|\.skipTest\(|\braise\s+(?:\w+\.)?SkipTest\b`, all: `(?m)^\s*(?:pytestmark|__test__|collect_ignore\w*)\s*=.*$|allow_module_level`,
			comment: "#"},
		{ends: []string{".rs"}, inline: true, names: `#\[(?:\w+::)*(?:test|rstest|test_case|proptest|bench)\b[^\]]*\](?:\s*#\[[^\]]*\])*\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(\w+)`,
			skips: `#\[(?:cfg_attr\([^\]]*)?ignore\b`, all: `(?m)^\s*#!\[cfg\(.*$`, comment: "//"},
		{ends: []string{".zig"}, inline: true, names: `(?m)^\s*test\s+"([^"\n]*)"`,
			skips: `error\.SkipZigTest`, comment: "//"},
		{ends: []string{".java", ".kt", ".kts", ".groovy"}, names: jvm,
			skips: `@(?:Disabled\w*|Ignore)\b|\bassumeTrue\(false\)`, comment: "//"},
		{ends: []string{".scala"}, names: `\b(?:test|it|describe)\s*\(\s*"([^"\n]*)"|"([^"\n]*)"\s+(?:in|should|ignore)\b`, skips: `\bignore\b|assume\(false\)`, comment: "//"},
		{ends: []string{".cs"}, names: `\[(?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod)\b[^\]]*\](?:\s*\[[^\]]*\])*\s*(?:[\w<>]+\s+)+(\w+)\s*\(`,
			skips: `\bSkip\s*=|\[Ignore|Assert\.Ignore`, comment: "//"},
		{ends: []string{".rb"}, names: `(?m)^\s*x?(?:it|describe|context|specify|test|scenario|feature)\s*\(?\s*` + quoted + `|^\s*def\s+(test_\w+)`,
			skips: `(?m)^\s*x(?:it|describe|context|specify)\b|^\s*(?:skip|pending)\b|,\s*(?:skip|pending):|:skip\b`, comment: "#"},
		{ends: []string{".php"}, names: `\bfunction\s+(test\w+)\s*\(|#\[Test\][^{;]*?function\s+(\w+)|(?m)^\s*(?:it|test)\s*\(\s*` + quoted,
			skips: `markTest(?:Skipped|Incomplete)|->(?:skip|todo)\(`, comment: "//"},
		{ends: []string{".exs"}, names: `(?m)^\s*(?:test|describe|property)\s+"([^"\n]*)"`,
			skips: `@tag\s+(?::skip|skip:)`, all: `@moduletag\s+(?::skip|skip:)`, comment: "#"},
		{ends: []string{".swift"}, names: `\bfunc\s+(test\w*)\s*\(|@Test\b(?:\([^)]*\))?\s*(?:\w+\s+)*func\s+(\w+)`, skips: `XCTSkip|\.disabled\(`, comment: "//"},
		{ends: []string{".dart"}, names: `\b(?:test|testWidgets|group)\s*\(\s*` + quoted,
			skips: `\bskip:\s*(?:true|['"])`, all: `@Skip\(`, comment: "//"},
		{ends: []string{".c", ".cc", ".cpp", ".cxx"}, names: `\bTEST(?:_F|_P)?\s*\(\s*(\w+\s*,\s*\w+)|\b(?:TEST_CASE|SCENARIO)\s*\(\s*"([^"\n]*)"|(?m)^(?:static\s+)?(?:void|int)\s+(test_\w+)\s*\(`,
			skips: `\bDISABLED_|GTEST_SKIP|\bSKIP\(`, comment: "//"},
		{ends: []string{".bats"}, names: `(?m)^\s*@test\s+(?:"([^"\n]*)"|'([^'\n]*)')`,
			skips: `(?m)^\s*skip\b`, comment: "#"},
		{ends: []string{".feature"}, names: `(?m)^\s*Scenario(?: Outline)?:[ \t]*(.*?)[ \t]*$`,
			skips: `@(?:skip|ignore|wip|disabled)\b`, comment: "#"},
		{ends: []string{".lua"}, names: `\b(?:it|describe|test)\s*\(?\s*` + quoted,
			skips: `\bpending\s*\(`, comment: "--"},
		{ends: []string{".clj", ".cljs", ".cljc"}, names: `\(deftest\s+(?:\^\S+\s+)*([^\s()]+)`,
			skips: `\^:(?:skip|kaocha/skip)`, comment: ";"},
		{ends: []string{".jl"}, names: `@testset\s+(?:\w+\s+)*"([^"\n]*)"`, skips: `@test_skip`,
			comment: "#"},
		{ends: []string{".erl"}, names: `(?m)^(\w+_test_?)\s*\(\s*\)`, comment: "%"},
		{ends: []string{".t"}, names: `\bsubtest\s+` + quoted, skips: `\bskip_all\b|\bskip\s*\(`,
			comment: "#"},
	}
}

// A reader is a compiled dialect.
type reader struct {
	names, skips, all *regexp.Regexp
	comment           string
	inline            bool
}

// readers maps file extensions to dialects.
var readers = sync.OnceValue(func() map[string]*reader {
	all := map[string]*reader{}
	compile := func(text string) *regexp.Regexp {
		if text == "" {
			return nil
		}
		return regexp.MustCompile(text)
	}
	for _, d := range dialects() {
		r := &reader{compile(d.names), compile(d.skips), compile(d.all), d.comment, d.inline}
		for _, end := range d.ends {
			all[end] = r
		}
	}
	return all
})

// HoldsTests reports whether a file may contain tests because of its language, under any name:
// unit tests are beside the code.
func HoldsTests(rel string) bool {
	switch path.Ext(rel) {
	case ".rs", ".zig":
		return true
	}
	return false
}

// TestNames returns the tests in a file's text, in order. known is false for languages outside
// the table.
func TestNames(rel string, text []byte) (names []TestName, known bool) {
	r := readers()[path.Ext(rel)]
	if r == nil {
		return nil, false
	}
	code := r.withoutComments(string(text))
	found := r.names.FindAllStringSubmatchIndex(code, -1)
	partly := r.all != nil && r.all.MatchString(string(text))
	starts := make([]int, len(found)+1)
	for i, m := range found {
		starts[i] = headOf(code, m[0])
	}
	starts[len(found)] = len(code)
	for i, m := range found {
		body := code[starts[i]:max(starts[i], starts[i+1])]
		t := TestName{Name: firstGroup(code, m), Lines: codeLines(body),
			Skipped: partly || r.skips != nil && r.skips.MatchString(body)}
		names = append(names, t)
	}
	return names, true
}

// firstGroup returns the first group that matched.
func firstGroup(text string, m []int) string {
	for i := 2; i+1 < len(m); i += 2 {
		if m[i] >= 0 {
			return strings.Join(strings.Fields(text[m[i]:m[i+1]]), " ")
		}
	}
	return ""
}

// headOf returns where a test begins, including the marks before it: lines of decorators,
// attributes and annotations.
func headOf(code string, at int) int {
	at = strings.LastIndexByte(code[:at], '\n') + 1
	for at > 0 {
		above := strings.LastIndexByte(code[:at-1], '\n') + 1
		line := strings.TrimSpace(code[above : at-1])
		if line == "" || !strings.ContainsAny(line[:1], "@#[^") {
			break
		}
		at = above
	}
	return at
}

func codeLines(body string) int {
	n := 0
	for line := range strings.Lines(body) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

var blockComments = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?ms)^[ \t]*/\*.*?\*/`)
})

// withoutComments removes comment lines, and block comments that begin a line.
func (r *reader) withoutComments(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if r.comment == "//" {
		text = blockComments().ReplaceAllString(text, "")
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), r.comment) ||
			strings.HasPrefix(strings.TrimSpace(line), "#[") {
			b.WriteString(line)
		}
	}
	return b.String()
}
