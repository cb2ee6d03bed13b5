package legacy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/statedir"
)

// An entry is the side file's record of one slice. It belongs to this machine, as claims do.
type entry struct {
	side    slice.Side // only values that aren't empty; no step if the status implies it
	changed time.Time  // when the values were written
}

// changedKey is the entry's key for the time of its last change.
const changedKey = "changed"

// MarshalJSON writes the values beside the time.
func (e entry) MarshalJSON() ([]byte, error) {
	all := map[string]any{changedKey: e.changed}
	for key, value := range e.side {
		all[key] = value
	}
	return json.Marshal(all)
}

// UnmarshalJSON ignores unknown keys.
func (e *entry) UnmarshalJSON(data []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*e = entry{side: slice.Side{}}
	if text, ok := all[changedKey]; ok {
		if err := json.Unmarshal(text, &e.changed); err != nil {
			return err
		}
	}
	for _, key := range slice.SideKeys() {
		var value string
		if text, ok := all[key]; ok {
			if err := json.Unmarshal(text, &value); err != nil {
				return err
			}
		}
		e.side.Put(key, value)
	}
	return nil
}

// readSide reads the side file. If it is missing, all results are nil.
func (s *Store) readSide() (data []byte, entries map[string]entry, err error) {
	data, err = durable.ReadFile(statedir.Path(s.root, slice.LegacyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, bare(err)
	}
	if err := json.Unmarshal(data, &entries); err != nil {
		return data, nil, err
	}
	return data, entries, nil
}

// bare strips the path from an error, for messages that name the file relative to the root.
func bare(err error) error {
	if path := new(fs.PathError); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// both holds the two files of a legacy project, for an edit.
type both struct {
	state   slice.StateMD
	side    []byte // nil if there is none
	entries map[string]entry
}

func (s *Store) readBoth() (*both, error) {
	state, err := durable.ReadFile(statedir.Path(s.root, "STATE.md"))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", stateFile, bare(err))
	}
	b := &both{state: slice.ReadStateMD(state)}
	if b.side, b.entries, err = s.readSide(); err != nil {
		return nil, fmt.Errorf("%s can't be read: %w; it only holds claims: remove it if you can't repair it", sideFile, err)
	}
	return b, nil
}

// withEntry returns the side file with a changed entry for one slice; the same bytes if nothing
// changes.
func (b *both) withEntry(id string, e entry, now time.Time) ([]byte, error) {
	old := b.entries[id]
	if maps.Equal(e.side, old.side) {
		return b.side, nil
	}
	all := map[string]entry{}
	for k, v := range b.entries {
		all[k] = v
	}
	e.changed = now.UTC().Truncate(time.Second)
	if all[id] = e; len(e.side) == 0 {
		delete(all, id)
	}
	data, err := json.MarshalIndent(all, "", "  ")
	return append(data, '\n'), err
}

// A write is the replacement of one file.
type write struct {
	name     string // relative to .greenlight
	old, new []byte
}

// replace writes the files in order, skipping those that don't change.
func (s *Store) replace(writes []write) error {
	for _, w := range writes {
		if w.old != nil && string(w.old) == string(w.new) || w.new == nil {
			continue
		}
		path := statedir.Path(s.root, w.name)
		err := durable.MkdirPrivate(filepath.Dir(path))
		if err == nil {
			err = durable.Replace(path, w.old, w.new)
		}
		if err != nil {
			return fmt.Errorf("write %s/%s: %w", statedir.Name, w.name, bare(err))
		}
	}
	return nil
}
