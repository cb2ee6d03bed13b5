package gsd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/state/statedir"
)

// claimsRel is the file that records the sessions working on phases. It belongs to this
// machine, as claims do.
const claimsRel = statedir.Name + "/runs/gsd.json"

// A claim is the claim of one phase. The file maps the phase's id, or "workstream/id", to it.
type claim struct {
	Session string `json:"session"`
	Started string `json:"started,omitempty"` // day

	// STATE.md's recommendation when the phase was claimed, restored if nothing was run.
	NextAction string `json:"next_action,omitempty"`
	NextPhases string `json:"next_phases,omitempty"`
	Added      bool   `json:"added,omitempty"` // STATE.md had no active_phase key
}

func (t *Tracker) claimKey(id string) string { return path.Join(t.Part(), id) }

func (t *Tracker) claimsPath() string { return statedir.Path(t.root, "runs", "gsd.json") }

func (t *Tracker) readClaims() (map[string]claim, error) {
	_, claims, err := t.loadClaims()
	return claims, err
}

// loadClaims is readClaims that also returns the file's bytes, nil if there is no file.
func (t *Tracker) loadClaims() ([]byte, map[string]claim, error) {
	data, err := durable.ReadFile(t.claimsPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var claims map[string]claim
	if err := json.Unmarshal(data, &claims); err != nil {
		return data, nil, err
	}
	return data, claims, nil
}

// setClaim records a claim, or removes it if c is empty. The caller holds the project's lock.
func (t *Tracker) setClaim(id string, c claim) error {
	id = t.claimKey(id)
	old, claims, err := t.loadClaims()
	if err != nil {
		return fmt.Errorf("%s can't be read: %w; it only holds claims: remove it if you can't repair it",
			claimsRel, err)
	}
	if claims[id] == c {
		return nil
	}
	if claims == nil {
		claims = map[string]claim{}
	}
	if claims[id] = c; c.Session == "" {
		delete(claims, id)
	}
	data, err := json.MarshalIndent(claims, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.MkdirPrivate(filepath.Dir(t.claimsPath())); err != nil {
		return err
	}
	return durable.Replace(t.claimsPath(), old, append(data, '\n'))
}

// lifecycleWait is how long a claim waits for another writer of STATE.md.
const lifecycleWait = 2 * time.Second

// setLifecycle records the phase being worked on in STATE.md, for the status line. It changes
// only these keys. The record is a courtesy to readers, so write errors are ignored.
func (t *Tracker) setLifecycle(l Lifecycle, drop ...string) {
	p := t.place()
	if !paths.IsFile(p.State()) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lifecycleWait)
	defer cancel()
	s := &Store{Root: p.Root, Planning: p.Planning, Now: t.Now, Warn: func(string) {},
		getenv: t.getenv}
	_, _ = s.edit(ctx, writing{bare: true}, func(d *draft) error {
		l.apply(d)
		d.set = slices.DeleteFunc(d.set, func(c change) bool {
			return slices.Contains(drop, c.key)
		})
		d.drop = drop
		return nil
	})
}

// begun saves STATE.md's current values in the claim and returns a function that marks the
// phase as being worked on.
func (t *Tracker) begun(id string, c *claim) func() {
	data, err := readStart(t.place().State())
	if err != nil {
		return func() {}
	}
	d := Parse(data)
	pos := positionOf(d)
	_, has := d.Get("active_phase")
	switch claims, err := t.readClaims(); {
	case d.FrontStart == 0:
		return func() {}
	case PhaseKey(pos.ActivePhase) == PhaseKey(id): // marked by an earlier claim
		if err == nil {
			was := claims[t.claimKey(id)]
			c.NextAction, c.NextPhases, c.Added = was.NextAction, was.NextPhases, was.Added
		}
		return func() {}
	}
	c.NextAction, c.NextPhases, c.Added = pos.NextAction, strings.Join(pos.NextPhases, ","), !has
	return func() { t.setLifecycle(Lifecycle{ActivePhase: id}) }
}

// ended reverts what begun wrote. restored reports that nothing was run; recommendations that
// the agent has made meanwhile stay.
func (t *Tracker) ended(id string, c claim, restored bool) {
	pos, ok := t.place().Position()
	if !ok || PhaseKey(pos.ActivePhase) != PhaseKey(id) {
		return
	}
	l := Lifecycle{Clear: true}
	switch {
	case pos.NextAction != "" && len(pos.NextPhases) > 0:
		l = Lifecycle{NextAction: pos.NextAction, NextPhases: pos.NextPhases}
	case restored && c.NextAction != "" && c.NextPhases != "":
		l = Lifecycle{NextAction: c.NextAction, NextPhases: strings.Split(c.NextPhases, ",")}
	}
	if c.Added {
		t.setLifecycle(l, "active_phase")
	} else {
		t.setLifecycle(l)
	}
}
