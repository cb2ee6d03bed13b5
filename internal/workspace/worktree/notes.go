package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"greenlight/internal/workspace/git"
)

// Records of attempts that await the merge queue are in runs/, which people remove. So git has a
// note of each: a commit on the slice's branch whose message has what is needed to restore the
// record.

// A Note restores an attempt that awaits the merge queue.
type Note struct {
	Ref     string          `json:"-"`
	Commit  string          `json:"-"`
	Attempt json.RawMessage `json:"attempt"` // its record
	Lineage *Lineage        `json:"lineage"`
}

// NoteLanded records that a lineage's work, tip, is in a commit of the lane, for cases in which git
// can't tell by ancestry. The note is a commit that has both as its parents. It counts once the
// lane has that commit.
func (q *Queue) NoteLanded(ctx context.Context, l *Lineage, tip, commit string) error {
	id, err := git.CommitTree(ctx, q.common, git.NewCommit{Tree: commit + "^{tree}",
		Parents: []string{commit, tip}, Message: "gl: " + l.Slice + " merged"})
	if err != nil {
		return err
	}
	name := q.at.landed(l.System, l.Slice) + "/" + strconv.Itoa(l.N)
	old, err := git.ResolveCommit(ctx, q.common, name)
	if err != nil {
		return err
	}
	return git.ChangeWhole(ctx, q.common, "gl: merged", []string{commit, tip},
		git.RefChange{Name: name, New: id, Old: old})
}

// joined returns holders, and for work that landed in another shape the note of that: see
// NoteLanded.
func (q *Queue) joined(ctx context.Context, system, slice string, n int,
	holders []git.Ref) ([]git.Ref, error) {
	join, err := git.ResolveCommit(ctx, q.common, q.at.landed(system, slice)+"/"+strconv.Itoa(n))
	if err != nil || join == "" {
		return holders, err
	}
	commit, err := git.ResolveCommit(ctx, q.common, join+"^1")
	if err != nil || commit == "" {
		return holders, err
	}
	for _, h := range holders {
		in, err := git.IsAncestor(ctx, q.common, commit, h.Commit)
		if err != nil {
			return nil, err
		}
		if in {
			return append(holders, git.Ref{Name: h.Name, Commit: join}), nil
		}
	}
	return holders, nil
}

// NoteQueued keeps a note of the lineage's attempt, once.
func (q *Queue) NoteQueued(ctx context.Context, l *Lineage, attempt int, record []byte) error {
	tip, err := git.ResolveCommit(ctx, q.common, l.Branch)
	if err != nil || tip == "" {
		return err
	}
	data, err := json.Marshal(Note{Attempt: record, Lineage: l})
	if err != nil {
		return err
	}
	commit, err := git.CommitTree(ctx, q.common,
		git.NewCommit{Tree: tip + "^{tree}", Parents: []string{tip},
			Message: fmt.Sprintf("gl: %s awaits the merge queue\n\n%s", l.Slice, data)})
	if err != nil {
		return err
	}
	// The agent's own commits are checked and kept from pruning here: the merge queue relies on
	// them.
	err = git.ChangeWhole(ctx, q.common, "gl: awaits the merge queue", []string{l.Base},
		git.RefChange{Name: q.at.noteRef(l.System, l.Slice, attempt), New: commit})
	if errors.Is(err, git.ErrRefExists) {
		return nil
	}
	return err
}

// DropNote removes the note of an attempt that has left the queue, if there is one.
func (q *Queue) DropNote(ctx context.Context, system, slice string, attempt int) error {
	name := q.at.noteRef(system, slice, attempt)
	commit, err := git.ResolveCommit(ctx, q.common, name)
	if err != nil || commit == "" {
		return err
	}
	return git.ChangeRefs(ctx, q.common, "gl: through the merge queue",
		git.RefChange{Name: name, Old: commit})
}

// Notes lists the notes that can be read.
func (q *Queue) Notes(ctx context.Context) ([]Note, error) {
	refs, err := git.Refs(ctx, q.common, q.at.notes()+"/")
	if err != nil {
		return nil, err
	}
	var list []Note
	for _, ref := range refs {
		text, err := git.Message(ctx, q.common, ref.Commit)
		if err != nil {
			return nil, err
		}
		_, data, _ := strings.Cut(text, "\n\n")
		n := Note{Ref: ref.Name, Commit: ref.Commit}
		if json.Unmarshal([]byte(data), &n) == nil && n.Lineage != nil &&
			q.at.check(n.Lineage) == nil {
			list = append(list, n)
		}
	}
	return list, nil
}
