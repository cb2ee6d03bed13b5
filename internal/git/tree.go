package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Trees and commits made in memory: no checkout, no index and no ref changes. What is killed here leaves objects that
// nothing names, which git prunes.

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

// git runs git with the scratch index. The work tree has nothing but what attributes wrote there.
func (s *scratchTrees) git(ctx context.Context, input string, args ...string) (string, error) {
	dir := filepath.Join(s.q.dir, "work")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	c := call{dir: dir, limit: long, stdin: strings.NewReader(input), env: append(s.q.env(), "GIT_INDEX_FILE="+filepath.Join(s.q.dir, "index"))}
	out, _, err := c.run(ctx, slices.Concat(steady, []string{"--git-dir=" + s.gitDir, "--work-tree=" + dir}, args)...)
	return out, err
}

// A change is a path that two trees have differently, with its entry in the second; mode is zeros where that hasn't got it.
type change struct{ mode, id, path string }

// gone says whether the second tree hasn't got the path.
func (c change) gone() bool { return strings.Trim(c.mode, "0") == "" }

// line is the change as update-index --index-info reads it.
func (c change) line() string { return c.mode + " " + c.id + "\t" + c.path }

// changes compares two trees.
func changes(a, b string, run func(args ...string) (string, error)) ([]change, error) {
	out, err := run("diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=none", "--raw", "--no-abbrev", a+"^{tree}", b+"^{tree}")
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
		list = append(list, change{f[1], f[3], fields[i+1]})
	}
	return list, nil
}

// replace is the tree with those paths as from has them for which which is true.
func (s *scratchTrees) replace(ctx context.Context, tree, from string, which func(path string) bool) (string, error) {
	all, err := changes(tree, from, func(args ...string) (string, error) { return s.git(ctx, "", args...) })
	if err != nil {
		return "", err
	}
	return s.with(ctx, tree, slices.DeleteFunc(all, func(c change) bool { return !which(c.path) }))
}

// with is the tree with the changes.
func (s *scratchTrees) with(ctx context.Context, tree string, list []change) (string, error) {
	if len(list) == 0 {
		out, err := s.git(ctx, "", "rev-parse", "--verify", "--end-of-options", tree+"^{tree}")
		return strings.TrimSpace(out), err
	}
	// What is removed comes first: a file may take the place of a directory.
	slices.SortStableFunc(list, func(a, b change) int { return b2i(b.gone()) - b2i(a.gone()) })
	lines := make([]string, len(list))
	for i, c := range list {
		lines[i] = c.line()
	}
	if _, err := s.git(ctx, "", "read-tree", tree+"^{tree}"); err != nil {
		return "", err
	}
	if _, err := s.git(ctx, strings.Join(lines, "\x00")+"\x00", "update-index", "--add", "--replace", "-z", "--index-info"); err != nil {
		return "", err
	}
	out, err := s.git(ctx, "", "write-tree", "--missing-ok") // a partial clone hasn't got every object
	return strings.TrimSpace(out), err
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// commit makes a commit that only a merge sees.
func (s *scratchTrees) commit(ctx context.Context, tree, parent string) (string, error) {
	out, err := s.git(ctx, "gl\n", append(settings("user.name=gl", "user.email=gl@localhost"), "commit-tree", "--no-gpg-sign", tree, "-p", parent)...)
	return strings.TrimSpace(out), err
}

// without is theirs as a commit that has ours' version of the kept paths, and the same merge bases: both sides agree about
// these, so they neither conflict nor change.
func (s *scratchTrees) without(ctx context.Context, ours, theirs string, keep func(path string) bool) (string, error) {
	tree, err := s.replace(ctx, theirs, ours, keep)
	if err != nil {
		return "", err
	}
	return s.commit(ctx, tree, theirs)
}

// attributes writes the .gitattributes of a commit to where git reads them: merge=union and the like count, as they do in a
// checkout.
func (s *scratchTrees) attributes(ctx context.Context, commit string) error {
	out, err := s.git(ctx, "", "ls-tree", "-r", "-z", commit)
	if err != nil {
		return err
	}
	for _, line := range split(out) { // MODE TYPE ID\tPATH
		head, name, _ := strings.Cut(line, "\t")
		f := strings.Fields(head)
		if path.Base(name) != ".gitattributes" || len(f) != 3 || !strings.HasPrefix(f[0], "100") || hasDotGit(path.Dir(name)) {
			continue
		}
		text, err := s.git(ctx, "", "cat-file", "blob", f[2])
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

// A merged is what merge-tree answers.
type merged struct {
	tree   string   // with conflict marks in the files of conflicts
	stages []string // "MODE ID STAGE\tPATH" of what is in conflict, as update-index --index-info reads it
}

// conflicts are the paths, sorted.
func (m *merged) conflicts() []string {
	var list []string
	for _, s := range m.stages {
		_, p, _ := strings.Cut(s, "\t")
		list = append(list, p)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// mergeTree merges theirs into ours; the two names are in the conflict marks.
func mergeTree(ours, theirs string, run func(args ...string) (string, error)) (*merged, error) {
	off, err := driversOff(run)
	if err != nil {
		return nil, err
	}
	out, err := run(append(off, "merge-tree", "--write-tree", "--no-messages", "-z", ours, theirs)...)
	if err != nil && exitCode(err) != 1 {
		return nil, err
	}
	list := split(out)
	if len(list) == 0 || !isID(list[0]) || (err == nil) != (len(list) == 1) {
		return nil, errors.Join(fmt.Errorf("git merge-tree says %.200q", out), err)
	}
	return &merged{list[0], list[1:]}, nil
}

// driversOff makes conflicts of what the repository's own configuration would have a program merge. The person's own merge
// drivers count.
func driversOff(run func(args ...string) (string, error)) ([]string, error) {
	var off []string
	for _, file := range []string{"--local", "--worktree"} {
		out, err := run("config", "--includes", file, "-z", "--name-only", "--get-regexp", `^merge\..*\.driver$`)
		if err != nil && exitCode(err) != 1 && file == "--local" { // the other may not be switched on
			return nil, err
		}
		for _, key := range split(out) {
			if strings.Contains(key, "=") {
				return nil, fmt.Errorf("the repository's configuration has a merge driver %q, which can't be switched off", key)
			}
			off = append(off, key+"=false")
		}
	}
	return settings(off...), nil
}

// MergeTree merges the commit theirs into the commit base, in memory. Paths for which keep is true are base's, whatever theirs
// has there; keep may be nil. Where the two can't be merged there is no tree, but the paths of the conflicts.
func MergeTree(ctx context.Context, common, base, theirs string, keep func(path string) bool) (tree string, conflicts []string, err error) {
	s, err := newScratchTrees(common)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, s.q.remove()) }()
	if keep == nil {
		keep = func(string) bool { return false }
	}
	m, err := s.merge(ctx, base, theirs, keep)
	if err != nil {
		return "", nil, err
	}
	if len(m.stages) > 0 {
		return "", m.conflicts(), nil
	}
	// A rename may have led something there.
	if tree, err = s.replace(ctx, m.tree, base, keep); err != nil {
		return "", nil, err
	}
	return tree, nil, s.q.release()
}

// Conflicts are the paths in which MergeTree would find the two in conflict. Nothing is left in the repository.
func Conflicts(ctx context.Context, common, base, theirs string, keep func(path string) bool) (paths []string, err error) {
	s, err := newScratchTrees(common)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.q.remove()) }()
	m, err := s.merge(ctx, base, theirs, keep)
	if err != nil {
		return nil, err
	}
	return m.conflicts(), nil
}

// merge merges two commits; paths for which keep is true are base's.
func (s *scratchTrees) merge(ctx context.Context, base, theirs string, keep func(path string) bool) (*merged, error) {
	other, err := s.without(ctx, base, theirs, keep)
	if err != nil {
		return nil, err
	}
	if err := s.attributes(ctx, base); err != nil {
		return nil, err
	}
	return mergeTree(base, other, func(args ...string) (string, error) { return s.git(ctx, "", args...) })
}

// TreeWithout is the tree of a commit or tree without some of its paths.
func TreeWithout(ctx context.Context, common, treeish string, without func(path string) bool) (tree string, err error) {
	s, err := newScratchTrees(common)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.q.remove()) }()
	out, err := s.git(ctx, "", "ls-tree", "-r", "-z", treeish)
	if err != nil {
		return "", err
	}
	var gone []change
	for _, line := range split(out) { // MODE TYPE ID\tPATH
		head, p, _ := strings.Cut(line, "\t")
		if without(p) {
			id := head[strings.LastIndexByte(head, ' ')+1:]
			gone = append(gone, change{"0", strings.Repeat("0", len(id)), p})
		}
	}
	if tree, err = s.with(ctx, treeish, gone); err != nil {
		return "", err
	}
	return tree, s.q.release()
}

// Changed lists the paths that two commits or trees have differently, but for those for which except is true; it may be nil.
func Changed(ctx context.Context, common, a, b string, except func(path string) bool) ([]string, error) {
	all, err := changes(a, b, func(args ...string) (string, error) { return at(ctx, common, long, "", args...) })
	var list []string
	for _, c := range all {
		if except == nil || !except(c.path) {
			list = append(list, c.path)
		}
	}
	return list, err
}

// A NewCommit is a commit to be made.
type NewCommit struct {
	Tree    string
	Parents []string
	Message string
	When    time.Time // by author and committer; zero for now. With a time, making the commit again gives the same id

	author signature // the zero one for who has made it
}

// CommitTree makes a commit that no ref has. It is by the person, or by gl where git knows no name; nothing is signed.
func CommitTree(ctx context.Context, common string, c NewCommit) (id string, err error) {
	return commitTree(ctx, c, func(env []string, input string, args ...string) (string, error) {
		out, _, err := call{dir: common, limit: time.Minute, stdin: strings.NewReader(input), env: env}.run(ctx,
			slices.Concat(steady, []string{"--git-dir=" + common}, args)...)
		return out, err
	})
}

func commitTree(ctx context.Context, c NewCommit, run func(env []string, input string, args ...string) (string, error)) (string, error) {
	identity, err := identityOptions(Author{}, func(args ...string) (string, error) { return run(nil, "", args...) })
	if err != nil {
		return "", err
	}
	args := append(identity, "commit-tree", "--no-gpg-sign", c.Tree)
	for _, p := range c.Parents {
		args = append(args, "-p", p)
	}
	env := c.author.env()
	if !c.When.IsZero() {
		date := "@" + strconv.FormatInt(c.When.Unix(), 10) + " +0000"
		env = append(env, "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	}
	out, err := run(env, strings.TrimRight(c.Message, "\n")+"\n", args...)
	return strings.TrimSpace(out), err
}

// identityOptions are the options that give commits a name where the person has none; run asks git.
func identityOptions(by Author, run func(args ...string) (string, error)) ([]string, error) {
	if by.Name == "" || by.Email == "" {
		by = Author{"Greenlight", "greenlight@localhost"}
	}
	// The options win over every file, so git is asked first.
	out, err := run("config", "-z", "--get-regexp", `^user\.(name|email)$`)
	if err != nil && exitCode(err) != 1 {
		return nil, err
	}
	var options []string
	for _, s := range [][2]string{{"user.name", by.Name}, {"user.email", by.Email}} {
		if !slices.ContainsFunc(split(out), func(e string) bool {
			k, v, _ := strings.Cut(e, "\n")
			return k == s[0] && strings.TrimSpace(v) != ""
		}) {
			options = append(options, "-c", s[0]+"="+s[1])
		}
	}
	return options, nil
}
