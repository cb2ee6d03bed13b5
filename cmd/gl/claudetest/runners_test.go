package claudetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/core/outcome"
)

// A setUp is a test runner that a first slice sets up.
type setUp struct {
	name    string
	program string // on PATH, or among the programs that npm installed beside the client
	command string // test.command
	config  string // its configuration file
	files   map[string]string
	test    [2]string // the test's path and text
	stub    [2]string // the code's path, and its text before the tests
	code    string    // its text after the tests
}

func setUps() []setUp {
	npm := func(script string) string {
		return `{"name": "shop", "private": true, "type": "commonjs", "scripts": {"test": "` + script + `"}}` + "\n"
	}
	return []setUp{
		{"vitest", "vitest", "npm test", "vitest.config.mts", map[string]string{
			"package.json":      npm("vitest run --passWithNoTests"),
			"vitest.config.mts": "import { defineConfig } from 'vitest/config'\nexport default defineConfig({ test: { include: ['src/**/*.test.ts'], setupFiles: ['vitest.setup.ts'] } })\n",
			"vitest.setup.ts":   "process.env.SHOP = 'test'\n",
			".gitignore":        "node_modules\n",
		}, [2]string{"src/total.test.ts", "import { expect, it } from 'vitest'\nimport { total } from './total'\nit('adds up', () => expect(total([1, 2])).toBe(3))\n"},
			[2]string{"src/total.ts", "export function total(list: number[]): number { return -1 }\n"},
			"export function total(list: number[]): number { return list.reduce((a, b) => a + b, 0) }\n"},
		{"jest", "jest", "npm test", "jest.config.js", map[string]string{
			"package.json":   npm("jest --passWithNoTests"),
			"jest.config.js": "module.exports = { testMatch: ['**/src/**/*.test.js'], setupFiles: ['./jest.setup.js'] }\n",
			"jest.setup.js":  "process.env.SHOP = 'test'\n",
			".gitignore":     "node_modules\n",
		}, [2]string{"src/total.test.js", "const { total } = require('./total')\nit('adds up', () => expect(total([1, 2])).toBe(3))\n"},
			[2]string{"src/total.js", "exports.total = () => -1\n"},
			"exports.total = (list) => list.reduce((a, b) => a + b, 0)\n"},
		{"pytest", "pytest", "pytest -q -p no:cacheprovider", "pytest.ini", map[string]string{
			"pytest.ini":        "[pytest]\ntestpaths = tests\n",
			"conftest.py":       "import os\nos.environ['SHOP'] = 'test'\n",
			"tests/conftest.py": "import pytest\n@pytest.fixture\ndef prices():\n    return [1, 2]\n",
			".gitignore":        "__pycache__\n",
		}, [2]string{"tests/test_total.py", "from shop.total import total\n\ndef test_adds_up(prices):\n    assert total(prices) == 3\n"},
			[2]string{"shop/total.py", "def total(prices):\n    return -1\n"},
			"def total(prices):\n    return sum(prices)\n"},
	}
}

// A first slice sets up a real runner as /gl:slice tells it to: its configuration is
// gl-implementer's until the tests are handed over. After that a change is refused, and a
// change by a shell is reported; the setup lands with its tests, which the real runner ran.
func TestFirstSliceSetsARunnerUp(t *testing.T) {
	for _, s := range setUps() {
		t.Run(s.name, func(t *testing.T) {
			modules := filepath.Join(os.Getenv(DirVariable), "node_modules")
			if _, err := os.Stat(filepath.Join(modules, ".bin", s.program)); err != nil {
				if _, err := exec.LookPath(s.program); err != nil {
					t.Skip(s.program + " isn't installed")
				}
			}
			w, answers := s.build(t, modules)
			for i, one := range answers["Set the project up"] {
				if strings.Contains(one, " may not ") || strings.Contains(one, spoiled) {
					t.Errorf("before the hand-over call %d was refused: %s", i, one)
				}
			}
			const refused, written, restored, ran = 0, 1, 2, 4
			after := answers["Implement"]
			if len(after) <= ran {
				t.Fatalf("the implementer made %d calls: %q", len(after), after)
			}
			if !strings.Contains(after[refused], "handed over with the tests") ||
				!strings.Contains(after[written], spoiled+s.config) ||
				strings.Contains(after[restored], spoiled) ||
				!strings.Contains(after[ran], "1 passed") {
				t.Errorf("after the hand-over: %q", after)
			}
			files := w.must("git", "ls-tree", "-r", "--name-only", "main")
			for path := range s.files {
				if !strings.Contains(files, path+"\n") {
					t.Errorf("%s isn't on main:\n%s", path, files)
				}
			}
		})
	}
}

// build builds a first slice, and returns the answers to the implementer's calls, by its task.
func (s setUp) build(t *testing.T, modules string) (*world, map[string][]string) {
	t.Helper()
	put := func(path, text string) Reply {
		return Use("Write", map[string]string{"file_path": path, "content": text})
	}
	var sets []Reply
	for path, text := range s.files {
		sets = append(sets, put(path, text))
	}
	tasks := map[string][]Reply{
		"Set the project up":  append(sets, Bash(s.command+"; true")),
		"Write the signature": {put(s.stub[0], s.stub[1])},
		"Write the tests":     {put(s.test[0], s.test[1])},
		"Implement": {
			put(s.config, s.files[s.config]+"\n"), Bash("echo >> " + s.config),
			Bash("git restore " + s.config),
			Use("Read", map[string]string{"file_path": s.stub[0]}),
			Bash("cat > " + s.stub[0] + " <<'EOF'\n" + s.code + "EOF\n" + s.command),
		},
	}
	var scripts []Script
	for task, steps := range tasks {
		scripts = append(scripts, Script{func(r *Request) bool { return r.Asked("TASK: " + task) },
			append(steps, Say("DONE"))})
	}
	ask := func(name, task string) Reply {
		return Use("Agent", map[string]any{"description": "ask", "prompt": "TASK: " + task, "subagent_type": "gl:" + name, "run_in_background": false})
	}
	scripts = append(scripts, Script{Steps: []Reply{
		ask("gl-implementer", "Set the project up"), Bash("git add -A && git commit -qm 'chore(S-01): set up the project'; gl state set S-01 status=tests step=tests"),
		ask("gl-implementer", "Write the signature"), ask("gl-test-writer", "Write the tests"),
		Bash(s.command + "; git add -A && git commit -qm 'test(S-01): total'; gl state set S-01 status=implementing step=implementing"),
		ask("gl-implementer", "Implement"), Bash("git add -A && git commit -qm 'feat(S-01): total'; gl state set S-01 status=complete step=complete tests=1"),
		Say("It is complete."),
	}})
	w := newWorld(t, []string{"S-01"}, scripts...)
	w.must("gl", "settings", "set", "git.isolation", "worktree")
	w.must("gl", "settings", "set", "review", "never")
	w.must("gl", "settings", "set", "test.command", s.command)
	if strings.HasPrefix(s.command, "npm") {
		w.must("gl", "settings", "set", "git.setup", "ln -sfn "+modules+" node_modules")
	}
	w.must("git", "add", "-A")
	w.must("git", "commit", "-q", "-m", "settings")
	r, said := w.build("S-01")
	if r.Judged.Outcome != outcome.Done {
		t.Fatalf("%s: %s\n%s", r.Judged.Outcome, r.Judged.Detail, said)
	}
	answers := map[string][]string{}
	for _, r := range w.api.Requests() {
		for task := range tasks {
			if r.Asked("TASK: " + task) {
				answers[task] = afterEach(r)
			}
		}
	}
	return w, answers
}
