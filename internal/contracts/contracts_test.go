package contracts

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A person's look is left out only where the contract says auto, in any of the forms in which contracts are written.
func TestTiers(t *testing.T) {
	const text = `# Contracts

## C-1: a field in a list
- Boundary: HTTP
- Verification: auto

## C-2: no tier
- Boundary: HTTP

### Contract: CreateUser

**Boundary:** client to API

**Verification:** auto
**Acceptance Criteria:**
- The user sees a list

### Contract: ListUsers [WRAPPED]

**Verification:** verify (the default)

## C-3: fields as headings
### Verification
auto

### Steps
- open it

## C-4: fields as headings
### Verification

verify

## C-5: misspelled
- Verification: automatic

## C-6: marks
* **Verification**: ` + "`auto`" + `

## C-7: on the next line
- Verification:
  auto

## C-8: only an example says it
~~~
- Verification: auto
~~~

## C-10: the last
Verification: AUTO
`
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".greenlight"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := Tiers(dir, []string{"C-1"}); got.File || got.ToVerify != "" {
		t.Errorf("without a file: %+v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for id, verify := range map[string]bool{"C-1": false, "C-2": true, "CreateUser": false, "ListUsers": true, "C-3": false, "C-4": true,
		"C-5": true, "C-6": false, "C-7": false, "C-8": true, "C-10": false} {
		got := Tiers(dir, []string{id})
		if !slices.Equal(got.Found, []string{id}) || (got.ToVerify == id) != verify {
			t.Errorf("%s: %+v", id, got)
		}
	}
	if got := Tiers(dir, []string{"C-9", "C-1", "C-5"}); !slices.Equal(got.Found, []string{"C-1", "C-5"}) || got.ToVerify != "C-5" || got.Tier != "automatic" {
		t.Errorf("%+v", got)
	}
}

// Criteria come before steps, whether they stand in one line, in a list or below a heading, and end at the next field.
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
		if got := ToLookAt(dir, c.ids); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q", c.ids, got)
		}
	}
}
