package slice

import (
	"fmt"
	"strings"
	"time"

	"greenlight/internal/base/text/frontmatter"
	"greenlight/internal/base/text/textline"
)

// A RowSlice is a row of STATE.md, with the fields the table has no columns for.
type RowSlice struct {
	Row
	Side Side

	Changed   time.Time
	Contracts []string // for the file's Contracts section
}

// A Side has the values of SideKeys that a row's slice has.
type Side map[string]string

// Get returns a value, and whether there is one.
func (s Side) Get(key string) (string, bool) {
	v, ok := s[key]
	return v, ok
}

// Put sets a value; an empty one removes it.
func (s Side) Put(key, value string) {
	if s[key] = value; value == "" {
		delete(s, key)
	}
}

// List returns the items of a list.
func (s Side) List(key string) []string { return frontmatter.SplitList(s[key]) }

// File converts the row to a slice file, so that one function edits both formats.
func (r RowSlice) File() (*File, error) {
	contracts := ""
	for i, c := range r.Contracts {
		if i == 0 {
			contracts = "## Contracts\n\n"
		}
		contracts += "- " + textline.Join(c) + "\n"
	}
	file, err := ParseFile([]byte("---\n" + strings.Join(RowKeys(), ":\n") + ":\n---\n\n# " + r.ID + "\n\n" + contracts + "\n## Decisions\n"))
	if err != nil {
		return nil, err
	}
	cells := map[string]string{"id": r.ID, "name": r.Name, "status": r.Status, "deps": strings.Join(r.Deps, ", "),
		"tests": fmt.Sprint(r.Tests), "security_tests": fmt.Sprint(r.Security)}
	for _, key := range RowKeys() {
		value, ok := cells[key]
		if !ok {
			value = r.Side[key]
		}
		if key == "waiting_for" {
			value = noneAsEmpty(value)
		}
		if err := file.Set(key, textline.Join(value)); err != nil {
			return nil, err
		}
	}
	return file, nil
}
