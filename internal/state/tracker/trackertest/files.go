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

// A file is the content and modification time of a file.
type file struct{ text, stamp string }

// ours reports whether the file is gl's own: needed only on this machine, and written only by
// gl.
func ours(rel string) bool {
	return strings.HasPrefix(rel, ".greenlight/runs/") || rel == ".greenlight/.lock" || rel == ".greenlight/.gitignore" ||
		strings.HasSuffix(rel, ".lock") || path.Base(rel) == ".gitignore"
}

// tree returns all files of the project, by their path from the root.
func (s *subject) tree() map[string]file {
	s.t.Helper()
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

// stampOf distinguishes states of a file.
func stampOf(info fs.FileInfo) string {
	return fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano())
}

// shared returns the tree without gl's own files and generated ones.
func (s *subject) shared() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	for rel, f := range s.tree() {
		if !ours(rel) && rel != s.tr.Traits().View {
			all[rel] = f.text
		}
	}
	return all
}

// sameShared reports an error for each changed file.
func (s *subject) sameShared(what string, before map[string]string) {
	s.t.Helper()
	after := s.shared()
	for _, rel := range allKeys(before, after) {
		if before[rel] != after[rel] {
			s.t.Errorf("%s changed %s: %q became %q", what, rel, before[rel], after[rel])
		}
	}
}

// sameTree reports an error for each file that was written at all, other than gl's own lock.
func (s *subject) sameTree(what string, before map[string]file) {
	s.t.Helper()
	after := s.tree()
	for _, rel := range allKeys(before, after) {
		if strings.HasSuffix(rel, ".lock") {
			continue
		}
		if before[rel].text != after[rel].text {
			s.t.Errorf("%s changed %s: %q became %q", what, rel, before[rel].text, after[rel].text)
		} else if before[rel] != after[rel] {
			s.t.Errorf("%s wrote %s, which hadn't changed", what, rel)
		}
	}
}

func allKeys[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// has reports whether a word is in any file that people see.
func (s *subject) has(word string) bool {
	for _, text := range s.shared() {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// watched returns what file events would report: the entries of the directories that the
// tracker names, and of gl's own, which are always watched.
func (s *subject) watched(dirs ...string) map[string]string {
	s.t.Helper()
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

// changedLines returns the lines that are in only one of the two texts, in a shortest edit from
// one to the other.
func changedLines(before, after string) []string {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	// length of the longest common subsequence of a[i:] and b[j:]
	common := make([][]int, len(a)+1)
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

// onlyDeclared reports an error for each changed line that the format didn't declare.
func (s *subject) onlyDeclared(what string, before map[string]string) {
	s.t.Helper()
	after := s.shared()
	for _, rel := range allKeys(before, after) {
		for _, line := range changedLines(before[rel], after[rel]) {
			if !s.declared(rel, line) {
				s.t.Errorf("%s changed a line of %s that isn't its own: %q", what, rel, line)
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
