package slice

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/tracker"
)

// legacyFile keeps what the table of a legacy project has no columns for. It belongs to this machine, as claims do.
const legacyFile = "runs/legacy.json"

// A legacyEntry is what legacyFile says of one slice.
type legacyEntry struct {
	Session    string    `json:"session,omitempty"`
	Step       string    `json:"step,omitempty"` // "" for what the status says
	Started    string    `json:"started,omitempty"`
	WaitingFor string    `json:"waiting_for,omitempty"`
	Changed    time.Time `json:"changed"` // when the rest of the entry was written
}

func (e legacyEntry) empty() bool { return e == legacyEntry{Changed: e.Changed} }

// A legacySide is legacyFile as it was read.
type legacySide struct {
	entries map[string]legacyEntry
	err     error
}

func parseSide(data []byte, _ fileStamp) legacySide {
	var side legacySide
	side.err = json.Unmarshal(data, &side.entries)
	return side
}

// readSide reads legacyFile. The caller holds s.mu.
func (s *Store) readSide() legacySide {
	s.side = refresh(s.side, s.path(legacyFile), parseSide)
	if s.side.err != nil {
		return legacySide{err: s.side.err}
	}
	return s.side.value
}

// lookLegacy takes the rows of STATE.md for the slices.
func (v *view) lookLegacy() {
	state, side := v.s.readState(&v.s.state, "STATE.md"), v.s.readSide()
	written := v.s.state.stamp.changed()
	v.files = map[string]*sliceFile{}
	for _, r := range state.rows {
		f := legacySlice(r, state.current, side.entries[r.id])
		if f.changed.Before(written) {
			f.changed = written
		}
		v.files[r.id] = f
		v.stems = append(v.stems, r.id)
	}
	sort.Strings(v.stems)
	switch {
	case state.err != nil:
		v.warn(stateRel("STATE.md"), "can't be read: %v", bareError(state.err))
	case !state.table:
		v.warn(stateRel("STATE.md"), "no slice table: gl found no table with the columns ID and Status")
	}
	if side.err != nil {
		v.warn(stateRel(legacyFile), "ignored: %v; claims of this project are not known", bareError(side.err))
	}
}

// legacySlice puts a slice together from its row, the Current section where that names it, and its entry.
func legacySlice(r row, c currentLines, e legacyEntry) *sliceFile {
	f := fromRow(r)
	f.name, f.session, f.started, f.waiting, f.changed = r.name, e.Session, e.Started, e.WaitingFor, e.Changed
	if e.Step != "" {
		f.step = e.Step
	}
	if c.names(r.id) && c.step.text != "" {
		f.step = c.step.text
	}
	if len(appendItem(nil, f.waiting)) == 0 {
		f.waiting = ""
	}
	return f
}

// A legacyState is both files of a legacy project as bytes, for an edit.
type legacyState struct {
	state []byte // STATE.md
	side  []byte // nil: there is none

	entries map[string]legacyEntry
}

func (s *Store) readLegacy() (*legacyState, error) {
	l := &legacyState{}
	var err error
	if l.state, err = os.ReadFile(s.path("STATE.md")); err != nil {
		return nil, fmt.Errorf("read %s: %w", stateRel("STATE.md"), bareError(err))
	}
	l.side, err = os.ReadFile(s.path(legacyFile))
	switch {
	case missing(err):
		l.side = nil
		return l, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", stateRel(legacyFile), bareError(err))
	}
	if err := json.Unmarshal(l.side, &l.entries); err != nil {
		return nil, fmt.Errorf("%s can't be read: %w; it holds claims alone: remove it if it can't be mended", stateRel(legacyFile), err)
	}
	return l, nil
}

// withEntry returns the side file with another entry for one slice; what it was where that changes nothing.
func (l *legacyState) withEntry(id string, e legacyEntry, now time.Time) ([]byte, error) {
	old := l.entries[id]
	if e.Changed = old.Changed; e == old {
		return l.side, nil
	}
	all := map[string]legacyEntry{}
	for k, v := range l.entries {
		all[k] = v
	}
	e.Changed = now.UTC().Truncate(time.Second)
	if all[id] = e; e.empty() {
		delete(all, id)
	}
	data, err := json.MarshalIndent(all, "", "  ")
	return append(data, '\n'), err
}

// readRow is readForEdit for a legacy project.
func (s *Store) readRow(id string) ([]byte, *File, error) {
	l, err := s.readLegacy()
	if err != nil {
		return nil, nil, err
	}
	text := strings.TrimPrefix(string(l.state), bom)
	r, ok := rowOf(text, id)
	if !ok {
		return nil, nil, nil
	}
	f, err := legacySlice(r, parseCurrent(text), l.entries[id]).asFile()
	return l.state, f, err
}

// A fileWrite is one file to be replaced.
type fileWrite struct {
	name     string // under .greenlight
	old, new []byte
}

// replaceAll writes one file after the other; those that are as they should be are left alone.
func (s *Store) replaceAll(writes []fileWrite) error {
	for _, w := range writes {
		if w.old != nil && string(w.old) == string(w.new) || w.new == nil {
			continue
		}
		if dir := filepath.Dir(w.name); dir != "." {
			if err := os.MkdirAll(s.path(dir), 0o755); err != nil {
				return fmt.Errorf("write %s: %w", stateRel(w.name), bareError(err))
			}
		}
		if err := durable.Replace(s.path(w.name), w.old, w.new); err != nil {
			return fmt.Errorf("write %s: %w", stateRel(w.name), bareError(err))
		}
	}
	return nil
}

// editLegacy is one read-modify-write of a slice that is a row of STATE.md.
func (t *tx) editLegacy(id string, f func(*File) error) error {
	for range tries {
		err := t.tryLegacy(id, f)
		if !errors.Is(err, durable.ErrChanged) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", stateRel("STATE.md"), tracker.ErrChanged)
}

// rowKeys are the keys of a legacy slice, in the order in which an edit sees them.
var rowKeys = [...]string{"id", "name", "status", "step", "started", "tests", "security_tests", "session", "waiting_for", "deps"}

// asFile writes a legacy slice as a slice file, so that one func edits both formats.
func (f *sliceFile) asFile() (*File, error) {
	file, err := ParseFile([]byte("---\n" + strings.Join(rowKeys[:], ":\n") + ":\n---\n\n# " + f.id + "\n\n## Decisions\n"))
	if err != nil {
		return nil, err
	}
	for key, value := range f.values() {
		if err := file.Set(key, oneLine(value)); err != nil {
			return nil, err
		}
	}
	return file, nil
}

func (f *sliceFile) values() map[string]string {
	return map[string]string{
		"id": f.id, "name": f.name, "status": f.status, "step": f.step, "started": f.started,
		"tests": fmt.Sprint(f.tests), "security_tests": fmt.Sprint(f.security),
		"session": f.session, "waiting_for": f.waiting, "deps": strings.Join(f.deps, ", "),
	}
}
