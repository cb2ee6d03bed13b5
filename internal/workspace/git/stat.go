package git

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// Stats returns for each commit what it changes, a merge compared with its first parent. Missing
// commits are left out.
func Stats(ctx context.Context, dir string, commits []string) (map[string]DiffStat, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	parts, err := perCommit(ctx, dir, commits, "--numstat")
	if err != nil {
		return nil, err
	}
	stats := map[string]DiffStat{}
	for hash, text := range parts {
		var s DiffStat
		for _, l := range strings.Split(text, "\n") {
			f := strings.SplitN(l, "\t", 3)
			if len(f) != 3 {
				continue
			}
			added, errA := strconv.Atoi(f[0])
			removed, errB := strconv.Atoi(f[1])
			if err := errors.Join(errA, errB); err != nil { // "-" for a binary file
				added, removed = 0, 0
			}
			s.Files, s.Insertions, s.Deletions = s.Files+1, s.Insertions+added, s.Deletions+removed
		}
		stats[hash] = s
	}
	return stats, nil
}

// Patches returns the patches of the commits, a merge's against its first parent. Missing commits
// are left out.
func Patches(ctx context.Context, dir string, commits []string) (map[string]string, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	return perCommit(ctx, dir, commits, "--patch")
}

// perCommit returns what git log prints for each commit.
func perCommit(ctx context.Context, dir string, commits []string,
	what string) (map[string]string, error) {
	out, err := runInput(ctx, dir, strings.Join(commits, "\n")+"\n", "log", "--ignore-missing",
		"--no-walk=unsorted", "--stdin", "--diff-merges=first-parent",
		"--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", what, "--format=%x00%H")
	if err != nil {
		return nil, err
	}
	parts := map[string]string{}
	for _, part := range strings.Split("\n"+out, "\n\x00")[1:] { // no line of a patch begins so
		hash, text, _ := strings.Cut(part, "\n")
		parts[hash] = strings.Trim(text, "\n")
	}
	return parts, nil
}
