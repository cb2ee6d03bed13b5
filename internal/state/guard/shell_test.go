package guard

import (
	"slices"
	"testing"
)

func TestShellFiles(t *testing.T) {
	for command, want := range map[string][]string{
		"cat a_test.go": {"a_test.go"},
		// without quotes a script can't be told from a file
		"cd web && sed -n '1,5p' src/a.test.ts | head -3":        {"web/1,5p", "web/src/a.test.ts"},
		"npx vitest run src/a.test.ts":                           nil,
		"go test ./... -run TestA 2>&1 | tail -n 5":              {"5"},
		"pytest tests/test_a.py::test_one > out.txt":             {"out.txt"},
		"LC_ALL=C grep -n 'x' \"my tests/a.spec.js\"":            {"x", "my tests/a.spec.js"},
		"git show HEAD:tests/test_a.py":                          {"show", "tests/test_a.py"},
		"git commit -m 'cat a_test.go'":                          nil,
		"echo x >> a_test.go; true":                              {"a_test.go"},
		"node < a.test.js":                                       {"a.test.js"},
		"cat > a.go <<'EOF'\ncat a_test.go\nEOF\nrm b_test.go":   {"a.go", "b_test.go"},
		"x=$(cat a_test.go)":                                     {"a_test.go"},
		"# cat a_test.go":                                        nil,
		"cat 'unclosed":                                          nil, // no shell runs it
		"cat a_test.go\ncat 'unclosed":                           {"a_test.go"},
		"cat a_test.go &\nfi\ncat b_test.go":                     {"a_test.go"},
		`wc -l "$(cat a_test.go)"`:                               {"a_test.go"},
		`echo "it's" && cat "a \"b\"_test.go"`:                   {`a "b"_test.go`},
		`bash -lc "cd web; cat 'src/a.test.ts'"`:                 {"web/src/a.test.ts"},
		"for f in 1; do if true; then cat < a_test.go; fi; done": {"a_test.go"},
		"sudo -n env A=1 cat $DIR/a_test.go":                     {"$DIR/a_test.go"},
		"ls | xargs -n 1 grep -l x a_test.go":                    {"x", "a_test.go"},
		"cat <<< a_test.go":                                      nil,
	} {
		if got := ShellFiles(command); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

func FuzzShellFiles(f *testing.F) {
	f.Add("cat <<A <<B >x 2>&1 | `ls` $(cat y) \\\n'z")
	f.Fuzz(func(t *testing.T, command string) { ShellFiles(command) })
}

// Until the tests are handed over, the agent that sets up a project may configure its runner;
// afterwards no agent may, by the same list as the comparison uses.
func TestRunnerConfig(t *testing.T) {
	rules := Isolation{"gl-implementer": {MayRead: []Kind{Setup, Code}, MayWrite: []Kind{Setup, Code}}, "gl-verifier": {MayRead: []Kind{Setup, Code, Tests}}}
	for _, name := range []string{"vitest.config.ts", "jest.config.js", "pytest.ini", "conftest.py", "web/playwright.config.ts"} {
		for _, tool := range []string{"Write", "Read"} {
			if err := rules.Isolated(Call{Tool: tool, Agent: "gl-implementer"}, name, false); err != nil {
				t.Errorf("%s %s before the hand-over: %v", tool, name, err)
			}
		}
		if rules.Isolated(Call{Tool: "Write", Agent: "gl-implementer"}, name, true) == nil {
			t.Errorf("%s after the hand-over isn't refused", name)
		}
		if rules.Isolated(Call{Tool: "Write", Agent: "gl-verifier"}, name, false) == nil {
			t.Errorf("%s isn't refused to an agent that changes nothing", name)
		}
		if len(rules.Strayed("gl-implementer", []string{name}, false)) > 0 || !RunnerConfig(name) {
			t.Errorf("%s is compared by another rule", name)
		}
	}
	if err := rules.Isolated(Call{Tool: "Write", Agent: "gl-implementer"}, "package.json", true); err != nil {
		t.Error(err) // of this file the comparison covers only the scripts
	}
}
