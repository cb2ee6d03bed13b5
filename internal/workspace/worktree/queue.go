package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"greenlight/internal/workspace/git"
)

// What awaits the lane is in runs/, which people remove. So git has a note of each: a commit on the slice's branch whose message is what is
// to be put back.

// A Note is what is kept of an attempt that awaits the lane.
type Note struct {
	Ref     string          `json:"-"`
	Commit  string          `json:"-"`
	Attempt json.RawMessage `json:"attempt"` // its record
	Lineage *Lineage        `json:"lineage"`
}

func (r *Repo) notes() string { return "refs/gl/landing/" + r.project }

func (r *Repo) noteRef(system, slice string, attempt int) string {
	return "refs/gl/landing/" + r.slicePart(system, slice) + "/" + strconv.Itoa(attempt)
}

// NoteQueued keeps a note of the lineage's attempt, once.
func (r *Repo) NoteQueued(ctx context.Context, l *Lineage, attempt int, record []byte) error {
	tip, err := git.ResolveCommit(ctx, r.Common, l.Branch)
	if err != nil || tip == "" {
		return err
	}
	data, err := json.Marshal(Note{Attempt: record, Lineage: l})
	if err != nil {
		return err
	}
	commit, err := git.CommitTree(ctx, r.Common, git.NewCommit{Tree: tip + "^{tree}", Parents: []string{tip}, Message: fmt.Sprintf("gl: %s awaits the lane\n\n%s", l.Slice, data)})
	if err != nil {
		return err
	}
	// What the agent has committed itself is looked at, and held, here: the queue merges it, and takes it for granted.
	err = git.ChangeWhole(ctx, r.Common, "gl: awaits the lane", []string{l.Base}, git.RefChange{Name: r.noteRef(l.System, l.Slice, attempt), New: commit})
	if errors.Is(err, git.ErrRefExists) {
		return nil
	}
	return err
}

// DropNote forgets the note of an attempt that is through, if there is one.
func (r *Repo) DropNote(ctx context.Context, system, slice string, attempt int) error {
	name := r.noteRef(system, slice, attempt)
	commit, err := git.ResolveCommit(ctx, r.Common, name)
	if err != nil || commit == "" {
		return err
	}
	return git.ChangeRefs(ctx, r.Common, "gl: through the lane", git.RefChange{Name: name, Old: commit})
}

// Notes lists the notes that can be read.
func (r *Repo) Notes(ctx context.Context) ([]Note, error) {
	refs, err := git.Refs(ctx, r.Common, r.notes()+"/")
	if err != nil {
		return nil, err
	}
	var list []Note
	for _, ref := range refs {
		text, err := git.Message(ctx, r.Common, ref.Commit)
		if err != nil {
			return nil, err
		}
		_, data, _ := strings.Cut(text, "\n\n")
		n := Note{Ref: ref.Name, Commit: ref.Commit}
		if json.Unmarshal([]byte(data), &n) == nil && n.Lineage != nil && r.check(n.Lineage) == nil {
			list = append(list, n)
		}
	}
	return list, nil
}

// PutBack writes a note's lineage, if its file is gone.
func (r *Repo) PutBack(n Note) error {
	_, err := r.Get(n.Lineage.System, n.Lineage.Slice)
	if errors.Is(err, fs.ErrNotExist) {
		return r.Save(n.Lineage)
	}
	return err
}
