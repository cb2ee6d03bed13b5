package tracker

import (
	"encoding/json"
	"fmt"
	"slices"
)

// An Effect is what the end of an attempt does to its item. In JSON it is a word: "release", "fail".
type Effect int

const (
	Release  Effect = iota // the claim is cleared, the rest stays as the agent left it
	Fail                   // failed, the claim cleared
	Restore                // as it was before the claim
	Reopen                 // pending, its step kept: what was built is in its branch
	Complete               // see Lander
	Ask                    // see Lander
)

// words are the effects in their order.
func words() []string { return []string{"release", "fail", "restore", "reopen", "complete", "ask"} }

// MarshalJSON writes the word.
func (e Effect) MarshalJSON() ([]byte, error) {
	if e < 0 || int(e) >= len(words()) {
		return nil, fmt.Errorf("no effect has the number %d", int(e))
	}
	return json.Marshal(words()[e])
}

// UnmarshalJSON reads the word, or the number that older records have in its place.
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
