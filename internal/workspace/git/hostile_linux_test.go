package git

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
)

// served is a pipe in the place of a file, which gives each reader the next of the texts.
func served(t *testing.T, file string, texts ...string) (end func()) {
	t.Helper()
	if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(file, 0o644); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			f, err := os.OpenFile(file, os.O_WRONLY|syscall.O_NONBLOCK, 0) // fails without a reader
			if err != nil {
				continue
			}
			_, _ = f.WriteString(texts[i])
			f.Close()
			time.Sleep(5 * time.Millisecond) // this reader comes to the end first
			i = min(i+1, len(texts)-1)
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// The configuration of a repository inside the worktree is the agent's. However it is served, no
// program that it names runs.
func TestSnapshotRunsNothingOfANestedRepository(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	for _, submodule := range []bool{false, true} {
		for _, where := range []string{"config", "config of a git file"} {
			b := worktree(t, start)
			ran := filepath.Join(t.TempDir(), "ran")
			b.write("nested/file.x", "one\n")
			nested := filepath.Join(b.w.Path, "nested")
			b.in(nested, "init", "-q")
			b.in(nested, "add", "-A")
			b.in(nested, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "one")
			if submodule {
				b.git("-c", "advice.addEmbeddedRepo=false", "add", "nested")
				b.in(nested, "update-ref", "refs/remotes/origin/main", "HEAD")
			}
			gitDir := filepath.Join(nested, ".git")
			if where != "config" {
				moved := filepath.Join(b.w.Path, "moved")
				b.ok(os.Rename(gitDir, moved))
				b.write("nested/.git", "gitdir: ../moved\n")
				gitDir = moved
			}
			b.write("nested/.gitattributes", "* filter=evil diff=evil\n")
			b.write("nested/file.x", "two\n")
			plain, err := os.ReadFile(filepath.Join(gitDir, "config"))
			b.ok(err)
			evil := string(plain) + "[filter \"evil\"]\n\tclean = touch " + ran +
				"; cat\n\tsmudge = touch " + ran + "; cat\n[core]\n\tfsmonitor = touch " + ran +
				"\n\tsshCommand = touch " + ran + "\n[diff \"evil\"]\n\ttextconv = touch " + ran +
				";cat\n"
			var texts []string // git reads the file several times: each run of it once or twice
			for range 14 {
				texts = append([]string{string(plain)}, texts...)
				b.ok(os.RemoveAll(filepath.Join(gitDir, "config")))
				end := served(t, filepath.Join(gitDir, "config"), append(texts[1:], evil)...)
				o := b.options()
				o.Exact = true
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				s, err := b.w.Snapshot(ctx, o)
				cancel()
				end()
				if err != nil {
					t.Fatalf("submodule %v, %s: %v", submodule, where, err)
				}
				if text := b.tree(s.Tree)["nested/file.x"]; text != "two\n" {
					t.Errorf("submodule %v, %s: the file is %q", submodule, where, text)
				}
			}
			if _, err := os.Stat(ran); err == nil {
				t.Errorf("submodule %v, %s: a program of the nested repository ran", submodule,
					where)
			}
		}
	}
}

// A git directory outside the worktree doesn't count as nested: an agent that can't read there must
// not get it from gl.
func TestSnapshotBringsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	secret := t.TempDir()
	b.in(secret, "init", "-q")
	if err := os.WriteFile(filepath.Join(secret, "token"), []byte("hidden\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.in(secret, "add", "-A")
	b.in(secret, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "secret")
	id := b.in(secret, "rev-parse", "HEAD")
	b.write("n/.git", "gitdir: "+filepath.Join(secret, ".git")+"\n")
	b.write("m/file", "x")
	b.ok(os.Symlink(filepath.Join(secret, ".git"), filepath.Join(b.w.Path, "m", ".git")))
	b.write("k/file", "x")
	b.in(filepath.Join(b.w.Path, "k"), "init", "-q")
	b.remove("k/.git/objects")
	b.ok(os.Symlink(filepath.Join(secret, ".git", "objects"),
		filepath.Join(b.w.Path, "k", ".git", "objects")))
	b.write("k/.git/refs/heads/x", id+"\n")
	o := b.options()
	o.Exact = true
	s, err := b.w.Snapshot(t.Context(), o)
	b.ok(err)
	if out, err := exec.Command("git", "--git-dir="+b.w.Common, "cat-file", "-t",
		id).CombinedOutput(); err == nil {
		t.Errorf("the secret commit is in the repository: %s", out)
	}
	var failed []string
	for _, f := range s.Failed {
		failed = append(failed, f.Path)
	}
	if got := strings.Join(failed, " "); !strings.Contains(got, "n/.git") ||
		!strings.Contains(got, "k/.git") {
		t.Errorf("not kept: %q", failed)
	}
}

// A pipe where git reads rules, or a huge file, doesn't hold it; one that comes back at once is
// named.
func TestGitIsNotHeldByPipes(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	for _, dir := range []string{"", "one", "two", "three"} {
		b.write(filepath.Join(dir, "file"), "x\n")
		_ = os.Remove(filepath.Join(b.w.Path, dir, ".gitignore"))
		b.ok(syscall.Mkfifo(filepath.Join(b.w.Path, dir, ".gitignore"), 0o644))
		b.ok(syscall.Mkfifo(filepath.Join(b.w.Path, dir, ".gitattributes"), 0o644))
	}
	begun := time.Now()
	s, err := b.w.Snapshot(t.Context(), b.options())
	b.ok(err)
	if b.tree(s.Tree)["three/file"] != "x\n" || time.Since(begun) > 20*time.Second {
		t.Errorf("%v after %v", b.tree(s.Tree), time.Since(begun))
	}
	b.remove(".gitignore")
	b.write(".gitignore", "")
	b.ok(os.Truncate(filepath.Join(b.w.Path, ".gitignore"), 8<<30))
	stuck := new(StuckError)
	if _, err := b.w.Snapshot(t.Context(), b.options()); !errors.As(err, &stuck) ||
		stuck.Why != isHuge {
		t.Errorf("a huge .gitignore: %v", err)
	}
}

// Tests that changed a file, and the index so that it looks unchanged, don't decide what the next
// ones run on.
func TestCheckoutDetachedBelievesNoIndexOfOthers(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"file": "right\n"})
	commit := b.git("rev-parse", "HEAD")
	b.ok(b.w.Exclusive().CheckoutDetached(t.Context(), commit, b.main))
	b.write("file", "wrong\n")
	index := filepath.Join(b.w.Admin, "index")
	data, err := os.ReadFile(index)
	b.ok(err)
	var st syscall.Stat_t
	b.ok(syscall.Lstat(filepath.Join(b.w.Path, "file"), &st))
	// The entry's flags, before them 20 bytes of a hash and 40 of what lstat said.
	at := bytes.Index(data, []byte("\x00\x04file\x00")) - 60
	if at < 12 {
		t.Fatal("no entry")
	}
	for i, n := range []int64{st.Ctim.Sec, st.Ctim.Nsec, st.Mtim.Sec, st.Mtim.Nsec, int64(st.Dev),
		int64(st.Ino)} {
		binary.BigEndian.PutUint32(data[at+4*i:], uint32(n))
	}
	sum := sha1.Sum(data[:len(data)-20])
	copy(data[len(data)-20:], sum[:])
	b.ok(os.WriteFile(index, data, 0o644))
	later := time.Now().Add(time.Hour)
	b.ok(os.Chtimes(index, later, later)) // else git looks again
	if out := b.git("status", "--porcelain"); out != "" {
		t.Fatalf("the index tells: %s", out)
	}
	b.ok(b.w.Exclusive().CheckoutDetached(t.Context(), commit, b.main))
	if text, _ := os.ReadFile(filepath.Join(b.w.Path, "file")); string(text) != "right\n" {
		t.Errorf("the file is %q", text)
	}
}
