package claudetest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/core/outcome"
	"greenlight/internal/run/attempt"
)

const yolo = "--dangerously-skip-permissions"

// built returns the steps of a model that builds the slice.
func built(id string) []Reply {
	return []Reply{
		Bash("gl state set " + id + " status=implementing step=implementing"),
		Bash("gl state set " + id + " status=complete step=complete tests=3 security_tests=1"),
		Say(id + " is green."),
	}
}

// The real client's behavior in each case, and the outcome that gl slice derives from it.
func TestOutcomes(t *testing.T) {
	for _, tt := range []struct {
		scenario string
		command  string // text of an installed /gl:slice; "" for the plugin's
		flags    string // parallel.claude_flags; "" for the default
		steps    []Reply
		want     outcome.Outcome
		status   string // of the slice afterwards
		says     string // part of gl's output
	}{
		{"completes its slice", "", "", built("S-01"), outcome.Done, "complete", "S-01 complete (3 tests)"},
		{"ends without completing", "", "", []Reply{Say("Looks fine to me.")}, outcome.Stalled, "in_progress", "gl retry S-01"},
		{"needs a person", "", "", []Reply{Bash(`gl state set S-01 waiting_for="a look at the colors"`), Say("Over to you.")},
			outcome.Waiting, "in_progress", "a look at the colors"},
		{"reaches the turn limit (--max-turns 2)", "", yolo + " --max-turns 2", []Reply{Bash("echo 1"), Bash("echo 2"), Bash("echo 3")},
			outcome.Stalled, "in_progress", "turn limit after 2 turns"},
		{"reaches the budget (--max-budget-usd)", "", yolo + " --max-budget-usd 0.0001", []Reply{Bash("echo 1"), Bash("echo 2")},
			outcome.Stalled, "in_progress", "budget"},
		{"may not use a tool", "Build the slice.", "--max-turns 20", []Reply{Bash("touch it"), Say("I may not.")},
			outcome.Stalled, "in_progress", "1 tool call denied"},
		{"may not run what its command inlines", "The slice: !`gl slice $ARGUMENTS || true`", "--max-turns 20", nil,
			outcome.Stalled, "in_progress", "single turn: Shell command permission check failed"},
		{"is given an unknown flag", "", "--no-such-flag", nil, outcome.Failed, "failed", "no-such-flag"},
		{"meets a rate limit (429)", "", "", []Reply{Fail(429, "rate_limit_error", "slow down")},
			outcome.Held, "pending", "held until"},
		{"has an invalid key (401)", "", "", []Reply{Fail(401, "authentication_error", "invalid x-api-key")},
			outcome.Held, "pending", "log in with: claude /login"},
		{"has no credit (400)", "", "", []Reply{Fail(400, "invalid_request_error", "Your credit balance is too low to access the API.")},
			outcome.Held, "pending", "quota met by S-01"},
		{"meets an overloaded API (529)", "", "", []Reply{Fail(529, "overloaded_error", "Overloaded")},
			outcome.Held, "pending", "held until"},
		{"meets an error of the API (500)", "", "", []Reply{Fail(500, "api_error", "boom")}, outcome.Held, "pending", "outage met by S-01"},
		{"meets a limit after its work is done", "", "", append(built("S-01")[:2:2], Fail(429, "rate_limit_error", "slow down")),
			outcome.Done, "complete", "held until"},
	} {
		t.Run(strings.ReplaceAll(tt.scenario, " ", "_"), func(t *testing.T) {
			w := newWorld(t, []string{"S-01"}, Script{Steps: tt.steps})
			w.flags(tt.flags)
			if tt.command != "" {
				w.write(filepath.Join(w.root, ".claude/commands/gl/slice.md"), tt.command)
			}
			r, out := w.build("S-01")
			w.settled(r, tt.want, tt.status)
			if !strings.Contains(out, tt.says) {
				t.Errorf("gl doesn't say %q:\n%s", tt.says, out)
			}
			w.observeAttempt(tt.scenario, r)
		})
	}
}

// flags sets parallel.claude_flags.
func (w *world) flags(flags string) {
	w.Helper()
	if flags != "" {
		w.must("gl", "settings", "set", "parallel.claude_flags", flags)
	}
}

// settled checks an attempt's outcome, and that the slice is unclaimed.
func (w *world) settled(r *attempt.Record, want outcome.Outcome, status string) {
	w.Helper()
	if r.Judged.Outcome != want {
		w.Errorf("%s (%s), not %s\n%s", r.Judged.Outcome, r.Judged.Detail, want, w.log(r))
	}
	s := w.slice(r.ID.Slice)
	if s["status"] != status || s["session"] != "" {
		w.Errorf("the slice is %q, held by %q", s["status"], s["session"])
	}
	if r.Judged.Evidence.Version != Version && r.Judged.Evidence.Result != nil {
		w.Logf("client %q, not %s: only what it does can fail", r.Judged.Evidence.Version, Version)
	}
	if outside := w.api.Outside(); len(outside) > 0 {
		w.Errorf("the client asked for more than the model: %q", outside)
	}
}

func (w *world) log(r *attempt.Record) string {
	return w.read(fmt.Sprintf(".greenlight/runs/log/%s.%d.log", r.ID.Slice, r.ID.N))
}

// The record of a finished attempt has its cost and turns, and its counts of tests reach the
// slice.
func TestFinishedAttempt(t *testing.T) {
	w := newWorld(t, []string{"S-01"}, Script{Steps: built("S-01")})
	r, _ := w.build("S-01")
	w.settled(r, outcome.Done, "complete")
	if s := w.slice("S-01"); s["tests"] != "3" || s["security_tests"] != "1" {
		t.Errorf("tests of the slice: %v", s)
	}
	if res := r.Judged.Evidence.Result; res == nil || res.Turns != 3 || res.CostUSD == nil ||
		*res.CostUSD <= 0 || res.DurationMS <= 0 {
		t.Errorf("result %+v", res)
	}
	first := w.first()
	if !first.Stream || !first.Asked("<command-name>/gl:slice</command-name>") || !first.Asked("session: "+r.ID.Token) {
		t.Errorf("the command was not expanded with the claim in it: %+v", first.Messages)
	}
}

// A subscription reports the end of its limit, and gl holds exactly until then.
func TestSubscriptionLimit(t *testing.T) {
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	limit := Fail(429, "rate_limit_error", "This request would exceed your account's rate limit.")
	limit.Header = map[string]string{
		"anthropic-ratelimit-unified-status":               "rejected",
		"anthropic-ratelimit-unified-reset":                strconv.FormatInt(reset.Unix(), 10),
		"anthropic-ratelimit-unified-representative-claim": "five_hour",
	}
	w := newWorld(t, []string{"S-01"}, Script{Steps: []Reply{limit}})
	key := slices.Index(w.env, "ANTHROPIC_API_KEY="+Key)
	w.env[key] = "CLAUDE_CODE_OAUTH_TOKEN=" + Key
	r, _ := w.build("S-01")
	w.settled(r, outcome.Held, "pending")
	if hold := attempt.OpenStore(filepath.Join(w.root, ".greenlight",
		"runs")).HoldFile.All(); len(hold) != 1 || !hold[0].Until.Equal(reset) {
		t.Errorf("hold %+v, not until %s", hold, reset)
	}
	w.observeAttempt("meets a subscription's limit (429, OAuth)", r)
}

// gl stop and Ctrl-C end the client with TERM, and its work stays.
func TestInterrupted(t *testing.T) {
	for _, how := range []string{"gl stop", "SIGINT to gl", "SIGTERM to gl"} {
		t.Run(strings.ReplaceAll(how, " ", "_"), func(t *testing.T) {
			w := newWorld(t, []string{"S-01"}, Script{Steps: []Reply{
				Bash("gl state set S-01 status=tests step=tests", "echo work > work.txt"), {Hang: true}}})
			j := w.start("gl", "slice", "S-01")
			w.within("the model hangs", func() bool { return len(w.asked()) == 2 })
			switch how {
			case "gl stop":
				w.must("gl", "stop", "S-01")
			case "SIGINT to gl":
				j.Process.Signal(os.Interrupt)
			default:
				j.Process.Signal(syscall.SIGTERM)
			}
			w.end(j)
			r := w.attempt("S-01", 1)
			if r == nil {
				t.Fatalf("no record\n%s", w.said(j))
			}
			w.settled(r, outcome.Interrupted, "tests")
			if w.read("work.txt") == "" {
				t.Error("the work is gone")
			}
			w.observeAttempt("is ended by "+how, r)
		})
	}
}

// If the content is installed but the client doesn't load it (--bare), the attempt ends before
// it costs anything.
func TestCommandNotLoaded(t *testing.T) {
	w := newWorld(t, []string{"S-01"}, Script{Steps: built("S-01")})
	w.must("gl", "install", "--local")
	w.flags(yolo + " --bare")
	r, out := w.build("S-01")
	w.settled(r, outcome.Failed, "failed")
	if !strings.Contains(out, "gl install") {
		t.Errorf("gl doesn't say how to install:\n%s", out)
	}
	w.observeAttempt("doesn't load the installed commands (--bare)", r)
}

// A command in the background outlives the client's result, and its end wakes the model: the
// attempt lasts until then.
func TestBackgroundCommand(t *testing.T) {
	steps := []Reply{Use("Bash", map[string]any{"command": "sleep 6", "description": "wait", "run_in_background": true}),
		Say("I wait."), Say("I still wait.")} // the second to the Stop hook
	w := newWorld(t, []string{"S-01"}, Script{Steps: append(steps, built("S-01")...)})
	// less than the command takes, and enough to wake up on a busy machine
	w.must("gl", "settings", "set", "parallel.result_grace_seconds", "4")
	r, _ := w.build("S-01")
	w.settled(r, outcome.Done, "complete")
	if n := strings.Count(w.log(r), `"type":"result"`); n < 2 {
		t.Errorf("%d results: the client didn't do what this is about", n)
	}
	w.observeAttempt("has a command in the background when its model ends", r)
}
