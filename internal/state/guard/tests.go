package guard

import (
	"path"
	"slices"
	"strings"
)

// testNames returns the names of test files, in any directory, by the rules of their language's
// tools.
func testNames() []string {
	return []string{
		"*_test.go",
		"test_*.py", "*_test.py", "conftest.py", "tests.py",
		"*.test.js", "*.test.jsx", "*.test.ts", "*.test.tsx", "*.test.mjs", "*.test.cjs", "*.test.mts", "*.test.cts",
		"*.spec.js", "*.spec.jsx", "*.spec.ts", "*.spec.tsx", "*.spec.mjs", "*.spec.cjs", "*.spec.mts", "*.spec.cts",
		"*.test.vue", "*.spec.vue", "*.test.svelte", "*.spec.svelte", "*.cy.js", "*.cy.ts",
		"*_test.cc", "*_test.cpp", "*_test.c", "test_*.c", "test_*.cc", "test_*.cpp",
		"*_test.rs", "*_tests.rs", "tests.rs", "*_test.jl", "*_test.sh", "*.test.sh", "*.bats", "*.feature", "*_SUITE.erl", "*.t",
	}
}

// housedNames returns the names for languages whose tests have directories of their own.
// Elsewhere LabTest.java and lab_test.rb are about laboratories.
func housedNames() []string {
	return []string{
		"*_spec.rb", "*_test.rb", "test_*.rb", "*_test.exs", "*_test.dart", "*_test.lua", "*_spec.lua", "*_test.clj", "*_test.cljs",
		"*_test.erl", "*Spec.hs",
		"*Test.java", "*Tests.java", "*IT.java", "*Test.kt", "*Tests.kt", "*Spec.kt", "*Test.scala", "*Spec.scala", "*Spec.groovy",
		"*Test.cs", "*Tests.cs", "*Test.php", "*Tests.swift", "*Test.swift",
	}
}

// testDirs maps directories in which all source code is tests to the languages for which that
// holds; for others the name may mean something else.
func testDirs() map[string][]string {
	script := []string{".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"}
	return map[string][]string{
		"__tests__": script,
		"tests":     slices.Concat(script, []string{".py", ".rs", ".php", ".c", ".cc", ".cpp", ".rb", ".sh"}),
		"test":      slices.Concat(script, []string{".rb", ".exs", ".dart", ".java", ".kt", ".scala", ".groovy", ".clj", ".hs", ".py", ".sh"}),
		"t":         {".sh"},
		"spec":      {".rb"},
		"Tests":     {".swift", ".cs", ".php"},
	}
}

// IsTest reports whether a path, relative to the project and with forward slashes, is a test by
// its name or its directory. It knows only what languages agree on, and excludes helpers and
// data of tests.
func IsTest(rel string) bool {
	dir, name := path.Split(rel)
	named := func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	}
	parts := strings.Split(dir, "/")
	return slices.ContainsFunc(testNames(), named) ||
		slices.ContainsFunc(housedNames(), named) && slices.ContainsFunc(parts, housesTests) ||
		inTestDir(parts, path.Ext(name))
}

// housesTests matches test, spec, AppTests, App.Tests, androidTest, integration_test,
// javatests.
func housesTests(part string) bool {
	part = strings.ToLower(part)
	return part == "spec" || part == "specs" || part == "it" || strings.HasSuffix(part, "test") || strings.HasSuffix(part, "tests")
}

// inTestDir checks the directories from the top. Below a source directory, only some names are
// unambiguous: app/tests/page.tsx is a page, src/test/java contains Java's tests.
func inTestDir(parts []string, ext string) bool {
	dirs := testDirs()
	for i, part := range parts {
		sure := part == "__tests__" || i == 0 || !slices.ContainsFunc(parts[:i], holdsSources) ||
			part == "test" && parts[i-1] == "src" && slices.Contains([]string{".java", ".kt", ".scala", ".groovy", ".clj"}, ext)
		if sure && slices.Contains(dirs[part], ext) {
			return true
		}
	}
	return false
}

// A Kind is the kind of a project's file, for the isolation table.
type Kind string

// The kinds.
const (
	Plan  Kind = "plan"  // documents in .greenlight
	Tests Kind = "tests" // tests, their helpers, and what they read or compare with
	Code  Kind = "code"  // source code
	Setup Kind = "setup" // everything else: build files, configuration, the project's documents
)

func (k Kind) noun() string {
	switch k {
	case Plan:
		return "plans"
	case Setup:
		return "files of the build and the configuration"
	}
	return string(k)
}

// instead tells an agent that may not change such a file what to do.
func (k Kind) instead() string {
	switch k {
	case Tests:
		return "if it is wrong against its contract, report that to the session that started you, with the contract's words, and continue with the rest"
	case Plan:
		return "if a contract or a document is wrong, report that to the session that started you, with your proposal"
	}
	return "report to the session that started you what should change there, and why"
}

// KindOf returns the kind of the file at a path, relative to the project and with forward
// slashes.
func KindOf(rel string) Kind {
	switch {
	case strings.HasPrefix(rel, ".greenlight/"):
		return Plan
	case IsTest(rel), IsTestData(rel), isTestHelper(rel):
		return Tests
	case slices.Contains(sources, strings.ToLower(path.Ext(rel))):
		return Code
	}
	return Setup
}

// IsLock reports whether a test locks the current behavior of wrapped code, judging by its file
// name.
func IsLock(rel string) bool {
	return IsTest(rel) && strings.Contains(strings.ToLower(path.Base(rel)), "locked")
}

// IsContracts reports whether the path, relative to the project, is that of its contracts.
func IsContracts(rel string) bool { return rel == ".greenlight/CONTRACTS.md" }

// sources are the extensions of source code.
var sources = strings.Fields(".go .py .pyi .js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte .astro .html .css .scss .sass .less " +
	".java .kt .kts .scala .groovy .clj .cljs .cljc .cs .fs .vb .swift .m .mm .c .h .cc .cpp .cxx .hpp .hh .rs .zig .nim .d .rb .erb .php .pl .pm " +
	".lua .dart .ex .exs .heex .erl .hrl .hs .ml .mli .elm .r .jl .sql .graphql .proto .sh .bash .zsh .fish .ps1 .tf .sol .ipynb")

// isTestHelper recognizes code shared by tests: testutil/, test_helpers/, factories/ among
// tests.
func isTestHelper(rel string) bool {
	dir, _ := path.Split(rel)
	parts := strings.Split(strings.ToLower(dir), "/")
	for i, part := range parts {
		switch strings.NewReplacer("_", "", "-", "").Replace(part) {
		case "testutil", "testutils", "testhelper", "testhelpers", "testsupport", "testkit":
			return true
		case "support", "helpers", "factories":
			if slices.ContainsFunc(parts[:i], housesTests) {
				return true
			}
		}
	}
	return false
}

// IsTestData reports whether a path is something that tests read or compare with, or that
// determines how they run: golden files, snapshots, fixtures, and the configuration of a test
// runner. Changing it changes what the tests demand.
func IsTestData(rel string) bool {
	dir, name := path.Split(rel)
	if IsRunnerConfig(rel) && !IsTest(rel) || slices.ContainsFunc([]string{"*.snap", "*.golden", "*.golden.*"},
		func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }) {
		return true
	}
	parts := strings.Split(dir, "/")
	for i, part := range parts {
		switch part {
		case "testdata", "__snapshots__", "__fixtures__":
			return true
		case "fixtures": // below sources this may be the fixtures of a sports league
			above := parts[:i]
			if !slices.ContainsFunc(above, holdsSources) || slices.ContainsFunc(above, housesTests) || slices.Contains(above, "__tests__") {
				return true
			}
		}
	}
	return false
}

// HousesTests reports whether a directory contains tests, or lies in one that does.
func HousesTests(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool { return housesTests(part) || part == "__tests__" })
}

func holdsSources(part string) bool {
	return slices.Contains([]string{"src", "app", "lib", "pages", "routes", "internal", "main", "Sources"}, part)
}
