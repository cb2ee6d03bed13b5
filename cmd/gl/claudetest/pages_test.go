package claudetest

import (
	"os"
	"strings"
	"testing"
)

// subagentRequest returns the last request of the sub-agent, which a slice's session started
// and which took these steps; without steps, its first request.
func subagentRequest(t *testing.T, name string, steps ...Reply) *Request {
	t.Helper()
	inSubagent := func(r *Request) bool { return r.Asked("YOUR TASK: " + name) }
	w := newWorld(t, []string{"S-01"}, Script{When: inSubagent, Steps: append(steps, Say("DONE"))},
		Script{Steps: []Reply{askFor(name), Say("It is back.")}})
	w.build("S-01")
	return w.conversation(name)
}

// text returns all text that the model reads, its instructions first.
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

// A sub-agent gets the pages for its work, whole, without any command.
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
