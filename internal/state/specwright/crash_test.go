package specwright

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/crashtest"
	"greenlight/internal/state/tracker"
)

// crashOps are the operations killed at every step.
var crashOps = map[string]func(*Store) error{
	"init": func(s *Store) error { return s.Init(context.Background()) },
	"ship": func(s *Store) error {
		_, err := s.Update(context.Background(), Caller{}, func(e *Edit) error { _, err := e.Ship(); return err })
		return err
	},
	"claim": func(s *Store) error {
		return s.Do(context.Background(), func(tx tracker.Tx) error {
			_, err := tx.Item("a")
			return errors.Join(err, tx.Claim("a", "token"))
		})
	},
}

// crashChild is the process under test.
func crashChild(root, op string) error {
	s := Open(root)
	s.Now = fixed
	crashtest.Begin()
	return crashOps[op](s)
}

// After a kill at any point, the state is the old or the new one, and the next command
// continues from there.
func TestCrashAtEveryStep(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes, which the race detector sees nothing of")
	}
	verified := at(`"status":"verifying"`, twoUnits, `,"gates":{"spec":{"status":"PASS"}}`)
	for op, before := range map[string]string{"init": "", "ship": verified, "claim": verified} {
		t.Run(op, func(t *testing.T) {
			start := func() *Store {
				s := Open(memDir(t))
				s.Now = fixed
				if before != "" {
					put(t, s, configFile, `{"gates": {"enabled": ["spec"]}}`)
					put(t, s, StateFile, before)
				}
				return s
			}
			whole := start()
			if err := crashOps[op](whole); err != nil {
				t.Fatal(err)
			}
			after := text(t, whole)
			stride := crashtest.Stride()
			for n := 1 + rand.IntN(stride); ; n += stride {
				s := start()
				killed, call := crashtest.At(t, n, "GREENLIGHT_TEST_CHILD=crash", "GREENLIGHT_TEST_ROOT="+s.root, "GREENLIGHT_TEST_OP="+op)
				data, _ := os.ReadFile(s.path())
				if got := string(data); got != before && got != after {
					t.Errorf("killed before step %d (%s): %q", n, call, got)
				}
				if err := crashOps[op](s); err != nil && string(data) == before {
					t.Errorf("killed before step %d (%s), then: %v", n, call, err)
				}
				if left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.path()), ".*.tmp")); len(left) > 0 {
					t.Errorf("killed before step %d (%s), %s is left", n, call, strings.Join(left, " "))
				}
				if string(data) != after && text(t, s) != after {
					t.Errorf("killed before step %d (%s), in the end it is %q", n, call, text(t, s))
				}
				if !killed || t.Failed() {
					if n < 5 {
						t.Errorf("only %d steps", n)
					}
					return
				}
			}
		})
	}
}
