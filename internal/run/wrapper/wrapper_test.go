package wrapper_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/wrapper"
	"greenlight/internal/state/tracker"
)

func TestWrapper(t *testing.T) {
	t.Parallel()
	// An agent that is to be ended hangs for good, so how short its time is doesn't matter. One
	// that is to go on in time must be able to on a busy machine.
	const silent = `"silent_minutes": 0.05, "tool_minutes": 0.1`
	const grace = `"result_grace_seconds": 0.2`
	const long = `"result_grace_seconds": 2`
	tests := []struct {
		name, config, script string
		want                 outcome.Outcome
		detail               string
		mark                 plan.Mark
		log                  string
	}{
		{"complete", "", "set_ tests 7; set_ status complete; result", outcome.Done, "7 tests", plan.Mark{Status: "complete", Step: "none"}, `"num_turns":3`},
		{"exit 7", "", "set_ step tests; echo working; echo went wrong >&2; exit 7", outcome.Failed, "exit 7: went wrong", plan.Mark{Status: "failed", Step: "tests"}, `{"gl":"stderr","text":"went wrong"}`},
		{"half way", "", "set_ status tests; result", outcome.Stalled, "without completing", plan.Mark{Status: "tests", Step: "none"}, ""},
		{"kills itself", "", "kill -9 $$", outcome.Failed, "signal 9", plan.Mark{Status: "failed", Step: "none"}, ""},
		{"cut last line", "", `printf '{"type":"resu'`, outcome.Stalled, "", plan.Mark{Status: "in_progress", Step: "none"}, `{"type":"resu`},
		{"result without a line's end", "", `printf '{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":9}'; exit 1`, outcome.Stalled, "turn limit after 9 turns", plan.Mark{Status: "in_progress", Step: "none"}, ""},
		{"result without a line's end, and its output is held", "", `set_ status tests; cd "$GREENLIGHT_ROOT"; setsid sh -c ': > held; exec sleep 5' & until [ -e held ]; do :; done; printf '{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":9}'; exit 1`, outcome.Stalled, "turn limit after 9 turns", plan.Mark{Status: "tests", Step: "none"}, `"num_turns":9`},
		{"rate limit with exit 0", "", `echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"num_turns":1,"result":"no"}'`, outcome.Held, "rate limit", plan.Mark{Status: "pending", Step: "none"}, ""},
		{"waits for a person", "", "set_ status verifying; set_ waiting_for word; result", outcome.Waiting, "waiting for word", plan.Mark{Status: "verifying", Step: "none"}, ""},
		{"hangs after its result", grace, "set_ status complete; result; exec sleep 600", outcome.Done, "", plan.Mark{Status: "complete", Step: "none"}, ""},
		{"hangs half way after its result", grace, "result; exec sleep 600", outcome.Stalled, "without completing", plan.Mark{Status: "in_progress", Step: "none"}, ""},
		{"silent", silent, "set_ step tests; echo hello; exec sleep 600", outcome.Hung, "silent for 3s", plan.Mark{Status: "failed", Step: "tests"}, ""},
		{"silent, with a child", silent, "sleep 600 & wait", outcome.Hung, "silent for 3s", plan.Mark{Status: "failed", Step: "none"}, ""},
		{"goes on after its result", long, "result; init; sleep 3; set_ status complete; result", outcome.Done, "", plan.Mark{Status: "complete", Step: "none"}, ""},
		{"waits for a command in the background", long, "tasks {}; result; sleep 3; tasks; sleep 1.4; init; set_ status complete; result", outcome.Done, "", plan.Mark{Status: "complete", Step: "none"}, ""},
		{"has a command in the background, and is through", grace, "tasks {}; set_ status complete; result; exec sleep 600", outcome.Done, "", plan.Mark{Status: "complete", Step: "none"}, ""},
		{"leaves a server behind", "", "sleep 600 & set_ status complete; result", outcome.Done, "", plan.Mark{Status: "complete", Step: "none"}, ""},
		{"a child outside its group holds its output", "", "setsid sleep 5 & set_ status complete; result", outcome.Done, "", plan.Mark{Status: "complete", Step: "none"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := exec.LookPath("setsid"); err != nil && strings.Contains(tt.script, "setsid ") {
				t.Skip("no setsid here")
			}
			t.Parallel()
			s := newSite(t, tt.config, tt.script)
			began := time.Now()
			r := s.run()
			if r.Judged.Outcome != tt.want || !strings.Contains(r.Judged.Detail, tt.detail) || s.mark("S-1") != tt.mark {
				t.Errorf("%s, %q, %+v; want %s, %q, %+v", r.Judged.Outcome, r.Judged.Detail, s.mark("S-1"), tt.want, tt.detail, tt.mark)
			}
			if log := s.log(r); !strings.Contains(log, tt.log) {
				t.Errorf("log: %s", log)
			}
			if r.Life.Wrapper == nil || r.Life.Process == nil || r.Life.StartedAt.Before(r.Life.ClaimedAt) || r.Life.EndedAt.Before(*r.Life.StartedAt) || r.Life.SettledAt.Before(*r.Life.EndedAt) || r.Life.StartedAt.Before(began) {
				t.Errorf("record: %+v", r)
			}
			if !strings.Contains(tt.script, "setsid ") {
				nobodyLeft(t, r)
			}
		})
	}
}

// A task has no file that says how far it is, and waits for its background all the same.
func TestTaskWaitsForItsBackground(t *testing.T) {
	t.Parallel()
	s := newSite(t, `"result_grace_seconds": 2`, "tasks {}; result; sleep 3; tasks; init; echo went on; result") // longer than the grace
	task := &attempt.Task{Name: "quick", Prompt: "/gl:quick x"}
	r := s.wrapped(s.request(attempt.Request{ID: "@quick", Task: task, Agent: s.agent, Job: agent.Job{Dir: s.Root, Prompt: task.Prompt}, Runner: "process"}))
	if r.Judged.Outcome != outcome.Done || !strings.Contains(s.log(r), "went on") {
		t.Errorf("%s, %q: %s", r.Judged.Outcome, r.Judged.Detail, s.log(r))
	}
}

// What the agent is given: its place, its identity, no input, and no mark of a session it could be
// nested in.
func TestWrapperEnvironment(t *testing.T) {
	t.Setenv("CLAUDECODE", "1")
	t.Setenv("GL_SESSION", "the caller's")
	t.Setenv("KEPT", "yes")
	s := newSite(t, "", `pwd; env; cat; echo "input over, argument $1"`)
	r := s.run()
	log := s.log(r)
	root, err := filepath.EvalSymlinks(s.Root)
	check(t, err)
	for _, want := range []string{root, "GL_SLICE=S-1", "GL_SESSION=" + r.ID.Token, "GL_ATTEMPT=1", "GREENLIGHT_ROOT=" + s.Root, "KEPT=yes", "input over, argument S-1"} {
		if !strings.Contains(log, want+"\n") {
			t.Errorf("no %q in %s", want, log)
		}
	}
	if strings.Contains(log, "CLAUDECODE") || strings.Contains(log, "the caller's") {
		t.Errorf("marks of another session in %s", log)
	}
}

func TestWrapperLongLines(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", `result; head -c 5000000 /dev/zero | tr '\0' x; echo; head -c 5000000 /dev/zero | tr '\0' y >&2`)
	r := s.run()
	log := s.log(r)
	for _, c := range []string{"x", "y"} {
		if n := strings.Count(log, c); n < 5000000 || n > 5000100 {
			t.Errorf("%d of %s in the log", n, c)
		}
	}
	if r.Judged.Outcome != outcome.Stalled || r.Judged.Evidence.Result == nil || len(r.Judged.Evidence.Stderr) > 1000 {
		t.Errorf("%s, %d bytes of stderr", r.Judged.Outcome, len(r.Judged.Evidence.Stderr))
	}
}

// An agent that can't even begin: the attempt fails with the reason, and nothing has run.
func TestWrapperCantStart(t *testing.T) {
	for _, tt := range []struct {
		name, content string
		mode          os.FileMode
		program       string
		missing       bool
		detail        string
	}{
		{"missing program", "", 0, "no-such-agent-anywhere", true, "no-such-agent-anywhere is not on PATH"},
		{"missing path", "", 0, "./none", true, "./none"},
		{"not executable", "#!/bin/sh\n", 0o644, "./agent", false, "permission denied"},
		{"bad interpreter", "#!/no/such/interpreter\n", 0o755, "./agent", false, "no such file"},
		{"no program at all", "\x00\x01\x02", 0o755, "./agent", false, "exec format error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if tt.content != "" {
				check(t, os.WriteFile(filepath.Join(root, "agent"), []byte(tt.content), tt.mode))
			}
			s := newSiteFor(t, root, "", []string{tt.program})
			r := s.run()
			if r.Judged.Outcome != outcome.Failed || !strings.Contains(r.Judged.Detail, tt.detail) || (r.Judged.Evidence.Missing != "") != tt.missing {
				t.Errorf("%s, %q, %+v", r.Judged.Outcome, r.Judged.Detail, r.Judged.Evidence)
			}
			if m := s.mark("S-1"); m != (plan.Mark{Status: "failed", Step: "none"}) {
				t.Errorf("%+v", m)
			}
		})
	}
}

// An agent that ignores TERM is killed: after the grace, or at once when it is asked a second time.
func TestWrapperIgnoresTerm(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	const grace = 10 * time.Second
	s := newSite(t, "", `trap '' TERM; set_ step tests; ran; while :; do sleep 0.05; done`)
	hasty := s.claim("S-2")
	fast := s.start(hasty)
	s.awaitRun(hasty)
	asked := time.Now()
	check(t, fast.Process.Signal(syscall.SIGINT))
	until(t, "why it ends is written down", func() bool { return s.get(hasty).Life.Ending == attempt.EndStop })
	check(t, fast.Process.Signal(syscall.SIGINT))
	fast.await(t)
	if took := time.Since(asked); took >= grace {
		t.Errorf("asked twice, it was ended only after %v", took)
	}
	s.interrupted(hasty)
	if testing.Short() {
		return
	}
	patient := s.claim("S-1")
	slow := s.start(patient)
	s.awaitRun(patient)
	asked = time.Now()
	check(t, slow.Process.Signal(syscall.SIGTERM))
	slow.await(t)
	if took := time.Since(asked); took < grace {
		t.Errorf("it was killed after %v: it had no grace", took)
	}
	s.interrupted(patient)
}

// interrupted checks that a stopped attempt is settled as that, in the step it had reached.
func (s *site) interrupted(r *attempt.Record) {
	s.t.Helper()
	r = s.get(r)
	if r.Judged.Outcome != outcome.Interrupted || s.mark(r.ID.Slice) != (plan.Mark{Status: "in_progress", Step: "tests"}) {
		s.t.Errorf("%s: %s, %+v", r.ID.Name(), r.Judged.Outcome, s.mark(r.ID.Slice))
	}
	nobodyLeft(s.t, r)
}

// A claim that was given back, or is another's by now: the wrapper comes late, and no agent runs.
func TestWrapperLate(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "ran")
	settler := s.Settler()
	given, taken := s.claim("S-1"), s.claim("S-2")
	check(t, settler.GiveBack(t.Context(), given))
	check(t, settler.GiveBack(t.Context(), taken))
	theirs := s.claim("S-2")
	for _, r := range []*attempt.Record{given, taken} {
		w := s.start(r)
		w.await(t)
		if w.ProcessState.ExitCode() != 1 || !strings.Contains(w.out.String(), wrapper.ErrLate.Error()) {
			t.Errorf("exit %d: %s", w.ProcessState.ExitCode(), w.out)
		}
		if s.ran(r) {
			t.Errorf("the agent of %s ran", r.ID.Name())
		}
	}
	if s.mark("S-1").Status != "pending" || s.mark("S-2").Session != theirs.ID.Token {
		t.Errorf("%+v, %+v", s.mark("S-1"), s.mark("S-2"))
	}
}

// The claim is lost between the wrapper's first look and its start: the gate is all that there ever
// was.
func TestWrapperLosesTheRace(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "ran")
	r := s.claim("S-1")
	w := s.wrapper()
	check(t, w.Settler.GiveBack(t.Context(), r))
	if _, err := w.Run(t.Context(), r); !errors.Is(err, wrapper.ErrLate) {
		t.Errorf("error %v", err)
	}
	nobodyLeft(t, r)
	if s.ran(r) {
		t.Error("the agent ran")
	}
}

func TestStop(t *testing.T) {
	for _, tt := range []struct {
		name   string
		freeze bool
	}{{"working", false}, {"wrapper stopped", true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "", "ran; exec sleep 600")
			r := s.claim("S-1")
			w := s.start(r)
			s.awaitRun(r)
			if tt.freeze {
				check(t, w.Process.Signal(syscall.SIGSTOP))
			}
			settler := s.Settler()
			final, err := settler.Stop(t.Context(), r)
			check(t, err)
			if final.Judged.Outcome != outcome.Interrupted || s.mark("S-1") != (plan.Mark{Status: "pending", Step: "none"}) {
				t.Errorf("%s, %+v", final.Judged.Outcome, s.mark("S-1"))
			}
			w.await(t)
			nobodyLeft(t, s.get(r))
		})
	}
}

// A wrapper that can't be reached any more is not waited for without end: its agent is ended and it
// is settled by the one who stops it.
func TestStopDeafWrapper(t *testing.T) {
	testfiles.Slow(t)
	if testing.Short() {
		t.Skip("takes the whole grace")
	}
	t.Parallel()
	s := newSite(t, "", "ran; exec sleep 600")
	r := s.claim("S-1")
	w := s.start(r)
	s.awaitRun(r)
	check(t, w.Process.Kill())
	w.await(t)
	deaf := exec.Command("sh", "-c", "trap '' TERM; echo; while :; do sleep 0.1; done")
	out, err := deaf.StdoutPipe()
	check(t, err)
	check(t, deaf.Start())
	out.Read(make([]byte, 1)) // it is deaf now
	t.Cleanup(func() { deaf.Process.Kill(); deaf.Wait() })
	id, err := proc.Of(deaf.Process.Pid)
	check(t, err)
	rewrite(t, s, s.get(r), func(r *attempt.Record) { r.Life.Wrapper = &id })
	settler := s.Settler()
	final, err := settler.Stop(t.Context(), r)
	check(t, err)
	if final.Judged.Outcome != outcome.Interrupted {
		t.Errorf("it ended as %s", final.Judged.Outcome)
	}
	until(t, "the killed wrapper is gone", func() bool { return !id.Alive() })
	nobodyLeft(t, final)
}

// The directory of runs is cleaned away while the agent works.
func TestWrapperAfterClean(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", `ran; while ! [ -e "$GREENLIGHT_ROOT/go" ]; do sleep 0.01; done; set_ status complete; result`)
	r := s.claim("S-1")
	w := s.start(r)
	s.awaitRun(r)
	removed(t, s.Runs.Files.Dir())
	check(t, os.WriteFile(filepath.Join(s.Root, "go"), nil, 0o644))
	w.await(t)
	final := s.get(r)
	if final.Judged.Outcome != outcome.Done || final.Judged.Evidence.Result == nil || s.mark("S-1").Session != "" {
		t.Errorf("%s, %+v", final.Judged.Outcome, s.mark("S-1"))
	}
}

// A project that is removed under the agent's feet leaves no process behind.
func TestWrapperAfterRemoval(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", `ran; while [ -d "$GREENLIGHT_ROOT" ]; do sleep 0.01; done`)
	r := s.claim("S-1")
	w := s.start(r)
	s.awaitRun(r)
	removed(t, s.Root)
	w.await(t)
	nobodyLeft(t, r)
}

// removed removes a directory in which the wrapper may be writing.
func removed(t *testing.T, dir string) {
	t.Helper()
	until(t, dir+" is removed", func() bool { return os.RemoveAll(dir) == nil })
}

// Each half of a claim is enough to lose it: the record, or the token in the slice's file.
func TestWrapperHalfAClaim(t *testing.T) {
	for name, lose := range map[string]func(s *site, r *attempt.Record){
		"the record is gone": func(s *site, _ *attempt.Record) { check(s.t, os.RemoveAll(s.Runs.Files.LiveDir())) },
		"the record is another's": func(s *site, r *attempt.Record) {
			rewrite(s.t, s, s.get(r), func(r *attempt.Record) { r.ID.Token = "theirs" })
		},
		"the record has been begun": func(s *site, r *attempt.Record) {
			rewrite(s.t, s, s.get(r), func(r *attempt.Record) { r.Life.Phase = plan.Ended })
		},
		"the slice is another's": func(s *site, r *attempt.Record) {
			check(s.t, s.Tracker.Do(context.Background(), func(tx tracker.Tx) error { return tx.Claim(r.ID.Slice, "theirs") }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "", "ran")
			r := s.claim("S-1")
			lose(s, r)
			before := s.mark("S-1")
			w := s.wrapper()
			if _, err := w.Run(t.Context(), r); !errors.Is(err, wrapper.ErrLate) {
				t.Errorf("error %v", err)
			}
			nobodyLeft(t, r)
			if s.ran(r) || s.mark("S-1") != before {
				t.Errorf("ran: %v, %+v", s.ran(r), s.mark("S-1"))
			}
		})
	}
}
