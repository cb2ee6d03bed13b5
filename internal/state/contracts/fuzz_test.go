package contracts

import (
	"strings"
	"testing"
)

func FuzzBook(f *testing.F) {
	f.Add("# Contracts\n\n## C-1: Log in\n\n**Verification:** verify\n- **Acceptance Criteria:**\n  - it works\n", "C-1")
	f.Add("### C-2 [WRAPPED]\r\n```\n## C-1\n```\n", "C-2")
	f.Add("## \n**:**\n-", "")
	f.Fuzz(func(t *testing.T, text, id string) {
		book := newBook(text)
		if lines, found := book.of(id); found && len(lines) > strings.Count(text, "\n")+1 {
			t.Fatalf("%q has %d lines in %q", id, len(lines), text)
		}
		ToVerify([]string{id}, book)
		book.ToLookAt([]string{id})
		find(text, id)
	})
}
