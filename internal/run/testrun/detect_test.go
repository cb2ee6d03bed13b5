package testrun_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"greenlight/internal/run/testrun"
)

func TestDetect(t *testing.T) {
	const npmInit = `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing", map[string]string{"README.md": "make test"}, ""},
		{"Go", map[string]string{"go.mod": "module m"}, "go test ./..."},
		{"Go with a Makefile", map[string]string{"go.mod": "module m", "Makefile": "build:\n\tgo build\ntest: build\n\tgo test ./...\n"}, "make test"},
		{"a Makefile without tests", map[string]string{"go.mod": "module m", "Makefile": "test := x\nlatest:\n"}, "go test ./..."},
		{"just", map[string]string{"justfile": "build:\n  x\ntest *args:\n  y\n"}, "just test"},
		{"npm", map[string]string{"package.json": `{"scripts": {"test": "jest"}}`}, "npm test"},
		{"pnpm", map[string]string{"package.json": `{"scripts": {"test": "jest"}}`, "pnpm-lock.yaml": ""}, "pnpm test"},
		{"yarn", map[string]string{"package.json": `{"scripts": {"test": "jest"}}`, "yarn.lock": ""}, "yarn test"},
		{"bun", map[string]string{"package.json": `{"scripts": {"test": "bun test"}, "packageManager": "bun@1.2"}`}, "bun run test"},
		{"npm init", map[string]string{"package.json": npmInit}, ""},
		{"npm init beside Go", map[string]string{"package.json": npmInit, "go.mod": "module m"}, "go test ./..."},
		{"a broken package.json", map[string]string{"package.json": `{"scripts": ["test"]`}, ""},
		{"an odd package.json", map[string]string{"package.json": `{"scripts": {"test": 3}}`}, ""},
		{"cargo", map[string]string{"Cargo.toml": "[package]\n"}, "cargo test"},
		{"a cargo workspace", map[string]string{"Cargo.toml": "[workspace]\nmembers = []\n"}, "cargo test --workspace"},
		{"pytest", map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python3 -m pytest"},
		{"pytest by uv", map[string]string{"pyproject.toml": "[dependency-groups]\ndev = [\"pytest\"]\n", "uv.lock": ""}, "uv run pytest"},
		{"pytest by its files", map[string]string{"setup.py": "", "tests/test_a.py": ""}, "python3 -m pytest"},
		{"Python without tests", map[string]string{"setup.py": ""}, ""},
		{"rspec", map[string]string{"Gemfile": "", "spec/a_spec.rb": ""}, "bundle exec rspec"},
		{"Elixir", map[string]string{"mix.exs": ""}, "mix test"},
		{"phpunit", map[string]string{"composer.json": `{"require-dev": {"phpunit/phpunit": "^11"}}`}, "vendor/bin/phpunit"},
		{"Gradle", map[string]string{"gradlew": "", "build.gradle": ""}, "./gradlew test"},
		{"Maven", map[string]string{"pom.xml": ""}, "mvn test"},
		{"Deno", map[string]string{"deno.json": "{}"}, "deno test"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range test.files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			p, ok := testrun.Detect(dir)
			if p.Line != test.want || ok != (test.want != "") || ok != (p.Why != "") {
				t.Errorf("%+v, want %q", p, test.want)
			}
			if c, err := testrun.ParseCommand(p.Line); err != nil || ok != c.IsSet() {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
}

// What a stranger's manifests say becomes a command line that a person is asked about: it is one of
// gl's own.
func FuzzDetect(f *testing.F) {
	f.Add("package.json", `{"scripts": {"test": "vitest"}, "packageManager": "pnpm@9"}`)
	f.Add("package.json", `{"scripts": {"test": 1}, "packageManager": "x; rm -rf ~"}`)
	f.Add("Makefile", "test: all\n\ttrue\n")
	f.Add("pyproject.toml", "[tool.pytest.ini_options]\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, name, text string) {
		if !slices.Contains([]string{"package.json", "Makefile", "justfile", "Taskfile.yml", "deno.json", "Cargo.toml", "composer.json",
			"pyproject.toml", "setup.cfg", "tox.ini"}, name) {
			return
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
		if p, ok := testrun.Detect(dir); ok && !regexp.MustCompile(`^[a-z0-9./ -]+$`).MatchString(p.Line) {
			t.Fatalf("%q of %q", p.Line, text)
		}
	})
}
