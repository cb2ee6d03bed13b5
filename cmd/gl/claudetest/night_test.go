package claudetest

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/journal"
)

// The client gets its prompt on stdin, where the slash command expands, and a message in the
// middle of a turn, which the model reads at the end of the tool call. The turn limit holds,
// and the client exits once it has its result.
func TestSay(t *testing.T) {
	w := newWorld(t, []string{"S-01"}, Script{Steps: []Reply{
		Bash("gl state set S-01 status=implementing step=implementing; while ! [ -e go ]; do sleep 0.1; done"),
		Bash("gl state set S-01 status=complete step=complete tests=3"), Say("S-01 is green.")}})
	w.flags(yolo)
	j := w.start("gl", "slice", "S-01")
	w.within("the slice is begun", func() bool { return w.slice("S-01")["step"] == "implementing" })
	if out := w.must("gl", "say", "S-01", "use BLUE, not red"); !strings.Contains(out,
		"said to S-01") {
		t.Errorf("%s", out)
	}
	w.must("touch", "go")
	if code := w.end(j); code != 0 {
		t.Fatalf("exit %d\n%s", code, w.said(j))
	}
	requests := w.asked()
	if !requests[0].Asked("<command-name>/gl:slice</command-name>") ||
		requests[0].Says("use BLUE") {
		t.Errorf("the first request is %+v", requests[0].Messages)
	}
	if !requests[1].Says("use BLUE, not red") {
		t.Errorf("the model isn't told after its tool call: %+v", requests[1].Messages)
	}
	if !strings.Contains(w.said(j), "you: use BLUE, not red") {
		t.Errorf("%s", w.said(j))
	}
	if out := w.must("gl", "events", "--json"); !strings.Contains(out, `"kind":"heard"`) {
		t.Errorf("%s", out)
	}
	if r := w.attempt("S-01", 1); r == nil || r.Judged.Outcome != outcome.Done ||
		r.Judged.Evidence.Result.CostUSD == nil {
		t.Errorf("%+v", r)
	}
}

// A person's message after the model's last answer makes it continue: gl doesn't close the
// client's stdin before the client has the message.
func TestSayAtTheEnd(t *testing.T) {
	w := newWorld(t, []string{"S-01"}, Script{Steps: []Reply{
		Bash("gl state set S-01 status=implementing step=implementing"), {Text: "I stop here.", Wait: 3 * time.Second},
		Bash("gl state set S-01 status=complete step=complete tests=3"), Say("S-01 is green.")}})
	w.flags(yolo)
	j := w.start("gl", "slice", "S-01")
	w.within("the model answers for the last time", func() bool { return len(w.asked()) > 1 })
	w.must("gl", "say", "S-01", "you aren't done")
	if code := w.end(j); code != 0 {
		t.Fatalf("exit %d\n%s", code, w.said(j))
	}
	if !w.last().Says("you aren't done") {
		t.Error("the model isn't told")
	}
}

// The API is overloaded for five minutes (with GREENLIGHT_LONG; otherwise for less), for every
// slice and every retry of the client: no slice fails, one attempt at a time probes whether it
// is over, with growing delays, and then everything is built.
func TestOutage(t *testing.T) {
	lasts := 25 * time.Second
	if testfiles.Long() {
		lasts = 5 * time.Minute
	}
	var began atomic.Int64
	down := func(r *Request) bool {
		began.CompareAndSwap(0, time.Now().UnixNano())
		return len(r.Tools) > 0 && time.Since(time.Unix(0, began.Load())) < lasts
	}
	overloaded := Fail(529, "overloaded_error", "Overloaded")
	ids := []string{"S-01", "S-02", "S-03", "S-04"}
	scripts := []Script{{When: down, Steps: []Reply{overloaded, overloaded, overloaded}}}
	for _, id := range ids {
		scripts = append(scripts, Script{When: func(r *Request) bool { return r.Asked("<command-args>" + id) }, Steps: built(id)})
	}
	w := newWorld(t, ids, scripts...)
	w.must("gl", "settings", "set", "parallel.hold_seconds", "3")
	w.flags(yolo)
	w.patience += 2 * lasts // the last delay may begin at the end of the outage
	w.must("gl", "slice", "--watch", "--runner", "process", "--max", "4")

	var waits []time.Duration
	running, launched, over := 0, 0, false
	for e, err := range attempt.OpenStore(filepath.Join(w.root, ".greenlight",
		"runs")).Journal().Events(time.Time{}) {
		w.check(err)
		switch e.Kind {
		case journal.Held:
			waits = append(waits, e.Until.Sub(e.Time).Round(time.Second))
			if e.Reason != agent.Outage {
				t.Errorf("held by %s: %s", e.Reason, e.Detail)
			}
		case journal.Launched:
			running, launched = running+1, launched+1
			if running > 1 && len(waits) > 0 && !over {
				t.Errorf("%d attempts at once look whether the outage is over", running)
			}
		case journal.Ended:
			running--
			over = over || e.Outcome == string(outcome.Done)
			if e.Outcome != string(outcome.Done) && e.Outcome != string(outcome.Held) {
				t.Errorf("%s was %s (%s)", e.Slice, e.Outcome, e.Detail)
			}
		}
	}
	if len(waits) < 3 || slices.Max(waits) < 2*waits[0] {
		t.Errorf("waits %s don't grow", waits)
	}
	t.Logf("an outage of %s: %d launches, and waits of %s", lasts, launched, waits)
	for _, id := range ids {
		if s := w.slice(id); s["status"] != "complete" {
			t.Errorf("%s is %s", id, s["status"])
		}
	}
}

// At the budget of the run no more slices are launched, and a person is asked, who continues
// by raising it. A slice's own budget stops the client itself.
func TestBudget(t *testing.T) {
	ids := []string{"S-01", "S-02", "S-03"}
	var scripts []Script
	for _, id := range ids {
		scripts = append(scripts, Script{When: func(r *Request) bool { return r.Asked("<command-args>" + id) }, Steps: built(id)})
	}
	w := newWorld(t, ids, scripts...)
	w.flags(yolo)
	w.must("gl", "budget", "drain", "0.0001") // less than a slice costs
	drain := func() run {
		return w.call("gl", "slice", "--watch", "--runner", "process", "--max", "1")
	}
	r := drain()
	if r.code == 0 || !strings.Contains(r.out, "held until you raise the budget") ||
		!strings.Contains(r.out, "1/3 done") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	first := w.attempt("S-01", 1)
	if first == nil || first.Judged.Evidence.Result == nil || first.Judged.Evidence.Result.CostUSD == nil ||
		w.attempt("S-02", 1) != nil {
		t.Fatalf("attempts %+v, %+v", first, w.attempt("S-02", 1))
	}
	var cost struct {
		Total struct {
			USD float64 `json:"cost_usd"`
		} `json:"total"`
	}
	w.check(json.Unmarshal([]byte(w.must("gl", "cost", "--json")), &cost))
	if cost.Total.USD != *first.Judged.Evidence.Result.CostUSD {
		t.Errorf("gl cost has $%g, the client's result $%g", cost.Total.USD,
			*first.Judged.Evidence.Result.CostUSD)
	}
	w.must("gl", "budget", "drain", "100")
	if r := drain(); r.code != 0 || !strings.Contains(r.out, "3/3 done") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}
