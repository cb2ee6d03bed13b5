package ops

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/slice"
	"greenlight/internal/workspace/git"
)

// Reject puts a slice that awaits approval back, and records the reasons among its decisions: one
// line of text, comments on lines, or both. With force it also takes one that is being verified or
// has stalled.
func Reject(ctx context.Context, pr *project.Project, id, text string, comments []attempt.Comment,
	force bool) error {
	var st *plan.State
	err := edit(ctx, pr, id, func(m moment, f *slice.File) error {
		st = m.st
		if err := mayDecide(m, force); err != nil {
			return err
		}
		if m.st.Class == plan.Done {
			if recs, err := pr.Runs.History(id); err == nil &&
				slices.ContainsFunc(recs, func(r *attempt.Record) bool {
					return r.Landing != nil && r.Landing.Commit != ""
				}) {
				return fmt.Errorf("%s is complete and merged: run gl undo %s TEXT", id, id)
			}
			return fmt.Errorf("%s is complete: to build it again, run gl state set %s status=pending", id, id)
		}
		if text != "" {
			if err := f.AppendToSection("Decisions", dated(m.now, "Rejected: "+text)); err != nil {
				return err
			}
		}
		for _, c := range comments {
			if err := f.AppendToSection("Decisions", dated(m.now,
				fmt.Sprintf("Rejected: %s:%d: %s", c.File, c.Line, c.Text))); err != nil {
				return err
			}
		}
		return f.SetAll([][2]string{{"status", "pending"}, {"step", "none"}, {"waiting_for", ""},
			{"session", ""}})
	})
	if err != nil {
		return err
	}
	reason := text
	if reason == "" && len(comments) > 0 {
		reason = fmt.Sprintf("%s:%d: %s", comments[0].File, comments[0].Line, comments[0].Text)
	}
	tell(pr, st, journal.Event{Kind: journal.Rejected, Reason: reason})
	return amend(ctx, pr, func(w *attempt.Writer) error { return w.MarkRejected(id, text, comments) })
}

// longestQuote limits the quoted part of a line.
const longestQuote = 200

// ParsePlace reads FILE:LINE, with a line from 1 on.
func ParsePlace(text string) (file string, line int, ok bool) {
	i := strings.LastIndexByte(text, ':')
	if i < 1 {
		return "", 0, false
	}
	line, err := strconv.Atoi(text[i+1:])
	return text[:i], line, err == nil && line > 0
}

// Comment returns a comment on a line of a slice's current work, in its worktree or in the
// checkout. file is relative to the repository's top, as gl diff shows it.
func Comment(ctx context.Context, pr *project.Project, id, file string, line int,
	text string) (attempt.Comment, error) {
	c := attempt.Comment{File: filepath.ToSlash(filepath.Clean(file)), Line: line, Text: text}
	l, err := Built(ctx, pr, id)
	if err != nil {
		return c, err
	}
	top := pr.Root
	if l != nil {
		top = l.Path
	} else if root, err := git.Root(ctx, pr.Root); err == nil && root != "" {
		top = root
	}
	if !filepath.IsLocal(file) {
		return c, badArgument("%s is not a path in the repository", file)
	}
	f, err := os.OpenInRoot(top, file) // links in an agent's work can't lead out of it
	if err != nil {
		return c, fmt.Errorf("%s isn't a file of %s that can be read: %w", file, id, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return c, fmt.Errorf("%s of %s isn't a regular file", file, id)
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		if n++; n == line {
			c.Has = strings.TrimSpace(sanitize.Line(lines.Text()))
			if len(c.Has) > longestQuote {
				c.Has = strings.ToValidUTF8(c.Has[:longestQuote], "") + "…"
			}
			return c, nil
		}
	}
	if err := lines.Err(); err != nil {
		return c, fmt.Errorf("read %s: %w", file, err)
	}
	return c, badArgument("%s has %d lines in %s, not %d", file, n, id, line)
}
