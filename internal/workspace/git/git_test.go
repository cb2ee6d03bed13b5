package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
)

// repo makes a repository with one commit of the files and returns its root.
func repo(t testing.TB, files map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	testfiles.Write(t, dir, files)
	if err := testfiles.EmptyRepository(dir, "master"); err != nil {
		t.Fatal(err)
	}
	if len(files) > 0 {
		git(t, dir, "add", ".")
	}
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	return dir
}

// home makes a directory that of the person's settings.
func home(t testing.TB, dir string) {
	t.Helper()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
}

func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// A call that isn't through when its limit is over is asked how long it may take.
func TestCallThatMayTakeLonger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := testfiles.EmptyRepository(dir, "main"); err != nil {
		t.Fatal(err)
	}
	for more, ends := range map[time.Duration]bool{time.Hour: true, 1: false} {
		in, to, err := os.Pipe() // git waits at it until its caller is asked, or is ended
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		defer to.Close()
		c := call{dir: dir, limit: 1, stdin: in, more: func(context.Context) time.Duration {
			if ends {
				to.Close()
			}
			return more
		}}
		if _, _, err := c.run(t.Context(), "cat-file", "--batch"); (err == nil) != ends ||
			!ends && unanswered(err) == nil {
			t.Errorf("%s: %v", more, err)
		}
	}
}

func TestDirty(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"a": "1", "b": "2\n2\n2\n", "sub/c": "3",
		".greenlight/x": "4"})
	if got, err := Dirty(t.Context(), dir, ".greenlight"); err != nil || len(got) > 0 {
		t.Fatalf("%q, %v", got, err)
	}
	testfiles.Write(t, dir, map[string]string{"a": "other", ".greenlight/x": "5", "new file\n": "",
		"sub/ü": "", "new/1": "", "new/2": ""})
	git(t, dir, "mv", "b", "moved")
	index, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Dirty(t.Context(), filepath.Join(dir, "sub"), "")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{" M .greenlight/x", " M a", "?? new file\n", "?? new/", "?? sub/ü",
		"R  moved <- b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err := Dirty(t.Context(), dir, ".greenlight"); err != nil || len(got) != 5 ||
		slices.Contains(got, " M .greenlight/x") {
		t.Errorf("%q, %v", got, err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, ".git", "index")); err != nil ||
		string(after) != string(index) {
		t.Errorf("the index was written, %v", err)
	}
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"g/STATE.md": "", "g/runs/1": "", "g/runs/2": "", "*": "",
		".gitattributes": "g/STATE.md merge=ours\n"})
	testfiles.Write(t, dir, map[string]string{"g/.gitignore": "*.tmp\nruns/\n"})
	ctx := t.Context()
	if got, err := Tracked(ctx, dir, "g/runs", "*"); err != nil ||
		!slices.Equal(got, []string{"*", "g/runs/1", "g/runs/2"}) {
		t.Errorf("tracked: %q, %v", got, err)
	}
	if got, err := Tracked(ctx, dir, "g/none"); err != nil || got != nil {
		t.Errorf("tracked: %q, %v", got, err)
	}
	for _, tt := range []struct{ paths, want []string }{
		{[]string{"g/runs/x", "g/a.tmp", "g/.lock"}, []string{"g/.lock"}},
		{[]string{"g/.lock"}, []string{"g/.lock"}},
		{[]string{"g/a.tmp"}, nil},
		{[]string{":x/a", ":.tmp", "g/:.tmp"}, []string{":x/a", ":.tmp"}},
	} {
		if got, err := Unignored(ctx, dir, tt.paths...); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("unignored %q: %q, %v", tt.paths, got, err)
		}
	}
	for path, want := range map[string]string{"g/STATE.md": "ours", "other": "unspecified"} {
		if got, err := Attribute(ctx, dir, "merge", path); err != nil || got != want {
			t.Errorf("attribute of %s: %q, %v", path, got, err)
		}
	}
	if got, err := Config(ctx, dir, "merge.ours.driver"); err != nil || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	git(t, dir, "config", "merge.ours.driver", "true")
	if got, err := Config(ctx, dir, "merge.ours.driver"); err != nil || got != "true" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Root(ctx, filepath.Join(dir, "g")); err != nil || got != dir {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Version(ctx); err != nil || !strings.Contains(got, ".") {
		t.Errorf("%q, %v", got, err)
	}
}

// A hook that calls gl has variables set that lead git to another repository.
func TestHooksDontLeadAstray(t *testing.T) {
	dir := repo(t, map[string]string{"a": "1"})
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "elsewhere"))
	t.Setenv("GIT_INDEX_FILE", "/nowhere")
	t.Setenv("GIT_OBJECT_DIRECTORY", "/nowhere")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "test.set")
	t.Setenv("GIT_CONFIG_VALUE_0", "1")
	if got, err := Config(t.Context(), dir, "test.set"); err != nil || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Root(t.Context(), dir); err != nil || got != dir {
		t.Errorf("%q, %v", got, err)
	}
}

func TestErrors(t *testing.T) {
	repo(t, nil)
	if _, err := Dirty(t.Context(), t.TempDir(), ""); !errors.Is(err, ErrNone) {
		t.Errorf("no repository: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Version(ctx); err == nil {
		t.Error("a call that was cancelled succeeds")
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Version(t.Context()); !errors.Is(err, ErrMissing) {
		t.Errorf("no git: %v", err)
	}
}

// A repository's configuration names programs in many places. None of them runs because gl asks a
// question.
func TestRepositoryRunsNothing(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"a.x": "1", "b.y": "1", "c.z": "1", "sub/d": "1",
		".gitattributes": "*.x filter=x diff=x\n*.y filter=Y.sub diff=x\n*.z filter=mine\n"})
	ran := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(t.TempDir(), "evil")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho \"$0 $*\" >>'"+ran+"'\nexit 1\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	hooks := filepath.Join(dir, ".git", "myhooks")
	for _, name := range []string{"post-index-change", "fsmonitor-watchman",
		"reference-transaction", "pre-commit"} {
		testfiles.Write(t, hooks, map[string]string{name: "#!/bin/sh\n" + evil + " hook " + name +
			"\n"})
		if err := os.Chmod(filepath.Join(hooks, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Git runs the filter of a file whose size is right and whose time isn't.
	testfiles.Write(t, dir, map[string]string{"a.x": "2", "b.y": "2", "c.z": "2", "new.x": "1",
		"sub/d": "2"})
	sub := filepath.Join(dir, "module")
	git(t, dir, "init", "-q", sub)
	testfiles.Write(t, sub, map[string]string{"a.x": "1", ".gitattributes": "*.x filter=s\n"})
	git(t, sub, "add", ".")
	git(t, sub, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "first")
	git(t, dir, "-c", "advice.addEmbeddedRepo=false", "add", "module")
	testfiles.Write(t, sub, map[string]string{"a.x": "2"})
	git(t, sub, "config", "filter.s.clean", evil+" submodule")
	git(t, sub, "config", "core.fsmonitor", evil)
	for _, setting := range [][2]string{
		{"core.fsmonitor", evil}, {"core.hooksPath", hooks}, {"core.pager", evil},
		{"pager.log", evil}, {"pager.status", evil},
		{"core.sshCommand", evil}, {"gpg.program", evil}, {"log.showSignature", "true"},
		{"diff.external", evil},
		{"filter.x.clean", evil + " clean"}, {"filter.x.smudge", evil},
		{"filter.x.required", "true"},
		{"filter.Y.sub.process", evil + " process"}, {"filter.Y.sub.required", "true"},
		{"diff.x.textconv", evil}, {"diff.x.command", evil}, {"credential.helper", evil},
		{"core.askPass", evil}, {"core.editor", evil},
		{"status.submoduleSummary", "true"},
	} {
		git(t, dir, "config", setting[0], setting[1])
	}
	os.Remove(ran) // git init and git config may have run it
	ctx := t.Context()
	dirty, err := Dirty(ctx, dir, "")
	if err != nil {
		t.Error(err)
	}
	slices.Sort(dirty)
	want := []string{" M a.x", " M b.y", " M c.z", " M sub/d", "?? new.x", "A  module"}
	if d := cmp.Diff(want, dirty); d != "" {
		t.Error(d)
	}
	_, err1 := DirtyAt(ctx, dir, "a.x", "b.y", "module")
	_, err2 := Log(ctx, dir, 3, "a.x")
	_, err3 := Tags(ctx, dir)
	_, err4 := Branch(ctx, dir)
	_, err5 := Tracked(ctx, dir)
	_, err6 := Unignored(ctx, dir, "a.x")
	_, err7 := Attribute(ctx, dir, "filter", "a.x")
	_, err8 := Root(ctx, filepath.Join(dir, "sub"))
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("ran\n%s", text)
	}
}

// The person's own filters do run: a file that git-lfs keeps hasn't changed because it is there.
func TestOwnFiltersCount(t *testing.T) {
	dir := repo(t, map[string]string{".gitattributes": "*.x filter=own\n"})
	testfiles.Write(t, dir,
		map[string]string{".gitconfig": "[filter \"own\"]\n\tclean = tr a-z A-Z\n", "f.x": "abc"})
	home(t, dir)
	git(t, dir, "add", "f.x")
	git(t, dir, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "x")
	past := time.Unix(1, 0)
	if err := os.Chtimes(filepath.Join(dir, "f.x"), past, past); err != nil {
		t.Fatal(err)
	}
	if dirty, err := DirtyAt(t.Context(), dir, "f.x"); err != nil || len(dirty) > 0 {
		t.Errorf("%q, %v", dirty, err)
	}
}

// Git can't be told to leave out a filter with such a name, so nothing is asked that would run it.
func TestFilterThatCannotBeSwitchedOff(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"a.x": "1", ".gitattributes": "*.x filter=a=b\n"})
	ran := filepath.Join(t.TempDir(), "ran")
	testfiles.Write(t, dir, map[string]string{"a.x": "2"})
	git(t, dir, "config", "filter.a=b.clean", "touch "+ran+" #")
	if dirty, err := Dirty(t.Context(), dir, ""); err == nil {
		t.Errorf("%q", dirty)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the filter ran")
	}
}

// A directory that looks like a bare repository may be part of a clone, with a configuration of its
// author's.
func TestEmbeddedBareRepository(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"a": "1"})
	bare := filepath.Join(dir, "data")
	git(t, dir, "init", "-q", "--bare", bare)
	if got, err := Root(t.Context(), bare); err == nil {
		t.Errorf("git asked the repository in %s: %q", bare, got)
	}
	if _, err := Tags(t.Context(), bare); err == nil {
		t.Error("git answers for the embedded repository")
	}
}

// Git fetches objects that a partial clone lacks by starting what the repository names as its
// remote.
func TestMissingObjectsAreNotFetched(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"a": "1"})
	ran := filepath.Join(t.TempDir(), "ran")
	for _, setting := range [][2]string{
		{"core.repositoryFormatVersion", "1"}, {"extensions.partialClone", "origin"},
		{"remote.origin.promisor", "true"},
		{"remote.origin.url", dir}, {"remote.origin.uploadpack", "touch " + ran + "; false"},
	} {
		git(t, dir, "config", setting[0], setting[1])
	}
	branch, err := Branch(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	testfiles.Write(t, dir, map[string]string{".git/refs/heads/" +
		branch: "1234567890123456789012345678901234567890\n"})
	_, _ = Log(t.Context(), dir, 1) // whatever it says about what is missing
	_, _ = Dirty(t.Context(), dir, "")
	if _, err := os.Stat(ran); err == nil {
		t.Error("the remote was asked")
	}
}
