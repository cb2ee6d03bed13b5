package slice

import (
	"fmt"

	"greenlight/internal/base/text/conflict"
	"greenlight/internal/base/text/frontmatter"
	"greenlight/internal/state/statedir"
)

// A CorruptError is returned for a slice file that can't be parsed.
type CorruptError struct {
	Path   string // relative to the root; "" if unknown
	Reason string
}

func (e *CorruptError) Error() string {
	if e.Path == "" {
		return "not a slice file: " + e.Reason
	}
	return fmt.Sprintf("%s is not a slice file: %s; gl doctor says more", e.Path, e.Reason)
}

// A File is one slice file: flat front matter, then Markdown.
type File struct {
	*frontmatter.File

	Path string        // relative to the project's root, set by Read; "" for a slice without its own file
	Held statedir.Held // the project's lock, set by Edit
}

// ParseFile parses a slice file. The error is a *CorruptError.
func ParseFile(data []byte) (*File, error) {
	if line, _ := conflict.Find(string(data)); line > 0 {
		return nil, &CorruptError{Reason: fmt.Sprintf("merge conflict in line %d", line)}
	}
	f, err := frontmatter.ParseFile(data, frontmatter.Rules{Token: token, List: isList, Lists: "deps"})
	if err != nil {
		return nil, &CorruptError{Reason: err.Error()}
	}
	return &File{File: f}, nil
}

func isList(key string) bool { return key == "deps" }

// Set is like frontmatter.File.Set, and expands ranges and words for "none" in lists.
func (f *File) Set(key, value string) error {
	if isList(key) && f.IsBlock(key) {
		return f.SetList(key, splitList(value))
	}
	return f.File.Set(key, value)
}

// List returns the items of a list, without words for "none" and with ranges such as S-4..S-9
// expanded.
func (f *File) List(key string) []string { return expandAll(f.File.List(key)) }

// SetList changes the items of a list, keeping the style the file uses. It writes nothing if
// the items are already the same.
func (f *File) SetList(key string, items []string) error {
	if f.Has(key) && equal(f.List(key), items) {
		return nil
	}
	return f.File.SetList(key, items)
}
