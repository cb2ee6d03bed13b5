package contracts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Only a contract that says auto needs no person; it may say so in the ways that people and
// other tools write.
func TestToVerify(t *testing.T) {
	const file = ".greenlight/CONTRACTS.md"
	for _, tt := range []struct {
		name, here, there string // CONTRACTS.md of two directories, "" for none
		ids, want         string
	}{
		{"no contracts", "## C-1\n", "", "", ""},
		{"verify", "## C-1: mail\n- Verification: verify\n", "", "C-1", "its contract C-1 says verify"},
		{"auto", "## C-1: mail\n- Verification: auto\n", "", "C-1", ""},
		{"no tier", "## C-1: mail\n- Boundary: mailer\n", "", "C-1", "its contract C-1 doesn't say auto"},
		{"an empty tier", "## C-1: mail\n- Verification:\n- Steps: look\n", "", "C-1", "its contract C-1 doesn't say auto"},
		{"a template's values", "## C-1\n**Verification:** auto | verify (default: verify)\n", "", "C-1", "its contract C-1 doesn't say auto"},
		{"another word", "## C-1\n- Verification: by hand\n", "", "C-1", "its contract C-1 says by"},
		{"bold", "### C-1\n**Verification:** auto\n", "", "C-1", ""},
		{"bold, verify", "### C-1\n**Verification:** `Verify`.\n", "", "C-1", "its contract C-1 says verify"},
		{"bold around the colon", "### C-1\n__Verification__: auto\n", "", "C-1", ""},
		{"a heading", "### C-1\n#### Verification\n\nauto, it is plumbing\n\n#### Steps\nverify\n", "", "C-1", ""},
		{"in the line below", "### C-1\n**Verification:**\n- verify\n", "", "C-1", "its contract C-1 says verify"},
		{"with its reason below", "### C-1\n#### Verification\nauto\nBecause nobody sees it.\n", "", "C-1", ""},
		{"a heading with its value", "### C-1\n#### Verification: auto\n", "", "C-1", ""},
		{"code", "## C-1\n```\nVerification: auto\n```\n", "", "C-1", "its contract C-1 doesn't say auto"},
		{"a word in a sentence", "## C-1\nVerification is auto: no\n", "", "C-1", "its contract C-1 doesn't say auto"},
		{"the strictest", "## C-1\n- Verification: auto\n## C-2\n- Verification: verify\n", "", "C-1 C-2", "its contract C-2 says verify"},
		{"the first without one", "## C-1\n- Verification: auto\n## C-2\n## C-3\n", "", "C-1 C-2 C-3", "its contract C-2 doesn't say auto"},
		{"another's tier", "## C-1\n## C-10\n- Verification: auto\n", "", "C-1", "its contract C-1 doesn't say auto"},
		{"a heading for several", "## S-1: C-1, C-2\n### C-1\n- Verification: auto\n### C-2\n- Verification: auto\n", "", "C-1 C-2", ""},
		{"named in the middle", "### Contract C-1\n- Verification: auto\n", "", "C-1", ""},
		{"twice, once without", "### C-1\n- Verification: auto\n## Later\n### C-1 again\n", "", "C-1", ""},
		{"all missing", "## C-9\n- Verification: auto\n", "", "C-1 C-2", "its contracts aren't in " + file},
		{"no file", "", "", "C-1", "its contracts aren't in " + file},
		{"one missing", "## C-1\n- Verification: auto\n", "", "C-1 C-2", ""},
		{"found in the other", "", "## C-1\n- Verification: auto\n", "C-1", ""},
		{"a tier was added here", "## C-1\n- Verification: auto\n", "## C-1\n", "C-1", ""},
		{"verify there", "## C-1\n- Verification: auto\n", "## C-1\n- Verification: verify\n", "C-1", "its contract C-1 says verify"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var books []*Book
			for _, text := range []string{tt.here, tt.there} {
				root := t.TempDir()
				if text != "" {
					if err := os.MkdirAll(filepath.Join(root, ".greenlight"), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				books = append(books, ReadBook(root))
			}
			if got := ToVerify(strings.Fields(tt.ids), books...); got != tt.want {
				t.Errorf("%q, not %q", got, tt.want)
			}
		})
	}
}

// Criteria come before steps, on one line, in a list or below a heading, and end at the next
// field.
func TestToLookAt(t *testing.T) {
	const text = `## C-1: lines
- Acceptance Criteria: the mail reads well; the link opens the form
- Steps: ` + "`make run`" + `; open /outbox
- Slice: S-1

## C-2: bold lists
**Acceptance Criteria:**
- User sees a list
- Note: it is empty at first
**Steps:**
1. Run it
2. Open it

**Dependencies:** C-1

## C-3: headings
### Steps
- [ ] look
### Security
- none

## C-4: look at
- Verification: verify
- Look at: the colors
`
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".greenlight"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ ids, want []string }{
		{[]string{"C-1"}, []string{"the mail reads well", "the link opens the form", "`make run`", "open /outbox"}},
		{[]string{"C-2"}, []string{"User sees a list", "Note: it is empty at first", "Run it", "Open it"}},
		{[]string{"C-3", "C-4"}, []string{"the colors", "look"}},
		{[]string{"C-5"}, nil},
	} {
		if got := ReadBook(dir).ToLookAt(c.ids); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q", c.ids, got)
		}
	}
}
