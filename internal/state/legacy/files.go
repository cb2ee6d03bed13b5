package legacy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/statedir"
)

// An entry is the side file's record of one slice. It belongs to this machine, as claims do.
type entry struct {
	Session    string    `json:"session,omitempty"`
	Step       string    `json:"step,omitempty"` // "" to derive it from the status
	Started    string    `json:"started,omitempty"`
	WaitingFor string    `json:"waiting_for,omitempty"`
	WaitKind   string    `json:"waiting_kind,omitempty"`
	Verified   string    `json:"verified,omitempty"` // as in a slice file
	Failing    string    `json:"failing,omitempty"`
	Changed    time.Time `json:"changed"` // when the other fields were written
}

func (e entry) empty() bool { return e == entry{Changed: e.Changed} }

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
	if e.Changed = old.Changed; e == old {
		return b.side, nil
	}
	all := map[string]entry{}
	for k, v := range b.entries {
		all[k] = v
	}
	e.Changed = now.UTC().Truncate(time.Second)
	if all[id] = e; e.empty() {
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
