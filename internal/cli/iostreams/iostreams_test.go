package iostreams

import (
	"bytes"
	"strings"
	"testing"
)

// On a terminal a message has lines of its width that end in no command; in a pipe it is one line.
func TestMessageWidth(t *testing.T) {
	const text = "S-5 is blocked: needs S-4 (failed). Run gl logs S-4, then gl retry S-4"
	if got, want := wrapped(text+"\n  as it is", 30), "S-5 is blocked: needs S-4\n  (failed). Run gl logs S-4,\n  then gl retry S-4\n  as it is"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var errs bytes.Buffer
	s := New(strings.NewReader(""), &bytes.Buffer{}, &errs, nil)
	s.Quiet = true
	s.Message("%s", text)
	s.Fail(text + "\x1b\n")
	if got := errs.String(); got != "gl: "+text+"\\x1b\n" {
		t.Errorf("%q", got)
	}
}
