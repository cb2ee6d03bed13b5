package internal

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// .ci/gotest repeats a few failed tests, and nothing whose failure says more than that.
func TestGoTest(t *testing.T) {
	const pass = "--- PASS: TestA (0.1s)\n    --- PASS: TestA/one.x (0.1s)\nok  \tm/a\t0.1s\n"
	for name, c := range map[string]struct {
		first, again string // what go test prints
		status       string // of the repetition
		want         int
		repeated     string
	}{
		"passes": {first: "ok  \tm/a\t0.1s\n", status: "0"},
		"flaky": {first: "--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/one.x (0.1s)\n        x\nFAIL\nFAIL\tm/a\t0.1s\nok  \tm/b\t0.1s\nFAIL\n",
			again: pass, status: "0", repeated: `test -race -count=1 -v -run ^TestA$/^one\.x$ m/a`},
		"fails again": {first: "--- FAIL: TestA (0.1s)\nFAIL\tm/a\t0.1s\nFAIL\n",
			again: "--- FAIL: TestA (0.1s)\nFAIL\tm/a\t0.1s\n", status: "1", want: 1, repeated: "test -race -count=1 -v -run ^TestA$ m/a"},
		"isn't there": {first: "--- FAIL: TestA (0.1s)\nFAIL\tm/a\t0.1s\nFAIL\n",
			again: "ok  \tm/a\t0.1s [no tests to run]\n", status: "0", want: 1, repeated: "test -race -count=1 -v -run ^TestA$ m/a"},
		"four":           {first: strings.Repeat("--- FAIL: TestA (0.1s)\nFAIL\tm/a\t0.1s\n", 4) + "FAIL\n", again: pass, status: "0", want: 1},
		"doesn't build":  {first: "FAIL\tm/a [build failed]\nFAIL\n", again: pass, status: "0", want: 1},
		"panics":         {first: "--- FAIL: TestA (0.1s)\npanic: x\nFAIL\tm/a\t0.1s\nFAIL\n", again: pass, status: "0", want: 1},
		"has a race":     {first: "WARNING: DATA RACE\n--- FAIL: TestA (0.1s)\nFAIL\tm/a\t0.1s\nFAIL\n", again: pass, status: "0", want: 1},
		"is out of time": {first: "panic: test timed out after 10m0s\nFAIL\tm/a\t600s\nFAIL\n", again: pass, status: "0", want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"first": c.first, "again": c.again, "go": `#!/bin/sh
cd "${0%/*}" || exit 9
case "$*" in
*-run*) echo "$*" >>repeated; cat again; exit ` + c.status + ` ;;
esac
cat first
! grep -q ^FAIL first
`} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("../.ci/gotest", "-race", "./...")
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			status := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				status = exit.ExitCode()
			} else if err != nil {
				t.Skip("no bash: ", err)
			}
			repeated, _ := os.ReadFile(filepath.Join(dir, "repeated"))
			if status != c.want || strings.TrimSpace(string(repeated)) != c.repeated {
				t.Errorf("exit %d, not %d; repeated %q:\n%s", status, c.want, repeated, out)
			}
			if flaky := strings.Contains(string(out), "\nflaky: "); flaky != (c.repeated != "" && c.want == 0) {
				t.Errorf("listed as flaky: %v:\n%s", flaky, out)
			}
		})
	}
}
