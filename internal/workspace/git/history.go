package git

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// A Commit is one commit in a line.
type Commit struct {
	Hash    string `json:"hash"`    // abbreviated
	Date    string `json:"date"`    // of the author: 2026-03-01
	Subject string `json:"subject"` // as it was written
}

// Log returns the last n commits of the branch in dir that touch one of the paths, which are
// relative to dir; all commits where there are no paths. A repository without commits has none.
func Log(ctx context.Context, dir string, n int, paths ...string) ([]Commit, error) {
	if _, known, err := findByFiles(ctx, dir); err != nil {
		return nil, err
	} else if !known {
		if _, err := run(ctx, dir, "rev-parse", "--git-dir"); err != nil {
			return nil, err
		}
	}
	if _, err := run(ctx, dir, "rev-parse", "-q", "--verify", "HEAD^{commit}"); err != nil {
		return nil, nil // nothing is committed yet
	}
	args := []string{"--literal-pathspecs", "log", "-z", "--no-show-signature", "--no-color",
		"--date=short",
		commitFormat, "-n", strconv.Itoa(n), "HEAD", "--"}
	out, err := run(ctx, dir, append(args, paths...)...)
	if err != nil {
		return nil, err
	}
	return readCommits(out), nil
}

// Between returns the commits that to has and from doesn't, the newest first. Both are names or ids
// of commits.
func Between(ctx context.Context, common, from, to string) ([]Commit, error) {
	out, err := at(ctx, common, time.Minute, "", "log", "-z", "--no-show-signature", "--no-notes",
		"--no-color", "--date=short", commitFormat, "^"+from, to, "--")
	return readCommits(out), err
}

// commitFormat is what readCommits reads.
const commitFormat = "--format=%h%x09%ad%x09%s"

func readCommits(out string) (commits []Commit) {
	for _, line := range split(out) {
		f := append(strings.SplitN(line, "\t", 3), "", "")
		commits = append(commits, Commit{Hash: f[0], Date: f[1], Subject: f[2]})
	}
	return commits
}

// A Tag is a name for a commit.
type Tag struct {
	Name string `json:"name"`
	Hash string `json:"hash"` // of the commit, abbreviated
	Date string `json:"date"` // of the tag, or of the commit where the tag has none: 2026-03-01
}

// Tags lists all tags of the repository that dir is in, the newest first.
func Tags(ctx context.Context, dir string) ([]Tag, error) {
	out, err := run(ctx, dir, "for-each-ref", "--sort=-creatordate",
		"--format=%(refname:strip=2)%09%(objectname:short)%09%(*objectname:short)%09%(creatordate:short)", "refs/tags")
	if err != nil {
		return nil, err
	}
	var tags []Tag
	for line := range strings.Lines(out) {
		f := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), "", "", "")
		t := Tag{Name: f[0], Hash: f[1], Date: f[3]}
		if f[2] != "" { // an annotated tag: the commit behind it
			t.Hash = f[2]
		}
		tags = append(tags, t)
	}
	return tags, nil
}

// DirtyAt is Dirty for some paths only, which are relative to dir.
func DirtyAt(ctx context.Context, dir string, paths ...string) ([]string, error) {
	literal := make([]string, len(paths))
	for i, p := range paths {
		literal[i] = ":(literal)" + p
	}
	out, err := status(ctx, dir, append([]string{"--untracked-files=all", "--"}, literal...)...)
	if err != nil {
		return nil, err
	}
	return readStatus(out), nil
}

// Branch returns the name of the branch that is checked out in dir; "" for none (a detached HEAD).
func Branch(ctx context.Context, dir string) (string, error) {
	out, err := run(ctx, dir, "branch", "--show-current")
	return strings.TrimSuffix(out, "\n"), err
}
