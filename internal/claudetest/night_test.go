package claudetest

import (
	"strings"
	"testing"
	"time"

	"greenlight/internal/attempt"
)

// The client gets its prompt on stdin, where the slash command expands, and a sentence in the middle of a turn, which the model reads at
// the end of the tool call. The turn limit holds, and the client ends when it has its result.
func TestSay(t *testing.T) {
	w := newWorld(t, []string{"S-01"}, Script{Steps: []Reply{
		Bash("gl state set S-01 status=implementing step=implementing; while ! [ -e go ]; do sleep 0.1; done"),
		Bash("gl state set S-01 status=complete step=complete tests=3"), Say("S-01 is green.")}})
	w.flags(yolo)
	j := w.start("gl", "slice", "S-01")
	w.within("the slice is begun", func() bool { return w.slice("S-01")["step"] == "implementing" })
	if out := w.must("gl", "say", "S-01", "use BLUE, not red"); !strings.Contains(out, "said to S-01") {
		t.Errorf("%s", out)
	}
	w.must("touch", "go")
	if code := w.end(j); code != 0 {
		t.Fatalf("exit %d\n%s", code, w.said(j))
	}
	requests := w.api.Requests()
	if !requests[0].Asked("<command-name>/gl:slice</command-name>") || requests[0].Says("use BLUE") {
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
	if r := w.attempt("S-01", 1); r == nil || r.Outcome != attempt.Done || r.Evidence.Result.CostUSD == nil {
		t.Errorf("%+v", r)
	}
}

// What a person says after the model's last word makes it go on: the client isn't hung up on before it has what was said.
func TestSayAtTheEnd(t *testing.T) {
	w := newWorld(t, []string{"S-01"}, Script{Steps: []Reply{
		Bash("gl state set S-01 status=implementing step=implementing"), {Text: "I stop here.", Wait: 3 * time.Second},
		Bash("gl state set S-01 status=complete step=complete tests=3"), Say("S-01 is green.")}})
	w.flags(yolo)
	j := w.start("gl", "slice", "S-01")
	w.within("the model answers for the last time", func() bool { return len(w.api.Requests()) > 1 })
	w.must("gl", "say", "S-01", "you aren't done")
	if code := w.end(j); code != 0 {
		t.Fatalf("exit %d\n%s", code, w.said(j))
	}
	if !w.last().Says("you aren't done") {
		t.Error("the model isn't told")
	}
}
