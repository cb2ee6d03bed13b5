package legacy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/slice"
	"greenlight/internal/statedir"
)

// An entry is what the side file says of one slice. It belongs to this machine, as claims do.
type entry struct {
	Session    string    `json:"session,omitempty"`
	Step       string    `json:"step,omitempty"` // "" for what the status says
	Started    string    `json:"started,omitempty"`
	WaitingFor string    `json:"waiting_for,omitempty"`
	WaitKind   string    `json:"waiting_kind,omitempty"`
	Verified   string    `json:"verified,omitempty"` // as in a slice file
	Failing    string    `json:"failing,omitempty"`
	Changed    time.Time `json:"changed"` // when the rest of the entry was written
}

func (e entry) empty() bool { return e == entry{Changed: e.Changed} }

// readSide reads the side file. Without one, all is nil.
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

// bare is an error without the path, for messages that name the file relative to the root.
func bare(err error) error {
	if path := new(fs.PathError); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// both are the two files of a legacy project, for an edit.
type both struct {
	state   slice.StateMD
	side    []byte // nil: there is none
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

// withEntry is the side file with another entry for one slice; the same where that changes nothing.
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

// A write is one file to be replaced.
type write struct {
	name     string // under .greenlight
	old, new []byte
}

// replace writes one file after the other; those that are as they should be are left alone.
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
