package git

import (
	"context"
	"strings"
)

// Trees returns the trees of commits, by commit: of the named ones or, with all, also of all
// commits below them.
func Trees(ctx context.Context, common string, all bool,
	commits ...string) (map[string]string, error) {
	args := []string{"rev-list", "--format=%T", "--stdin"}
	if !all {
		args = append(args, "--no-walk")
	}
	if len(commits) == 0 {
		return nil, nil
	}
	out, err := at(ctx, common, long, strings.Join(commits, "\n")+"\n", args...)
	if err != nil {
		return nil, err
	}
	trees, commit := map[string]string{}, ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if id, is := strings.CutPrefix(line, "commit "); is {
			commit = id
		} else if commit != "" {
			trees[commit] = line
		}
	}
	return trees, nil
}
