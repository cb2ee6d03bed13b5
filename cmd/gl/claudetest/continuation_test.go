package claudetest

import (
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"greenlight/internal/core/outcome"
	"greenlight/internal/run/attempt"
)

// known is what only the first attempt has seen: the output of a command that it ran.
const known = "the-vault-opens-at-4711"

// begin returns the start of every first attempt here. Its text is in its conversation and
// nowhere else.
func begin() []Reply {
	return []Reply{
		Bash("gl state set S-01 status=implementing step=implementing"),
		Bash("printf '%s-%s\\n' the-vault-opens-at $((4700 + 11)); pwd"),
	}
}

// finish returns the end, in the attempt that continues.
func finish(command string) []Reply {
	return []Reply{
		Bash("gl slice S-01; pwd"),
		Bash(command + "echo x > x.txt; git add -A; git commit -qm x; gl state set S-01 status=complete step=complete tests=3"),
		Say("S-01 is green."),
	}
}

// A slice continues after each ending that leaves it unfinished: the first request of its next
// attempt has the messages of the previous one, its last message says what has happened since,
// and its tools run in the same worktree.
func TestContinuation(t *testing.T) {
	var limited atomic.Bool
	once := func(r *Request) bool {
		return len(r.Tools) > 0 && r.Answers() == len(begin()) &&
			limited.CompareAndSwap(false, true)
	}
	limit := Fail(429, "rate_limit_error", "slow down")
	for _, tt := range []struct {
		name   string
		limit  bool     // the API refuses once, after the first steps
		flags  string   // of the first attempt
		tests  string   // the test script; "" for none
		first  []Reply  // after begin
		second []Reply  // the same conversation
		then   []string // commands of a person; nil if the run continues by itself
		ended  outcome.Outcome
		told   []string // parts of the message that continues the conversation
	}{
		{name: "turn limit", flags: yolo + " --max-turns 2", second: finish(""),
			then: []string{"retry", "S-01"}, ended: outcome.Stalled, told: []string{"Go on with slice S-01", "turn limit after 2 turns"}},
		{name: "hold", limit: true, second: finish(""),
			ended: outcome.Held, told: []string{"Go on with slice S-01", "rate limit"}},
		{name: "red", tests: "if test -f x.txt -a ! -f mended; then echo 'not ok 1 - the door'; echo 1..1; exit 1; fi; echo ok 1; echo 1..1",
			first: finish(""), second: finish("touch mended; "),
			ended: outcome.Red, told: []string{"Go on with slice S-01", "the door"}},
		{name: "question", first: []Reply{Bash(`gl state set S-01 waiting_for="which currency?"`),
			Say("I ask.")}, second: finish(""),
			then: []string{"answer", "S-01", "Euro, and round"}, ended: outcome.Waiting, told: []string{"which currency?", "Euro, and round"}},
	} {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			steps := append(append(begin(), tt.first...), tt.second...)
			scripts := []Script{{Steps: steps}}
			if tt.limit {
				refused := make([]Reply, len(steps))
				for i := range refused {
					refused[i] = limit
				}
				scripts = append([]Script{{When: once, Steps: refused}}, scripts...)
			}
			w := newWorld(t, []string{"S-01"}, scripts...)
			w.must("gl", "settings", "set", "git.isolation", "worktree")
			w.must("gl", "settings", "set", "parallel.hold_seconds", "1")
			if tt.tests != "" {
				w.write(filepath.Join(w.root, "test.sh"), tt.tests)
				w.must("git", "add", "-A")
				w.must("git", "commit", "-q", "-m", "tests")
				w.must("gl", "settings", "set", "test.command", "sh test.sh")
			}
			w.flags(tt.flags)
			w.call("gl", "slice", "--watch", "--runner", "process")
			if tt.then != nil {
				w.flags(yolo)
				w.must("gl", tt.then...)
				w.call("gl", "slice", "--watch", "--runner", "process")
			}
			w.continued(tt.ended, tt.told)
		})
	}
}

// continued checks that the second attempt at S-01 continued the first one's conversation, in
// its worktree, and completed it.
func (w *world) continued(ended outcome.Outcome, told []string) {
	w.Helper()
	first, second := w.attempt("S-01", 1), w.attempt("S-01", 2)
	if first == nil || second == nil {
		w.Fatalf("attempts %+v and %+v", first, second)
	}
	if first.Judged.Outcome != ended {
		w.Errorf("the first attempt is %s (%s), not %s\n%s", first.Judged.Outcome, first.Judged.Detail,
			ended, w.log(first))
	}
	w.settled(second, outcome.Done, "complete")
	if first.Talk.Conversation == "" || second.Talk.Conversation != first.Talk.Conversation ||
		second.Job.Dir != first.Job.Dir || second.Place.Lineage != first.Place.Lineage || first.Place.Lineage == 0 {
		w.Errorf("conversation %q in %s after %q in %s", second.Talk.Conversation, second.Job.Dir,
			first.Talk.Conversation, first.Job.Dir)
	}
	q := w.firstOf(second, told[0])
	if q == nil {
		return
	}
	if !q.Asked("<command-name>/gl:slice</command-name>") {
		w.Error("the conversation doesn't begin with the command of the first attempt")
	}
	var saw string
	for _, b := range q.Results() {
		saw += b.Text + "\n"
	}
	// the whole path may go through links
	dir := filepath.Join(filepath.Base(filepath.Dir(first.Job.Dir)), filepath.Base(first.Job.Dir))
	if !strings.Contains(saw, known) || !strings.Contains(saw, dir) {
		w.Errorf("what the first attempt saw, in %s, isn't in the request:\n%s", dir, saw)
	}
	for _, part := range told {
		if !q.saidSince(part) {
			w.Errorf("nothing after the first attempt's messages says %q: %+v", part, q.Messages[len(q.Messages)-1])
		}
	}
	if !w.last().Says("This attempt goes on with earlier work in the same worktree") {
		w.Error("gl slice doesn't tell what there is")
	}
	results := w.last().Results()
	if len(results) < 2 || !strings.Contains(results[len(results)-2].Text, dir) {
		w.Errorf("the second attempt's tools don't run in %s: %+v", dir, results)
	}
}

// firstOf returns the first request that continues the conversation: the first with the words
// after the model's last answer.
func (w *world) firstOf(r *attempt.Record, words string) *Request {
	w.Helper()
	for _, q := range w.asked() {
		if q.Answers() > 0 && q.saidSince(words) {
			return q
		}
	}
	w.Errorf("no request of attempt %d says %q\n%s", r.ID.N, words, w.log(r))
	return nil
}

// saidSince reports whether a message since the model's last answer contains the words.
func (r *Request) saidSince(words string) bool {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "assistant" {
			break
		}
		if m.Role == "user" && slices.ContainsFunc(m.Content, func(b Block) bool {
			return b.Type == "text" && strings.Contains(b.Text, words)
		}) {
			return true
		}
	}
	return false
}
