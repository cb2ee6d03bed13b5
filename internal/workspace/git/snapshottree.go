package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// An entry is one of an index.
type entry struct {
	tag   byte // as ls-files -v has it: lower case for assume-unchanged, S for skip-worktree
	mode  string
	id    string
	stage byte
	path  string
}

const gitlink = "160000"

// steady are the settings with which a tree is made.
var steady = settings(
	"core.splitIndex=false", // would write a shared index into the admin directory
	"index.sparse=false",
	"core.protectNTFS=false", // would refuse names that this file system has
	"core.protectHFS=false",
	"core.logAllRefUpdates=false",
	"gc.auto=0",
	"submodule.recurse=false",
)

// git runs git on the worktree with the temporary index, and objects go into quarantine.
func (s *snapshot) git(ctx context.Context, limit time.Duration, in io.Reader, args ...string) (string, error) {
	out, _, err := s.at(ctx, "", "index", limit, in, args...)
	return out, err
}

// at is git with a directory below the worktree's top as work tree, and one of the temporary indexes.
func (s *snapshot) at(ctx context.Context, below, index string, limit time.Duration, in io.Reader, args ...string) (out, errOut string, err error) {
	return s.start(ctx, below, index, call{limit: limit, stdin: in}, args...)
}

func (s *snapshot) start(ctx context.Context, below, index string, c call, args ...string) (out, errOut string, err error) {
	dir := filepath.Join(s.w.Path, below)
	c.dir, c.env = dir, append(s.q.env(), "GIT_INDEX_FILE="+filepath.Join(s.q.dir, index))
	off, err := ownOptions(ctx, s.w.Common, s.gitDir, dir)
	if err != nil {
		return "", "", err
	}
	out, errOut, err = c.run(ctx, slices.Concat(steady, off, []string{"--git-dir=" + s.gitDir, "--work-tree=" + dir}, args)...)
	if err != nil && unanswered(err) == nil && s.full(errOut) {
		left, _ := durable.Free(s.q.objects)
		err = errors.Join(&SpaceError{s.w.Path, s.bytes, left}, err)
	}
	return out, errOut, err
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// tree makes a tree of what is in the worktree.
func (s *snapshot) tree(ctx context.Context) (string, error) {
	if err := s.copyIndex(ctx); err != nil {
		return "", err
	}
	names, err := s.beginIndex(ctx)
	if err != nil {
		return "", err
	}
	listed, err := s.list(ctx, "", "-o", "-m", "-d", "--exclude-standard")
	if err != nil {
		return "", err
	}
	found := s.sort(slices.Concat(names, listed))
	s.repositories()
	if err := s.nested(ctx, found); err != nil {
		return "", err
	}
	if err := s.fits(found.add); err != nil {
		return "", err
	}
	if len(found.gone) > 0 {
		if _, err := s.git(ctx, time.Minute, nulled(found.gone), "update-index", "--force-remove", "-z", "--stdin"); err != nil {
			return "", err
		}
	}
	if err := s.add(ctx, found.add); err != nil {
		return "", err
	}
	if len(found.links) > 0 {
		if _, err := s.git(ctx, time.Minute, nulled(found.links), "update-index", "--add", "--replace", "-z", "--index-info"); err != nil {
			return "", err
		}
	}
	slices.SortFunc(s.Failed, func(a, b Failure) int { return strings.Compare(a.Path, b.Path) })
	s.Failed = slices.CompactFunc(s.Failed, func(a, b Failure) bool { return a.Path == b.Path })
	if s.o.Exact && s.head != "" && len(found.add)+len(found.gone)+len(found.nested) == 0 {
		return s.headTree, nil // the temporary index began with it
	}
	return s.writeTree(ctx, "index")
}

func (s *snapshot) writeTree(ctx context.Context, index string) (string, error) {
	// What is missing shows when the refs are written. A partial clone hasn't got every object.
	out, _, err := s.at(ctx, "", index, time.Minute, nil, "write-tree", "--missing-ok")
	return strings.TrimSpace(out), err
}

// copyIndex copies the worktree's index with its time: by that, git knows which files may have changed in the same instant,
// and reads them again.
func (s *snapshot) copyIndex(ctx context.Context) error {
	if s.noIndex {
		return nil
	}
	to := []string{filepath.Join(s.q.dir, "index"), filepath.Join(s.q.dir, "staged")}
	if s.o.FilesOnly {
		to = to[:1]
	}
	err := copyFile(filepath.Join(s.w.Admin, "index"), to...)
	if err == nil {
		if x, known := readIndexFile(to[0], len(s.headTree)); known {
			s.plain, s.entries = x, x.entries
			return nil
		}
		var out string
		if out, err = s.git(ctx, time.Minute, nil, "ls-files", "-z", "-v", "-s"); unanswered(err) != nil {
			return err
		} else if err == nil {
			s.entries, err = readEntries(out)
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC):
		return err
	}
	s.noIndex, s.entries = true, nil // missing or corrupt
	for _, name := range []string{"index", "staged"} {
		if err := os.Remove(filepath.Join(s.q.dir, name)); ignoreMissing(err) != nil {
			return err
		}
	}
	return nil
}

func copyFile(from string, to ...string) error {
	in, err := durable.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	for _, name := range to {
		if _, err := in.Seek(0, io.SeekStart); err != nil {
			return err
		}
		out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		if err = errors.Join(err, out.Close()); err != nil {
			return err
		}
		if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
			return err
		}
	}
	return nil
}

func readEntries(out string) ([]entry, error) {
	var list []entry
	for _, line := range split(out) {
		head, path, ok := strings.Cut(line, "\t")
		f := strings.Fields(head)
		if !ok || len(f) != 4 || len(f[0]) != 1 || len(f[3]) != 1 {
			return nil, fmt.Errorf("git ls-files says %q", line)
		}
		list = append(list, entry{f[0][0], f[1], f[2], f[3][0], path})
	}
	return list, nil
}

// beginIndex makes the temporary index ready to be compared with the worktree, and returns paths that git's comparison
// wouldn't show.
func (s *snapshot) beginIndex(ctx context.Context) ([]string, error) {
	var names []string
	if s.o.Exact && !s.noIndex && s.head != "" {
		if s.plain != nil && s.plain.isTree(s.headTree) {
			s.staged = s.headTree
			return nil, os.WriteFile(filepath.Join(s.q.dir, "index"), s.plain.bare(), 0o600)
		}
	}
	for _, e := range s.entries {
		if e.stage != '0' || s.o.Exact { // an exact index begins without what is only staged
			names = append(names, e.path)
		}
	}
	if s.o.Exact || s.noIndex {
		have, err := s.parentsIndex(ctx)
		return slices.DeleteFunc(names, func(p string) bool { return have[p] }), err
	}
	if err := s.compareAll(ctx); err != nil || s.parent == "" || s.o.FilesOnly {
		return names, err
	}
	// What is no longer in the index and is ignored would look removed, though it is there.
	out, err := s.git(ctx, time.Minute, nil, "diff-index", "--cached", "--no-renames", "--diff-filter=D", "--name-only", "-z", s.parent, "--")
	return append(names, split(out)...), err
}

// isClean says, of a worktree whose files are HEAD's, that its index is HEAD's too and hides nothing, and that no merge is unfinished.
func (s *snapshot) isClean() bool {
	return s.staged != "" && s.staged == s.headTree && !slices.ContainsFunc(s.entries, func(e entry) bool { return e.tag != 'H' }) &&
		!slices.ContainsFunc(mergeFiles, func(name string) bool { return paths.Exists(filepath.Join(s.w.Admin, name)) })
}

// readParent makes the temporary index that of the parent's tree, empty without a parent: it knows nothing of the files yet.
func (s *snapshot) readParent(ctx context.Context) error {
	args := []string{"read-tree", "--empty"}
	if s.parent != "" {
		args = []string{"read-tree", s.parent + "^{tree}"}
	}
	if err := os.Remove(filepath.Join(s.q.dir, "index")); ignoreMissing(err) != nil {
		return err
	}
	_, err := s.git(ctx, time.Minute, nil, args...)
	return err
}

// parentsIndex is readParent, and returns the paths in it.
func (s *snapshot) parentsIndex(ctx context.Context) (have map[string]bool, err error) {
	if err := s.readParent(ctx); err != nil {
		return nil, err
	}
	out, err := s.git(ctx, time.Minute, nil, "ls-files", "-z", "-v", "-s")
	if err != nil {
		return nil, err
	}
	begun, err := readEntries(out)
	if err != nil {
		return nil, err
	}
	if s.noIndex {
		s.entries = begun
	}
	have = map[string]bool{}
	for _, e := range begun {
		have[e.path] = true
	}
	return have, nil
}

// compareAll has git compare the files, too, that the index says not to look at, if they are there.
func (s *snapshot) compareAll(ctx context.Context) error {
	var assumed, skipped []string
	for _, e := range s.entries {
		if e.tag >= 'A' && e.tag <= 'Z' && e.tag != 'S' {
			continue
		}
		if _, err := os.Lstat(filepath.Join(s.w.Path, e.path)); err != nil && e.tag != 'h' {
			continue
		}
		assumed = append(assumed, e.path)
		if e.tag == 'S' || e.tag == 's' {
			skipped = append(skipped, e.path)
		}
	}
	for option, list := range map[string][]string{"--no-assume-unchanged": assumed, "--no-skip-worktree": skipped} {
		if len(list) == 0 {
			continue
		}
		if _, err := s.git(ctx, time.Minute, nulled(list), "update-index", option, "-z", "--stdin"); err != nil {
			return err
		}
	}
	return nil
}

// fail notes that a path isn't kept.
func (s *snapshot) fail(path, why string) { s.Failed = append(s.Failed, Failure{path, why}) }

// reason is an error without the path, which is told beside it.
func reason(err error) string {
	if e := new(fs.PathError); errors.As(err, &e) {
		err = e.Err
	}
	return err.Error()
}

// closed is what ls-files says, and goes on. It cuts long lines off.
var closed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^warning: could not open directory '(.*?)(?:/': (.*))?$`)
})

// list runs ls-files in a directory below the worktree's top, and returns paths from the top. What lies in directories that
// can't be read isn't kept.
func (s *snapshot) list(ctx context.Context, below string, args ...string) ([]string, error) {
	index := "index"
	if below != "" {
		index = "none"
	}
	out, errOut, err := s.start(ctx, below, index, s.reading(), append([]string{"ls-files", "-z"}, args...)...)
	if err != nil {
		return nil, err
	}
	for _, m := range closed().FindAllStringSubmatch(errOut, -1) {
		why := "the directory can't be opened"
		if m[2] != "" {
			why += ": " + m[2]
		}
		s.fail(filepath.Join(below, m[1])+"/", why)
	}
	names := split(out)
	if below != "" {
		for i, n := range names {
			names[i] = below + "/" + n
		}
	}
	return names, nil
}

// reading is a call that compares the index with the worktree. It may take as long as it takes to read all files.
func (s *snapshot) reading() call {
	return call{limit: leastFill, more: func(context.Context) time.Duration { return moveLimit(s.sizes()) }}
}

func (s *snapshot) sizes() int64 {
	var sum int64
	for _, e := range s.entries {
		if info, err := os.Lstat(filepath.Join(s.w.Path, e.path)); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum
}

// found is what is to be done with paths.
type found struct {
	add    []string // files and symbolic links
	gone   []string
	nested []string // directories that are repositories
	links  []string // entries of submodules that stay as they are, as update-index --index-info reads them
}

// sort finds out what is at the paths now.
func (s *snapshot) sort(names []string) *found {
	f := &found{}
	links := map[string]string{}
	for _, e := range s.entries {
		if e.mode == gitlink {
			links[e.path] = e.id
		}
	}
	sparse := map[string]bool{}
	for _, e := range s.entries {
		if e.tag == 'S' || e.tag == 's' {
			sparse[e.path] = true
		}
	}
	real := map[string]bool{".": true}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		path := strings.TrimSuffix(name, "/")
		info, err := s.lstat(path, real)
		switch {
		case hasDotGit(path):
			if err == nil {
				s.fail(path, badName)
			}
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			if !sparse[path] && !s.noIndexSparse() {
				f.gone = append(f.gone, path)
			}
		case err != nil:
			s.fail(path, reason(err))
		case info.IsDir() && name != path:
			f.nested = append(f.nested, path)
		case info.IsDir():
			if links[path] == "" {
				f.gone = append(f.gone, path) // a directory where a file was; what is in it is listed by itself
				if _, err := os.Lstat(filepath.Join(s.w.Path, path, ".git")); err == nil {
					f.nested = append(f.nested, path) // but for a repository: git takes that for the file
				}
			}
		case info.Mode().IsRegular(), info.Mode()&fs.ModeSymlink != 0:
			f.add = append(f.add, path)
		default: // a FIFO, a socket, a device
			f.gone = append(f.gone, path)
		}
	}
	for path := range links {
		f.nested = append(f.nested, path)
	}
	slices.Sort(f.nested)
	f.nested = slices.Compact(f.nested)
	return f
}

// lstat doesn't look behind symbolic links in the directories of a path: git doesn't either.
func (s *snapshot) lstat(path string, real map[string]bool) (fs.FileInfo, error) {
	for dir := filepath.Dir(path); !real[dir]; dir = filepath.Dir(dir) {
		info, err := os.Lstat(filepath.Join(s.w.Path, dir))
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, fs.ErrNotExist
		}
		real[dir] = true
	}
	return os.Lstat(filepath.Join(s.w.Path, path))
}

const badName = "git can't have a file of this name"

// hasDotGit says whether a part of the path is a name that git has for itself, in whatever case.
func hasDotGit(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

// fits compares what is to be hashed with the limit and with the space on the disk.
func (s *snapshot) fits(names []string) error {
	var largest string
	var most int64
	s.bytes = 0
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(s.w.Path, name))
		if err != nil {
			continue
		}
		s.bytes += info.Size()
		if info.Size() > most {
			most, largest = info.Size(), name
		}
	}
	if s.o.MaxBytes > 0 && s.bytes > s.o.MaxBytes {
		return &TooBigError{s.w.Path, s.bytes, s.o.MaxBytes, largest}
	}
	if left, ok := durable.Free(s.q.objects); ok && s.bytes > left {
		return &SpaceError{s.w.Path, s.bytes, left}
	}
	return nil
}

// add puts files into the index. One that fails doesn't cost the others: git stops at the first, so halves are tried.
func (s *snapshot) add(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	_, errOut, err := s.at(ctx, "", "index", moveLimit(s.bytes), nulled(names), "update-index", "--add", "--remove", "--replace", "-z", "--stdin")
	switch {
	case err == nil:
		if strings.Contains(errOut, "Ignoring path ") {
			return s.findIgnored(ctx, names)
		}
		return nil
	case unanswered(err) != nil, errors.Is(err, syscall.ENOSPC):
		return err
	case len(names) > 1:
		half := len(names) / 2
		return errors.Join(s.add(ctx, names[:half]), s.add(ctx, names[half:]))
	}
	return s.addRaw(ctx, names[0])
}

// full says whether git failed because of the disk rather than a file. It doesn't always say so.
func (s *snapshot) full(words string) bool {
	return strings.Contains(words, "No space left on device") || strings.Contains(words, "Disk quota exceeded") ||
		strings.Contains(words, "Out of diskspace") || strings.Contains(words, "unable to write new index file") ||
		strings.Contains(words, "unable to write loose object") || durable.Room(s.q.objects) != nil
}

// findIgnored lists as failed what git left out because of its name.
func (s *snapshot) findIgnored(ctx context.Context, names []string) error {
	have, err := s.list(ctx, "", "-c")
	if err != nil {
		return err
	}
	for _, n := range names {
		if _, err := os.Lstat(filepath.Join(s.w.Path, n)); err == nil && !slices.Contains(have, n) {
			s.fail(n, badName)
		}
	}
	return nil
}

// addRaw puts a file into the index as it is: its filter fails, or its line endings would be lost.
func (s *snapshot) addRaw(ctx context.Context, name string) error {
	path := filepath.Join(s.w.Path, name)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := s.git(ctx, time.Minute, nulled([]string{name}), "update-index", "--force-remove", "-z", "--stdin")
		return err
	}
	if err != nil {
		s.fail(name, reason(err))
		return nil
	}
	if !info.Mode().IsRegular() {
		s.fail(name, "isn't a file any more")
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		s.fail(name, reason(err))
		return nil
	}
	defer f.Close()
	out, _, err := s.at(ctx, "", "index", moveLimit(info.Size()), f, "hash-object", "-w", "--no-filters", "--stdin")
	if err == nil {
		mode := "100644"
		if info.Mode()&0o100 != 0 {
			mode = "100755"
		}
		line := mode + " " + strings.TrimSpace(out) + "\t" + name
		_, err = s.git(ctx, time.Minute, nulled([]string{line}), "update-index", "--add", "--replace", "-z", "--index-info")
	}
	if unanswered(err) != nil || errors.Is(err, syscall.ENOSPC) {
		return err
	}
	if err != nil {
		s.fail(name, err.Error())
	}
	return nil
}

func nulled(names []string) io.Reader {
	if len(names) == 0 {
		return nil
	}
	return strings.NewReader(strings.Join(names, "\x00") + "\x00")
}

// noIndexSparse says that without an index nothing tells what a sparse checkout left out: then what is absent is kept.
func (s *snapshot) noIndexSparse() bool {
	if !s.noIndex {
		return false
	}
	out, err := s.git(context.Background(), time.Minute, nil, "config", "--type=bool", "core.sparseCheckout")
	return unanswered(err) != nil || err == nil && strings.TrimSpace(out) == "true"
}

// indexTree is the tree that is staged, "" for none. A path in conflict is there as one side has it: its sides are in commits.
func (s *snapshot) indexTree(ctx context.Context) (string, error) {
	if s.noIndex || s.staged != "" {
		return s.staged, nil
	}
	var sides []string
	for i, e := range s.entries {
		if e.stage == '0' || i+1 < len(s.entries) && s.entries[i+1].path == e.path && e.stage != '2' {
			continue
		}
		if len(sides) == 0 || !strings.HasSuffix(sides[len(sides)-1], "\t"+e.path) {
			sides = append(sides, e.mode+" "+e.id+"\t"+e.path)
		}
	}
	if len(sides) > 0 {
		if _, _, err := s.at(ctx, "", "staged", time.Minute, nulled(sides), "update-index", "--replace", "-z", "--index-info"); err != nil {
			return "", err
		}
	}
	var err error
	s.staged, err = s.writeTree(ctx, "staged")
	return s.staged, err
}
