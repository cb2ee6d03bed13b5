package slice

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/statedir"
)

// CheckView says how STATE.md stands: stale where the next write would change it, handWritten where it isn't generated
// and that write would save it as a backup first. In a legacy project it is neither.
func (s *Store) CheckView() (stale, handWritten bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, text, format, err := s.render()
	if err != nil || format == legacyFormat {
		return false, false, err
	}
	return !old.there || old.text != text, old.there && !generated(old.text) && !blank(old.text), nil
}

// Unfinished lists, relative to the root, what a migration that was killed has left. Whoever writes next clears it
// away or completes it; while a migration runs, its own are among them.
func (s *Store) Unfinished() []string {
	var left []string
	stages, _ := filepath.Glob(filepath.Join(escapeGlob(s.path("")), stagePrefix+"*"))
	for _, dir := range stages {
		left = append(left, stateRel(filepath.Base(dir)))
	}
	if _, err := os.Lstat(s.journalPath()); err == nil {
		left = append(left, sliceRel(journalFile))
	}
	return left
}

// Ignored are paths, relative to the root, that belong to this machine: git ought to ignore them all.
func Ignored() []string {
	return []string{stateRel(".lock"), stateRel("runs/live"), stateRel(".STATE.md.tmp"), sliceRel(".S-1.md.tmp")}
}

// AddIgnores adds to .greenlight/.gitignore the lines that it lacks, under the lock, and says which.
func (s *Store) AddIgnores(ctx context.Context) (added []string, err error) {
	err = s.locked(ctx, func() error {
		return s.rewrite(".gitignore", func(old []byte) ([]byte, error) {
			var text string
			if text, added = withIgnores(string(old)); len(added) == 0 {
				return nil, nil
			}
			return []byte(text), nil
		})
	})
	return added, err
}

// withIgnores is the text with the lines of ours that it lacks. In a file that somebody wrote, its own name is not
// among them: they keep it in git.
func withIgnores(text string) (with string, added []string) {
	var have []string
	for line := range strings.Lines(text) {
		have = append(have, strings.TrimSpace(line))
	}
	with = text
	if with != "" && !strings.HasSuffix(with, "\n") {
		with += "\n"
	}
	for line := range strings.Lines(statedir.Ignore) {
		name := chomp(line)
		if slices.Contains(have, name) || name == ".gitignore" && text != "" {
			continue
		}
		with += line
		added = append(added, name)
	}
	return with, added
}
