package sliceid

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"greenlight/internal/state/tracker"
)

func TestValid(t *testing.T) {
	for _, id := range []string{"S-1", "S-01", "S2.5", "1", "auth-login", "a_b", "console", "com", "com0", strings.Repeat("a", 64)} {
		if err := Valid(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{"", "-a", ".a", "a..b", "a.", "a.md", "a.MD", "a.tmp", "a b", "a/b", "ä", "a\n", "con", "NUL", "aux.x",
		"COM1", "lpt9.x", strings.Repeat("a", 65), `a\b`, "a;b", "$(x)"} {
		if Valid(id) == nil {
			t.Errorf("%q was accepted", id)
		}
	}
}

func TestResolve(t *testing.T) {
	ids := []string{"S-01", "S-2", "S-4.1", "Login", "LOGIN", "S-12", "a-1", "A1"}
	tests := []struct {
		id, want string
		note     bool
		err      string
	}{
		{"S-2", "S-2", false, ""}, {"s-2", "S-2", true, ""}, {"S-1", "S-01", true, ""}, {"S1", "S-01", true, ""},
		{"S4.1", "S-4.1", true, ""}, {"s4.01", "S-4.1", true, ""}, {"LOGIN", "LOGIN", false, ""}, {"a1", "A1", true, ""},
		{"login", "", false, "Login or LOGIN"}, {"a-01", "", false, "a-1 or A1"},
		{"S-13", "", false, "did you mean"}, {"zzzzzz", "", false, "no such slice"},
	}
	for _, tt := range tests {
		got, note, err := Resolve(tt.id, ids)
		if got != tt.want || (note != "") != tt.note || (err != nil) != (tt.err != "") {
			t.Errorf("%s: %q, %q, %v", tt.id, got, note, err)
		}
		if err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q in it", tt.id, err, tt.err)
		}
	}
	if _, _, err := Resolve("S-13", ids); !errors.Is(err, tracker.ErrNotFound) {
		t.Errorf("%v is not ErrNotFound", err)
	}
	if _, _, err := Resolve("login", ids); errors.Is(err, tracker.ErrNotFound) {
		t.Errorf("%v is ErrNotFound", err)
	}
}

func TestKeyIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[A-Za-b0-2._-]{0,8}`).Draw(t, "id")
		if once := Key(id); Key(once) != once {
			t.Fatalf("%q: %q, then %q", id, once, Key(once))
		}
	})
}
