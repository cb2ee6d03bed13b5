package worktree

import (
	"encoding/json"
	"path/filepath"

	"greenlight/internal/base/durable"
	"greenlight/internal/workspace/git"
)

// A LaneMark is where gl has left the lane, or was about to move it. It is beside the lane's lock in the git directory, so that it outlives
// runs/: a branch of the lane's name that gl didn't put where it is has nothing that was tested.
type LaneMark struct {
	Tip  string `json:"tip"`
	Next string `json:"next,omitempty"`
}

// markPath is the file with the marks of the project's lanes, by their branches.
func (r *Repo) markPath() string { return filepath.Join(r.Common, "gl-lane."+r.project+".json") }

func (r *Repo) marks() map[string]LaneMark {
	var all map[string]LaneMark
	data, err := durable.ReadFile(r.markPath())
	if err != nil || json.Unmarshal(data, &all) != nil || all == nil {
		return map[string]LaneMark{} // what can't be read says nothing
	}
	return all
}

// LaneMark is the mark of the lane, the zero LaneMark for none.
func (r *Repo) LaneMark() LaneMark { return r.marks()[r.LaneRef()] }

// MarkLane writes it. The caller has the lane's lock.
func (r *Repo) MarkLane(m LaneMark) error {
	all := r.marks()
	if all[r.LaneRef()] == m {
		return nil
	}
	all[r.LaneRef()] = m
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(r.markPath(), append(data, '\n'), 0o600)
}

// Moved reports whether the lane's tip isn't where gl has put it. Without a mark gl hasn't put it anywhere.
func (m LaneMark) Moved(tip string) bool { return tip != m.Tip && tip != m.Next }

// nextRef keeps the commit that is about to land, with what it is built on, from git prune.
func (r *Repo) nextRef() string { return "refs/gl/next/" + r.project + "/" + part(short(r.target)) }

// next is the change of nextRef to a commit.
func (r *Repo) next(commit string) git.RefChange {
	return git.RefChange{Name: r.nextRef(), New: commit, Force: true}
}
