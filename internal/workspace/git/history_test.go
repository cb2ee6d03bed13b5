package git

import (
	"errors"
	"testing"

	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
)

func commit(t *testing.T, dir, subject, date string, files map[string]string) {
	t.Helper()
	testfiles.Write(t, dir, files)
	t.Setenv("GIT_AUTHOR_DATE", date)
	t.Setenv("GIT_COMMITTER_DATE", date)
	git(t, dir, "add", ".")
	git(t, dir, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m",
		subject)
}

func TestLog(t *testing.T) {
	dir := repo(t, map[string]string{"a": "1"})
	commit(t, dir, "second\tof them", "2026-03-01T12:00:00Z",
		map[string]string{"a": "2", "sub/b*": "1"})
	commit(t, dir, "third", "2026-03-02T12:00:00Z", map[string]string{"c": "1"})
	git(t, dir, "config", "log.showSignature", "true")
	for _, c := range []struct {
		n     int
		paths []string
		want  []string
	}{
		{5, nil, []string{"third", "second\tof them", "first"}},
		{1, nil, []string{"third"}},
		{5, []string{"a"}, []string{"second\tof them", "first"}},
		{5, []string{"sub/b*", "no such file"}, []string{"second\tof them"}},
		{5, []string{"*"}, nil}, // no pattern: a file of that name
	} {
		commits, err := Log(t.Context(), dir, c.n, c.paths...)
		if err != nil {
			t.Fatal(err)
		}
		var subjects []string
		for _, c := range commits {
			subjects = append(subjects, c.Subject)
			if c.Hash == "" || len(c.Date) != 10 {
				t.Errorf("%+v", c)
			}
		}
		if d := cmp.Diff(c.want, subjects); d != "" {
			t.Errorf("%v: %s", c.paths, d)
		}
	}
}

func TestLogOfNothing(t *testing.T) {
	t.Parallel()
	repo(t, nil) // for its settings
	empty := t.TempDir()
	if _, err := Log(t.Context(), empty, 5); !errors.Is(err, ErrNone) {
		t.Errorf("no repository: %v", err)
	}
	git(t, empty, "init", "-q")
	if commits, err := Log(t.Context(), empty, 5); err != nil || len(commits) > 0 {
		t.Errorf("no commits: %v, %v", commits, err)
	}
}

func TestTags(t *testing.T) {
	dir := repo(t, nil)
	if tags, err := Tags(t.Context(), dir); err != nil || len(tags) > 0 {
		t.Fatalf("no tags: %v, %v", tags, err)
	}
	commit(t, dir, "second", "2026-03-01T12:00:00Z", map[string]string{"a": "1"})
	git(t, dir, "tag", "greenlight/checkpoint/S-1")
	t.Setenv("GIT_COMMITTER_DATE", "2026-03-05T12:00:00Z")
	git(t, dir, "-c", "user.name=t", "-c", "user.email=t@t", "tag", "-a", "v1", "-m", "one")
	tags, err := Tags(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	head, err := Log(t.Context(), dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []Tag{{"v1", head[0].Hash, "2026-03-05"},
		{"greenlight/checkpoint/S-1", head[0].Hash, "2026-03-01"}}
	if d := cmp.Diff(want, tags); d != "" {
		t.Error(d)
	}
}

func TestDirtyAt(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"a": "1", "b": "1", "sub/c": "1"})
	testfiles.Write(t, dir, map[string]string{"a": "2", "b": "2", "sub/new/d": "1"})
	got, err := DirtyAt(t.Context(), dir, "a", "sub")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{" M a", "?? sub/new/d"}, got); d != "" {
		t.Error(d)
	}
}

func TestBranch(t *testing.T) {
	t.Parallel()
	dir := repo(t, nil)
	git(t, dir, "checkout", "-q", "-b", "feature/x")
	if got, err := Branch(t.Context(), dir); got != "feature/x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	git(t, dir, "checkout", "-q", "--detach")
	if got, err := Branch(t.Context(), dir); got != "" || err != nil {
		t.Errorf("detached: %q, %v", got, err)
	}
}
