package testrun

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/shellwords"
)

// A Proposal is a test command that fits a directory.
type Proposal struct {
	Line string
	Why  string // the file that suggests it, and how
}

// Set returns the command with which a person sets it.
func (p Proposal) Set() string { return "gl settings set test.command " + shellwords.Quote(p.Line) }

// SetCommand returns the command that sets a test command that fits the directory, other than the
// one there is, or one to fill in. flags come before the setting.
func SetCommand(dir, flags string, is Command) string {
	set := "gl settings set test.command 'COMMAND'"
	if p, ok := Detect(dir); ok && p.Line != is.Line {
		set = p.Set()
	}
	return strings.Replace(set, " set ", " set"+flags+" ", 1)
}

// maxManifest is how much of a manifest is read.
const maxManifest = 1 << 20

// Detect proposes a test command based on the files in the project's directory; ok is false if
// nothing suggests one. It runs nothing. Commands that a person has defined (a Makefile's
// target, a script) take precedence over the language's defaults.
func Detect(dir string) (p Proposal, ok bool) {
	look := looker(dir)
	for _, s := range signs {
		if line, why := s(look); line != "" {
			return Proposal{line, why}, true
		}
	}
	return Proposal{}, false
}

// signs are checked in order. Each returns "" if it doesn't apply.
var signs = [...]func(looker) (line, why string){
	func(l looker) (string, string) {
		return l.says("Makefile", `(?m)^test *:([^=]|$)`, "make test", "has a target test")
	},
	func(l looker) (string, string) {
		return l.says("makefile", `(?m)^test *:([^=]|$)`, "make test", "has a target test")
	},
	func(l looker) (string, string) {
		return l.says("justfile", `(?m)^@?test\b[^\n]*:`, "just test", "has a recipe test")
	},
	func(l looker) (string, string) {
		return l.says("Taskfile.yml", `(?m)^  test:`, "task test", "has a task test")
	},
	looker.packageJSON,
	func(l looker) (string, string) {
		return l.says("deno.json", `"test"\s*:`, "deno task test", "has a task test")
	},
	func(l looker) (string, string) { return l.has("deno.json", "deno test") },
	func(l looker) (string, string) { return l.has("deno.jsonc", "deno test") },
	func(l looker) (string, string) { return l.has("go.mod", "go test ./...") },
	func(l looker) (string, string) {
		return l.says("Cargo.toml", `(?m)^\[workspace\]`, "cargo test --workspace", "is a workspace's")
	},
	func(l looker) (string, string) { return l.has("Cargo.toml", "cargo test") },
	looker.python,
	func(l looker) (string, string) { return l.both("Gemfile", "spec", "bundle exec rspec") },
	func(l looker) (string, string) { return l.both("Gemfile", "bin/rails", "bin/rails test") },
	func(l looker) (string, string) { return l.both("Rakefile", "test", "rake test") },
	func(l looker) (string, string) { return l.has("mix.exs", "mix test") },
	func(l looker) (string, string) {
		return l.says("composer.json", `"test"\s*:`, "composer test", "has a script test")
	},
	func(l looker) (string, string) {
		return l.says("composer.json", `phpunit/phpunit`, "vendor/bin/phpunit", "requires phpunit")
	},
	func(l looker) (string, string) { return l.has("gradlew", "./gradlew test") },
	func(l looker) (string, string) { return l.has("mvnw", "./mvnw test") },
	func(l looker) (string, string) { return l.has("pom.xml", "mvn test") },
	func(l looker) (string, string) { return l.has("build.gradle", "gradle test") },
	func(l looker) (string, string) { return l.has("build.gradle.kts", "gradle test") },
	func(l looker) (string, string) { return l.has("Package.swift", "swift test") },
	func(l looker) (string, string) { return l.has("pubspec.yaml", "dart test") },
}

// A looker examines a directory.
type looker string

func (l looker) is(name string) bool {
	_, err := os.Stat(filepath.Join(string(l), name))
	return err == nil
}

// text returns a file's content; "" if it can't be read.
func (l looker) text(name string) string {
	path := filepath.Join(string(l), name)
	// a pipe might never end
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, _ := durable.ReadNamed(path, maxManifest)
	return string(data)
}

func (l looker) has(name, line string) (string, string) {
	if !l.is(name) {
		return "", ""
	}
	return line, "there is a " + name
}

func (l looker) both(a, b, line string) (string, string) {
	if !l.is(a) || !l.is(b) {
		return "", ""
	}
	return line, "there are " + a + " and " + b
}

func (l looker) says(name, re, line, what string) (string, string) {
	if !regexp.MustCompile(re).MatchString(l.text(name)) {
		return "", ""
	}
	return line, name + " " + what
}

// packageJSON proposes the script called test, unless it is the default of npm init, run by the
// package manager whose lock file exists.
func (l looker) packageJSON() (string, string) {
	var file map[string]any // a map keeps keys case-sensitive
	if json.Unmarshal([]byte(l.text("package.json")), &file) != nil {
		return "", ""
	}
	scripts, _ := file["scripts"].(map[string]any)
	script, _ := scripts["test"].(string)
	if strings.TrimSpace(script) == "" || strings.Contains(script, "no test specified") {
		return "", ""
	}
	manager := "npm"
	for _, m := range []struct{ lock, name string }{
		{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lockb", "bun run"}, {"bun.lock", "bun run"}, {"package-lock.json", "npm"},
	} {
		if l.is(m.lock) {
			return m.name + " test", "package.json has a script test, and there is a " + m.lock
		}
	}
	if named, _ := file["packageManager"].(string); named != "" {
		switch name, _, _ := strings.Cut(named, "@"); name {
		case "pnpm", "yarn":
			manager = name
		case "bun":
			manager = "bun run"
		}
	}
	return manager + " test", "package.json has a script test"
}

// python proposes pytest if its configuration or test files exist, run by the project's package
// manager.
func (l looker) python() (string, string) {
	why := ""
	switch {
	case l.is("pytest.ini"):
		why = "there is a pytest.ini"
	case strings.Contains(l.text("pyproject.toml"), "pytest"):
		why = "pyproject.toml names pytest"
	case strings.Contains(l.text("setup.cfg"), "[tool:pytest]"):
		why = "setup.cfg has a section for pytest"
	case strings.Contains(l.text("tox.ini"), "pytest"):
		why = "tox.ini names pytest"
	case l.is("conftest.py") || l.is("tests/conftest.py"):
		why = "there is a conftest.py"
	case (l.is("pyproject.toml") || l.is("setup.py") || l.is("requirements.txt")) && (l.is("tests") || l.is("test")):
		why = "it is Python, with a directory for tests"
	default:
		return "", ""
	}
	for _, m := range []struct{ lock, run string }{{"uv.lock", "uv run "}, {"poetry.lock", "poetry run "}, {"pdm.lock", "pdm run "}, {"Pipfile.lock", "pipenv run "}} {
		if l.is(m.lock) {
			return m.run + "pytest", why + " and a " + m.lock
		}
	}
	return "python3 -m pytest", why
}
