package claudetest

import (
	"os"
	"strings"
	"testing"
)

// subagentRequest is the last request of the sub-agent, which was asked for by a session of a slice and did these steps: its first,
// where there are none.
func subagentRequest(t *testing.T, name string, steps ...Reply) *Request {
	t.Helper()
	inSubagent := func(r *Request) bool { return r.Asked("YOUR TASK: " + name) }
	w := newWorld(t, []string{"S-01"}, Script{When: inSubagent, Steps: append(steps, Say("DONE"))}, Script{Steps: []Reply{askFor(name), Say("It is back.")}})
	w.build("S-01")
	return w.conversation(name)
}

// text is all that the model reads, its instructions first.
func (r *Request) text() string {
	var b strings.Builder
	b.WriteString(r.System)
	for _, m := range r.Messages {
		for _, c := range m.Content {
			b.WriteString("\n" + c.Text)
		}
	}
	return b.String()
}

// A sub-agent gets the pages that its work goes by, whole, and nobody types them.
func TestSubagentsGetTheirPages(t *testing.T) {
	for name, last := range map[string][]string{
		"gl-architect": {"# Contracts and slices", "splits them first.", "# The interview", "# Checking a plan", "what is deferred.\n</page>", "A cache needs a reason"},
		"gl-security":  {"# Security catalogue", "</page>", "A cache needs a reason"},
	} {
		t.Run(name, func(t *testing.T) {
			text := subagentRequest(t, name).text()
			if dir := os.Getenv("GREENLIGHT_REQUESTS"); dir != "" {
				if err := os.WriteFile(dir+"/"+name+".txt", []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, words := range last {
				if !strings.Contains(text, words) {
					t.Errorf("not in the request: %q", words)
				}
			}
		})
	}
}
