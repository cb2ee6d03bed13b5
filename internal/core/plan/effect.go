package plan

import (
	"encoding/json"
	"fmt"
	"slices"
)

// An Effect is what the end of an attempt does to its item. In JSON it is a word: "release",
// "fail".
type Effect int

const (
	Release  Effect = iota // clear the claim; the rest stays as the agent left it
	Fail                   // mark as failed and clear the claim
	Restore                // restore the state before the claim
	Reopen                 // pending with its step kept: the work is in its branch
	Complete               // see tracker.Lander
	Ask                    // see tracker.Lander
)

// effects returns the effects in numeric order.
func effects() []string { return []string{"release", "fail", "restore", "reopen", "complete", "ask"} }

// MarshalJSON encodes the effect as a word.
func (e Effect) MarshalJSON() ([]byte, error) {
	if e < 0 || int(e) >= len(effects()) {
		return nil, fmt.Errorf("no effect has the number %d", int(e))
	}
	return json.Marshal(effects()[e])
}

// UnmarshalJSON decodes a word, or the number found in older records.
func (e *Effect) UnmarshalJSON(data []byte) error {
	var n int
	if json.Unmarshal(data, &n) != nil {
		var word string
		if err := json.Unmarshal(data, &word); err != nil {
			return err
		}
		n = slices.Index(effects(), word)
	}
	if n < 0 || n >= len(effects()) {
		return fmt.Errorf("no effect is called %s", data)
	}
	*e = Effect(n)
	return nil
}
