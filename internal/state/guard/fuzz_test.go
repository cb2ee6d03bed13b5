package guard

import (
	"encoding/json"
	"testing"

	"greenlight/internal/state/slice"
)

// For any input nothing panics, and an allowed call leaves the head of a slice's file as it
// was.
func FuzzState(f *testing.F) {
	f.Add("Edit", `{"old_string": "status: pending", "new_string": "status: complete"}`, sliceFile)
	f.Add("Write", `{"content": "---\nid: S-1\n---\n"}`, sliceFile)
	f.Add("MultiEdit", `{"edits": [{"old_string": "Text", "new_string": "---"}, {"old_string": "---", "new_string": "", "replace_all": true}]}`, sliceFile)
	f.Add("Edit", `{"old_string": "\n", "new_string": "\r\n", "replace_all": true}`, "---\r\nid: S-1\r\n---\r\n")
	f.Fuzz(func(t *testing.T, tool, input, before string) {
		c := Call{Tool: tool}
		if json.Unmarshal([]byte(input), &c.Input) != nil {
			return
		}
		if State(c, "slices/S-1.md", []byte(before), true) != nil {
			return
		}
		text, ok := c.After(before)
		was, err := slice.ParseFile([]byte(plain(before)))
		if !ok || err != nil || !c.Writes() {
			return
		}
		is, err := slice.ParseFile([]byte(text))
		if err != nil || is.Head() != was.Head() {
			t.Errorf("%q becomes %q", before, text)
		}
	})
}
