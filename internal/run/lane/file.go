package lane

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/proc"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A file is runs/lane.json: what the queue knows that git doesn't. The queue works without it;
// commands read it to show what isn't merged yet.
type file struct {
	SchemaVersion int           `json:"schema_version"`
	Target        string        `json:"target"`                // refs/heads/…
	Tip           string        `json:"tip,omitempty"`         // where the worker left the lane,
	Next          string        `json:"next,omitempty"`        // or was about to move it
	Seen          string        `json:"seen,omitempty"`        // last target commit in the lane
	Undelivered   []Undelivered `json:"undelivered,omitempty"` // landed, and not in the target yet
	Reason        string        `json:"reason,omitempty"`      // why they aren't
	Since         *time.Time    `json:"since,omitempty"`
	PullRequest   *PullRequest  `json:"pull_request,omitempty"` // that is open, as far as gl knows
	Pushed        string        `json:"pushed,omitempty"`       // last pushed commit of the lane
	Closed        string        `json:"closed,omitempty"`       // pull request that a person closed
	Dropped       []Undelivered `json:"dropped,omitempty"`      // taken out, and must stay out
	Tests         *proc.ID      `json:"tests,omitempty"`        // the process of the tests that run
	Manifests     string        `json:"manifests,omitempty"`    // that setup last ran for
	Committed     *time.Time    `json:"committed,omitempty"`    // when state was last committed,
	Own           string        `json:"own,omitempty"`          // as this commit of the target
	Moved         string        `json:"moved,omitempty"`        // where others moved the target
	Undoing       *undoNote     `json:"undoing,omitempty"`      // a slice that is being taken back
	Again         []Undelivered `json:"again,omitempty"`        // to be taken back again

	runs *attempt.Store // where save writes it; nil for a reader
}

// Undelivered is a slice that has landed, or one that was taken back.
type Undelivered struct {
	Slice  string `json:"slice"`
	Commit string `json:"commit"`
	Undone bool   `json:"undone,omitempty"` // the commit reverts it

	At time.Time `json:"at"` // when it was about to land, or to be taken back
}

// A Status is what other packages know of the queue.
type Status struct {
	Undelivered []string // slices that have landed, and aren't in the target yet
	Undone      []string // slices that were taken back, and may still be in the target
	Dropped     []string // commits that gl land --reset took out of the queue's branch
	Reason      string   // why the target doesn't have it
	Since       time.Time
	PullRequest *PullRequest // that has landed slices, and isn't merged yet; nil for none
	Known       bool         // there is a lane
	Target      string       // the branch that the work is for, by its short name
}

// Has reports whether the target has a slice that has landed.
func (s Status) Has(slice string) bool {
	return !slices.Contains(s.Undelivered, slice) &&
		!(s.PullRequest != nil && slices.Contains(s.PullRequest.IDs(), slice))
}

// Waiting lists what the target doesn't have yet, for people: "S-1", "S-2 (taken back)".
func (s Status) Waiting() []string {
	list := slices.Clone(s.Undelivered)
	for _, id := range s.Undone {
		list = append(list, id+" (taken back)")
	}
	return list
}

// Command is the command that goes on with what waits.
func (s Status) Command() string { return plan.LandCommand(s.Reason) }

// ReadStatus reads the queue's file in a project's runs directory. Without it, nothing is
// undelivered.
func ReadStatus(runs string) Status {
	var s Status
	f, err := readFile(runs)
	if err != nil {
		return s
	}
	s.Known, s.Target = true, worktree.Short(f.Target)
	for _, u := range f.Undelivered {
		if s.Undelivered = slices.DeleteFunc(s.Undelivered,
			func(id string) bool { return id == u.Slice }); u.Undone {
			s.Undone = append(s.Undone, u.Slice)
		} else {
			s.Undelivered = append(s.Undelivered, u.Slice)
		}
	}
	for _, d := range f.Dropped {
		if !d.Undone {
			s.Dropped = append(s.Dropped, d.Commit)
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

// openFile reads what the last worker left, for the process that has the lock. If the file can't be
// read or is about another target, it lists the undelivered slices from git.
func openFile(ctx context.Context, pr *project.Project, repo *worktree.Repo,
	tell func(string, ...any)) (*file, error) {
	f, err := findFile(ctx, pr, repo, tell)
	if f != nil {
		f.runs = pr.Runs
	}
	return f, err
}

func findFile(ctx context.Context, pr *project.Project, repo *worktree.Repo,
	tell func(string, ...any)) (*file, error) {
	f, err := readFile(pr.Runs.Files.Dir())
	switch {
	case err == nil && f.Target == repo.Target() && f.Tip != "":
		if repo.Queue.Mark() == (worktree.LaneMark{}) { // gl had none before
			err = repo.Queue.SetMark(worktree.LaneMark{Tip: f.Tip, Next: f.Next})
		}
		return f, err
	case err == nil && f.Target == repo.Target():
		mark := repo.Queue.Mark() // "" where it hasn't moved the lane yet
		f.Tip, f.Next = mark.Tip, mark.Next
		return f, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		tell("%s: %v", filePath("runs"), err)
	}
	f = &file{SchemaVersion: 1, Target: repo.Target()}
	target, err := git.ResolveCommit(ctx, repo.Git.Common, repo.Target())
	tip := ""
	if err == nil {
		tip, err = git.ResolveCommit(ctx, repo.Git.Common, repo.Queue.Ref())
	}
	mark := repo.Queue.Mark()
	if f.Tip, f.Next = mark.Tip, mark.Next; err != nil || tip == "" || target == "" ||
		mark.Moved(tip) {
		return f, err
	}
	landed, err := git.Landings(ctx, repo.Git.Common, target, tip)
	for _, c := range landed {
		f.Undelivered = append(f.Undelivered,
			Undelivered{Slice: c.Slice, Commit: c.Commit, At: c.When})
	}
	return f, err
}

// save writes the file. Only openFile, under the lock, returns one with runs.
func (f *file) save() error {
	if err := f.runs.Files.Prepare(); err != nil {
		return err
	}
	return durable.WriteJSON(filePath(f.runs.Files.Dir()), f)
}

// undeliver notes that a slice is about to land in the queue's branch.
func (f *file) undeliver(slice, commit string) error {
	return f.deliverLater(Undelivered{Slice: slice, Commit: commit})
}

func (f *file) deliverLater(u Undelivered) error {
	if slices.ContainsFunc(f.Undelivered, func(o Undelivered) bool {
		return o.Slice == u.Slice && o.Commit == u.Commit
	}) {
		return nil
	}
	u.At = now()
	f.Undelivered = append(f.Undelivered, u)
	return f.save()
}

// see notes that the queue's branch has the target's commit.
func (f *file) see(target string) error {
	if f.Seen == target {
		return nil
	}
	f.Seen = target
	return f.save()
}

// noReason forgets why the target doesn't have what has landed.
func (f *file) noReason() error {
	if f.Reason == "" {
		return nil
	}
	f.Reason, f.Since = "", nil
	return f.save()
}

// sorted returns a map's keys in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
