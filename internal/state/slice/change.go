package slice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/state/sliceid"
	"greenlight/internal/state/tracker"
)

// A change of several files is recorded before the first of them is written. The next process
// to take the lock completes an interrupted change.

// changeFile is stored among the slice files while a change is in progress.
const changeFile = ".change.json"

// A fileChange is the old and new content of one file. Names are relative to .greenlight.
type fileChange struct {
	Name string  `json:"name"`
	Old  *string `json:"old"` // null if the file doesn't exist
	New  *string `json:"new"` // null to remove the file
}

type change struct {
	SchemaVersion int          `json:"schema_version"` // 1
	Files         []fileChange `json:"files"`
	// the id of a removed slice, whose row leaves STATE.md
	Gone string `json:"gone,omitempty"`
}

// changes makes changes of several files, all or nothing.
type changes struct {
	dir   *Dir
	files *sliceFiles
}

func (cs *changes) changePath() string { return filepath.Join(cs.dir.path("slices"), changeFile) }

// completeChange finishes an interrupted change. It leaves alone any file that was written
// since.
func (cs *changes) completeChange() error {
	if _, err := os.Lstat(cs.changePath()); err != nil {
		return nil
	}
	data, err := durable.ReadFile(cs.changePath())
	if missing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", sliceRel(changeFile), bareError(err))
	}
	var c change
	if err := json.Unmarshal(data, &c); err != nil || c.SchemaVersion != 1 ||
		c.Gone != "" && sliceid.Valid(c.Gone) != nil ||
		slices.ContainsFunc(c.Files, func(f fileChange) bool { return !f.mayBe() }) {
		return fmt.Errorf("%s isn't a change that gl has begun: look at it, and remove it",
			sliceRel(changeFile))
	}
	if err := cs.applyChange(&c); err != nil {
		return err
	}
	if err := cs.dropRow(c.Gone); err != nil {
		return err
	}
	return durable.Remove(cs.changePath())
}

// mayBe reports whether f names a file that gl changes together with others. A changeFile may
// come from a clone, so its names can't be trusted.
func (f fileChange) mayBe() bool {
	name, inSlices := strings.CutPrefix(f.Name, "slices/")
	id, isFile := strings.CutSuffix(name, ".md")
	return f.Name == "GRAPH.json" || inSlices && isFile && sliceid.Valid(id) == nil
}

// current returns the text of a file, or nil if it doesn't exist.
func (cs *changes) current(name string) (*string, error) {
	data, err := durable.ReadFile(cs.dir.path(name))
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", stateRel(name), bareError(err))
	}
	text := string(data)
	return &text, nil
}

func sameText(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

func (cs *changes) applyChange(c *change) error {
	for _, f := range c.Files {
		now, err := cs.current(f.Name)
		if err != nil {
			return err
		}
		if sameText(now, f.New) || !sameText(now, f.Old) {
			continue
		}
		switch {
		case f.New == nil:
			err = durable.Remove(cs.dir.path(f.Name))
		case f.Old == nil:
			err = durable.Replace(cs.dir.path(f.Name), nil, []byte(*f.New))
		default:
			err = durable.Replace(cs.dir.path(f.Name), []byte(*f.Old), []byte(*f.New))
		}
		if err != nil && !errors.Is(err, durable.ErrChanged) {
			return fmt.Errorf("write %s: %w", stateRel(f.Name), bareError(err))
		}
	}
	return nil
}

// dropRow removes the row of a deleted slice from a generated STATE.md, which otherwise keeps
// rows without a file. If a slice with that id was created meanwhile, rendering restores the
// row.
func (cs *changes) dropRow(id string) error {
	if id == "" {
		return nil
	}
	return cs.dir.retry("STATE.md", func() error {
		text, err := cs.current("STATE.md")
		if err != nil || text == nil || !generated(*text) {
			return err
		}
		rows, _ := parseRowsBut(*text, func(string) bool { return false })
		after := *text
		for _, r := range rows {
			if r.ID == id && r.line != "" {
				after = strings.Replace(after, "\n"+r.line+"\n", "\n", 1)
			}
		}
		if after == *text {
			return nil
		}
		return durable.Replace(cs.dir.path("STATE.md"), []byte(*text), []byte(after))
	})
}

// commitChange makes a change, all or nothing. The caller holds the lock.
func (cs *changes) commitChange(c *change) error {
	for _, f := range c.Files {
		now, err := cs.current(f.Name)
		if err != nil {
			return err
		}
		if !sameText(now, f.Old) {
			return fmt.Errorf("%s: %w", stateRel(f.Name), tracker.ErrChanged)
		}
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.WriteFile(cs.changePath(), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", sliceRel(changeFile), bareError(err))
	}
	return cs.completeChange()
}

// A Moved describes the effect of renaming or removing a slice.
type Moved struct {
	Graph bool     // GRAPH.json named it
	Deps  []string // slices whose files named it
	Text  []byte   // of its file; nil if it had none
}

// Rename changes the id of a slice in its file, in GRAPH.json, and in the dependencies of other
// slices, as one change. was are the ids under which it was attempted, which its file notes. do
// runs under the lock before anything changes.
func (s *Store) Rename(ctx context.Context, old, id string, was []string,
	do func() error) (*Moved, error) {
	return s.move(ctx, old, id, was, do)
}

// Remove deletes a slice, like Rename, and drops it from the dependencies of other slices.
func (s *Store) Remove(ctx context.Context, id string, do func() error) (*Moved, error) {
	return s.move(ctx, id, "", nil, do)
}

func (s *Store) move(ctx context.Context, old, id string, was []string,
	do func() error) (m *Moved, err error) {
	err = s.locked(ctx, func() error {
		s.Dir.mu.Lock()
		v, err := s.files.lookAtAll()
		if err == nil && v.graph.err != nil {
			err = fmt.Errorf("%s can't be read: %w; gl doctor says more", stateRel("GRAPH.json"),
				bareError(v.graph.err))
		}
		if err == nil && id != "" {
			err = v.free(id)
		}
		var ids []string
		if err == nil {
			ids = slices.Clone(v.ix.ids)
		}
		s.Dir.mu.Unlock()
		if err != nil {
			return err
		}
		c := &change{SchemaVersion: 1, Gone: old}
		m = &Moved{}
		if err := s.changes.moveFiles(c, m, ids, old, id, was); err != nil {
			return err
		}
		if err := s.changes.moveInGraph(c, m, old, id); err != nil {
			return err
		}
		if err := do(); err != nil {
			return err
		}
		if err := s.changes.commitChange(c); err != nil {
			return err
		}
		return s.page.refreshView()
	})
	return m, err
}

// moveFiles adds to c the slice's own file and the files of slices that depend on it.
func (cs *changes) moveFiles(c *change, m *Moved, ids []string, old, id string,
	was []string) error {
	for _, other := range ids {
		data, f, err := cs.files.readForEdit(other)
		if corrupt := new(CorruptError); errors.As(err, &corrupt) && other != old {
			continue // it has no readable dependencies
		}
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		before := string(data)
		if other == old {
			m.Text = data
			c.Files = append(c.Files, fileChange{"slices/" + old + ".md", &before, nil})
			if id != "" {
				after, err := f.renamed(old, id, was)
				if err != nil {
					return err
				}
				c.Files = append(c.Files, fileChange{"slices/" + id + ".md", nil, &after})
			}
			continue
		}
		deps := f.List("deps")
		if !slices.Contains(deps, old) {
			continue
		}
		var next []string
		for _, d := range deps {
			switch {
			case d != old:
				next = append(next, d)
			case id != "":
				next = append(next, id)
			}
		}
		if err := f.SetList("deps", next); err != nil {
			return err
		}
		after := string(f.Bytes())
		m.Deps = append(m.Deps, other)
		c.Files = append(c.Files, fileChange{"slices/" + other + ".md", &before, &after})
	}
	return nil
}

// renamedFrom is the key of the ids under which a slice was attempted before it was renamed.
const renamedFrom = "renamed_from"

// renamed returns the file's text with another id, in the front matter and at the start of the
// title.
func (f *File) renamed(old, id string, was []string) (string, error) {
	if len(was) > 0 || f.Has(renamedFrom) {
		if err := f.SetAll([][2]string{{renamedFrom, strings.Join(was, ", ")}}); err != nil {
			return "", err
		}
	}
	if f.Has("id") {
		if err := f.Set("id", id); err != nil {
			return "", err
		}
	}
	lines := strings.SplitAfter(f.Rest, "\n")
	for i, line := range lines {
		rest, isTitle := strings.CutPrefix(line, "# "+old)
		if isTitle && (rest == "" || strings.IndexByte(":\r\n \t", rest[0]) >= 0) {
			lines[i] = "# " + id + rest
		}
		if strings.HasPrefix(line, "# ") {
			break
		}
	}
	f.Rest = strings.Join(lines, "")
	return string(f.Bytes()), nil
}

func (cs *changes) moveInGraph(c *change, m *Moved, old, id string) error {
	text, err := cs.current("GRAPH.json")
	if err != nil || text == nil {
		return err
	}
	var next []byte
	if id == "" {
		next, err = removeFromGraph([]byte(*text), old)
	} else {
		next, err = renameInGraph([]byte(*text), old, id)
	}
	if err != nil {
		return err
	}
	if after := string(next); after != *text {
		m.Graph = true
		c.Files = append(c.Files, fileChange{"GRAPH.json", text, &after})
	}
	return nil
}
