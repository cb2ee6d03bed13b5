package attempt

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

func (b *bench) claimTask(t *Task) (r *Record, err error) {
	b.t.Helper()
	a, err := agent.Find("x", agent.Config{Custom: map[string]agent.Custom{"x": {Command: []string{"true", "{prompt}", "{slice}"}}}})
	must(b.t, err)
	err = b.state.Do(context.Background(), func(tx tracker.Tx) (err error) {
		r, err = b.store.Within(tx.Held()).Claim(tx, Request{ID: TaskID(t.Name), Task: t, Agent: a, Job: agent.Job{Dir: b.root, Prompt: t.Prompt}, Runner: "process"}, b.now)
		return err
	})
	return r, err
}

// An attempt that goes on with a task's work belongs to the same Work, whatever else of its kind
// runs.
func TestWorkOfATask(t *testing.T) {
	b := newBench(t, t.TempDir(), map[string]string{"S-1": "pending/none"})
	task := &Task{Name: "quick"}
	var recs []*Record
	for range 3 {
		r, err := b.claimTask(task)
		must(t, err)
		recs = append(recs, r)
	}
	recs[2].ID.First = 1
	must(t, b.store.unlocked().Put(recs[2]))
	for _, tt := range []struct {
		req  Request
		want string
	}{
		{Request{ID: "S-1"}, "S-1"},
		{Request{ID: "@quick", Task: task}, "@quick.4"},
		{Request{ID: "@quick", Task: task, First: 1}, "@quick.1"},
	} {
		if got, err := b.store.WorkOf(tt.req); err != nil || got != tt.want {
			t.Errorf("%+v: %q, %v", tt.req, got, err)
		}
	}
	for work, want := range map[string][]int{"@quick.1": {3, 1}, "@quick.2": {2}, "@quick.3": nil, "S-1": nil} {
		all, err := b.store.AttemptsAt(work)
		var got []int
		for _, r := range all {
			got = append(got, r.ID.N)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", work, got, err)
		}
	}
	if works, err := b.store.TaskWorks(); err != nil || !slices.Equal(works, []string{"@quick.1", "@quick.2"}) {
		t.Errorf("%q, %v", works, err)
	}
}

// A task's outcome comes from its agent's end alone.
func TestJudgeTask(t *testing.T) {
	zero, seven := 0, 7
	result := func(turns int, subtype string, bad bool) *agent.Result {
		return &agent.Result{Turns: turns, Subtype: subtype, IsError: bad}
	}
	for name, c := range map[string]struct {
		stream, ending string
		ev             *Evidence
		want           outcome.Outcome
	}{
		"result":               {agent.StreamClaude, "", &Evidence{ExitCode: &zero, Result: result(3, "success", false)}, outcome.Done},
		"result, then killed":  {agent.StreamClaude, EndGrace, &Evidence{Signal: "terminated", Result: result(3, "success", false)}, outcome.Done},
		"result, gl is gone":   {agent.StreamClaude, "", &Evidence{Result: result(3, "success", false)}, outcome.Done},
		"no turn":              {agent.StreamClaude, "", &Evidence{ExitCode: &zero, Result: result(0, "success", false)}, outcome.Stalled},
		"no result":            {agent.StreamClaude, "", &Evidence{ExitCode: &zero}, outcome.Stalled},
		"text":                 {agent.StreamText, "", &Evidence{ExitCode: &zero}, outcome.Done},
		"text after all":       {agent.StreamAuto, "", &Evidence{ExitCode: &zero}, outcome.Done},
		"claude after all":     {agent.StreamAuto, "", &Evidence{ExitCode: &zero, Version: "2"}, outcome.Stalled},
		"text, exit 7":         {agent.StreamText, "", &Evidence{ExitCode: &seven}, outcome.Failed},
		"text, killed":         {agent.StreamText, "", &Evidence{Signal: "killed"}, outcome.Failed},
		"turn limit":           {agent.StreamClaude, "", &Evidence{ExitCode: &seven, Result: result(9, "error_max_turns", true)}, outcome.Stalled},
		"turn limit, no error": {agent.StreamClaude, "", &Evidence{ExitCode: &zero, Result: result(9, "error_max_turns", false)}, outcome.Stalled},
		"error":                {agent.StreamClaude, "", &Evidence{ExitCode: &zero, Result: result(9, "success", true)}, outcome.Failed},
		"limit":                {agent.StreamClaude, "", &Evidence{ExitCode: &zero, Limit: &agent.Limit{Kind: agent.Quota}, Result: result(9, "success", false)}, outcome.Held},
		"no worktree":          {agent.StreamText, "", &Evidence{Worktree: "no space"}, outcome.Failed},
		"no worktree, killed":  {agent.StreamText, "", &Evidence{Worktree: "git read-tree: signal: killed", Killed: true}, outcome.Interrupted},
		"stopped":              {agent.StreamText, EndStop, &Evidence{ExitCode: &zero}, outcome.Interrupted},
		"silent":               {agent.StreamText, EndSilence, &Evidence{ExitCode: &zero}, outcome.Hung},
		"vanished":             {agent.StreamText, "", nil, outcome.Crashed},
	} {
		r := &Record{ID: Identity{Slice: "@quick", N: 1, Token: "t"}, Job: Job{Stream: c.stream}, Life: Life{Ending: c.ending}, Judged: Judgement{Evidence: c.ev}}
		it, err := r.Tx(nil).Item(r.ID.Slice)
		must(t, err)
		if got := judged(t, r, it); got.Outcome != c.want {
			t.Errorf("%s: %s (%s), not %s", name, got.Outcome, got.Detail, c.want)
		}
		// The same end says nothing of a slice.
		r.ID.Slice = "S-1"
		if got := judged(t, r, plan.Item{ID: "S-1", Status: "tests"}); got.Outcome == outcome.Done {
			t.Errorf("%s: a slice is done", name)
		}
	}
}

// A task is claimed, given back and settled beside the slices, and touches none.
func TestTaskTouchesNoSlice(t *testing.T) {
	b := newBench(t, t.TempDir(), map[string]string{"S-1": "pending/none"})
	before := b.mark("S-1")
	quick := &Task{Name: "quick", Prompt: "/gl:quick a b", Text: "a b", Summary: true}
	first, err := b.claimTask(quick)
	must(t, err)
	second, err := b.claimTask(quick)
	must(t, err)
	if first.ID.Name() != "@quick.1" || second.ID.Label() != "@quick.2" || first.Task.Summary == second.Task.Summary {
		t.Errorf("%s and %s share %s", first.ID.Name(), second.ID.Label(), first.Task.Summary)
	}
	s := b.settler(b.state)
	must(t, s.GiveBack(context.Background(), first))
	if _, err := b.store.Get("@quick", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a claim that was given back is still there: %v", err)
	}
	second = b.start(second)
	second.Judged.Evidence = &Evidence{Result: &agent.Result{Turns: 2}}
	for range 2 { // whoever is second finds it settled
		final, err := s.Settle(context.Background(), second)
		must(t, err)
		if final.Judged.Outcome != outcome.Done || final.Life.Phase != plan.Settled {
			t.Errorf("%s, %s", final.Judged.Outcome, final.Life.Phase)
		}
	}
	if b.store.IsOpen("@quick.2") || b.mark("S-1") != before {
		t.Errorf("open %v, S-1 is %v", b.store.IsOpen("@quick.2"), b.mark("S-1"))
	}
}

func TestBeside(t *testing.T) {
	b := newBench(t, t.TempDir(), nil)
	for _, c := range []struct {
		task    Task
		refused bool
	}{
		{Task{Name: "ship", Prompt: "/gl:ship", Beside: None}, false},
		{Task{Name: "ship", Prompt: "/gl:ship 2", Beside: None}, true},
		{Task{Name: "map", Prompt: "/gl:map", Beside: None}, false},
		{Task{Name: "wrap", Prompt: "/gl:wrap a", Beside: Others}, false},
		{Task{Name: "wrap", Prompt: "/gl:wrap b", Beside: Others}, false},
		{Task{Name: "wrap", Prompt: "/gl:wrap a", Beside: Others}, true},
		{Task{Name: "quick", Prompt: "/gl:quick a"}, false},
		{Task{Name: "quick", Prompt: "/gl:quick a"}, false},
	} {
		_, err := b.claimTask(&c.task)
		var admit *AdmitError
		if errors.As(err, &admit) != c.refused || c.refused && !admit.Taken || !c.refused && err != nil {
			t.Errorf("%s: %v", c.task.Prompt, err)
		}
	}
}

func TestSplitTask(t *testing.T) {
	for text, want := range map[string]struct {
		id string
		n  int
		ok bool
	}{
		"@quick": {"@quick", 0, true}, "@quick.12": {"@quick", 12, true}, "@quick.0": {"@quick", 0, false},
		"@quick.x": {"@quick", 0, false}, "S-1": {}, "S-1.2": {}, "": {},
	} {
		if id, n, ok := SplitTask(text); id != want.id || n != want.n || ok != want.ok {
			t.Errorf("%q: %q, %d, %v", text, id, n, ok)
		}
	}
}
