package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// An agent can write every file of a repository inside its worktree: the configuration, which names
// programs, and pipes that make git wait. So git never reads such a git directory. It reads a
// stand-in: a git directory of gl's own, out of the agent's reach, with a configuration that gl has
// written and a copy of the refs, the index and the logs. Each file is opened once, is a regular
// one, and is below a directory that gl knows. Of the repository itself git reads only the objects
// and the files.

// A standin stands for one repository inside a worktree.
type standin struct {
	dir  string // of the checkout
	git  string // the git directory that git reads
	objs string // the objects, which are the repository's own
	head string // HEAD's commit, "" where the files don't tell
	ours bool   // it is a worktree of the repository that the snapshot is of
	refs map[string]string
	cut  bool // its history isn't complete
}

// errElsewhere says that a repository's git directory isn't in the worktree: gl doesn't read there
// for an agent.
var errElsewhere = errors.New("its git directory is outside the worktree")

const (
	mostRefs   = 50_000
	mostDepth  = 30
	shortFile  = 1 << 12 // HEAD, a ref, commondir
	longestLog = 16 << 20
)

// standIn makes the stand-in of the repository whose checkout is dir, below the worktree's top; nil
// if there is none.
func (nr *nestedRepos) standIn(dir string) (*standin, error) {
	if st, ok := nr.standins[dir]; ok {
		return st, nil
	}
	top := filepath.Join(nr.g.w.Path, dir)
	gitDir := nestedGitDir(top)
	if gitDir == "" {
		return nil, nil
	}
	st := &standin{dir: top, git: filepath.Join(nr.g.q.dir,
		"nested-"+strconv.Itoa(len(nr.standins))), refs: map[string]string{}}
	if err := nr.copyRepository(st, gitDir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(st.git))
	}
	if nr.standins == nil {
		nr.standins = map[string]*standin{}
	}
	nr.standins[dir] = st
	return st, nil
}

// run runs git on the stand-in.
func (st *standin) run(ctx context.Context, c call, args ...string) (string, error) {
	c.dir, c.env = st.dir, append(c.env, st.env()...)
	out, _, err := c.run(ctx, slices.Concat(steady, st.at(), args)...)
	return out, err
}

func (st *standin) at() []string { return []string{"--git-dir=" + st.git, "--work-tree=" + st.dir} }

func (st *standin) env() []string { return []string{"GIT_OBJECT_DIRECTORY=" + st.objs} }

// A copied is a directory that an agent may write to. It is read without leaving its parent
// directory.
type copied struct {
	root *os.Root
	dir  string // below root
	real string // its path
}

// within opens a git directory that is in one of the places of a worktree's nested repositories.
func (nr *nestedRepos) within(gitDir string) (*copied, error) {
	for _, base := range []string{nr.g.w.Path, filepath.Join(nr.g.w.Admin, "modules"),
		filepath.Join(nr.g.w.Common, "worktrees")} {
		rel, ok := paths.Below(base, gitDir)
		if !ok || rel == "." {
			continue
		}
		if err := durable.CheckBelow(base, gitDir); err != nil {
			return nil, errElsewhere
		}
		root, err := os.OpenRoot(base)
		if err != nil {
			return nil, err
		}
		return &copied{root, rel, gitDir}, nil
	}
	return nil, errElsewhere
}

// read reads a regular file of at most so many bytes.
func (c *copied) read(name string, most int64) ([]byte, fs.FileInfo, error) {
	f, err := c.root.OpenFile(filepath.Join(c.dir, filepath.FromSlash(name)),
		os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "read", Path: filepath.Join(c.real, name),
			Err: durable.ErrIrregular}
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: filepath.Join(c.real, name),
			Err: &durable.SizeError{Max: most}}
	}
	return data, info, err
}

// put copies a file, which may be missing, into the stand-in.
func (c *copied) put(to, name string, most int64) error {
	data, info, err := c.read(name, most)
	if err != nil {
		return ignoreMissing(err)
	}
	file := filepath.Join(to, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	// By the time of an index git knows what may have changed since.
	return os.Chtimes(file, info.ModTime(), info.ModTime())
}

// copyRepository makes the stand-in's git directory.
func (nr *nestedRepos) copyRepository(st *standin, gitDir string) error {
	own, err := nr.within(gitDir)
	if err != nil {
		return err
	}
	defer own.root.Close()
	common := own
	if text, _, err := own.read("commondir", shortFile); err == nil {
		dir := strings.TrimSuffix(string(text), "\n")
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(gitDir, dir)
		}
		if dir = filepath.Clean(dir); dir == nr.g.w.Common {
			st.ours = true
		} else if common, err = nr.within(dir); err != nil {
			return err
		} else {
			defer common.root.Close()
		}
	} else if ignoreMissing(err) != nil {
		return err
	}
	if filepath.Dir(gitDir) == filepath.Join(nr.g.w.Common, "worktrees") && !st.ours {
		return errElsewhere
	}
	if err := os.MkdirAll(filepath.Join(st.git, "refs"), 0o700); err != nil {
		return err
	}
	if err := st.copyOwn(own); err != nil {
		return err
	}
	st.objs = filepath.Join(common.real, "objects")
	if st.ours {
		st.objs = nr.g.q.objects
		return st.configure(nil, nr.format())
	}
	if info, err := os.Lstat(st.objs); err != nil || !info.IsDir() {
		return errors.Join(err, errElsewhere)
	}
	return st.copyCommon(common)
}

// copyOwn copies the files that each checkout has of its own.
func (st *standin) copyOwn(own *copied) error {
	text, _, err := own.read("HEAD", shortFile)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(st.git, "HEAD"), text, 0o600); err != nil {
		return err
	}
	st.head = strings.TrimSpace(string(text))
	if err := own.put(st.git, "index", durable.MaxFile); err != nil {
		return err
	}
	entries, err := own.list("")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "sharedindex.") {
			if err := own.put(st.git, e.Name(), durable.MaxFile); err != nil {
				return err
			}
		}
	}
	return own.put(st.git, "logs/HEAD", longestLog)
}

// copyCommon copies the files that the checkouts of a repository share.
func (st *standin) copyCommon(common *copied) error {
	config, _, err := common.read("config", 1<<20)
	if err := ignoreMissing(err); err != nil {
		return err
	}
	if err := st.configure(config, ""); err != nil {
		return err
	}
	for name, most := range map[string]int64{"info/exclude": 1 << 20, "shallow": durable.MaxFile} {
		if err := common.put(st.git, name, most); err != nil {
			return err
		}
	}
	_, err = os.Lstat(filepath.Join(st.git, "shallow"))
	st.cut = err == nil
	if err := st.copyRefs(common); err != nil {
		return err
	}
	tables, err := common.list("reftable")
	if err != nil {
		return err
	}
	for _, e := range tables {
		if err := common.put(st.git, path.Join("reftable", e.Name()), durable.MaxFile); err != nil {
			return err
		}
	}
	return nil
}

// plainSettings are the settings of a repository that change how files are read and written, and
// name no program or file.
var plainSettings = []string{"filemode", "symlinks", "ignorecase", "precomposeunicode", "autocrlf",
	"eol", "safecrlf", "sparsecheckout", "sparsecheckoutcone"}

// configure writes the stand-in's configuration, with those of the repository's own settings that
// only determine how its files are stored.
func (st *standin) configure(config []byte, format string) error {
	var b strings.Builder
	b.WriteString("[core]\n\trepositoryformatversion = 1\n\tbare = false\n")
	word := func(section, key string) string {
		value := strings.ToLower(sectionSetting(string(config), section, key))
		if len(value) > 20 || strings.Trim(value, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return ""
		}
		return value
	}
	for _, key := range plainSettings {
		if value := word("core", key); value != "" {
			fmt.Fprintf(&b, "\t%s = %s\n", key, value)
		}
	}
	b.WriteString("[extensions]\n")
	if format == "" {
		format = word("extensions", "objectformat")
	}
	if format != "" {
		fmt.Fprintf(&b, "\tobjectFormat = %s\n", format)
	}
	if storage := word("extensions", "refstorage"); storage != "" {
		fmt.Fprintf(&b, "\trefStorage = %s\n", storage)
	}
	return os.WriteFile(filepath.Join(st.git, "config"), []byte(b.String()), 0o600)
}

// format returns the hash function of the snapshot's repository, as extensions.objectFormat names
// it.
func (nr *nestedRepos) format() string {
	if data, err := durable.ReadFile(filepath.Join(nr.g.w.Common, "config")); err == nil {
		if value := strings.ToLower(sectionSetting(string(data), "extensions",
			"objectformat")); value == "sha1" || value == "sha256" {
			return value
		}
	}
	return ""
}

// copyRefs writes all refs as packed ones, and their logs. Symbolic ones are left out: the refs
// that they name are among the others.
func (st *standin) copyRefs(common *copied) error {
	packed, _, err := common.read("packed-refs", durable.MaxFile)
	if err := ignoreMissing(err); err != nil {
		return err
	}
	for line := range strings.Lines(string(packed)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if isID(id) && isPlainRef(name) {
			st.refs[name] = id
		}
	}
	err = common.walk("refs", 0, func(name string) error {
		text, _, err := common.read(name, shortFile)
		if id := strings.TrimSpace(string(text)); err == nil && isID(id) && isPlainRef(name) {
			st.refs[name] = id
		}
		return ignoreMissing(err)
	})
	if err != nil {
		return err
	}
	var b strings.Builder
	for name, id := range st.refs {
		b.WriteString(id + " " + name + "\n")
	}
	if err := os.WriteFile(filepath.Join(st.git, "packed-refs"), []byte(b.String()),
		0o600); err != nil {
		return err
	}
	if name, symbolic := strings.CutPrefix(st.head, "ref:"); symbolic {
		st.head = st.refs[strings.TrimSpace(name)]
	}
	return common.walk("logs/refs", 0, func(name string) error {
		if !isPlainRef(strings.TrimPrefix(name, "logs/")) {
			return nil
		}
		return common.put(st.git, name, longestLog)
	})
}

// isPlainRef reports whether a ref's name is one that git makes. A file's name may be anything.
func isPlainRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") || strings.HasPrefix(name, "refs/replace/") ||
		path.Clean(name) != name || strings.Contains(name, "..") ||
		strings.Contains(name, "/.") || strings.HasSuffix(name, ".lock") ||
		strings.Contains(name, "@{") {
		return false
	}
	return !strings.ContainsFunc(name,
		func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) })
}

// list lists a directory, which may be missing.
func (c *copied) list(name string) ([]fs.DirEntry, error) {
	f, err := c.root.OpenFile(filepath.Join(c.dir, filepath.FromSlash(name)),
		os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(mostRefs)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if len(list) == mostRefs {
		err = fmt.Errorf("%s: too many files", filepath.Join(c.real, name))
	}
	return list, err
}

// walk calls f with the files below a directory, as paths from the git directory. Anything else
// than files and directories is an error.
func (c *copied) walk(dir string, depth int, f func(name string) error) error {
	entries, err := c.list(dir)
	if err != nil {
		return err
	}
	if depth > mostDepth {
		return fmt.Errorf("%s: too deep", filepath.Join(c.real, dir))
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			err = c.walk(name, depth+1, f)
		case e.Type().IsRegular():
			err = f(name)
		default:
			err = &fs.PathError{Op: "read", Path: filepath.Join(c.real, name),
				Err: durable.ErrIrregular}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
