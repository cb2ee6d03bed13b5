package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
)

// ask is what git prints in dir.
func ask(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func commitAll(t *testing.T, dir, message string) {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m",
		message)
}

// clone clones dir into a new directory and checks that nothing in dir has changed.
func clone(t *testing.T, dir string) string {
	t.Helper()
	before := stamps(t, dir)
	dst, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := Clone(t.Context(), dir, dst); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, stamps(t, dir)); diff != "" {
		t.Errorf("cloning changed the repository:\n%s", diff)
	}
	if remotes := ask(t, dst, "remote"); remotes != "" {
		t.Errorf("the clone has remotes: %s", remotes)
	}
	return dst
}

// stamps are the names, modes, sizes and times of all files below dir.
func stamps(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err == nil {
			all[path] = info.Mode().String() + " " + info.ModTime().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestClone(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"a": "1", "sub/b": "2"})
	git(t, dir, "checkout", "-q", "-b", "topic")
	git(t, dir, "remote", "add", "origin", "https://example.invalid/x")
	commitAll(t, dir, "second")
	testfiles.Write(t, dir, map[string]string{"a": "changed", "new": "untracked"})
	dst := clone(t, filepath.Join(dir, "sub"))
	if got := ask(t, dst, "log", "--format=%s %D"); got != "second HEAD -> topic\nfirst" {
		t.Errorf("history: %s", got)
	}
	if got := ask(t, dst, "status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
	if got := ask(t, dst, "grep", "-h", "", "a", "sub/b"); got != "1\n2" {
		t.Errorf("files: %s", got)
	}
	// The clone has every object itself.
	if err := os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	git(t, dst, "fsck", "--full", "--strict")
}

func TestCloneOfAnyHead(t *testing.T) {
	t.Parallel()
	t.Run("detached", func(t *testing.T) {
		dir := repo(t, map[string]string{"a": "1"})
		git(t, dir, "checkout", "-q", "--detach")
		dst := clone(t, dir)
		if got, want := ask(t, dst, "rev-parse", "HEAD"),
			ask(t, dir, "rev-parse", "HEAD"); got != want {
			t.Errorf("HEAD is %s, want %s", got, want)
		}
		got := ask(t, dst, "branch", "--format=%(refname)")
		if strings.Contains(got, "refs/heads/") {
			t.Errorf("branches: %s", got)
		}
	})
	t.Run("no commit", func(t *testing.T) {
		repo(t, map[string]string{"a": "1"}) // for the environment
		dir := t.TempDir()
		git(t, dir, "init", "-q", "-b", "begin")
		dst := clone(t, dir)
		if got := ask(t, dst, "symbolic-ref", "HEAD"); got != "refs/heads/begin" {
			t.Errorf("HEAD is %s", got)
		}
	})
	t.Run("worktree", func(t *testing.T) {
		dir := repo(t, map[string]string{"a": "1"})
		tree := filepath.Join(t.TempDir(), "tree")
		git(t, dir, "worktree", "add", "-q", "-b", "side", tree)
		testfiles.Write(t, tree, map[string]string{"b": "2"})
		commitAll(t, tree, "beside")
		if got := ask(t, clone(t, tree), "log",
			"--format=%s %D"); got != "beside HEAD -> side\nfirst" {
			t.Errorf("history: %s", got)
		}
	})
	t.Run("shallow", func(t *testing.T) {
		dir := repo(t, map[string]string{"a": "1"})
		commitAll(t, dir, "second")
		shallow := filepath.Join(t.TempDir(), "shallow")
		git(t, dir, "clone", "-q", "--depth=1", "file://"+dir, shallow)
		if got := ask(t, clone(t, shallow), "log", "--format=%s"); got != "second" {
			t.Errorf("history: %s", got)
		}
	})
	t.Run("sha256", func(t *testing.T) {
		repo(t, nil)
		dir := t.TempDir()
		git(t, dir, "init", "-q", "--object-format=sha256")
		testfiles.Write(t, dir, map[string]string{"a": "1"})
		commitAll(t, dir, "first")
		if got, want := ask(t, clone(t, dir), "rev-parse", "HEAD"),
			ask(t, dir, "rev-parse", "HEAD"); got != want {
			t.Errorf("HEAD is %s, want %s", got, want)
		}
	})
	t.Run("partial", func(t *testing.T) {
		dir := repo(t, map[string]string{"a": "1"})
		testfiles.Write(t, dir, map[string]string{"a": "2"})
		commitAll(t, dir, "second")
		git(t, dir, "config", "uploadpack.allowFilter", "true")
		partial := filepath.Join(t.TempDir(), "partial")
		git(t, dir, "clone", "-q", "--filter=blob:none", "file://"+dir, partial)
		// From here on its remote would run something.
		ran := filepath.Join(t.TempDir(), "ran")
		git(t, partial, "config", "remote.origin.uploadpack", "touch "+ran+"; git-upload-pack")
		dst := clone(t, partial)
		if got := ask(t, dst, "log", "--format=%s"); got != "second\nfirst" {
			t.Errorf("history: %s", got)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Error("cloning fetched")
		}
	})
}

// What the repository names isn't run, neither for the clone nor for a commit in it.
func TestCloneRunsNothing(t *testing.T) {
	dir := repo(t, map[string]string{"a": "1", "b.x": "2",
		".gitattributes": "*.x filter=evil diff=evil\n"})
	ran := filepath.Join(t.TempDir(), "ran")
	for _, key := range []string{"filter.evil.smudge", "filter.evil.clean", "filter.evil.process",
		"core.fsmonitor", "core.sshCommand",
		"gpg.program", "uploadpack.packObjectsHook", "diff.evil.textconv"} {
		git(t, dir, "config", key, "touch "+ran+"; cat")
	}
	git(t, dir, "config", "commit.gpgSign", "true")
	// The person's own aren't for this.
	home(t, dir)
	git(t, dir, "config", "--global", "core.hooksPath", filepath.Join(dir, ".git/hooks"))
	for _, hook := range []string{"post-checkout", "pre-commit", "commit-msg", "post-commit",
		"reference-transaction", "post-index-change"} {
		testfiles.Write(t, dir, map[string]string{".git/hooks/" + hook: "#!/bin/sh\ntouch " + ran +
			"\n"})
		if err := os.Chmod(filepath.Join(dir, ".git/hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dst := clone(t, dir)
	testfiles.Write(t, dst, map[string]string{"c.x": "3"})
	if err := CommitFiles(t.Context(), dst, []string{"c.x"}, "third",
		Author{"t", "t@t"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("something ran")
	}
}

func TestCommitFiles(t *testing.T) {
	dst := clone(t, repo(t, map[string]string{"a": "1", "b": "2", ".gitignore": "out\n"}))
	by := Author{"gl rehearsal", "rehearsal@localhost"}
	testfiles.Write(t, dst, map[string]string{"a": "changed", "b": "staged", "out/[x]": "3"})
	git(t, dst, "add", "b")
	t.Setenv("GIT_AUTHOR_NAME", "person")
	t.Setenv("GIT_COMMITTER_EMAIL", "person@localhost")
	for range 2 { // the second time nothing has changed
		if err := CommitFiles(t.Context(), dst, []string{"out/[x]"}, "S-1: built", by); err != nil {
			t.Fatal(err)
		}
	}
	if got := ask(t, dst, "log",
		"--format=%s %an %ce"); got != "S-1: built gl rehearsal rehearsal@localhost\nfirst t t@t" {
		t.Errorf("history: %s", got)
	}
	if got := ask(t, dst, "show", "--format=", "--name-only"); got != "out/[x]" {
		t.Errorf("committed: %s", got)
	}
	if got := ask(t, dst, "status", "--porcelain"); got != "M a\nM  b" {
		t.Errorf("status: %q", got)
	}
	// Many at a time all get their commit.
	done := make(chan error)
	for _, name := range strings.Split("abcdefgh", "") {
		testfiles.Write(t, dst, map[string]string{"many/" + name: name})
		go func() { done <- CommitFiles(t.Context(), dst, []string{"many/" + name}, name, by) }()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := ask(t, dst, "rev-list", "--count", "HEAD"); got != "10" {
		t.Errorf("%s commits, want 10", got)
	}
}
