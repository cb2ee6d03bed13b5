package drift

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git's names of objects, no secret
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/state/guard"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A State describes the tests in a directory, and what decides how they run, as bytes on the disk:
// that is what a test run in a checkout uses, whatever git tracks.
type State struct {
	Files Files `json:"files"` // by path in the directory
	// Texts are the contents of files whose text is compared, by id.
	Texts map[string][]byte `json:"texts,omitempty"`
	// Ignored are the directories that git ignores, and that aren't looked at.
	Ignored []string `json:"ignored,omitempty"`
	// Rules are the ids of the .gitignore files by which it does.
	Rules map[string]string `json:"rules,omitempty"`

	kept int // bytes of Texts
}

// mostKept is how many bytes of text a state keeps.
const mostKept = 64 << 20

// Look finds the state of a directory. An agent can change what git ignores, so directories that
// were ignored in an earlier state stay ignored, and others are ignored only if the rules are the
// same. before may be nil.
func (c *Comparer) Look(ctx context.Context, root string, before *State) (*State, error) {
	s := &State{Files: Files{}, Texts: map[string][]byte{}, Rules: map[string]string{}}
	ignored, err := git.IgnoredDirs(ctx, root)
	if err != nil { // no repository: what is skipped by name must do
		ignored = nil
	}
	skip := ignored
	if before != nil {
		skip = before.Ignored
	}
	if err := c.walk(s, root, skip); err != nil {
		return nil, err
	}
	if before != nil && maps.Equal(before.Rules, s.Rules) && !slices.Equal(ignored, skip) {
		s.Files, s.Texts, s.kept = Files{}, map[string][]byte{}, 0
		if err := c.walk(s, root, slices.Concat(skip, ignored)); err != nil {
			return nil, err
		}
	}
	s.Ignored = skip
	return s, c.addCommand(s, root)
}

// skipped are the names of directories that contain no tests of a project's own.
var skipped = append([]string{".git", ".greenlight", "node_modules", ".venv", "venv"},
	worktree.Caches...)

func (c *Comparer) walk(s *State, root string, skip []string) error {
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(root, file)
		if err != nil || relErr != nil {
			if errors.Is(err, fs.ErrNotExist) { // gone meanwhile
				return nil
			}
			return errors.Join(err, relErr)
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (slices.Contains(skipped, d.Name()) || slices.Contains(skip, rel) ||
				isRepository(file)) {
				return fs.SkipDir
			}
			return nil
		}
		if d.Name() == ".gitignore" {
			id, _, err := read(file)
			s.Rules[rel] = id.ID
			return ignoreGone(err)
		}
		if c.Protects(rel) || guard.HoldsTests(rel) {
			return ignoreGone(s.add(root, rel))
		}
		return nil
	})
}

// isRepository reports whether a directory is the top of a repository of its own.
func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// addCommand adds the files that the test command runs.
func (c *Comparer) addCommand(s *State, root string) error {
	var failed error
	for _, f := range guard.CommandFiles(c.Command, func(rel string) ([]byte, bool) {
		if !filepath.IsLocal(filepath.FromSlash(rel)) || strings.HasPrefix(rel, ".greenlight/") {
			return nil, false
		}
		f, text, err := read(filepath.Join(root, filepath.FromSlash(rel)))
		return text, err == nil && f.IsRegular()
	}) {
		failed = errors.Join(failed, ignoreGone(s.add(root, path.Clean(f.Path))))
	}
	return failed
}

// add adds a file, with its text if that is compared.
func (s *State) add(root, rel string) error {
	f, text, err := read(filepath.Join(root, filepath.FromSlash(rel)))
	if err != nil || f == (git.File{}) {
		return err
	}
	s.Files[rel] = f
	if data := guard.IsTestData(rel) && !guard.RunnerConfig(rel) && !guard.IsTest(rel); !data &&
		f.IsRegular() && s.kept+len(text) <= mostKept {
		s.Texts[f.ID] = text
		s.kept += len(text)
	}
	return nil
}

// read returns a file as git would store it, without filters; the zero File for anything but a file
// or a link.
func read(file string) (f git.File, text []byte, err error) {
	info, err := os.Lstat(file)
	switch {
	case err != nil:
		return f, nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		f.Mode = "120000"
		target, err := os.Readlink(file)
		f.ID = blobID([]byte(target))
		return f, nil, err
	case !info.Mode().IsRegular():
		return f, nil, nil
	}
	if f.Mode = "100644"; info.Mode()&0o100 != 0 {
		f.Mode = "100755"
	}
	text, err = os.ReadFile(file)
	f.ID = blobID(text)
	return f, text, err
}

// blobID returns git's id of a file's content.
func blobID(data []byte) string {
	sum := sha1.New() //nolint:gosec // as above
	fmt.Fprintf(sum, "blob %d\x00", len(data))
	sum.Write(data)
	return hex.EncodeToString(sum.Sum(nil))
}

// Changed returns the paths that differ in two states, sorted.
func Changed(a, b Files) []string {
	var paths []string
	for p, f := range a {
		if b[p] != f {
			paths = append(paths, p)
		}
	}
	for p := range b {
		if _, there := a[p]; !there {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// Texts is a Reader of states.
func Texts(states ...*State) Reader {
	return func(_ context.Context, ids []string, most int64, f func(string, []byte) error) error {
		for _, id := range ids {
			for _, s := range states {
				if text, there := s.Texts[id]; there {
					if int64(len(text)) <= most {
						if err := f(id, bytes.Clone(text)); err != nil {
							return err
						}
					}
					break
				}
			}
		}
		return nil
	}
}
