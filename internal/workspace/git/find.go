package git

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// findByFiles finds the checkout that dir is in without running git. If only git knows, known is
// false. The error is ErrNone if dir is certainly in no repository.
func findByFiles(ctx context.Context, dir string) (at Checkout, known bool, err error) {
	if !hasGit() { // running it says so
		return at, false, nil
	}
	if at, known = findPlain(dir); known {
		return at, true, ctx.Err()
	}
	if nowhere(dir) {
		return Checkout{}, true, ErrNone
	}
	return Checkout{}, false, nil
}

// findPlain finds the checkout that dir is in by git's files, as git does for an ordinary
// repository: owned by this user, on one file system, without settings by which git would find
// another one. For any other, known is false.
func findPlain(dir string) (at Checkout, known bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !filepath.IsAbs(real) || strings.Contains(real, "\n") {
		return at, false
	}
	for at.Top = real; ; at.Top = filepath.Dir(at.Top) {
		// A git directory has a HEAD.
		if !ownedOn(at.Top, real) || paths.Exists(filepath.Join(at.Top, "HEAD")) {
			return at, false
		}
		if paths.Exists(filepath.Join(at.Top, ".git")) {
			break
		}
		if at.Top == filepath.Dir(at.Top) {
			return at, false
		}
	}
	if !at.findGitDir() || !isPlainConfig(at.Common, at.GitDir) {
		return at, false
	}
	if at.Prefix, err = filepath.Rel(at.Top, real); err != nil {
		return at, false
	}
	if at.Prefix == "." {
		at.Prefix = ""
	}
	return at, true
}

// findGitDir finds the git directory of the checkout at the top.
func (at *Checkout) findGitDir() bool {
	at.GitDir = filepath.Join(at.Top, ".git")
	at.Common = at.GitDir
	info, err := os.Lstat(at.GitDir)
	if err != nil || !ownedOn(at.GitDir, at.Top) {
		return false
	}
	if info.Mode().IsRegular() {
		if at.GitDir, err = pointer(at.GitDir, "gitdir: "); err != nil {
			return false
		}
		if at.Common, err = pointer(filepath.Join(at.GitDir, "commondir"), ""); err != nil {
			return false
		}
	} else if !info.IsDir() || paths.Exists(filepath.Join(at.GitDir, "commondir")) {
		return false
	}
	for _, dir := range []*string{&at.GitDir, &at.Common} {
		if *dir, err = filepath.EvalSymlinks(*dir); err != nil || !ownedOn(*dir, *dir) {
			return false
		}
	}
	for _, name := range []string{"objects", "refs"} { // git passes over what it can't look into
		if syscall.Access(filepath.Join(at.Common, name), 1) != nil {
			return false
		}
	}
	head, err := durable.ReadFile(filepath.Join(at.GitDir, "HEAD"))
	return err == nil && isHead(string(head)) && LooksLikeRepository(at.Common)
}

// ownedOn reports whether a file is this user's and on the file system that another is on.
func ownedOn(path, other string) bool {
	var a, b syscall.Stat_t
	return syscall.Lstat(path, &a) == nil && syscall.Stat(other, &b) == nil &&
		int(a.Uid) == os.Geteuid() && a.Dev == b.Dev
}

// isPlainConfig reports whether the repository's own configuration has nothing that would move its
// checkout, or make git refuse it.
func isPlainConfig(common, gitDir string) bool {
	text, plain := ownConfig(common, gitDir)
	for _, word := range []string{"worktree", "extensions"} {
		plain = plain && !bytes.Contains(bytes.ToLower(text), []byte(word))
	}
	return plain && setting(common, "repositoryformatversion") == "0" && !Bare(common)
}
