package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/text/conflict"
)

// unresolved returns the unresolved paths of an unfinished merge: files in which git's marks are
// left and, of conflicts without marks (one side deleted a file, or it is binary), those that
// aren't staged. A file without marks counts as resolved, staged or not.
func (ix *indexer) unresolved(ctx context.Context, merging []string) ([]string, error) {
	stages := map[string]string{}
	for _, e := range ix.entries {
		if e.stage != '0' {
			stages[e.path] += string(e.stage)
		}
	}
	staged := map[string]bool{}
	out, _, err := ix.g.at(ctx, "", "staged", time.Minute, nil, "ls-files", "-z", "--resolve-undo")
	if err != nil {
		return nil, err
	}
	for _, line := range split(out) { // MODE ID STAGE\tPATH
		if _, p, ok := strings.Cut(line, "\t"); ok && stages[p] == "" {
			staged[p], stages[p] = true, ""
		}
	}
	var left []string
	for p, have := range stages {
		info, err := os.Lstat(filepath.Join(ix.g.w.Path, p))
		if err != nil { // git leaves a file, so it was removed on purpose
			continue
		}
		if info.Mode().IsRegular() {
			marks, binary := fileMarks(filepath.Join(ix.g.w.Path, p))
			if marks {
				if marks, err = ix.newMarks(ctx, p, merging); err != nil {
					return nil, err
				}
			}
			if !marks && (staged[p] || !binary && strings.HasSuffix(have, "23")) {
				continue
			}
		} else if staged[p] {
			continue
		}
		left = append(left, p)
	}
	slices.Sort(left)
	return left, nil
}

// fileMarks reports whether a file has marks of a conflict, and whether it is binary.
func fileMarks(file string) (marks, binary bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return true, false
	}
	text := string(data)
	line, _ := conflict.Find(text)
	return line > 0, strings.Contains(text[:min(len(text), 8000)], "\x00")
}

// newMarks reports whether the marks in the file are new: a text about conflicts has marks on one
// of the sides already.
func (ix *indexer) newMarks(ctx context.Context, path string, merging []string) (bool, error) {
	for _, c := range append([]string{ix.rev.head}, merging...) {
		text, err := ix.g.git(ctx, time.Minute, nil, "cat-file", "blob", c+":"+path)
		if err != nil && ctx.Err() != nil {
			return false, err
		}
		if line, _ := conflict.Find(text); err == nil && line > 0 {
			return false, nil
		}
	}
	return true, nil
}
