package attempt

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
)

func TestRecover(t *testing.T) {
	const resultLine = `{"type":"result","subtype":"success","is_error":false,"num_turns":4,"total_cost_usd":0.5}` + "\n"
	const limitLine = `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1938326400}}` + "\n"
	tests := []struct {
		name, log string
		set       []string
		ending    string
		want      outcome.Outcome
		mark      plan.Mark
	}{
		{"no trace", "", nil, "", outcome.Crashed, plan.Mark{Status: "in_progress", Step: "none"}},
		{"in a step", "some text\n", []string{"status", "tests", "step", "tests"}, "", outcome.Crashed, plan.Mark{Status: "tests", Step: "tests"}},
		{"complete", "", []string{"status", "complete"}, "", outcome.Done, plan.Mark{Status: "complete", Step: "none"}},
		{"result in the log", resultLine, nil, "", outcome.Stalled, plan.Mark{Status: "in_progress", Step: "none"}},
		{"result, then a cut line", resultLine + `{"type":"assi`, nil, "", outcome.Stalled, plan.Mark{Status: "in_progress", Step: "none"}},
		{"result quoted on stderr", `{"gl":"stderr","text":"{\"type\":\"result\",\"subtype\":\"success\"}"}` + "\n", nil, "", outcome.Crashed, plan.Mark{Status: "in_progress", Step: "none"}},
		{"limit in the log", limitLine, []string{"status", "tests", "step", "tests"}, "", outcome.Held, plan.Mark{Status: "tests", Step: "tests"}},
		{"waiting", resultLine, []string{"waiting_for", "a word"}, "", outcome.Waiting, plan.Mark{Status: "in_progress", Step: "none"}},
		{"stopped", "", nil, EndStop, outcome.Interrupted, plan.Mark{Status: "pending", Step: "none"}},
		{"silent", "", nil, EndSilence, outcome.Hung, plan.Mark{Status: "failed", Step: "none"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": "pending/none"})
			r := b.claim("S-1")
			r.Job.Stream = agent.StreamClaude
			r.Life.Ending = tt.ending
			r = b.start(r)
			must(t, os.WriteFile(b.store.Files.Log(r.ID.Slice, r.ID.N), []byte(tt.log), 0o644))
			b.set("S-1", tt.set...)
			final, err := b.settler(b.state).Recover(t.Context(), r)
			must(t, err)
			if final == nil || final.Judged.Outcome != tt.want || b.mark("S-1") != tt.mark {
				t.Fatalf("%+v, %+v; want %s, %+v", final, b.mark("S-1"), tt.want, tt.mark)
			}
			again, err := b.settler(b.state).Recover(t.Context(), r)
			must(t, err)
			if diff := cmp.Diff(final, again); diff != "" {
				t.Errorf("recovered twice: %s", diff)
			}
		})
	}
}

// No process is taken for dead without proof.
func TestRecoverLeavesTheLiving(t *testing.T) {
	elsewhere, self := deadID(1), proc.Self()
	elsewhere.Host, elsewhere.Boot = "another host", "another boot"
	for name, wrapper := range map[string]proc.ID{"alive": self, "on another host": elsewhere} {
		t.Run(name, func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": "pending/none"})
			r := b.start(b.claim("S-1"))
			r.Life.Wrapper = &wrapper
			must(t, b.store.unlocked().Put(r))
			final, err := b.settler(b.state).Recover(t.Context(), r)
			must(t, err)
			if final != nil || len(b.live()) != 1 {
				t.Errorf("settled: %+v", final)
			}
		})
	}
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	r := b.claim("S-1")
	_, err := b.settler(b.state).Recover(t.Context(), r)
	must(t, err)
	if len(b.live()) != 1 || b.mark("S-1").Session != r.ID.Token {
		t.Error("the claim of a living launcher was given back")
	}
}

func TestGiveBack(t *testing.T) {
	tests := []struct {
		name, before string
		set          []string
		want         plan.Mark
	}{
		{"as claimed", "failed/tests", nil, plan.Mark{Status: "failed", Step: "tests"}},
		{"somebody began to work", "pending/none", []string{"status", "tests", "step", "tests"}, plan.Mark{Status: "tests", Step: "tests"}},
		{"somebody completed it", "pending/none", []string{"status", "complete"}, plan.Mark{Status: "complete", Step: "none"}},
		{"somebody took it", "pending/none", []string{"session", "theirs"}, plan.Mark{Status: "in_progress", Step: "none", Session: "theirs"}},
		{"somebody released it", "pending/none", []string{"session", "", "status", "pending"}, plan.Mark{Status: "pending", Step: "none"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": tt.before})
			r := b.claim("S-1")
			r.Life.Launcher = deadID(1)
			must(t, b.store.unlocked().Put(r))
			b.set("S-1", tt.set...)
			for range 2 {
				final, err := b.settler(b.state).Recover(t.Context(), r)
				must(t, err)
				if final != nil || b.mark("S-1") != tt.want || len(b.live()) != 0 {
					t.Fatalf("%+v, %+v, %d live", final, b.mark("S-1"), len(b.live()))
				}
			}
			if text, _ := os.ReadFile(b.file("S-1")); tt.want.Status == "failed" && !strings.Contains(string(text), "started:\n") {
				t.Errorf("the day of its start stays: %s", text)
			}
		})
	}
}

// A claim that has started, or that is another's by now, isn't given back.
func TestGiveBackTooLate(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none", "S-2": "pending/none"})
	started, other := b.claim("S-1"), b.claim("S-2")
	b.start(started)
	old := *other
	old.ID.Token = "an older claim"
	for _, r := range []*Record{started, &old} {
		must(t, b.settler(b.state).GiveBack(t.Context(), r))
	}
	if len(b.live()) != 2 || b.mark("S-1").Session != started.ID.Token || b.mark("S-2").Session != other.ID.Token {
		t.Error("given back")
	}
}

// A launcher that dies between the record and the slice's file leaves a slice as it was.
func TestGiveBackRecordOnly(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	r := b.claim("S-1")
	r.Life.Launcher = deadID(1)
	must(t, b.store.unlocked().Put(r))
	b.write("S-1", "pending", "none", "")
	was, err := os.ReadFile(b.file("S-1"))
	must(t, err)
	_, err = b.settler(b.state).Recover(t.Context(), r)
	must(t, err)
	if now, _ := os.ReadFile(b.file("S-1")); string(now) != string(was) || len(b.live()) != 0 {
		t.Errorf("the file is now %s", now)
	}
	if again := b.claim("S-1"); again.ID.N != 1 {
		t.Errorf("attempt %d: no attempt was used up", again.ID.N)
	}
}
