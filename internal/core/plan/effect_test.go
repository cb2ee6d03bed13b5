package plan

import (
	"encoding/json"
	"testing"
)

func TestEffectIsAWord(t *testing.T) {
	for text, want := range map[string]Effect{
		`"release"`: Release, `"fail"`: Fail, `"restore"`: Restore, `"reopen"`: Reopen, `"complete"`: Complete, `"ask"`: Ask,
		"0": Release, "1": Fail, "2": Restore, // as in older records
	} {
		var got Effect
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", text, got, err, want)
		}
		if word, err := json.Marshal(want); err != nil || text[0] == '"' && string(word) != text {
			t.Errorf("%d is written %s (%v), want %s", want, word, err, text)
		}
	}
	for _, text := range []string{`"x"`, "6", "-1", "1.5", "{}", `""`} {
		var got Effect
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s is %d", text, got)
		}
	}
}
