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

// An indexer makes trees: of the worktree's files, and of its index. It works on copies of the
// index.
type indexer struct {
	g       *scratchGit
	o       *SnapshotOptions
	rev     *revisions
	entries []entry
	noIndex bool       // the worktree's index can't be read
	staged  string     // the index's tree, once it is known
	plain   *indexFile // the index, where git wasn't needed to read it
}

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

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

func (ix *indexer) writeTree(ctx context.Context, index string) (string, error) {
	// Missing objects show when the refs are written. A partial clone doesn't have every object.
	out, _, err := ix.g.at(ctx, "", index, time.Minute, nil, "write-tree", "--missing-ok")
	return strings.TrimSpace(out), err
}

// copyIndex copies the worktree's index with its time, which tells git which files may have changed
// in the same instant and must be read again.
func (ix *indexer) copyIndex(ctx context.Context) error {
	if ix.g.adminless {
		ix.noIndex = true
		return nil
	}
	to := []string{filepath.Join(ix.g.q.dir, "index"), filepath.Join(ix.g.q.dir, "staged")}
	if ix.o.FilesOnly {
		to = to[:1]
	}
	err := copyFile(filepath.Join(ix.g.w.Admin, "index"), to...)
	if err == nil {
		if x, known := readIndexFile(to[0], len(ix.rev.headTree)); known {
			ix.plain, ix.entries = x, x.entries
			return nil
		}
		var out string
		if out, err = ix.g.git(ctx, time.Minute, nil, "ls-files", "-z", "-v",
			"-s"); unanswered(err) != nil {
			return err
		} else if err == nil {
			ix.entries, err = readEntries(out)
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC):
		return err
	}
	ix.noIndex, ix.entries = true, nil // missing or corrupt
	for _, name := range []string{"index", "staged"} {
		if err := os.Remove(filepath.Join(ix.g.q.dir, name)); ignoreMissing(err) != nil {
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

// beginIndex prepares the temporary index for the comparison with the worktree, and returns paths
// that git's comparison wouldn't show.
func (ix *indexer) beginIndex(ctx context.Context) ([]string, error) {
	var names []string
	if ix.o.Exact && !ix.noIndex && ix.rev.head != "" {
		if ix.plain != nil && ix.plain.isTree(ix.rev.headTree) {
			ix.staged = ix.rev.headTree
			return nil, os.WriteFile(filepath.Join(ix.g.q.dir, "index"), ix.plain.bare(), 0o600)
		}
	}
	for _, e := range ix.entries {
		if e.stage != '0' || ix.o.Exact { // an exact index begins without what is only staged
			names = append(names, e.path)
		}
	}
	if ix.o.Exact || ix.noIndex {
		have, err := ix.parentsIndex(ctx)
		return slices.DeleteFunc(names, func(p string) bool { return have[p] }), err
	}
	if err := ix.compareAll(ctx); err != nil || ix.rev.parent == "" || ix.o.FilesOnly {
		return names, err
	}
	// Ignored files that are no longer in the index would look removed, though they are there.
	out, err := ix.g.git(ctx, time.Minute, nil, "diff-index", "--cached", "--no-renames",
		"--diff-filter=D", "--name-only", "-z", ix.rev.parent, "--")
	return append(names, split(out)...), err
}

// isClean reports, of a worktree whose files are HEAD's, whether its index is HEAD's too and hides
// nothing, and no merge is unfinished.
func (ix *indexer) isClean() bool {
	return ix.staged != "" && ix.staged == ix.rev.headTree &&
		!slices.ContainsFunc(ix.entries, func(e entry) bool { return e.tag != 'H' }) &&
		!slices.ContainsFunc(mergeFiles,
			func(name string) bool { return paths.Exists(filepath.Join(ix.g.w.Admin, name)) })
}

// readParent fills the temporary index from the parent's tree, or empties it without a parent. It
// has no metadata of files yet.
func (ix *indexer) readParent(ctx context.Context) error {
	args := []string{"read-tree", "--empty"}
	if ix.rev.parent != "" {
		args = []string{"read-tree", ix.rev.parent + "^{tree}"}
	}
	if err := os.Remove(filepath.Join(ix.g.q.dir, "index")); ignoreMissing(err) != nil {
		return err
	}
	_, err := ix.g.git(ctx, time.Minute, nil, args...)
	return err
}

// parentsIndex calls readParent, and returns the paths in the index.
func (ix *indexer) parentsIndex(ctx context.Context) (have map[string]bool, err error) {
	if err := ix.readParent(ctx); err != nil {
		return nil, err
	}
	out, err := ix.g.git(ctx, time.Minute, nil, "ls-files", "-z", "-v", "-s")
	if err != nil {
		return nil, err
	}
	begun, err := readEntries(out)
	if err != nil {
		return nil, err
	}
	if ix.noIndex {
		ix.entries = begun
	}
	have = map[string]bool{}
	for _, e := range begun {
		have[e.path] = true
	}
	return have, nil
}

// compareAll makes git compare also the files that the index marks as not to be looked at, if they
// exist.
func (ix *indexer) compareAll(ctx context.Context) error {
	var assumed, skipped []string
	for _, e := range ix.entries {
		if e.tag >= 'A' && e.tag <= 'Z' && e.tag != 'S' {
			continue
		}
		if _, err := os.Lstat(filepath.Join(ix.g.w.Path, e.path)); err != nil && e.tag != 'h' {
			continue
		}
		assumed = append(assumed, e.path)
		if e.tag == 'S' || e.tag == 's' {
			skipped = append(skipped, e.path)
		}
	}
	for option, list := range map[string][]string{"--no-assume-unchanged": assumed,
		"--no-skip-worktree": skipped} {
		if len(list) == 0 {
			continue
		}
		if _, err := ix.g.git(ctx, time.Minute, nulled(list), "update-index", option, "-z",
			"--stdin"); err != nil {
			return err
		}
	}
	return nil
}

// reason returns an error's text without the path, which is shown beside it.
func reason(err error) string {
	if e := new(fs.PathError); errors.As(err, &e) {
		err = e.Err
	}
	return err.Error()
}

// closed matches the warning of ls-files about a directory, after which it goes on. Git cuts long
// lines off.
var closed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^warning: could not open directory '(.*?)(?:/': (.*))?$`)
})

// list runs ls-files in a directory below the worktree's top, and returns paths from the top. Files
// in unreadable directories aren't kept.
func (ix *indexer) list(ctx context.Context, below string, args ...string) ([]string, error) {
	index := "index"
	if below != "" {
		index = "none"
	}
	out, errOut, err := ix.g.start(ctx, below, index, ix.reading(),
		append([]string{"ls-files", "-z"}, args...)...)
	if err != nil {
		return nil, err
	}
	for _, m := range closed().FindAllStringSubmatch(errOut, -1) {
		why := "the directory can't be opened"
		if m[2] != "" {
			why += ": " + m[2]
		}
		ix.g.fail(filepath.Join(below, m[1])+"/", why)
	}
	names := split(out)
	if below != "" {
		for i, n := range names {
			names[i] = below + "/" + n
		}
	}
	return names, nil
}

// reading is a call that compares the index with the worktree. It may take as long as reading all
// files does.
func (ix *indexer) reading() call {
	return call{limit: leastFill,
		more: func(context.Context) time.Duration { return moveLimit(ix.sizes()) }}
}

func (ix *indexer) sizes() int64 {
	var sum int64
	for _, e := range ix.entries {
		if info, err := os.Lstat(filepath.Join(ix.g.w.Path, e.path)); err == nil &&
			info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum
}

// found is what has to be done with the paths of each kind.
type found struct {
	add    []string // files and symbolic links
	gone   []string
	nested []string // directories that are repositories
	links  []string // entries of unchanged submodules, as update-index --index-info reads them
}

// sort determines what is at the paths now.
func (ix *indexer) sort(names []string) *found {
	f := &found{}
	links := map[string]string{}
	for _, e := range ix.entries {
		if e.mode == gitlink {
			links[e.path] = e.id
		}
	}
	sparse := map[string]bool{}
	for _, e := range ix.entries {
		if e.tag == 'S' || e.tag == 's' {
			sparse[e.path] = true
		}
	}
	real := map[string]bool{".": true}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		path := strings.TrimSuffix(name, "/")
		info, err := ix.g.lstat(path, real)
		switch {
		case hasDotGit(path):
			if err == nil {
				ix.g.fail(path, badName)
			}
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			if !sparse[path] && !ix.noIndexSparse() {
				f.gone = append(f.gone, path)
			}
		case err != nil:
			ix.g.fail(path, reason(err))
		case info.IsDir() && name != path:
			f.nested = append(f.nested, path)
		case info.IsDir():
			if links[path] == "" {
				// A directory where a file was; what is in it is listed by itself.
				f.gone = append(f.gone, path)
				if _, err := os.Lstat(filepath.Join(ix.g.w.Path, path, ".git")); err == nil {
					// But for a repository: git takes that for the file.
					f.nested = append(f.nested, path)
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

const badName = "git can't have a file of this name"

// hasDotGit reports whether a part of the path is a name that git reserves, in any case.
func hasDotGit(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

// fits compares the size of what is to be hashed with the limit and with the free space.
func (ix *indexer) fits(names []string) error {
	var largest string
	var most int64
	ix.g.bytes = 0
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(ix.g.w.Path, name))
		if err != nil {
			continue
		}
		ix.g.bytes += info.Size()
		if info.Size() > most {
			most, largest = info.Size(), name
		}
	}
	if ix.o.MaxBytes > 0 && ix.g.bytes > ix.o.MaxBytes {
		return &TooBigError{ix.g.w.Path, ix.g.bytes, ix.o.MaxBytes, largest}
	}
	if left, ok := durable.Free(ix.g.q.objects); ok && ix.g.bytes > left {
		return &SpaceError{ix.g.w.Path, ix.g.bytes, left}
	}
	return nil
}

// add puts files into the index. One that fails doesn't affect the others: git stops at the first,
// so each half is tried.
func (ix *indexer) add(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	_, errOut, err := ix.g.at(ctx, "", "index", moveLimit(ix.g.bytes), nulled(names),
		"update-index", "--add", "--remove", "--replace", "-z", "--stdin")
	switch {
	case err == nil:
		if strings.Contains(errOut, "Ignoring path ") {
			return ix.findIgnored(ctx, names)
		}
		return nil
	case unanswered(err) != nil, errors.Is(err, syscall.ENOSPC):
		return err
	case len(names) > 1:
		half := len(names) / 2
		return errors.Join(ix.add(ctx, names[:half]), ix.add(ctx, names[half:]))
	}
	return ix.addRaw(ctx, names[0])
}

// findIgnored marks as failed the files that git left out because of their names.
func (ix *indexer) findIgnored(ctx context.Context, names []string) error {
	have, err := ix.list(ctx, "", "-c")
	if err != nil {
		return err
	}
	for _, n := range names {
		if _, err := os.Lstat(filepath.Join(ix.g.w.Path, n)); err == nil &&
			!slices.Contains(have, n) {
			ix.g.fail(n, badName)
		}
	}
	return nil
}

// addRaw puts a file into the index as it is: its filter fails, or its line endings would be lost.
func (ix *indexer) addRaw(ctx context.Context, name string) error {
	path := filepath.Join(ix.g.w.Path, name)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := ix.g.git(ctx, time.Minute, nulled([]string{name}), "update-index",
			"--force-remove", "-z", "--stdin")
		return err
	}
	if err != nil {
		ix.g.fail(name, reason(err))
		return nil
	}
	if !info.Mode().IsRegular() {
		ix.g.fail(name, "isn't a file any more")
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		ix.g.fail(name, reason(err))
		return nil
	}
	defer f.Close()
	out, _, err := ix.g.at(ctx, "", "index", moveLimit(info.Size()), f, "hash-object", "-w",
		"--no-filters", "--stdin")
	if err == nil {
		mode := "100644"
		if info.Mode()&0o100 != 0 {
			mode = "100755"
		}
		line := mode + " " + strings.TrimSpace(out) + "\t" + name
		_, err = ix.g.git(ctx, time.Minute, nulled([]string{line}), "update-index", "--add",
			"--replace", "-z", "--index-info")
	}
	if unanswered(err) != nil || errors.Is(err, syscall.ENOSPC) {
		return err
	}
	if err != nil {
		ix.g.fail(name, err.Error())
	}
	return nil
}

func nulled(names []string) io.Reader {
	if len(names) == 0 {
		return nil
	}
	return strings.NewReader(strings.Join(names, "\x00") + "\x00")
}

// noIndexSparse reports whether missing files are kept because the index, which would tell what a
// sparse checkout left out, is unreadable.
func (ix *indexer) noIndexSparse() bool {
	if !ix.noIndex {
		return false
	}
	out, err := ix.g.git(context.Background(), time.Minute, nil, "config", "--type=bool",
		"core.sparseCheckout")
	return unanswered(err) != nil || err == nil && strings.TrimSpace(out) == "true"
}

// indexTree returns the staged tree, "" for none. A path in conflict is there as one side has it:
// its sides are in commits.
func (ix *indexer) indexTree(ctx context.Context) (string, error) {
	if ix.noIndex || ix.staged != "" {
		return ix.staged, nil
	}
	var sides []string
	for i, e := range ix.entries {
		if e.stage == '0' || i+1 < len(ix.entries) && ix.entries[i+1].path == e.path &&
			e.stage != '2' {
			continue
		}
		if len(sides) == 0 || !strings.HasSuffix(sides[len(sides)-1], "\t"+e.path) {
			sides = append(sides, e.mode+" "+e.id+"\t"+e.path)
		}
	}
	if len(sides) > 0 {
		if _, _, err := ix.g.at(ctx, "", "staged", time.Minute, nulled(sides), "update-index",
			"--replace", "-z", "--index-info"); err != nil {
			return "", err
		}
	}
	var err error
	ix.staged, err = ix.writeTree(ctx, "staged")
	return ix.staged, err
}
