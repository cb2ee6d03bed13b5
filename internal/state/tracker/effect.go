package tracker

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
	Complete               // see Lander
	Ask                    // see Lander
)

// words returns the effects in numeric order.
func words() []string { return []string{"release", "fail", "restore", "reopen", "complete", "ask"} }

// MarshalJSON encodes the effect as a word.
func (e Effect) MarshalJSON() ([]byte, error) {
	if e < 0 || int(e) >= len(words()) {
		return nil, fmt.Errorf("no effect has the number %d", int(e))
	}
	return json.Marshal(words()[e])
}

// UnmarshalJSON decodes a word, or the number found in older records.
func (e *Effect) UnmarshalJSON(data []byte) error {
	var n int
	if json.Unmarshal(data, &n) != nil {
		var word string
		if err := json.Unmarshal(data, &word); err != nil {
			return err
		}
		n = slices.Index(words(), word)
	}
	if n < 0 || n >= len(words()) {
		return fmt.Errorf("no effect is called %s", data)
	}
	*e = Effect(n)
	return nil
}
