package git

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
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
	out, err := at(ctx, common, long, "", "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)
	list := split(out)
	if err != nil {
		if exitCode(err) == 1 && len(list) > 1 {
			return "", &ConflictError{ours, theirs, list[1:]}
		}
		return "", err
	}
	if len(list) != 1 || !isID(list[0]) {
		return "", fmt.Errorf("git merge-tree says %q", out)
	}
	identity, err := identityOptions(Author{}, func(args ...string) (string, error) { return at(ctx, common, time.Minute, "", args...) })
	if err != nil {
		return "", err
	}
	args := append(identity, "commit-tree", "--no-gpg-sign", list[0], "-p", ours, "-p", theirs)
	out, err = at(ctx, common, time.Minute, message+"\n", args...)
	return strings.TrimSpace(out), err
}

// identityOptions are the options that give commits a name where the person has none; run asks git.
func identityOptions(by Author, run func(args ...string) (string, error)) ([]string, error) {
	if by.Name == "" || by.Email == "" {
		by = Author{"Greenlight", "greenlight@localhost"}
	}
	// The options win over every file, so git is asked first.
	out, err := run("config", "-z", "--get-regexp", `^user\.(name|email)$`)
	if err != nil && exitCode(err) != 1 {
		return nil, err
	}
	var options []string
	for _, s := range [][2]string{{"user.name", by.Name}, {"user.email", by.Email}} {
		if !slices.ContainsFunc(split(out), func(e string) bool {
			k, v, _ := strings.Cut(e, "\n")
			return k == s[0] && strings.TrimSpace(v) != ""
		}) {
			options = append(options, "-c", s[0]+"="+s[1])
		}
	}
	return options, nil
}
