package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Trees and commits made in memory: no checkout, no index and no ref changes. If this is killed, it
// leaves objects that nothing names, which git prunes.

// scratchTrees makes trees with an index of its own. New objects are in quarantine until release.
type scratchTrees struct {
	q      *quarantine
	gitDir string
}

func newScratchTrees(common string) (*scratchTrees, error) {
	q, err := newQuarantine(common)
	if err != nil {
		return nil, err
	}
	return &scratchTrees{q, common}, nil
}

// git runs git with the scratch index. The work tree has only what attributes wrote there.
func (s *scratchTrees) git(ctx context.Context, input string, args ...string) (string, error) {
	dir := filepath.Join(s.q.dir, "work")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	c := call{dir: dir, limit: long, stdin: strings.NewReader(input),
		env: append(s.q.env(), "GIT_INDEX_FILE="+filepath.Join(s.q.dir, "index"))}
	out, _, err := c.run(ctx, slices.Concat(steady,
		[]string{"--git-dir=" + s.gitDir, "--work-tree=" + dir}, args)...)
	return out, err
}

// A change is a path that differs in two trees, with its entry in the second; mode is zeros if that
// doesn't have it.
type change struct {
	mode, id, path string
	added          bool // absent in the first
}

// gone reports whether the second tree doesn't have the path.
func (c change) gone() bool { return strings.Trim(c.mode, "0") == "" }

// line returns the change as update-index --index-info reads it.
func (c change) line() string { return c.mode + " " + c.id + "\t" + c.path }

// changes compares two trees, or those of commits, in the order of their paths. run runs git if the
// objects' own files don't have the answer.
func changes(store objectStore, a, b string,
	run func(args ...string) (string, error)) ([]change, error) {
	if list, known := store.changes(a, b); known {
		return list, nil
	}
	out, err := run("diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=none", "--raw",
		"--no-abbrev", a+"^{tree}", b+"^{tree}")
	if err != nil {
		return nil, err
	}
	var list []change
	fields := split(out)
	for i := 0; i+1 < len(fields); i += 2 { // :MODE MODE ID ID STATUS, and the path
		f := strings.Fields(fields[i])
		if len(f) != 5 {
			return nil, fmt.Errorf("git diff-tree says %q", fields[i])
		}
		list = append(list, change{f[1], f[3], fields[i+1], strings.Trim(f[0], ":0") == ""})
	}
	return list, nil
}

// replace returns the tree with the paths for which which is true as from has them.
func (s *scratchTrees) replace(ctx context.Context, tree, from string,
	which func(path string) bool) (string, error) {
	list, err := s.kept(ctx, tree, from, which)
	if err != nil {
		return "", err
	}
	return s.with(ctx, tree, list)
}

// kept returns the paths that differ in tree and from and for which which is true, as from has
// them.
func (s *scratchTrees) kept(ctx context.Context, tree, from string,
	which func(path string) bool) ([]change, error) {
	all, err := s.changes(ctx, tree, from)
	return slices.DeleteFunc(all, func(c change) bool { return !which(c.path) }), err
}

func (s *scratchTrees) changes(ctx context.Context, a, b string) ([]change, error) {
	return changes(s.store(), a, b,
		func(args ...string) (string, error) { return s.git(ctx, "", args...) })
}

// store reads the repository's objects, and those in quarantine.
func (s *scratchTrees) store() objectStore {
	if store := objectsOf(s.gitDir); store != nil {
		return append(objectStore{s.q.dir}, store...)
	}
	return nil
}

// with returns the tree with the changes.
func (s *scratchTrees) with(ctx context.Context, tree string, list []change) (string, error) {
	if len(list) == 0 {
		if id, known := s.store().treeOf(tree); known {
			return id, nil
		}
		out, err := s.git(ctx, "", "rev-parse", "--verify", "--end-of-options", tree+"^{tree}")
		return strings.TrimSpace(out), err
	}
	// Removals come first: a file may take the place of a directory.
	slices.SortStableFunc(list, func(a, b change) int { return b2i(b.gone()) - b2i(a.gone()) })
	lines := make([]string, len(list))
	for i, c := range list {
		lines[i] = c.line()
	}
	if _, err := s.git(ctx, "", "read-tree", tree+"^{tree}"); err != nil {
		return "", err
	}
	if _, err := s.git(ctx, strings.Join(lines, "\x00")+"\x00", "update-index", "--add",
		"--replace", "-z", "--index-info"); err != nil {
		return "", err
	}
	// A partial clone doesn't have every object.
	out, err := s.git(ctx, "", "write-tree", "--missing-ok")
	return strings.TrimSpace(out), err
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// commit makes a commit that only a merge reads.
func (s *scratchTrees) commit(ctx context.Context, tree, parent string) (string, error) {
	c := NewCommit{Tree: tree, Parents: []string{parent}, Message: "gl", ours: true}
	return commitTree(ctx, c, func(_ []string, input string,
		args ...string) (string, error) {
		return s.git(ctx, input, args...)
	})
}

// without returns theirs as a commit that has ours' version of the kept paths, and the same merge
// bases: both sides agree about these, so they neither conflict nor change.
func (s *scratchTrees) without(ctx context.Context, ours, theirs string,
	keep func(path string) bool) (string, error) {
	list, err := s.kept(ctx, theirs, ours, keep)
	if err != nil || len(list) == 0 {
		return theirs, err
	}
	tree, err := s.with(ctx, theirs, list)
	if err != nil {
		return "", err
	}
	return s.commit(ctx, tree, theirs)
}

// attributes writes those of the files that are called .gitattributes to where git reads them:
// merge=union and the like count, as they do in a checkout.
func (s *scratchTrees) attributes(ctx context.Context, files map[string]File) error {
	for name, f := range files {
		if path.Base(name) != ".gitattributes" || !f.IsRegular() || hasDotGit(path.Dir(name)) {
			continue
		}
		text, err := s.git(ctx, "", "cat-file", "blob", f.ID)
		if err != nil {
			return err
		}
		file := filepath.Join(s.q.dir, "work", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// A merged is the answer of merge-tree.
type merged struct {
	tree   string   // with conflict marks in the files of conflicts
	stages []string // "MODE ID STAGE\tPATH" of conflicts, as update-index --index-info reads it
}

// conflicts returns the paths, sorted.
func (m *merged) conflicts() []string {
	var list []string
	for _, s := range m.stages {
		_, p, _ := strings.Cut(s, "\t")
		list = append(list, p)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// mergeTree merges theirs into ours; the two names appear in the conflict marks.
func mergeTree(gitDir, ours, theirs string,
	run func(args ...string) (string, error)) (*merged, error) {
	off, err := driversOff(gitDir, run)
	if err != nil {
		return nil, err
	}
	return mergeWith(off, ours, theirs, run)
}

// mergeWith is mergeTree with the options that driversOff returns.
func mergeWith(off []string, ours, theirs string,
	run func(args ...string) (string, error)) (*merged, error) {
	out, err := run(append(slices.Clone(off), "merge-tree", "--write-tree", "--no-messages", "-z",
		ours, theirs)...)
	if err != nil && exitCode(err) != 1 {
		return nil, err
	}
	list := split(out)
	if len(list) == 0 || !isID(list[0]) || (err == nil) != (len(list) == 1) {
		return nil, errors.Join(fmt.Errorf("git merge-tree says %.200q", out), err)
	}
	return &merged{list[0], list[1:]}, nil
}

// driversOff returns options that turn merges by programs of the repository's own configuration
// into conflicts. The person's own merge drivers count.
func driversOff(gitDir string, run func(args ...string) (string, error)) ([]string, error) {
	if text, plain := ownConfig(commonOf(gitDir), gitDir); plain &&
		!bytes.Contains(bytes.ToLower(text), []byte("driver")) {
		return nil, nil
	}
	list, err := ownSettings(run)
	if err != nil {
		return nil, err
	}
	var off []string
	for _, s := range list {
		if !strings.HasPrefix(s.Key, "merge.") || !strings.HasSuffix(s.Key, ".driver") {
			continue
		}
		if strings.Contains(s.Key, "=") {
			return nil, fmt.Errorf(
				"the repository's configuration has a merge driver %q, which can't be switched off",
				s.Key)
		}
		off = append(off, s.Key+"=false")
	}
	return settings(off...), nil
}

// A Merge is a merge that was made in memory.
type Merge struct {
	Tree      string   // "" where the two can't be merged
	Conflicts []string // the paths where they can't
	// Changed has the tree's differences from the commit merged into; the zero File if removed.
	Changed map[string]File
}

// MergeTree merges the commit theirs into the commit base, in memory. Paths for which keep is true
// are base's, whatever theirs has there; keep may be nil. If the two conflict, it returns the paths
// of the conflicts instead of a tree.
func MergeTree(ctx context.Context, common, base, theirs string,
	keep func(path string) bool) (tree string, conflicts []string, err error) {
	files, err := Files(ctx, common, base)
	if err != nil {
		return "", nil, err
	}
	m, err := MergeInto(ctx, common, base, files, theirs, keep)
	if err != nil {
		return "", nil, err
	}
	return m.Tree, m.Conflicts, nil
}

// MergeInto is MergeTree for callers that know the files of base, as Files lists them. It also
// returns what the merge changes.
func MergeInto(ctx context.Context, common, base string, files map[string]File, theirs string,
	keep func(path string) bool) (_ *Merge, err error) {
	s, err := newScratchTrees(common)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.q.remove()) }()
	if keep == nil {
		keep = func(string) bool { return false }
	}
	m, err := s.merge(ctx, base, files, theirs, keep)
	if err != nil {
		return nil, err
	}
	if len(m.stages) > 0 {
		return &Merge{Conflicts: m.conflicts()}, nil
	}
	list, err := s.changes(ctx, base, m.tree)
	if err != nil {
		return nil, err
	}
	merge, astray := &Merge{Tree: m.tree, Changed: map[string]File{}}, false
	for _, c := range list {
		switch {
		case keep(c.path): // a rename may have led something there
			astray = true
		case c.gone():
			merge.Changed[c.path] = File{}
		default:
			merge.Changed[c.path] = File{c.mode, c.id}
		}
	}
	if astray {
		if merge.Tree, err = s.replace(ctx, m.tree, base, keep); err != nil {
			return nil, err
		}
	}
	return merge, s.q.release()
}

// A Merger determines which commits would conflict. Whatever is the same for each pair is computed
// once.
type Merger struct {
	trees *scratchTrees
	off   []string // options that switch merge drivers off
}

// NewMerger returns a Merger of commits that have the .gitattributes of base. The caller closes it.
func NewMerger(ctx context.Context, common, base string) (*Merger, error) {
	s, err := newScratchTrees(common)
	if err != nil {
		return nil, err
	}
	g := &Merger{trees: s}
	files, err := Files(ctx, common, base)
	if err == nil {
		err = s.attributes(ctx, files)
	}
	if err == nil {
		g.off, err = driversOff(common,
			func(args ...string) (string, error) { return s.git(ctx, "", args...) })
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// Close removes what the merges have written.
func (g *Merger) Close() error { return g.trees.q.remove() }

// Conflicts returns the paths in which the two conflict, except those for which except is true.
func (g *Merger) Conflicts(ctx context.Context, ours, theirs string,
	except func(path string) bool) ([]string, error) {
	m, err := mergeWith(g.off, ours, theirs,
		func(args ...string) (string, error) { return g.trees.git(ctx, "", args...) })
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(m.conflicts(), except), nil
}

// merge merges two commits; paths for which keep is true are base's, whose files are known.
func (s *scratchTrees) merge(ctx context.Context, base string, files map[string]File, theirs string,
	keep func(path string) bool) (*merged, error) {
	other, err := s.without(ctx, base, theirs, keep)
	if err != nil {
		return nil, err
	}
	if err := s.attributes(ctx, files); err != nil {
		return nil, err
	}
	return mergeTree(s.gitDir, base, other,
		func(args ...string) (string, error) { return s.git(ctx, "", args...) })
}

// TreeID returns the id that git gives to a tree of these files. It writes nothing. like is an id
// of the same repository.
func TreeID(files map[string]File, like string) string {
	top := &treeDir{}
	for p, f := range files {
		top.put(strings.Split(p, "/"), f)
	}
	return hex.EncodeToString(top.id(len(like)))
}

// A treeDir is a directory of a tree.
type treeDir struct {
	files map[string]File
	dirs  map[string]*treeDir
}

func (d *treeDir) put(path []string, f File) {
	if len(path) == 1 {
		if d.files == nil {
			d.files = map[string]File{}
		}
		d.files[path[0]] = f
		return
	}
	below := d.dirs[path[0]]
	if below == nil {
		if d.dirs == nil {
			d.dirs = map[string]*treeDir{}
		}
		below = &treeDir{}
		d.dirs[path[0]] = below
	}
	below.put(path[1:], f)
}

// id hashes the directory as git writes it: MODE NAME, a zero byte and the id of each entry, sorted
// as if a directory's name ended in "/".
func (d *treeDir) id(digits int) []byte {
	entries := map[string]string{}
	for name, f := range d.files {
		id, _ := hex.DecodeString(f.ID) // git has printed it
		entries[name] = strings.TrimLeft(f.Mode, "0") + " " + name + "\x00" + string(id)
	}
	for name, below := range d.dirs {
		entries[name+"/"] = "40000 " + name + "\x00" + string(below.id(digits))
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		text.WriteString(entries[name])
	}
	return sumOf(digits, fmt.Appendf(nil, "tree %d\x00%s", text.Len(), text.String()))
}

// Changed lists the paths that differ in two commits or trees, except those for which except is
// true; it may be nil.
func Changed(ctx context.Context, common, a, b string,
	except func(path string) bool) ([]string, error) {
	all, err := changes(objectsOf(common), a, b,
		func(args ...string) (string, error) { return at(ctx, common, long, "", args...) })
	var list []string
	for _, c := range all {
		if except == nil || !except(c.path) {
			list = append(list, c.path)
		}
	}
	return list, err
}

// ChangedSince lists the paths, sorted, that a commit has changed since its merge base with from;
// none if there is no merge base.
func ChangedSince(ctx context.Context, common, from, commit string,
	except func(path string) bool) ([]string, error) {
	run := func(args ...string) (string, error) { return at(ctx, common, long, "", args...) }
	out, err := run("diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=none",
		"--name-only", "--merge-base", from, commit)
	if err == nil {
		paths := slices.DeleteFunc(split(out), except)
		slices.Sort(paths)
		return paths, nil
	}
	// There are several merge bases, or none.
	base, err := MergeBase(ctx, common, from, commit)
	if err != nil || base == "" {
		return nil, err
	}
	paths, err := Changed(ctx, common, base, commit, except)
	slices.Sort(paths)
	return paths, err
}

// A NewCommit is a commit to be made.
type NewCommit struct {
	Tree    string
	Parents []string
	Message string
	// When is the time of author and committer; zero for now. With a time, making the commit
	// again gives the same id.
	When time.Time

	author signature // the zero one for the person
	by     Author    // where the person has no name
	ours   bool      // without an author: only gl sees it
}

// CommitTree makes a commit that no ref has. Its author is the person, or gl if git knows no name;
// it isn't signed.
func CommitTree(ctx context.Context, common string, c NewCommit) (id string, err error) {
	id, err = commitTree(ctx, c, func(env []string, input string, args ...string) (string, error) {
		out, _, err := call{dir: common, limit: time.Minute, stdin: strings.NewReader(input),
			env: env}.run(ctx,
			slices.Concat(steady, []string{"--git-dir=" + common}, args)...)
		return out, err
	})
	if err == nil && isID(id) {
		// Errors are ignored: then it isn't held.
		_ = linkHeld(common, filepath.Join(common, "objects"), id)
	}
	return id, err
}

func commitTree(ctx context.Context, c NewCommit,
	run func(env []string, input string, args ...string) (string, error)) (string, error) {
	args := []string{"commit-tree", "--no-gpg-sign", c.Tree}
	for _, p := range c.Parents {
		args = append(args, "-p", p)
	}
	env := c.author.env()
	if !c.When.IsZero() {
		date := "@" + strconv.FormatInt(c.When.Unix(), 10) + " +0000"
		env = append(env, "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	}
	if c.ours {
		args = append(settings("user.name=gl", "user.email=gl@localhost"), args...)
	}
	out, err := identified(c.by, func(args ...string) (string, error) {
		return run(env, strings.TrimRight(c.Message, "\n")+"\n", args...)
	}, args...)
	return strings.TrimSpace(out), err
}

// identified runs a git that makes a commit. If the person has no name it makes none, and is run
// again with gl's.
func identified(by Author, run func(args ...string) (string, error),
	args ...string) (string, error) {
	// Otherwise git makes up a name from what the machine knows.
	out, err := run(append(settings("user.useConfigOnly=true"), args...)...)
	if err == nil || exitCode(err) != 128 {
		return out, err
	}
	identity, failed := identityOptions(by, run)
	if failed != nil || len(identity) == 0 {
		return out, err
	}
	return run(append(identity, args...)...)
}

// identityOptions returns the options that give commits a name if the person has none; run runs
// git.
func identityOptions(by Author, run func(args ...string) (string, error)) ([]string, error) {
	if by.Name == "" || by.Email == "" {
		by = Author{"Greenlight", "greenlight@localhost"}
	}
	have, err := identity(run) // the options win over every file
	if err != nil {
		return nil, err
	}
	var options []string
	if have.Name == "" {
		options = append(options, "-c", "user.name="+by.Name)
	}
	if have.Email == "" {
		options = append(options, "-c", "user.email="+by.Email)
	}
	return options, nil
}

// Identity returns the person's name, as git's configuration has it in dir.
func Identity(ctx context.Context, dir string) (Author, error) {
	return identity(func(args ...string) (string, error) { return run(ctx, dir, args...) })
}

func identity(run func(args ...string) (string, error)) (by Author, err error) {
	out, err := run("config", "-z", "--get-regexp", `^user\.(name|email)$`)
	if err != nil && exitCode(err) != 1 {
		return by, err
	}
	for _, e := range split(out) { // the last one counts
		switch key, value, _ := strings.Cut(e, "\n"); key {
		case "user.name":
			by.Name = strings.TrimSpace(value)
		case "user.email":
			by.Email = strings.TrimSpace(value)
		}
	}
	return by, nil
}

// TreeOf returns the id of a commit's tree.
func TreeOf(ctx context.Context, common, commit string) (string, error) {
	if tree, known := objectsOf(common).resolve(common, commit+"^{tree}"); known && tree != "" {
		return tree, ctx.Err()
	}
	out, err := run(ctx, common, "--git-dir="+common, "rev-parse", "-q", "--verify",
		"--end-of-options", commit+"^{tree}")
	return strings.TrimSpace(out), err
}
