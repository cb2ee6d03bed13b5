package gsd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// repeating returns the verbs that write several files, which a person repeats after a kill.
func repeating() map[string]func(*Store) (Result, error) {
	return map[string]func(*Store) (Result, error){
		"progress": func(s *Store) (Result, error) { return of(s).RoadmapProgress(ctx, "1") },
		"annotate": func(s *Store) (Result, error) { return of(s).AnnotateRoadmap(ctx, "2") },
		"finish":   func(s *Store) (Result, error) { return of(s).FinishPhase(ctx, "1") },
		"milestone": func(s *Store) (Result, error) {
			return of(s).CompleteMilestone(ctx, MilestoneEnd{Version: "v1.0", Name: "Books", Confirm: true, Force: true})
		},
		"clear": func(s *Store) (Result, error) { return of(s).ClearPhases(ctx, PhasesClear{Confirm: true}) },
		"todo":  func(s *Store) (Result, error) { return of(s).AddTodo(ctx, Todo{Title: "Export as CSV"}) },
	}
}

func TestMain(m *testing.M) {
	name := os.Getenv("GREENLIGHT_TEST_OP")
	op, ok := crashing()[name]
	if verb, repeated := repeating()[name]; repeated {
		ok, op = true, func(s *Store) error {
			s.Now = fixedTime
			_, err := verb(s)
			return err
		}
	}
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
				// a lock that only the deadman clears would outlast the lock budget, and so fail
				if err := crashing()[op](s); err != nil {
					t.Fatalf("killed before call %d (%s), the next one: %v", step, call, err)
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

// After a kill at any system call of a verb that writes several files, repeating the verb leads
// to the same files as once through.
func TestRepeatedAfterAKill(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes, which the race detector sees nothing of")
	}
	for op, verb := range repeating() {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			fresh := func() *Store {
				files := shop()
				files["STATE.md"] += "\n### Pending Todos\n\nNone yet.\n"
				files["todos/pending/2026-01-01-an-older-one.md"] = "---\ncreated: 2026-01-01\ntitle: an older one\n---\n"
				return files.storeIn(t, memory(t))
			}
			whole := fresh()
			r, err := verb(whole)
			done(t, r, err)
			want := whole.tree(t)
			stride := crashtest.Stride()
			for step := 1 + rand.IntN(stride); ; step += stride {
				s := fresh()
				killed, call := crashtest.At(t, step, "GREENLIGHT_TEST_OP="+op, "GREENLIGHT_TEST_ROOT="+s.Root)
				if killed {
					r, err := verb(s)
					if err != nil {
						t.Fatalf("killed before call %d (%s), repeated: %+v, %v", step, call, r.Doc, err)
					}
				}
				if diff := cmp.Diff(want, s.tree(t)); diff != "" {
					t.Fatalf("killed before call %d (%s), repeated (-once, +twice):\n%s", step, call, diff)
				}
				if !killed {
					if step < 5 {
						t.Errorf("only %d calls", step)
					}
					return
				}
			}
		})
	}
}
