package gsd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/crashtest"
	"greenlight/internal/base/testfiles"
)

// crashing returns the operations to kill: one that writes STATE.md, and one that writes two
// files under both locks.
func crashing() map[string]func(*Store) error {
	return map[string]func(*Store) error{
		"block": func(s *Store) error { _, err := s.AddBlocker(ctx, Blocker{Text: "a key"}); return err },
		"prune": func(s *Store) error { _, err := s.Prune(ctx, 1, false); return err },
	}
}

func TestMain(m *testing.M) {
	op, ok := crashing()[os.Getenv("GREENLIGHT_TEST_OP")]
	if !ok {
		os.Exit(testfiles.Run(m))
	}
	s, err := OpenStore(os.Getenv("GREENLIGHT_TEST_ROOT"), func(string) string { return "" })
	if err == nil {
		crashtest.Begin()
		err = op(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// After a kill at any system call, STATE.md is the old or the new one, pruned entries are in
// one of the two files, and the next writer continues: at once, or after the second granted to
// a lock without a pid.
func TestKilledAtEveryCall(t *testing.T) {
	const decision = "- [Phase 1]: an old one\n"
	state := "---\ncurrent_phase: \"3\"\n---\n## Decisions\n" + decision + "- [Phase 3]: a new one\n## Blockers\nNone\n"
	for op := range crashing() {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			for step := 1; ; step++ {
				s := planning{"STATE.md": state}.storeIn(t, memory(t))
				killed, call := crashtest.At(t, step, "GREENLIGHT_TEST_OP="+op, "GREENLIGHT_TEST_ROOT="+s.Root)
				text := s.text(t)
				archive, _ := os.ReadFile(filepath.Join(s.Planning, archiveName))
				if text != state && (!strings.HasPrefix(text, "---\n") || !strings.HasSuffix(text, "\n") || !strings.Contains(text, "a new one")) {
					t.Fatalf("killed before call %d (%s): STATE.md is\n%s", step, call, text)
				}
				if !strings.Contains(text, decision) && !strings.Contains(string(archive), decision) {
					t.Fatalf("killed before call %d (%s): the decision is gone", step, call)
				}
				began := time.Now()
				if err := crashing()[op](s); err != nil || time.Since(began) > 10*time.Second {
					t.Fatalf("killed before call %d (%s): the next one took %s: %v", step, call, time.Since(began), err)
				}
				if left, _ := filepath.Glob(filepath.Join(s.Planning, "*.lock")); len(left) > 0 {
					t.Errorf("killed before call %d (%s): left behind %v", step, call, left)
				}
				archive, _ = os.ReadFile(filepath.Join(s.Planning, archiveName))
				if n := strings.Count(string(archive), decision); op == "prune" && n != 1 {
					t.Errorf("killed before call %d (%s): the decision is in the archive %d times", step, call, n)
				}
				if t.Failed() || !killed {
					if step < 8 {
						t.Errorf("only %d calls", step)
					}
					return
				}
			}
		})
	}
}
