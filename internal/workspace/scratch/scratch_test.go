package scratch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
)

// dirs returns a directory for a project and one for its copies.
func dirs(t *testing.T) (root, tmp string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, tmp = filepath.Join(dir, "shop"), filepath.Join(dir, "tmp")
	for _, d := range []string{root, tmp} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", tmp)
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	return root, tmp
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t"},
		args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// files returns the contents below root by path, and the targets of links, without git's own
// and the mark.
func files(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		switch {
		case d.Name() == ".git" || rel == ".greenlight/runs":
			return filepath.SkipDir
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			all[rel] = "-> " + target
			return err
		case d.Type().IsRegular():
			data, err := os.ReadFile(path)
			all[rel] = string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func make1(t *testing.T, root string) *Copy {
	t.Helper()
	c, err := Make(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if !Is(c.Root) || Is(root) {
		t.Errorf("copy %v, project %v", Is(c.Root), Is(root))
	}
	return c
}

// A clone has the commit's files and the state on disk, of every system: a state file that was
// removed from disk isn't in the copy.
func TestMakeClone(t *testing.T) {
	root, tmp := dirs(t)
	testfiles.Write(t, root, map[string]string{"main.go": "old", ".greenlight/slices/S-1.md": "old",
		".greenlight/slices/S-2.md": "gone",
		".specwright/config.json":   "{}", ".greenlight/.gitignore": "runs/\n"})
	runGit(t, root, "init", "-q")
	runGit(t, root, "add", ".")
	runGit(t, root, "commit", "-q", "-m", "first")
	testfiles.Write(t, root, map[string]string{"main.go": "new", "untracked": "x",
		".greenlight/slices/S-1.md": "new", ".planning/STATE.md": "state",
		".greenlight/runs/live/S-1.1.json": "{}", ".greenlight/.lock": "pid 1",
		".greenlight/x.tmp": "half"})
	if err := os.Remove(filepath.Join(root, ".greenlight/slices/S-2.md")); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(root, ".planning/STATE.md"), at, at); err != nil {
		t.Fatal(err)
	}
	c := make1(t, root)
	want := map[string]string{"main.go": "old", ".greenlight/slices/S-1.md": "new",
		".specwright/config.json": "{}",
		".greenlight/.gitignore":  "runs/\n", ".planning/STATE.md": "state"}
	if diff := cmp.Diff(want, files(t, c.Root)); diff != "" {
		t.Errorf("the copy differs:\n%s", diff)
	}
	if !c.Cloned || c.Left != nil || filepath.Dir(c.Dir) != tmp ||
		c.Root != filepath.Join(c.Dir, "shop") {
		t.Errorf("%+v", c)
	}
	if list, _ := filepath.Glob(filepath.Join(c.Root, ".greenlight/runs/*")); len(list) != 1 {
		t.Errorf("runs: %v", list)
	}
	if info, err := os.Stat(filepath.Join(c.Root, ".planning/STATE.md")); err != nil ||
		!info.ModTime().Equal(at) {
		t.Errorf("%v %v", info, err)
	}
}

func TestCommit(t *testing.T) {
	root, _ := dirs(t)
	project := filepath.Join(root, "services", "shop")
	testfiles.Write(t, project, map[string]string{"main.go": "1", ".greenlight/GRAPH.json": "{}"})
	runGit(t, root, "init", "-q")
	runGit(t, root, "add", ".")
	runGit(t, root, "commit", "-q", "-m", "first")
	c := make1(t, project)
	if want := filepath.Join(c.Dir, "shop", "services", "shop"); c.Root != want {
		t.Fatalf("the project is in %s, want %s", c.Root, want)
	}
	if err := WriteFile(c.Root, "rehearsal/S-1.md", "text"); err != nil {
		t.Fatal(err)
	}
	if err := Commit(t.Context(), c.Root, c.Root, []string{"rehearsal/S-1.md"},
		"S-1: built"); err != nil {
		t.Fatal(err)
	}
	if got := runGit(t, c.Root, "log", "--format=%s", "--name-only",
		"-1"); got != "S-1: built\n\nservices/shop/rehearsal/S-1.md" {
		t.Errorf("%s", got)
	}
	// A mark counts only at its own place.
	testfiles.Write(t, project, map[string]string{".greenlight/runs/scratch.json": `{"root": "/elsewhere", "repository": "` + root + `"}`})
	if err := Commit(t.Context(), project, project, []string{"main.go"}, "no"); err == nil ||
		Is(project) {
		t.Errorf("the project passes for a copy: %v", err)
	}
}

// Beside a bare repository there is no checkout; its HEAD counts.
func TestMakeBesideBare(t *testing.T) {
	root, _ := dirs(t)
	testfiles.Write(t, root, map[string]string{"main.go": "1"})
	runGit(t, root, "init", "-q", "-b", "work")
	runGit(t, root, "add", ".")
	runGit(t, root, "commit", "-q", "-m", "first")
	beside := filepath.Join(filepath.Dir(root), "beside")
	testfiles.Write(t, beside, map[string]string{".git": "gitdir: ./.bare\n",
		".greenlight/GRAPH.json": "{}"})
	runGit(t, root, "clone", "-q", "--bare", root, filepath.Join(beside, ".bare"))
	runGit(t, beside, "worktree", "add", "-q", "-b", "side", "tree")
	c := make1(t, beside)
	if got := runGit(t, c.Root, "log", "--format=%s %D"); got != "first HEAD -> work" {
		t.Errorf("history: %s", got)
	}
	if got := files(t, c.Root); got["main.go"] != "1" || got[".greenlight/GRAPH.json"] != "{}" ||
		got["tree/main.go"] != "" {
		t.Errorf("files: %q", got)
	}
}

// Without git, the files are copied; links are never followed, and those that lead out of the
// project are left out.
func TestMakeFiles(t *testing.T) {
	root, _ := dirs(t)
	outside := filepath.Join(filepath.Dir(root), "outside")
	testfiles.Write(t, outside, map[string]string{"secret": "s"})
	testfiles.Write(t, root, map[string]string{"a/b": "1", "run.sh": "2",
		".greenlight/GRAPH.json": "{}", ".greenlight/runs/hold.json": "{}",
		"sub/.git/config": "remote", "notes.tmp": "kept"})
	if err := os.Chmod(filepath.Join(root, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, "a/b", filepath.Join(root, "in"))
	link(t, "../run.sh", filepath.Join(root, "a/up"))
	link(t, outside, filepath.Join(root, "dir"))
	link(t, "../outside/secret", filepath.Join(root, "out"))
	link(t, "..", filepath.Join(root, "above"))
	link(t, "GRAPH.json", filepath.Join(root, ".greenlight/link"))
	link(t, outside, filepath.Join(root, ".planning"))
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := files(t, root)
	c := make1(t, root)
	want := map[string]string{"a/b": "1", "run.sh": "2", ".greenlight/GRAPH.json": "{}",
		"notes.tmp": "kept", "in": "-> a/b", "a/up": "-> ../run.sh",
		".greenlight/.gitignore": files(t, c.Root)[".greenlight/.gitignore"]}
	if diff := cmp.Diff(want, files(t, c.Root)); diff != "" {
		t.Errorf("the copy differs:\n%s", diff)
	}
	slices.Sort(c.Left)
	if diff := cmp.Diff([]string{".greenlight/link", ".planning", "above", "dir", "out", "pipe"},
		c.Left); diff != "" || c.Cloned {
		t.Errorf("left out:\n%s", diff)
	}
	if got := c.Leftovers(); got != ".greenlight/link, .planning, above and 3 more" {
		t.Error(got)
	}
	if info, err := os.Stat(filepath.Join(c.Root, "run.sh")); err != nil ||
		info.Mode().Perm()&0o100 == 0 {
		t.Errorf("%v %v", info, err)
	}
	if err := WriteFile(c.Root, "new/file", "x"); err != nil {
		t.Error(err)
	}
	if err := Commit(t.Context(), c.Root, c.Root, []string{"new/file"},
		"nothing to commit to"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, files(t, root)); diff != "" {
		t.Errorf("the project has changed:\n%s", diff)
	}
}

// A link in the commit doesn't lead out of the copy.
func TestLinksInTheCommit(t *testing.T) {
	root, tmp := dirs(t)
	outside := filepath.Join(filepath.Dir(root), "outside")
	testfiles.Write(t, outside, map[string]string{"keep": "1"})
	link(t, outside, filepath.Join(root, "rehearsal"))
	link(t, outside, filepath.Join(root, ".greenlight"))
	link(t, outside, filepath.Join(root, "sub"))
	runGit(t, root, "init", "-q")
	runGit(t, root, "add", ".")
	runGit(t, root, "commit", "-q", "-m", "first")
	for _, name := range []string{".greenlight", "sub"} {
		if err := os.Remove(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	testfiles.Write(t, root, map[string]string{".greenlight/GRAPH.json": "{}",
		"sub/.greenlight/GRAPH.json": "{}"})
	c := make1(t, root)
	if err := WriteFile(c.Root, "rehearsal/S-1.md", "text"); err == nil {
		t.Error("a file was written through a link")
	}
	if _, err := Make(t.Context(), filepath.Join(root, "sub")); err == nil ||
		!strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a project under a link: %v", err)
	}
	if diff := cmp.Diff(map[string]string{"keep": "1"}, files(t, outside)); diff != "" {
		t.Errorf("outside:\n%s", diff)
	}
	if list, _ := os.ReadDir(tmp); len(list) != 1 {
		t.Errorf("left in the temporary directory: %v", list)
	}
}

func TestMakeRefuses(t *testing.T) {
	root, tmp := dirs(t)
	testfiles.Write(t, root, map[string]string{".greenlight/GRAPH.json": "{}", "big": ""})
	empty := func() {
		t.Helper()
		if list, _ := os.ReadDir(tmp); len(list) > 0 {
			t.Errorf("left in the temporary directory: %v", list)
		}
	}
	// a hole: it takes no space here
	if err := os.Truncate(filepath.Join(root, "big"), most+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(t.Context(), root); err == nil ||
		!strings.Contains(err.Error(), "at most 512 MB") {
		t.Errorf("too large: %v", err)
	}
	empty()
	if err := os.Remove(filepath.Join(root, "big")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Make(ctx, root); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	empty()
	t.Setenv("TMPDIR", filepath.Join(root, ".greenlight"))
	if _, err := Make(t.Context(), root); err == nil ||
		!strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("TMPDIR in the project: %v", err)
	}
}
