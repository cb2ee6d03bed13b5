package claudetest

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updatePrompt = flag.Bool("update-prompt", false, "write what the client tells sub-agents besides our text")

// clientLine returns a line of the client's prompt as the file has it: its beginning and a
// checksum of the whole.
func clientLine(line string) string {
	const most = 60
	begin := []rune(line)
	return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(line)),
		string(begin[:min(len(begin), most)]))[56:]
}

// The agents' texts answer the client's own instructions to a sub-agent: that it needn't write
// report files and, after its first call, how to read files. If the client's text changes, this
// test fails: read the difference, change the texts under content/plugin/agents that argue with
// it, and run make test-claude ARGS='-run TestClientsOwnPrompt -update-prompt'.
func TestClientsOwnPrompt(t *testing.T) {
	const file = "testdata/subagent-prompt.txt"
	var told strings.Builder
	// without a shell, and with one
	for _, name := range []string{"gl-designer", "gl-implementer"} {
		r := subagentRequest(t, name, read("a_test.go"))
		own := "" // removes everything between our text's first and last line
		for _, line := range strings.Split(r.System, "\n") {
			switch {
			case strings.HasPrefix(line, "x-anthropic-billing-header"):
			case own == "" && strings.HasPrefix(line, "You write "):
				own = "ours"
				told.WriteString("(" + name + ")\n")
			case own == "ours" &&
				strings.HasPrefix(line, "Messages from the agent that launched you"):
				own = "over"
				told.WriteString(clientLine(line))
			case own != "ours":
				told.WriteString(clientLine(line))
			}
		}
		told.WriteString("(behind a call)\n")
		for _, block := range r.toldSince() {
			for _, line := range strings.Split(block, "\n") {
				told.WriteString(clientLine(line))
			}
		}
		if own != "over" {
			t.Errorf("%s: our text isn't between the client's:\n%s", name, r.System)
		}
	}
	if *updatePrompt {
		if err := os.WriteFile(file, []byte(told.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), told.String()); diff != "" {
		t.Errorf("client %s tells sub-agents something else (-known +now):\n%s", Version, diff)
	}
}

// toldSince returns what the model was told since its first answer, except the results of its
// calls.
func (r *Request) toldSince() []string {
	var all []string
	spoken := false
	for _, m := range r.Messages {
		spoken = spoken || m.Role == "assistant"
		for _, b := range m.Content {
			if spoken && m.Role != "assistant" && b.Type == "text" {
				all = append(all, b.Text)
			}
		}
	}
	return all
}
