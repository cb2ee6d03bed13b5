package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/trust"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/sliceid"
	"greenlight/internal/state/tracker"
)

// A Proposal is a setting that an agent wanted to change. A person decides.
type Proposal struct {
	Attempt string    // "S-1.3"
	Key     string    // of the setting
	Value   string    // as typed
	At      time.Time // when
}

// attemptName returns the name of the caller's attempt; "" for none, or if gl didn't create its
// environment.
func attemptName(c *attempt.Caller) string {
	if c.N < 1 || !attempt.IsTask(c.ID) && sliceid.Valid(c.ID) != nil ||
		strings.ContainsAny(c.ID, "/\\") {
		return ""
	}
	return fmt.Sprintf("%s.%d", c.ID, c.N)
}

// Command returns the command that carries out the proposal.
func (p Proposal) Command() string {
	return "gl settings set " + shellwords.Quote(sanitize.Line(p.Key)) + " " +
		shellwords.Quote(sanitize.Line(p.Value))
}

const (
	maxProposals = 100     // files
	maxProposed  = 20      // settings in one
	maxValue     = 4 << 10 // bytes
)

// proposalFile is runs/proposals/SLICE.ATTEMPT.json.
type proposalFile struct {
	SchemaVersion int        `json:"schema_version"` // 1
	Proposals     []proposed `json:"proposals"`
}

type proposed struct {
	Key   string    `json:"key"`
	Value string    `json:"value"`
	Time  time.Time `json:"time"`
}

// Proposals are the settings that agents wanted to change, one file for each attempt.
type Proposals struct {
	dir     string
	tracker tracker.Tracker // for its lock
}

// Proposals returns those of the project.
func (p *Project) Proposals() Proposals {
	return Proposals{filepath.Join(p.Runs.Files.Dir(), "proposals"), p.Tracker}
}

// Add records a setting that an agent wanted to change; the last value of a key counts.
// kept is false if its attempt isn't known, or if there are too many proposals. The caller must
// not hold the project's lock.
func (p Proposals) Add(ctx context.Context, by *attempt.Caller,
	key, value string) (kept bool, err error) {
	name := attemptName(by)
	if name == "" || len(value) > maxValue || len(key) > maxValue {
		return false, nil
	}
	path := filepath.Join(p.dir, name+".json")
	err = p.tracker.Do(ctx, func(tracker.Tx) error {
		list := readProposals(path)
		list = slices.DeleteFunc(list, func(q proposed) bool { return q.Key == key })
		entries, err := durable.ReadDir(p.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(list) == maxProposed || len(list) == 0 && len(entries) >= maxProposals {
			return nil
		}
		kept = true
		return p.write(path, append(list, proposed{key, value, time.Now().UTC()}))
	})
	return kept && err == nil, err
}

func (p Proposals) write(path string, list []proposed) error {
	if len(list) == 0 {
		return durable.Remove(path)
	}
	if err := durable.MkdirPrivate(p.dir); err != nil {
		return err
	}
	return durable.WriteJSON(path, proposalFile{1, list})
}

// readProposals reads a file; an unusable one has none.
func readProposals(path string) []proposed {
	var file proposalFile
	if durable.ReadJSON(path, &file) != nil || file.SchemaVersion != 1 {
		return nil
	}
	return slices.DeleteFunc(file.Proposals, func(q proposed) bool {
		return q.Key == "" || len(q.Key) > maxValue || len(q.Value) > maxValue
	})
}

// List returns the settings that sessions wanted to change, ordered by their attempts'
// names and by time. It omits unusable files.
func (p Proposals) List() ([]Proposal, error) {
	var list []Proposal
	err := p.each(func(path string, file []proposed) error {
		for _, q := range file {
			list = append(list,
				Proposal{strings.TrimSuffix(filepath.Base(path), ".json"), q.Key, q.Value, q.Time})
		}
		return nil
	})
	return list, err
}

func (p Proposals) each(f func(path string, list []proposed) error) error {
	entries, err := durable.ReadDir(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			path := filepath.Join(p.dir, e.Name())
			errs = append(errs, f(path, readProposals(path)))
		}
	}
	return errors.Join(errs...)
}

// Decided removes the proposals that a person has decided: those for the keys of these
// commands, and for keys below or above them.
func (p Proposals) Decided(ctx context.Context, commands []trust.Command) error {
	within := func(a, b string) bool { return a == b || strings.HasPrefix(a, b+".") }
	over := func(q proposed) bool {
		return slices.ContainsFunc(commands, func(c trust.Command) bool {
			return within(q.Key, c.Key) || within(c.Key, q.Key)
		})
	}
	if all, err := p.List(); err != nil || len(all) == 0 {
		return err
	}
	return p.tracker.Do(ctx, func(tracker.Tx) error {
		return p.each(func(path string, list []proposed) error {
			left := slices.DeleteFunc(slices.Clone(list), over)
			if len(left) == len(list) {
				return nil
			}
			return p.write(path, left)
		})
	})
}
