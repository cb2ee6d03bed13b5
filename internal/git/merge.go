package git

import (
	"context"
	"strings"
)

// A ConflictError says which files of two commits can't be merged.
type ConflictError struct {
	Ours, Theirs string
	Paths        []string
}

func (e *ConflictError) Error() string { return "conflict in " + strings.Join(e.Paths, ", ") }

// Merge makes a commit that merges theirs into ours, without a checkout and without any ref. Where one of the two contains the
// other, it is that one. The error is a *ConflictError where they can't be merged.
func Merge(ctx context.Context, common, ours, theirs, message string) (string, error) {
	for _, pair := range [][2]string{{ours, theirs}, {theirs, ours}} {
		_, err := at(ctx, common, long, "", "merge-base", "--is-ancestor", pair[0], pair[1])
		if err == nil {
			return pair[1], nil
		}
		if exitCode(err) != 1 {
			return "", err
		}
	}
	tree, conflicts, err := MergeTree(ctx, common, ours, theirs, nil)
	if err == nil && len(conflicts) > 0 {
		err = &ConflictError{ours, theirs, conflicts}
	}
	if err != nil {
		return "", err
	}
	return CommitTree(ctx, common, NewCommit{Tree: tree, Parents: []string{ours, theirs}, Message: message})
}
