package lane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/proc"
	"greenlight/internal/run/testrun"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A file is runs/lane.json: what the lane knows that git doesn't. Without it the lane goes on; it is read by whoever shows where
// things stand.
type file struct {
	SchemaVersion int           `json:"schema_version"`
	Target        string        `json:"target"`                // refs/heads/…
	Tip           string        `json:"tip,omitempty"`         // where the worker left the lane,
	Next          string        `json:"next,omitempty"`        // or was about to move it
	Seen          string        `json:"seen,omitempty"`        // the target's commit when the lane last had it: it never goes back behind it by itself
	Undelivered   []Undelivered `json:"undelivered,omitempty"` // landed, and not in the target yet
	Reason        string        `json:"reason,omitempty"`      // why they aren't
	Since         *time.Time    `json:"since,omitempty"`
	PullRequest   *PullRequest  `json:"pull_request,omitempty"` // that is open, as far as gl knows
	Pushed        string        `json:"pushed,omitempty"`       // the lane's commit that was pushed last
	Closed        string        `json:"closed,omitempty"`       // a pull request that a person has closed: there is no other before they say so
	Dropped       []Undelivered `json:"dropped,omitempty"`      // taken out of the lane: what was built on them would bring them back
	Tests         *proc.ID      `json:"tests,omitempty"`        // the process of the tests that run
	Manifests     string        `json:"manifests,omitempty"`    // of the tree for which setup has run in the lane's worktree
	Committed     *time.Time    `json:"committed,omitempty"`    // when state was committed last
	Own           string        `json:"own,omitempty"`          // by this commit of the target
	Moved         string        `json:"moved,omitempty"`        // where something else than gl or a commit of the person's has moved the target, and that was told
	Undoing       *undoing      `json:"undoing,omitempty"`      // a slice that is being taken back
	Again         []Undelivered `json:"again,omitempty"`        // taken back, and in the target after a reset: to be taken back again
}

// Undelivered is a slice that has landed, or one that was taken back.
type Undelivered struct {
	Slice  string `json:"slice"`
	Commit string `json:"commit"`
	Undone bool   `json:"undone,omitempty"` // the commit reverts it

	At time.Time `json:"at"` // when it was about to
}

// A Status is what others may know of the lane.
type Status struct {
	Undelivered []string // slices that have landed, and aren't in the target yet
	Undone      []string // slices that were taken back, and may still be in the target
	Reason      string   // why the target hasn't got that
	Since       time.Time
	PullRequest *PullRequest // that has landed slices, and isn't merged yet; nil for none
	Known       bool         // there is a lane
	Target      string       // the branch that the work is for, by its short name
}

// Has says whether the target has a slice that has landed.
func (s Status) Has(slice string) bool {
	return !slices.Contains(s.Undelivered, slice) && !(s.PullRequest != nil && slices.Contains(s.PullRequest.IDs(), slice))
}

// Waiting names what the target hasn't got, for people: "S-1", "S-2 (taken back)".
func (s Status) Waiting() []string {
	list := slices.Clone(s.Undelivered)
	for _, id := range s.Undone {
		list = append(list, id+" (taken back)")
	}
	return list
}

// ReadStatus reads the lane's file in a project's runs directory. Where there is none, nothing is undelivered.
func ReadStatus(runs string) Status {
	var s Status
	f, err := readFile(runs)
	if err != nil {
		return s
	}
	s.Known, s.Target = true, worktree.Short(f.Target)
	for _, u := range f.Undelivered {
		if s.Undelivered = slices.DeleteFunc(s.Undelivered, func(id string) bool { return id == u.Slice }); u.Undone {
			s.Undone = append(s.Undone, u.Slice)
		} else {
			s.Undelivered = append(s.Undelivered, u.Slice)
		}
	}
	s.Reason, s.PullRequest = f.Reason, f.PullRequest
	if f.Since != nil {
		s.Since = *f.Since
	}
	return s
}

func filePath(runs string) string { return filepath.Join(runs, "lane.json") }

func readFile(runs string) (*file, error) {
	data, err := durable.ReadFile(filePath(runs))
	if err != nil {
		return nil, err
	}
	f := &file{}
	if err := json.Unmarshal(data, f); err != nil {
		return nil, err
	}
	if f.SchemaVersion != 1 {
		return nil, errors.New("another version of gl wrote it")
	}
	return f, nil
}

// readFile reads what the last worker has left. A file that can't be used, or is of another target, is as good as none: then git says
// what isn't delivered.
func (l *Lane) readFile(ctx context.Context) (*file, error) {
	f, err := readFile(l.Project.Runs.Files.Dir())
	switch {
	case err == nil && f.Target == l.Repo.Target() && f.Tip != "":
		if l.Repo.LaneMark() == (worktree.LaneMark{}) { // gl had none before
			err = l.Repo.MarkLane(worktree.LaneMark{Tip: f.Tip, Next: f.Next})
		}
		return f, err
	case err == nil && f.Target == l.Repo.Target():
		mark := l.Repo.LaneMark() // "" where it hasn't moved the lane yet
		f.Tip, f.Next = mark.Tip, mark.Next
		return f, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		l.tell("%s: %v", filePath("runs"), err)
	}
	f = &file{SchemaVersion: 1, Target: l.Repo.Target()}
	target, err := git.ResolveCommit(ctx, l.Repo.Common, l.Repo.Target())
	tip := ""
	if err == nil {
		tip, err = git.ResolveCommit(ctx, l.Repo.Common, l.Repo.LaneRef())
	}
	mark := l.Repo.LaneMark()
	if f.Tip, f.Next = mark.Tip, mark.Next; err != nil || tip == "" || target == "" || mark.Moved(tip) {
		return f, err
	}
	landed, err := git.Landings(ctx, l.Repo.Common, target, tip)
	for _, c := range landed {
		f.Undelivered = append(f.Undelivered, Undelivered{Slice: c.Slice, Commit: c.Commit, At: c.When})
	}
	return f, err
}

func (l *Lane) save() error {
	data, err := json.MarshalIndent(l.file, "", "  ")
	if err != nil {
		return err
	}
	if err := l.Project.Runs.Files.Prepare(); err != nil {
		return err
	}
	return durable.WriteFile(filePath(l.Project.Runs.Files.Dir()), append(data, '\n'), 0o600)
}

// leave gives up what was needed for the tests.
func (l *Lane) leave() error {
	if l.bed == nil {
		return nil
	}
	err := l.bed.Close()
	l.bed = nil
	return err
}

// endTests ends what a worker that was killed has left running.
func (l *Lane) endTests() error {
	if l.file.Tests == nil {
		return nil
	}
	tree := proc.Tree{Root: *l.file.Tests, Marks: []string{testrun.MarkOf(l.Project.Root, testsMark)}}
	if _, err := tree.End(endGrace); err != nil {
		return fmt.Errorf("what the tests left running can't be ended: %w", err)
	}
	l.file.Tests = nil
	return l.save()
}

// testsMark tells the lane's tests from others of the project: see testrun.Spec.
const testsMark = "lane"

// endGrace is between TERM and KILL.
const endGrace = 5 * time.Second

// undeliver notes that slices are about to be in the lane.
func (l *Lane) undeliver(slice, commit string) error {
	return l.deliverLater(Undelivered{Slice: slice, Commit: commit})
}

func (l *Lane) deliverLater(u Undelivered) error {
	if slices.ContainsFunc(l.file.Undelivered, func(o Undelivered) bool { return o.Slice == u.Slice && o.Commit == u.Commit }) {
		return nil
	}
	u.At = now()
	l.file.Undelivered = append(l.file.Undelivered, u)
	return l.save()
}

// sorted are a map's keys in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
