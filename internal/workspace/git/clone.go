package git

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/base/durable"
)

// long is the deadline of calls that copy a whole history.
const long = 10 * time.Minute

// Place returns where dir is: the top of its checkout, with symlinks resolved, and the path below
// that. For a directory beside a bare repository, of which nothing is checked out there, that is
// dir itself.
func Place(ctx context.Context, dir string) (top, prefix string, err error) {
	if at, known, err := findByFiles(ctx, dir); known {
		return at.Top, at.Prefix, err
	}
	inside, err := run(ctx, dir, "rev-parse", "--is-inside-work-tree")
	if err != nil {
		return "", "", err
	}
	if strings.TrimSpace(inside) == "false" {
		top, err = filepath.EvalSymlinks(dir)
		return top, "", err
	}
	if top, err = Root(ctx, dir); err != nil {
		return "", "", err
	}
	prefix, err = run(ctx, dir, "rev-parse", "--show-prefix")
	return top, filepath.FromSlash(strings.TrimSuffix(strings.TrimSuffix(prefix, "\n"), "/")), err
}

// Clone makes a repository at dst, an empty directory, with the branch and the commit that are
// checked out at src, their history, and the files of that commit. It has its own copy of every
// object, and no remote. git clone would run a second git in src without these options; here the
// objects come as a pack, and src is only read.
func Clone(ctx context.Context, src, dst string) error {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	if err := initLike(ctx, src, dst); err != nil {
		return err
	}
	branch, err := quiet(ctx, src, "symbolic-ref", "-q", "HEAD")
	if err != nil {
		return err
	}
	commit, err := quiet(ctx, src, "rev-parse", "-q", "--verify", "HEAD^{commit}")
	if err != nil {
		return err
	}
	if branch != "" {
		if _, err := run(ctx, dst, "symbolic-ref", "HEAD", branch); err != nil {
			return err
		}
	}
	if commit == "" { // there is no commit yet
		return nil
	}
	if err := copyHistory(ctx, src, dst, commit); err != nil {
		return err
	}
	ref := []string{"update-ref", "HEAD", commit}
	if branch == "" {
		ref = []string{"update-ref", "--no-deref", "HEAD", commit}
	}
	if _, err := run(ctx, dst, ref...); err != nil {
		return err
	}
	_, err = runFor(ctx, long, dst, "", "reset", "-q", "--hard")
	return err
}

// CloneCommit makes a repository at dst, an empty directory, with a commit of src and its history,
// and no branch. As with Clone, src is only read.
func CloneCommit(ctx context.Context, src, dst, commit string) error {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	if err := initLike(ctx, src, dst); err != nil {
		return err
	}
	if err := copyHistory(ctx, src, dst, commit); err != nil {
		return err
	}
	return CheckoutClone(ctx, dst, commit)
}

// CheckoutClone checks a commit out in a clone that CloneCommit made, and removes all other files.
func CheckoutClone(ctx context.Context, dst, commit string) error {
	if _, err := run(ctx, dst, "update-ref", "--no-deref", "HEAD", commit); err != nil {
		return err
	}
	if _, err := runFor(ctx, long, dst, "", "reset", "-q", "--hard"); err != nil {
		return err
	}
	_, err := runFor(ctx, long, dst, "", "clean", "-q", "-ffdx")
	return err
}

// initLike makes an empty repository of the same object format. It uses no templates, which would
// bring hooks.
func initLike(ctx context.Context, src, dst string) error {
	format, err := run(ctx, src, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	_, err = run(ctx, dst, "init", "-q", "--template=",
		"--object-format="+strings.TrimSpace(format))
	return err
}

// copyHistory copies a commit with everything that it needs.
func copyHistory(ctx context.Context, src, dst, commit string) error {
	if err := copyShallow(ctx, src, filepath.Join(dst, ".git")); err != nil {
		return err
	}
	return copyObjects(ctx, src, dst, commit)
}

// copyShallow copies where the history of a shallow repository ends. at are options that name it,
// if it isn't to be discovered.
func copyShallow(ctx context.Context, src, gitDir string, at ...string) error {
	out, err := run(ctx, src, append(at, "rev-parse", "--git-path", "shallow")...)
	if err != nil {
		return err
	}
	file := strings.TrimSuffix(out, "\n")
	if !filepath.IsAbs(file) {
		file = filepath.Join(src, file)
	}
	data, err := durable.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(gitDir, "shallow"), data, 0o644)
}

// copyObjects copies the commit and everything it needs, by a pack on a pipe: git would otherwise
// write a temporary file into src.
func copyObjects(ctx context.Context, src, dst, commit string) error {
	// What a partial clone left out isn't fetched.
	from, err := command(ctx, src, "pack-objects", "--revs", "--stdout", "-q",
		"--missing=allow-promisor")
	if err != nil {
		return err
	}
	to, err := command(ctx, dst, "index-pack", "--stdin")
	if err != nil {
		return err
	}
	from.Stdin = strings.NewReader(commit + "\n")
	return pipePack(ctx, from, to)
}

// pipePack runs a git that writes a pack and one that reads it.
func pipePack(ctx context.Context, from, to *exec.Cmd) (err error) {
	var fromErr, toErr strings.Builder
	from.Stderr, to.Stderr = &fromErr, &toErr
	if to.Stdin, err = from.StdoutPipe(); err != nil {
		return err
	}
	if err := from.Start(); err != nil {
		return err
	}
	err = to.Run()
	packErr := from.Wait()
	if err != nil && signaled(packErr, syscall.SIGPIPE) { // the other one has stopped reading
		packErr = nil
	}
	if packErr != nil { // then the other one only says that the pack is short
		return failed(ctx, "pack-objects", fromErr.String(), packErr)
	}
	if err != nil {
		return failed(ctx, "index-pack", toErr.String(), err)
	}
	return nil
}

func signaled(err error, by syscall.Signal) bool {
	exit := new(exec.ExitError)
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == by
}

// Author is the author of a commit.
type Author struct{ Name, Email string }

// CommitFiles commits some files, paths relative to top, which is the top of a repository that
// Clone or Init made, or of a worktree. Other changes, staged or not, stay as they are. If the
// files haven't changed there is no commit. Processes that commit at the same time wait for each
// other.
func CommitFiles(ctx context.Context, top string, files []string, message string, by Author) error {
	return commitIn(ctx, top, by, func(git func(args ...string) (string, error)) error {
		// Even ignored ones.
		if _, err := git(append([]string{"add", "-f", "--"}, files...)...); err != nil {
			return err
		}
		changed, err := git(append([]string{"status", "--porcelain", "-z", "--"}, files...)...)
		if err != nil || changed == "" {
			return err
		}
		_, err = git(append([]string{"commit", "-q", "--no-verify", "--no-gpg-sign", "--only", "-m",
			message, "--"}, files...)...)
		return err
	})
}

// CommitMerge commits the unfinished merge in the checkout at top, with the message that git has
// for it. The files, paths relative to top, are taken as they are: their conflicts are resolved.
func CommitMerge(ctx context.Context, top string, files []string, by Author) error {
	return commitIn(ctx, top, by, func(git func(args ...string) (string, error)) error {
		if len(files) > 0 {
			if _, err := git(append([]string{"add", "-f", "--"}, files...)...); err != nil {
				return err
			}
		}
		_, err := git("commit", "-q", "--no-verify", "--no-gpg-sign", "--no-edit")
		return err
	})
}

// Unmerged returns the files, relative to top, whose conflicts the checkout's index still has.
func Unmerged(ctx context.Context, top string) ([]string, error) {
	out, err := run(ctx, top, "diff", "--name-only", "--diff-filter=U", "--no-relative", "-z")
	return split(out), err
}

// Init makes a repository in dir, which has none, with a branch and no commit. Hooks of templates
// aren't copied.
func Init(ctx context.Context, dir, branch string) error {
	_, err := run(ctx, dir, "init", "-q", "--template=", "-b", branch)
	return err
}

// InitFor makes a repository in dir for the history of a commit that is elsewhere, by the length
// of its name. It has a branch without a commit, and no hooks.
func InitFor(ctx context.Context, dir, commit string) error {
	format := "sha1"
	if len(commit) == 64 {
		format = "sha256"
	}
	_, err := run(ctx, dir, "init", "-q", "--template=", "-b", "none", "--object-format="+format)
	return err
}

// commitIn calls f with a git that commits in the checkout at top, alone.
func commitIn(ctx context.Context, top string, by Author,
	f func(git func(args ...string) (string, error)) error) (err error) {
	gitDir := cmp.Or(CommonOf(top), filepath.Join(top, ".git"))
	lock, err := durable.Lock(ctx, filepath.Join(gitDir, "greenlight.lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	off, err := filtersOff(ctx, top)
	if err != nil {
		return err
	}
	options := slices.Concat(off, settings("gc.auto=0", "maintenance.auto=false"), []string{"--literal-pathspecs"})
	// The environment may name the person, and overrides settings.
	c := call{dir: top, limit: deadline,
		env: []string{"GIT_AUTHOR_NAME=" + by.Name, "GIT_AUTHOR_EMAIL=" + by.Email,
			"GIT_COMMITTER_NAME=" + by.Name, "GIT_COMMITTER_EMAIL=" + by.Email}}
	return f(func(args ...string) (string, error) {
		out, _, err := c.run(ctx, slices.Concat(options, args)...)
		return out, err
	})
}
