package guard

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// runnerFiles configure test runners: changing them can make any tests pass.
var runnerFiles = []string{
	"pytest.ini", ".pytest.ini", "conftest.py", "noxfile.py", ".coveragerc", "sitecustomize.py",
	"usercustomize.py",
	"jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.workspace.*", "vitest.setup.*",
	"karma.conf.*", "playwright.config.*", "cypress.config.*", ".mocharc*",
	"ava.config.*", "wdio.conf.*", "nightwatch.conf.*", "jasmine.json", ".taprc", "cucumber.js",
	"cucumber.yml", "bunfig.toml",
	".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "pnpmfile.cjs",
	"phpunit.xml*", "behat.yml", "codeception.yml", ".rspec", ".rspec-local", "nextest.toml",
	".busted", ".proverc",
}

// IsRunnerConfig reports whether a file configures a test runner and nothing else. Until the
// tests are handed over, the agent that sets up a project may write it; after that it is fixed,
// like the tests.
func IsRunnerConfig(rel string) bool {
	name := path.Base(rel)
	return path.Base(path.Dir(rel)) == ".cargo" && strings.HasPrefix(name, "config") ||
		slices.ContainsFunc(runnerFiles, func(pattern string) bool {
			ok, _ := path.Match(pattern, name) // the patterns are valid
			return ok
		})
}

// RunnerConfig reports whether a file, or a part of it, configures a test runner: see
// RunnerPart.
func RunnerConfig(rel string) bool { return HasRunnerPart(rel) || IsRunnerConfig(rel) }

// setsUp reports whether the agent may set up runners while no tests are handed over.
func (r row) setsUp() bool { return slices.Contains(r.MayWrite, Setup) }

// PackageFile runs tests by its scripts.
const PackageFile = "package.json"

// HasRunnerPart reports whether only a part of a file configures a runner.
func HasRunnerPart(rel string) bool {
	return slices.Contains([]string{PackageFile, "pyproject.toml", "setup.cfg", "tox.ini"},
		path.Base(rel))
}

// RunnerPart returns the part of such a file about running tests; "" for none, for a file that
// can't be parsed, and for the default script of npm init, which always fails.
func RunnerPart(rel string, text []byte) string {
	if path.Base(rel) == PackageFile {
		return packagePart(text)
	}
	var b strings.Builder
	inside := false
	for line := range bytes.Lines(text) {
		if head := bytes.TrimSpace(line); bytes.HasPrefix(head, []byte("[")) {
			inside = runnerSection().Match(head)
		}
		if inside && len(bytes.TrimSpace(line)) > 0 {
			b.Write(line)
		}
	}
	return b.String()
}

var runnerSection = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\[+\s*(?:pytest|tool:pytest|tool\.pytest\b|tool\.tox\b|tool\.coverage\b|tool\.nox\b|tool\.hatch\.envs|testenv|tox\b|tool\.poe\b|tool\.pdm\.scripts|aliases)`)
})

// packagePart returns the scripts that run tests, and the runners' configuration. Keys are
// case-sensitive, as in npm.
func packagePart(text []byte) string {
	var doc map[string]json.RawMessage
	if json.Unmarshal(text, &doc) != nil {
		return ""
	}
	var b strings.Builder
	scripts := stringsOf(doc["scripts"])
	for _, key := range slices.Sorted(maps.Keys(scripts)) {
		told := key == "test" || strings.HasPrefix(key, "test:") || key == "pretest" ||
			key == "posttest"
		if told && !strings.Contains(scripts[key], "no test specified") {
			b.WriteString(key + "\x00" + scripts[key] + "\x00")
		}
	}
	for _, key := range []string{"jest", "mocha", "ava", "tap", "vitest"} {
		if raw := doc[key]; raw != nil {
			b.WriteString(key + "\x00" + string(raw) + "\x00")
		}
	}
	return b.String()
}

// stringsOf parses an object of strings, omitting other values.
func stringsOf(raw json.RawMessage) map[string]string {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(raw, &all)
	list := map[string]string{}
	for key, value := range all {
		var s string
		if json.Unmarshal(value, &s) == nil {
			list[key] = s
		} else {
			list[key] = string(value)
		}
	}
	return list
}

// entries returns the files that programs read first, in order of precedence.
func entries() map[string][]string {
	node := []string{PackageFile, ".npmrc", ".yarnrc.yml", ".pnpmfile.cjs"}
	jvm := []string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts",
		"gradle.properties", "gradlew"}
	return map[string][]string{
		"make":  {"GNUmakefile", "makefile", "Makefile"},
		"gmake": {"GNUmakefile", "makefile", "Makefile"},
		"just":  {"justfile", "Justfile", ".justfile"}, "task": {"Taskfile.yml", "taskfile.yml",
			"Taskfile.yaml", "taskfile.yaml"}, "mise": {"mise.toml", ".mise.toml"},
		"npm": node, "npx": node, "pnpm": node, "yarn": node, "bun": node,
		"deno": {"deno.json", "deno.jsonc"},
		"rake": {"Rakefile", "rakefile", "Rakefile.rb"}, "tox": {"tox.ini"}, "nox": {"noxfile.py"},
		"hatch": {"pyproject.toml"}, "pdm": {"pyproject.toml"},
		"gradle": jvm, "gradlew": jvm, "mvn": {"pom.xml", ".mvn/maven.config", ".mvn/jvm.config"},
		"mvnw":  {"pom.xml", ".mvn/maven.config", ".mvn/jvm.config"},
		"cargo": {".cargo/config.toml", ".cargo/config"}, "mix": {"mix.exs",
			"test/test_helper.exs"}, "composer": {"composer.json"},
		"ctest": {"CMakeLists.txt", "CTestTestfile.cmake"},
		"bazel": {".bazelrc"}, "ant": {"build.xml"}, "sbt": {"build.sbt"}, "invoke": {"tasks.py"},
		"inv": {"tasks.py"}, "earthly": {"Earthfile"}, "dagger": {"dagger.json"},
	}
}

// A CommandFile is a tracked file that the test command runs.
type CommandFile struct {
	Path   string
	Script bool // the command names it; otherwise a program reads it by default
}

// deepest is how many levels of scripts calling each other are followed.
const deepest = 4

// CommandFiles returns the files that a command line runs, relative to the project: those it
// names, those its programs read by default, and recursively those that these name. read
// returns a file's text; ok is false if it doesn't exist.
func CommandFiles(line string, read func(rel string) (text []byte, ok bool)) []CommandFile {
	f := &follower{read: read}
	f.line(line, "", deepest)
	slices.SortFunc(f.files, func(a, b CommandFile) int { return strings.Compare(a.Path, b.Path) })
	return f.files
}

type follower struct {
	read  func(string) ([]byte, bool)
	files []CommandFile
}

// words splits a line roughly: surplus words name no file.
func words(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool {
		return strings.ContainsRune(" \t\n\r;&|()<>'\"`{}$=,", r)
	})
}

func (f *follower) line(line, dir string, depth int) {
	if depth == 0 {
		return
	}
	list := words(line)
	for i, w := range list {
		if w == "cd" && i+1 < len(list) {
			dir = path.Join(dir, list[i+1])
			continue
		}
		if rel := path.Join(dir, w); !strings.HasPrefix(w, "-") && !strings.HasPrefix(rel, "../") &&
			!path.IsAbs(w) {
			f.script(rel, dir, depth)
		}
		for _, name := range entries()[path.Base(w)] {
			f.entry(path.Join(dir, name), dir, list[i+1:], depth)
		}
	}
}

// script records a named file, and what it runs if it is a shell script.
func (f *follower) script(rel, dir string, depth int) {
	text, ok := f.read(rel)
	if !ok || IsTest(rel) || !f.add(rel, true) {
		return
	}
	if !slices.Contains([]string{".sh", ".bash", ".zsh", ""}, path.Ext(rel)) {
		return
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			f.scripts(line, dir, depth-1)
		}
	}
}

// scripts follows only programs and shell scripts, because a line of a script may name any
// file.
func (f *follower) scripts(line, dir string, depth int) {
	var runs []string
	for _, w := range words(line) {
		if ext := path.Ext(w); ext == ".sh" || ext == ".bash" || entries()[path.Base(w)] != nil ||
			w == "cd" || len(runs) > 0 && runs[len(runs)-1] == "cd" {
			runs = append(runs, w)
		}
	}
	f.line(strings.Join(runs, " "), dir, depth)
}

// entry records a file that a program reads by default.
func (f *follower) entry(rel, dir string, args []string, depth int) {
	text, ok := f.read(rel)
	if !ok || !f.add(rel, false) || path.Base(rel) != PackageFile {
		return
	}
	var doc map[string]json.RawMessage
	if json.Unmarshal(text, &doc) != nil {
		return
	}
	for key, line := range stringsOf(doc["scripts"]) {
		if strings.Contains(key, "test") || slices.Contains(args, key) {
			f.line(line, dir, depth-1)
		}
	}
}

// add adds a file and reports whether it is new.
func (f *follower) add(rel string, script bool) bool {
	if slices.ContainsFunc(f.files, func(c CommandFile) bool { return c.Path == rel }) {
		return false
	}
	f.files = append(f.files, CommandFile{rel, script})
	return true
}

// RunText returns the part of a file run by a command that determines what happens: for a
// makefile, the rules needed by its goals and everything outside rules; for package.json, the
// scripts; otherwise the whole file.
func RunText(rel, line string, text []byte) string {
	switch path.Base(rel) {
	case PackageFile:
		return packagePart(text)
	case "GNUmakefile", "makefile", "Makefile":
		return makeText(string(text), words(line))
	}
	return string(text)
}

var makeRule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^\s#:=][^:=#]*)::?(?:$|[^=:])`)
})

// makeText removes the rules that none of the words needs.
func makeText(text string, goals []string) string {
	type rule struct{ targets, needs, text string }
	var rules []rule
	var free strings.Builder
	text = strings.ReplaceAll(text, "\\\n", " ")
	var last *rule
	for line := range strings.Lines(text) {
		switch m := makeRule().FindString(line); {
		case m != "":
			targets, needs, _ := strings.Cut(line, ":")
			rules = append(rules, rule{targets, needs, line})
			last = &rules[len(rules)-1]
		case last != nil && (strings.HasPrefix(line, "\t") || strings.TrimSpace(line) == ""):
			last.text += line
		default:
			last = nil
			free.WriteString(line)
		}
	}
	wanted := slices.Clone(goals)
	if len(rules) > 0 && !slices.ContainsFunc(rules, func(r rule) bool {
		return slices.ContainsFunc(strings.Fields(r.targets), func(t string) bool {
			return slices.Contains(goals, t)
		})
	}) {
		wanted = append(wanted, strings.Fields(rules[0].targets)...)
	}
	var b strings.Builder
	done := make([]bool, len(rules))
	for grew := true; grew; {
		grew = false
		for i, r := range rules {
			needed := slices.ContainsFunc(strings.Fields(r.targets), func(t string) bool {
				return slices.Contains(wanted, t) || strings.Contains(t, "%")
			})
			if !done[i] && needed && !strings.HasPrefix(r.targets, ".PHONY") {
				done[i], grew = true, true
				wanted = append(wanted, strings.Fields(r.needs)...)
			}
		}
	}
	for i, r := range rules {
		if done[i] {
			b.WriteString(strings.TrimRight(r.text, "\n") + "\n")
		}
	}
	return b.String() + free.String()
}
