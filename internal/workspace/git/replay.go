package git

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A replayed commit is a commit of a branch, with the tree that it has elsewhere.
type replayed struct {
	tree    string
	author  signature
	message string
}

// Replay makes the commits that tip has and base doesn't again on base, one after the other, as git
// rebase does: without merges, and without those that change nothing there. Paths for which keep is
// true are base's. message may change each commit's message. ok is false if one doesn't apply, or
// if together they don't result in the tree want; then nothing is made.
func Replay(ctx context.Context, common, base, tip, want string, keep func(path string) bool,
	message func(text string, last bool) string) (commits []string, ok bool, err error) {
	out, err := at(ctx, common, long, "", "rev-list", "--reverse", "--topo-order", "--no-merges",
		tip, "^"+base)
	if err != nil {
		return nil, false, err
	}
	tree, err := at(ctx, common, long, "", "rev-parse", "--verify", "--end-of-options",
		base+"^{tree}")
	if err != nil {
		return nil, false, err
	}
	tree = strings.TrimSpace(tree)
	var list []replayed
	for _, c := range strings.Fields(out) {
		parent, err := ResolveCommit(ctx, common, c+"^")
		if err != nil || parent == "" {
			return nil, false, err
		}
		// The result so far as a commit on c's parent: merging c into it applies the difference of
		// the two.
		onto, err := CommitTree(ctx, common,
			NewCommit{Tree: tree, Parents: []string{parent}, Message: "gl: replayed so far"})
		if err != nil {
			return nil, false, err
		}
		next, conflicts, err := MergeTree(ctx, common, onto, c, keep)
		if err != nil || len(conflicts) > 0 {
			return nil, false, err
		}
		if next == tree {
			continue
		}
		tree = next
		r := replayed{tree: tree}
		if r.author, r.message, err = said(ctx, common, c); err != nil {
			return nil, false, err
		}
		list = append(list, r)
	}
	if tree != want || len(list) == 0 {
		return nil, false, nil
	}
	parent := base
	for i, r := range list {
		parent, err = CommitTree(ctx, common, NewCommit{Tree: r.tree, Parents: []string{parent},
			Message: message(r.message, i == len(list)-1), author: r.author})
		if err != nil {
			return nil, false, err
		}
		commits = append(commits, parent)
	}
	return commits, true, nil
}

// A signature is the author of a commit, and when it was made.
type signature struct{ name, email, date string }

func (s signature) env() []string {
	if s.name == "" && s.email == "" {
		return nil
	}
	return []string{"GIT_AUTHOR_NAME=" + s.name, "GIT_AUTHOR_EMAIL=" + s.email,
		"GIT_AUTHOR_DATE=" + s.date}
}

// said returns a commit's author and message.
func said(ctx context.Context, common, commit string) (signature, string, error) {
	out, err := at(ctx, common, time.Minute, "", "log", "--no-walk", "--no-show-signature",
		"--no-notes", "--no-color", "--encoding=UTF-8", "--format=%an%x00%ae%x00%ad%x00%B",
		"--date=raw", commit, "--")
	if err != nil {
		return signature{}, "", err
	}
	f := strings.SplitN(out, "\x00", 4)
	if len(f) != 4 {
		return signature{}, "", errors.Join(fmt.Errorf("git log says %.200q", out))
	}
	if f[0] == "" {
		f[0] = "unknown" // git makes no commit without a name
	}
	return signature{f[0], f[1], f[2]}, strings.TrimSpace(f[3]), nil
}

// Message returns a commit's message.
func Message(ctx context.Context, common, commit string) (string, error) {
	_, text, err := said(ctx, common, commit)
	return text, err
}

// ours are the trailers that gl writes.
var ours = []string{"Slice", "Attempt", "Project", "Verified", "Batch", "Undone", "Reverts"}

var trailerLine = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9-]+: `) })

// WithTrailers returns an existing message of a commit with trailers. Trailers in it that look like
// gl's own are left out.
func WithTrailers(message string, trailers ...Trailer) string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(message)) {
		line = strings.TrimRight(line, "\r\n")
		key, _, is := strings.Cut(line, ":")
		if is && slices.ContainsFunc(ours,
			func(o string) bool { return strings.EqualFold(o, strings.TrimSpace(key)) }) {
			continue
		}
		lines = append(lines, line)
	}
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	if text == "" {
		text = "(no message)"
	}
	rest := strings.TrimPrefix(LandingMessage("x", trailers...), "x\n\n")
	if rest == "" {
		return text + "\n"
	}
	last := text[strings.LastIndex(text, "\n\n")+1:]
	if last = strings.TrimSpace(last); last != text { // trailers are one paragraph
		all := true
		for line := range strings.Lines(last) {
			all = all && trailerLine().MatchString(line)
		}
		if all {
			return text + "\n" + rest
		}
	}
	return text + "\n\n" + rest
}
