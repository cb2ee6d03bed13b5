package scripts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// A recorder is the T of a script that a test runs: it keeps the log, and its failure doesn't
// fail the test.
type recorder struct {
	log    strings.Builder
	failed bool
}

func (r *recorder) Skip(args ...any)  { panic("skipped: " + fmt.Sprint(args...)) }
func (r *recorder) Fatal(args ...any) { r.Log(args...); r.FailNow() }
func (r *recorder) Parallel()         {}
func (r *recorder) Log(args ...any)   { fmt.Fprintln(&r.log, args...) }
func (r *recorder) FailNow()          { r.failed = true; panic(r) }
func (r *recorder) Failed() bool      { return r.failed }
func (r *recorder) Verbose() bool     { return false }
func (r *recorder) Run(_ string, f func(t testscript.T)) {
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
	}()
	f(r)
}

func TestDumpFailure(t *testing.T) {
	for _, test := range []struct {
		name, end string
		failed    bool
	}{{"failed", "exists nothing", true}, {"passed", "exists one.out", false}} {
		t.Run(test.name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "one.txtar")
			text := "start one sleep 600\n" + test.end + "\n-- p/.greenlight/runs/log/S-1.1.log --\nlast words\n-- p/.greenlight/slices/S-1.md --\nno news\n"
			if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			r := new(recorder)
			testscript.RunT(r,
				params(script))
			for _, want := range []string{"--- $WORK/p/.greenlight/runs/log/S-1.1.log\nlast words\n", "--- $WORK/one.out\n"} {
				if r.failed != test.failed ||
					strings.Contains(r.log.String(), want) != test.failed {
					t.Errorf("failed %v, and the log has %q: %v\n%s", r.failed, want, !test.failed,
						r.log.String())
				}
			}
			if strings.Contains(r.log.String(), "no news") {
				t.Errorf("the log has what tells nothing:\n%s", r.log.String())
			}
		})
	}
}
