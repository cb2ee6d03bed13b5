package claudetest

import (
	"strings"
	"testing"
)

// gl logs shows the actions and words of a sub-agent with its name, apart from the agent's own.
func TestSubAgentsInLogs(t *testing.T) {
	w := newWorld(t, []string{"S-01"},
		Script{When: func(r *Request) bool { return r.Asked("YOUR TASK:") }, Steps: []Reply{
			{Text: "I look around first.", Calls: Bash("echo from below").Calls}, Say("Nothing there.")}},
		Script{Steps: []Reply{askFor("gl-debugger"), Say("It has looked.")}})
	w.build("S-01")
	log := w.must("gl", "logs", "S-01")
	for _, line := range []string{"> Agent: ask", "| gl-debugger: I look around first.", "| gl-debugger > Bash: echo from below", "| gl-debugger: Nothing there.", "It has looked."} {
		if !strings.Contains("\n"+log, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, log)
		}
	}
}
