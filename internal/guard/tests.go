package guard

import (
	"path"
	"slices"
	"strings"
)

// testNames are the names that test files have by the rules of their language's tools.
func testNames() []string {
	return []string{
		"*_test.go",
		"test_*.py", "*_test.py", "conftest.py",
		"*.test.js", "*.test.jsx", "*.test.ts", "*.test.tsx", "*.test.mjs", "*.test.cjs", "*.test.mts", "*.test.cts",
		"*.spec.js", "*.spec.jsx", "*.spec.ts", "*.spec.tsx", "*.spec.mjs", "*.spec.cjs", "*.spec.mts", "*.spec.cts",
		"*.test.vue", "*.spec.vue", "*.test.svelte", "*.spec.svelte", "*.cy.js", "*.cy.ts",
		"*_spec.rb", "*_test.rb", "test_*.rb",
		"*Test.java", "*Tests.java", "*IT.java", "*Test.kt", "*Tests.kt", "*Spec.kt", "*Test.scala", "*Spec.scala", "*Spec.groovy",
		"*Test.cs", "*Tests.cs", "*Test.php", "*Tests.swift", "*Test.swift",
		"*_test.exs", "*_test.dart", "*_test.cc", "*_test.cpp", "*_test.c", "test_*.c", "test_*.cc", "test_*.cpp",
		"*_test.rs", "*_tests.rs", "*_test.lua", "*_spec.lua", "*_test.jl", "*.bats", "*.feature", "*Spec.hs", "*_test.erl", "*_SUITE.erl",
		"*_test.clj", "*_test.cljs", "*.t",
	}
}

// testDirs are directories in which all source code is tests, and the languages that keep them there; elsewhere the name
// may mean something else.
func testDirs() map[string][]string {
	script := []string{".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"}
	return map[string][]string{
		"__tests__": script,
		"tests":     slices.Concat(script, []string{".py", ".rs", ".php", ".c", ".cc", ".cpp", ".rb"}),
		"test":      slices.Concat(script, []string{".rb", ".exs", ".dart", ".java", ".kt", ".scala", ".groovy", ".clj", ".hs", ".py"}),
		"spec":      {".rb"},
		"Tests":     {".swift", ".cs", ".php"},
	}
}

// IsTest says whether a path, relative to the project and with forward slashes, is a test by its name or its directory.
// It knows only what languages agree on: helpers and data of tests aren't tests to it.
func IsTest(rel string) bool {
	dir, name := path.Split(rel)
	if slices.ContainsFunc(testNames(), func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	}) {
		return true
	}
	dirs := testDirs()
	for _, part := range strings.Split(dir, "/") {
		if slices.Contains(dirs[part], path.Ext(name)) {
			return true
		}
	}
	return false
}
