package trackertest

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A file is one file's content, and when it was written.
type file struct{ text, stamp string }

// ours says whether the file is gl's own: only this machine needs it, and nobody else writes it.
func ours(rel string) bool {
	return strings.HasPrefix(rel, ".greenlight/runs/") || rel == ".greenlight/.lock" || rel == ".greenlight/.gitignore" ||
		strings.HasSuffix(rel, ".lock") || path.Base(rel) == ".gitignore"
}

// tree is all files of the project, by their path from the root.
func (s *subject) tree() map[string]file {
	s.Helper()
	all := map[string]file{}
	s.check(filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		rel, _ := filepath.Rel(s.root, path)
		all[filepath.ToSlash(rel)] = file{string(data), stampOf(info)}
		return err
	}))
	return all
}

// stampOf tells one state of a file from another.
func stampOf(info fs.FileInfo) string {
	return fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano())
}

// shared is the tree without gl's own files, and without what is generated.
func (s *subject) shared() map[string]string {
	s.Helper()
	all := map[string]string{}
	for rel, f := range s.tree() {
		if !ours(rel) && rel != s.tr.Traits().View {
			all[rel] = f.text
		}
	}
	return all
}

// sameShared complains about files that aren't as they were.
func (s *subject) sameShared(what string, before map[string]string) {
	s.Helper()
	after := s.shared()
	for _, rel := range allKeys(before, after) {
		if before[rel] != after[rel] {
			s.Errorf("%s changed %s: %q became %q", what, rel, before[rel], after[rel])
		}
	}
}

// sameTree complains about files that were written at all, gl's own lock aside.
func (s *subject) sameTree(what string, before map[string]file) {
	s.Helper()
	after := s.tree()
	for _, rel := range allKeys(before, after) {
		if strings.HasSuffix(rel, ".lock") {
			continue
		}
		if before[rel].text != after[rel].text {
			s.Errorf("%s changed %s: %q became %q", what, rel, before[rel].text, after[rel].text)
		} else if before[rel] != after[rel] {
			s.Errorf("%s wrote %s, which hadn't changed", what, rel)
		}
	}
}

func allKeys[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// has says whether a word is in any file that people see.
func (s *subject) has(word string) bool {
	for _, text := range s.shared() {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// watched is what file events would be about: the entries of the directories that the tracker names, and of gl's own,
// which everybody watches.
func (s *subject) watched(dirs ...string) map[string]string {
	s.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		list, err := os.ReadDir(dir)
		s.check(err)
		for _, d := range list {
			if info, err := d.Info(); err == nil {
				all[filepath.Join(dir, d.Name())] = stampOf(info)
			}
		}
	}
	return all
}

// changedLines are the lines that are in only one of the two texts, in a shortest edit from one to the other.
func changedLines(before, after string) []string {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	common := make([][]int, len(a)+1) // length of the longest common part of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var changed []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			changed = append(changed, a[i])
			i++
		default:
			changed = append(changed, b[j])
			j++
		}
	}
	return changed
}

// onlyDeclared complains about changed lines that the format didn't declare.
func (s *subject) onlyDeclared(what string, before map[string]string) {
	s.Helper()
	after := s.shared()
	for _, rel := range allKeys(before, after) {
		for _, line := range changedLines(before[rel], after[rel]) {
			if !s.declared(rel, line) {
				s.Errorf("%s changed a line of %s that isn't its own: %q", what, rel, line)
			}
		}
	}
}

func (s *subject) declared(rel, line string) bool {
	for pattern, lines := range s.f.Writes {
		if ok, _ := path.Match(pattern, rel); ok && regexp.MustCompile(lines).MatchString(line) {
			return true
		}
	}
	return false
}
