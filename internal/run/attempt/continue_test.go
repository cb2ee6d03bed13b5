package attempt

import (
	"os"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/logfile"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/worktree"
)

// What a lineage's next attempt goes on with depends on its last one: the same agent in the same
// directory and account.
func TestClaimGoesOn(t *testing.T) {
	cfg := agent.Config{Custom: map[string]agent.Custom{"mute": {Command: []string{"mute", "{prompt}"}}}}
	claude, _ := agent.Find("claude", cfg)
	codex, _ := agent.Find("codex", cfg)
	mute, _ := agent.Find("mute", cfg)
	for _, tt := range []struct {
		name    string
		last    func(*Record) // what is changed in the attempt before
		agent   agent.Agent
		lineage int
		resumes bool
		after   int
	}{
		{"the same", nil, claude, 1, true, 1},
		{"whatever its end", func(r *Record) { r.Judged.Outcome, r.Judged.Detail = outcome.Crashed, "" }, claude, 1, true, 1},
		{"a new lineage", nil, claude, 2, false, 0},
		{"another agent", nil, codex, 1, false, 1},
		{"one that can't", func(r *Record) { r.Job.Agent, r.Job.Program = "mute", "mute" }, mute, 1, false, 1},
		{"no conversation", func(r *Record) { r.Talk.Conversation = "" }, claude, 1, false, 1},
		{"another account", func(r *Record) { r.Job.Account = "HOME=/other" }, claude, 1, false, 1},
		{"another directory", func(r *Record) { r.Job.Dir = "/elsewhere" }, claude, 1, false, 1},
		{"another program of that name", func(r *Record) { r.Job.Program = "/opt/claude" }, claude, 1, false, 1},
		{"another system", func(r *Record) { r.ID.System = "specwright" }, claude, 1, false, 0},
		{"a forged conversation", func(r *Record) { r.Talk.Conversation = "--evil" }, claude, 1, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": "pending/none"})
			last := b.claim("S-1")
			last.Job.Agent, last.Job.Program, last.Place.Lineage, last.Job.Account, last.Talk.Conversation = "claude", "claude", 1, "HOME=/h", "c-1"
			last.Life.Phase, last.Judged.Outcome, last.Judged.Detail = plan.Settled, outcome.Stalled, "turn limit after 2 turns"
			if tt.last != nil {
				tt.last(last)
			}
			must(t, b.store.unlocked().finish(last))
			b.write("S-1", "pending", "none", "")
			r := b.goOn(Request{Place: Workplace{Lineage: &worktree.Lineage{N: tt.lineage}}, ID: "S-1", Agent: tt.agent, Job: agent.Job{Prompt: "/gl:slice S-1", Dir: b.root, Account: "HOME=/h"}})
			if r.Talk.Resumes() != tt.resumes || (r.Talk.Conversation == "c-1") != tt.resumes {
				t.Errorf("resumes %v conversation %q by %q", r.Talk.Resumes(), r.Talk.Conversation, r.Job.Argv)
			}
			switch {
			case tt.after == 0 && r.Talk.Continues != nil, tt.after != 0 && (r.Talk.Continues == nil || r.Talk.Continues.After != tt.after):
				t.Errorf("continues %+v, want attempt %d", r.Talk.Continues, tt.after)
			}
			argv := slices.Clone(r.Talk.Anew)
			if !tt.resumes {
				return
			}
			if !slices.Contains(r.Job.Argv, "--resume") || slices.Contains(argv, "--resume") || !slices.Contains(argv, "/gl:slice S-1") {
				t.Errorf("by %q, and if there is no conversation by %q", r.Job.Argv, argv)
			}
			r.Talk.BeginAnew(&r.Job)
			if r.Talk.Resumes() || r.Talk.Conversation != "" || !slices.Equal(r.Job.Argv, argv) {
				t.Errorf("anew: %+v", r)
			}
			must(t, r.check(Entry{Slice: r.ID.Slice, N: r.ID.N}))
		})
	}
}

// An attempt that is to put red tests right gets the model of retry.escalate, in the conversation
// of the one before.
func TestClaimEscalates(t *testing.T) {
	claude, _ := agent.Find("claude", agent.Config{})
	for _, tt := range []struct {
		outcome         outcome.Outcome
		escalate, model string
	}{
		{outcome.Red, "opus", "opus"}, {outcome.Red, "", "small"}, {outcome.Stalled, "opus", "small"},
	} {
		b := benchFor(t, map[string]string{"S-1": "pending/none"})
		last := b.claim("S-1")
		last.Job.Agent, last.Job.Program, last.Place.Lineage, last.Talk.Conversation, last.Job.Account = "claude", "claude", 1, "c-1", ""
		last.Life.Phase, last.Judged.Outcome, last.Landing = plan.Settled, tt.outcome, &Landing{}
		must(t, b.store.unlocked().finish(last))
		b.write("S-1", "pending", "none", "")
		r := b.goOn(Request{Place: Workplace{Lineage: &worktree.Lineage{N: 1}}, ID: "S-1", Agent: claude, Escalate: tt.escalate, Job: agent.Job{Prompt: "/gl:slice S-1", Dir: b.root, Model: "small"}})
		at := slices.Index(r.Job.Argv, "--model")
		if r.Job.Model != tt.model || at < 0 || r.Job.Argv[at+1] != tt.model || !slices.Contains(r.Job.Argv, "--resume") || !slices.Contains(r.Talk.Anew, tt.model) {
			t.Errorf("%s, escalate %q: model %q, %q or else %q", tt.outcome, tt.escalate, r.Job.Model, r.Job.Argv, r.Talk.Anew)
		}
	}
}

func (b *bench) goOn(req Request) (r *Record) {
	b.t.Helper()
	req.Runner = "process"
	must(b.t, b.state.Do(b.t.(*testing.T).Context(), func(tx tracker.Tx) (err error) {
		r, err = b.store.Within(tx.Held()).Claim(tx, req, b.now)
		return err
	}))
	return r
}

// What the lane has to say is handed over in place of how the last attempt ended, and only once:
// then a person has to look.
func TestClaimHandsOver(t *testing.T) {
	claude, _ := agent.Find("claude", agent.Config{})
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	req := Request{Place: Workplace{Lineage: &worktree.Lineage{N: 1}}, ID: "S-1", Agent: claude, Job: agent.Job{Prompt: "/gl:slice S-1", Dir: b.root}}
	r := b.goOn(req)
	if r.Talk.Continues != nil || r.Talk.Resumes() {
		t.Errorf("first: %+v", r.Talk.Continues)
	}
	red := func(r *Record) {
		t.Helper()
		r.Life.Phase, r.Judged.Outcome, r.Talk.Conversation = plan.Settled, outcome.Red, "c-1"
		r.Landing = &Landing{Why: "The tests fail\non the merge.", Output: strings.Repeat("ok\n", 10_000) + "FAIL\x1b[31m a_test.go:7\n"}
		must(t, b.store.unlocked().finish(r))
		b.write("S-1", "pending", "none", "")
	}
	red(r)
	if !r.PlanOutcome().Continue || r.Relaunch() != outcome.Again {
		t.Error("it doesn't go on")
	}
	r = b.goOn(req)
	if c := r.Talk.Continues; c == nil || c.After != 1 || c.Mends != outcome.Red || c.Why != "The tests fail on the merge." || len(c.Output) > outputBytes+10 ||
		!strings.HasSuffix(c.Output, "a_test.go:7") || strings.ContainsRune(c.Output, 0x1b) {
		t.Errorf("%+v", c)
	}
	if i := slices.Index(r.Job.Argv, "-p"); !r.Talk.Resumes() || !strings.Contains(r.Job.Argv[i+1], "The tests fail on the merge.\n\n    …\n    ok\n") ||
		!strings.Contains(r.Job.Argv[i+1], "a_test.go:7") || strings.Contains(r.Job.Argv[i+1], "Attempt 1 ended") {
		t.Errorf("%q", r.Job.Argv)
	}
	// A held attempt leaves it to the next one.
	r.Life.Phase, r.Judged.Outcome = plan.Settled, outcome.Held
	must(t, b.store.unlocked().finish(r))
	b.write("S-1", "pending", "none", "")
	if r = b.goOn(req); r.Talk.Continues == nil || r.Talk.Continues.Mends != outcome.Red {
		t.Errorf("after a held one: %+v", r.Talk.Continues)
	}
	red(r)
	if r.PlanOutcome().Continue || r.Relaunch() != outcome.IfReady {
		t.Error("it goes on a second time")
	}
}

// What a person says of an attempt is for the next one that has its turn: a limit that is met
// before doesn't use it up.
func TestClaimIsToldWhatAPersonSaid(t *testing.T) {
	claude, _ := agent.Find("claude", agent.Config{})
	for name, tt := range map[string]struct {
		said        func(*Record)
		why, output string
	}{
		"answered":  {func(r *Record) { r.Since.Answered = &Answer{"which currency?", "Euro"} }, "You asked: which currency? A person has answered: Euro. Go on with that.", ""},
		"rejected":  {func(r *Record) { r.Since.Rejected = "too slow." }, "A person has looked at your work and sent it back: too slow. Put that right.", ""},
		"commented": {func(r *Record) { r.Since.Comments = []Comment{{"a.go", 3, "x := 1", "why?"}} }, "A person has looked at your work and sent it back. Put right what the comments on lines say.", "a.go:3\n> x := 1\nwhy?"},
		"undone": {func(r *Record) {
			r.Judged.Outcome, r.Since.Undone, r.Landing = outcome.Done, &Undo{Commit: "c", Why: "it breaks"}, &Landing{Commit: "l"}
		}, "This slice was built and merged, and a person took it back: it breaks. Its changes are on your branch again, in its first commit. Put right what was wrong with them.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": "pending/none"})
			last := b.claim("S-1")
			last.Job.Agent, last.Job.Program, last.Place.Lineage, last.Life.Phase, last.Judged.Outcome, last.Since.Retried = "claude", "claude", 1, plan.Settled, outcome.Waiting, true
			tt.said(last)
			must(t, b.store.unlocked().finish(last))
			b.write("S-1", "pending", "none", "")
			lineage := 1
			if last.Since.Undone != nil {
				lineage = 2
			}
			req := Request{Place: Workplace{Lineage: &worktree.Lineage{N: lineage}, Redone: "r"}, ID: "S-1", Agent: claude, Job: agent.Job{Dir: b.root}}
			for range 2 { // the first of them is held
				r := b.goOn(req)
				if r.Talk.Continues == nil || r.Talk.Continues.Why != tt.why || r.Talk.Continues.Output != tt.output || r.Talk.Continues.Again != (lineage == 2) {
					t.Fatalf("attempt %d continues %+v", r.ID.N, r.Talk.Continues)
				}
				must(t, r.check(Entry{Slice: r.ID.Slice, N: r.ID.N}))
				r.Life.Phase, r.Judged.Outcome = plan.Settled, outcome.Held
				must(t, b.store.unlocked().finish(r))
				b.write("S-1", "pending", "none", "")
			}
		})
	}
}

// The conversation of an agent whose wrapper was killed is in its log; one that began anew has the
// later one.
func TestReplayFindsTheConversation(t *testing.T) {
	const began = `{"type":"system","subtype":"init","session_id":"c-2"}` + "\n"
	const lost = `{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"session_id":"c-1"}` + "\n"
	anew := string(logfile.Note{From: logfile.Anew, Text: "it is gone"}.Line()) + "\n"
	for _, tt := range []struct{ name, log, want string }{
		{"it said so", began, "c-2"}, {"it said nothing", "", "c-1"}, {"it began anew", lost + anew + began, "c-2"}, {"it was to begin anew", lost + anew, "c-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": "pending/none"})
			r := b.claim("S-1")
			r.Job.Stream, r.Talk.Conversation = agent.StreamClaude, "c-1"
			r = b.start(r)
			must(t, os.WriteFile(b.store.Files.Log(r.ID.Slice, r.ID.N), []byte(tt.log), 0o644))
			final, err := b.settler(b.state).Recover(t.Context(), r)
			must(t, err)
			if final.Talk.Conversation != tt.want || final.Judged.Outcome != outcome.Crashed {
				t.Errorf("%s, conversation %q, want %q", final.Judged.Outcome, final.Talk.Conversation, tt.want)
			}
		})
	}
}
