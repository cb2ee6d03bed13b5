package away

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/remote"
)

// files are what the machine has on disk, in runs/hub: a file for each attempt that a worker may
// have, beside it the part of its log that is home, and a file for each member.
type files struct{ dir string }

func (f files) attempts() string          { return filepath.Join(f.dir, "attempts") }
func (f files) members() string           { return filepath.Join(f.dir, "members") }
func (f files) attempt(n string) string   { return filepath.Join(f.attempts(), n+".json") }
func (f files) log(attempt string) string { return filepath.Join(f.attempts(), attempt+".log") }

// load reads everything. A file that can't be used is an error: its attempt would be started twice.
func (f files) load() (attempts []*remote.Attempt, members []remote.Member, err error) {
	for _, dir := range []string{f.attempts(), f.members()} {
		if err := durable.MkdirPrivate(dir); err != nil {
			return nil, nil, err
		}
	}
	err = each(f.attempts(), func(data []byte, name string) error {
		a := &remote.Attempt{}
		if err := json.Unmarshal(data, a); err != nil {
			return err
		}
		if err := (remote.Fence{Attempt: a.Name, Lease: 1}).Check(); err != nil || a.Name != name {
			return fmt.Errorf("it says it is %.80q", a.Name)
		}
		if info, err := durable.Stat(f.log(a.Name)); err == nil {
			a.Log = info.Size()
		}
		attempts = append(attempts, a)
		return nil
	})
	if err == nil {
		err = each(f.members(), func(data []byte, name string) error {
			var m remote.Member
			if err := json.Unmarshal(data, &m); err != nil {
				return err
			}
			members = append(members, m)
			return nil
		})
	}
	return attempts, members, err
}

func each(dir string, do func(data []byte, name string) error) error {
	list, err := durable.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		path := filepath.Join(dir, e.Name())
		data, err := durable.ReadFile(path)
		if err == nil {
			err = do(data, name)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func (f files) putAttempt(a *remote.Attempt) error {
	return durable.WriteJSON(f.attempt(a.Name), a)
}

func (f files) putMember(m remote.Member) error {
	return durable.WriteJSON(filepath.Join(f.members(), m.Name+".json"), m)
}

// append adds to an attempt's log, durably.
func (f files) append(attempt string, data []byte) error {
	file, err := durable.OpenAppend(f.log(attempt), 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// drop removes an attempt's files. The log goes first: without the other file nothing is left.
func (f files) drop(attempt string) error {
	for _, path := range []string{f.log(attempt), f.attempt(attempt)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyOf returns a copy of what the machine knows, which it changes with its next step.
func copyOf(a *remote.Attempt) *remote.Attempt {
	c := *a
	c.Leases = slices.Clone(a.Leases)
	return &c
}
