package git

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// Stats says of each commit what it changes, a merge against its first parent. Commits that aren't there are left out.
func Stats(ctx context.Context, dir string, commits []string) (map[string]DiffStat, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	out, err := runInput(ctx, dir, strings.Join(commits, "\n")+"\n", "log", "--no-walk=unsorted", "--stdin", "--ignore-missing", "--diff-merges=first-parent",
		"--no-ext-diff", "--no-textconv", "--no-renames", "--numstat", "--format=%x00%H")
	if err != nil {
		return nil, err
	}
	stats := map[string]DiffStat{}
	for _, part := range strings.Split(out, "\x00")[1:] {
		lines := strings.Split(part, "\n")
		var s DiffStat
		for _, l := range lines[1:] {
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
		stats[lines[0]] = s
	}
	return stats, nil
}
