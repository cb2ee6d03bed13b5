// Package crashtest kills a process of a test at every step: just before its first, second, third… system call that
// changes a file. The kernel does the counting, so the code under test has no hook for it. For tests alone.
package crashtest

import (
	"fmt"
	"syscall"
	"testing"
)

// mark is asked for where the counting begins: a call that changes nothing.
const mark = 0x6c67

// Begin begins the counting. The process under test calls it.
func Begin() { _, _ = syscall.Getpgid(mark) }

// Everywhere kills a process at each step in turn, with an environment and in a place that are made for it, and has what is left looked at.
// At the last time it isn't killed.
func Everywhere(t *testing.T, fresh func() (root string, env []string), look func(t *testing.T, root string)) {
	t.Helper()
	for step := 1; ; step++ {
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
