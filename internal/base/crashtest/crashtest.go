// Package crashtest kills a process of a test at every step: just before its first, second, third…
// system call that changes a file. The kernel asks the test before each such call, so the code
// under test needs no hook, and runs at its usual speed between them. Only tests use it.
package crashtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"greenlight/internal/base/testfiles"
)

// Stride is the distance between the steps that tests try: 1 in their long forms.
func Stride() int { return testfiles.Sized(4, 1) }

// Everywhere runs the process once per step, each time in a fresh place and environment, kills
// it at that step, and calls look to check what is left. The last run isn't killed. Unless the long
// forms of tests are asked for, it tries a sample of the steps, another one every time.
func Everywhere(t *testing.T, fresh func() (root string, env []string),
	look func(t *testing.T, root string)) {
	t.Helper()
	stride := Stride()
	for step := 1 + rand.IntN(stride); ; step += stride {
		root, env := fresh()
		killed, call := At(t, step, env...)
		t.Run(fmt.Sprintf("%d %s", step, call), func(t *testing.T) { look(t, root) })
		if !killed {
			if step < 5 {
				t.Errorf("only %d steps", step)
			}
			return
		}
		if step > 1000 {
			t.Fatal("it never ends")
		}
	}
}
