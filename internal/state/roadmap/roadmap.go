// Package roadmap reads a project's ROADMAP.md: its milestones and the items they hold. It
// writes nothing. The grammar here is Greenlight's own; a tracker with another grammar fills in
// the same types.
package roadmap

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/markdown"
)

// OwnFile is the path of Greenlight's roadmap, relative to the root.
const OwnFile = ".greenlight/ROADMAP.md"

// A Roadmap is what gl reads from a project's roadmap.
type Roadmap struct {
	File       string // relative to the root, with forward slashes
	Text       string
	Milestones []Milestone
	Rows       map[string]Row // by the id in the row's first cell
}

// A Milestone is a milestone of the roadmap.
type Milestone struct {
	Name   string
	Status string // as in the heading; "" for none
}

// A Row is a row of a milestone's table.
type Row struct {
	Milestone string
	Date      string // the first date in the row; "" for none
}

// A MissingError means that there is no roadmap. It is an fs.ErrNotExist.
type MissingError struct {
	File  string // "" if the project's system has none
	Begin string // how to begin one, or what there is instead
}

func (e *MissingError) Error() string {
	if e.File == "" {
		return e.Begin
	}
	return fmt.Sprintf("there is no %s: %s", e.File, e.Begin)
}

func (e *MissingError) Is(t error) bool { return t == fs.ErrNotExist }

// Own reads Greenlight's roadmap of the project at root.
func Own(root string) (*Roadmap, error) {
	return Read(root, OwnFile, "run gl roadmap milestone to plan one", Parse)
}

// Read reads a roadmap file and parses it with parse. begin is the advice in the error if the
// file doesn't exist.
func Read(root, file, begin string, parse func(text string) Roadmap) (*Roadmap, error) {
	data, err := durable.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &MissingError{file, begin}
	}
	if err != nil {
		return nil, err
	}
	r := parse(string(data))
	r.File, r.Text = file, string(data)
	return &r, nil
}

var (
	milestoneHeading = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^milestone\s*[0-9.]*\s*[:—–-]\s*(.*?)\s*(?:\[([^\]]*)\])?$`)
	})
	dateGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`) })
)

// Date returns the first date in a text, such as 2026-03-04, or "".
func Date(text string) string { return dateGrammar().FindString(text) }

// Parse parses the milestones (`## Milestone: name [status]`) and the slices in their tables.
func Parse(text string) Roadmap {
	r := Roadmap{Rows: map[string]Row{}}
	name, level := "", 0
	for l := range markdown.Lines(text) {
		m := milestoneHeading().FindStringSubmatch(l.Title)
		switch {
		case l.Code:
		case l.Level > 0 && m == nil:
			if l.Level <= level { // a section of another kind
				name = ""
			}
		case l.Level > 0:
			if m[1] != "" {
				name, level = m[1], l.Level
				r.Milestones = append(r.Milestones, Milestone{m[1], m[2]})
			}
		case name != "":
			cells := markdown.Cells(l.Text)
			if len(cells) == 0 || strings.Trim(cells[0], "-: ") == "" {
				continue
			}
			if _, twice := r.Rows[cells[0]]; !twice {
				r.Rows[cells[0]] = Row{name, Date(l.Text)}
			}
		}
	}
	return r
}
