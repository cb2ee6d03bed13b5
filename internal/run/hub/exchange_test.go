package hub_test

import (
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"greenlight/internal/core/remote"
	"greenlight/internal/run/hub"
	"greenlight/internal/run/hub/hubtest"
)

// gitIn runs git and returns what it prints.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return gitInput(t, dir, "", args...)
}

// repository makes a repository with one commit, and returns its git directory.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	gitIn(t, dir, "init", "-q", "-b", "main")
	commitFile(t, dir, "a.txt", "a\n")
	return filepath.Join(dir, ".git")
}

func commitFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-q", "-m", name)
	return gitIn(t, dir, "rev-parse", "HEAD")
}

// A bench is a project, its hub and the repository of a worker.
type bench struct {
	*hubtest.Hub
	t       *testing.T
	dir     string // of the hub
	project string
	worker  *hubtest.Worker
	repo    string // of the worker
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), project: repository(t)}
	b.Hub = hubtest.New(t, b.dir, b.project)
	b.worker = b.Join("w1")
	b.repo = filepath.Join(t.TempDir(), "w.git")
	gitIn(t, t.TempDir(), "init", "-q", "--bare", b.repo)
	return b
}

// lease grants a lease to w1 and publishes the project's commit for it.
func (b *bench) lease(attempt string, n int) (remote.Fence, string) {
	b.t.Helper()
	f := remote.Fence{Attempt: attempt, Lease: n}
	commit := gitIn(b.t, b.project, "rev-parse", "main")
	if err := b.Grant(b.t.Context(), "w1", f); err != nil {
		b.t.Fatal(err)
	}
	if err := b.Publish(b.t.Context(), f, commit); err != nil {
		b.t.Fatal(err)
	}
	return f, commit
}

// work makes a commit in the worker's repository on top of another one.
func (b *bench) work(on, content string) string {
	b.t.Helper()
	dir := b.t.TempDir()
	gitIn(b.t, dir, "--git-dir="+b.repo, "worktree", "add", "-q", "--detach", dir, on)
	return commitFile(b.t, dir, "work.txt", content)
}

func TestWorkTravels(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	f, commit := b.lease("S-1.1.tok", 1)
	if err := b.worker.Fetch(ctx, b.repo, f); err != nil {
		t.Fatal(err)
	}
	if got := gitIn(t, b.repo, "rev-parse", hub.JobRef(f, commit)); got != commit {
		t.Fatalf("fetched %s, want %s", got, commit)
	}
	if _, err := b.Collect(ctx, f, "refs/gl/in/1"); !errors.Is(err, hub.ErrNothing) {
		t.Errorf("nothing was pushed: %v", err)
	}
	for _, content := range []string{"snapshot\n", "done\n"} { // the second is no descendant of the first
		work := b.work(commit, content)
		if err := b.worker.Push(ctx, b.repo, f, work); err != nil {
			t.Fatal(err)
		}
		got, err := b.Collect(ctx, f, "refs/gl/in/1")
		if err != nil || got != work {
			t.Fatalf("collected %s, want %s: %v", got, work, err)
		}
		if got := gitIn(t, b.project, "show", "refs/gl/in/1:work.txt"); got+"\n" != content {
			t.Errorf("collected %q, want %q", got, content)
		}
	}
	if err := b.Forget(ctx, f); err != nil {
		t.Fatal(err)
	}
	if refs := gitIn(t, filepath.Join(b.dir, "exchange.git"), "for-each-ref"); refs != "" {
		t.Errorf("forgotten, and still there: %s", refs)
	}
}

// gitInput runs git with an input, and returns what it prints.
func gitInput(t *testing.T, dir, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.com"},
		args...)...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// nested writes trees, each with the one before as its only entry, by a single git.
func nested(t *testing.T, repo string, n int, tree string) string {
	t.Helper()
	dir := t.TempDir()
	var files strings.Builder
	for i := range n {
		id, err := hex.DecodeString(tree)
		if err != nil {
			t.Fatal(err)
		}
		raw := "40000 d\x00" + string(id)
		name := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(name, []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
		files.WriteString(name + "\n")
		tree = fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "tree %d\x00%s", len(raw), raw)))
	}
	made := strings.Fields(gitInput(t, repo, files.String(), "hash-object", "-t", "tree", "-w", "--no-filters", "--stdin-paths"))
	if len(made) != n || made[n-1] != tree {
		t.Fatalf("git made %d trees, the last %s, want %s", len(made), made[len(made)-1], tree)
	}
	return tree
}

// makeTree writes a tree that git mktree would refuse, of entries MODE NAME\0OBJECT.
func makeTree(t *testing.T, repo, entries string) string {
	t.Helper()
	var raw strings.Builder
	for entries != "" {
		name, rest, _ := strings.Cut(entries, "\x00")
		id, err := hex.DecodeString(rest[:40])
		if err != nil {
			t.Fatal(err)
		}
		raw.WriteString(name + "\x00" + string(id))
		entries = rest[40:]
	}
	return gitInput(t, repo, raw.String(), "hash-object", "--literally", "-t", "tree", "-w", "--stdin")
}

// rawCommit writes a commit whose parent needn't exist.
func rawCommit(t *testing.T, repo, tree, parent string) string {
	t.Helper()
	const by = "A <a@example.com> 1700000000 +0000"
	return gitInput(t, repo, "tree "+tree+"\nparent "+parent+"\nauthor "+by+"\ncommitter "+by+"\n\nx\n",
		"hash-object", "--literally", "-t", "commit", "-w", "--stdin")
}

func randomBytes(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.Read(data)
	return data
}
