package trust

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"greenlight/internal/base/durable"
)

var (
	agent = Command{Key: "parallel.agents.a.command", Line: "sh -c x"}
	flags = Command{Key: "parallel.claude_flags", Line: "--mcp-config x"}
)

// site returns a project and a person's store.
func site(t *testing.T) (root string, s Store) {
	t.Helper()
	dir := t.TempDir()
	root = filepath.Join(dir, "p")
	must(t, os.Mkdir(root, 0o755))
	return root, open(filepath.Join(dir, "home"))
}

func open(home string) Store {
	return Open(func(key string) string { return map[string]string{"HOME": home}[key] })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused returns the commands that Check's error lists.
func refused(t *testing.T, s Store, root string, commands ...Command) []Command {
	t.Helper()
	err := s.Check(root, commands)
	var e *Error
	if err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	if e == nil {
		return nil
	}
	return e.Commands
}

func TestOnlyWhatWasAllowed(t *testing.T) {
	root, s := site(t)
	if got := refused(t, s, root, agent, flags); len(got) != 2 {
		t.Errorf("nothing was allowed: %v", got)
	}
	must(t, s.Allow(t.Context(), root, []Command{agent}))
	if got := refused(t, s, root, agent, flags); len(got) != 1 || got[0] != flags {
		t.Errorf("one was allowed: %v", got)
	}
	must(t, s.Allow(t.Context(), root, []Command{flags}))
	if got := refused(t, s, root, agent, flags); got != nil {
		t.Errorf("both were allowed: %v", got)
	}
	for _, other := range []Command{
		{Key: agent.Key, Line: agent.Line + " "}, {Key: agent.Key, Line: flags.Line},
		{Key: flags.Key, Line: agent.Line},
		{Key: "parallel.agents.b.command", Line: agent.Line},
	} {
		if refused(t, s, root, other) == nil {
			t.Errorf("%v was never allowed", other)
		}
	}
	must(t, s.Revoke(t.Context(), root))
	must(t, s.Revoke(t.Context(), root))
	if got := refused(t, s, root, agent, flags); len(got) != 2 {
		t.Errorf("revoked: %v", got)
	}
}

// Permission in one place doesn't apply to another, and a project is the same through a link.
func TestByPlace(t *testing.T) {
	root, s := site(t)
	must(t, s.Allow(t.Context(), root, []Command{agent}))
	link, other := filepath.Join(filepath.Dir(root), "link"),
		filepath.Join(filepath.Dir(root), "other")
	must(t, os.Symlink(root, link))
	must(t, os.Mkdir(other, 0o755))
	if refused(t, s, link, agent) != nil {
		t.Error("another project through a link")
	}
	if refused(t, s, other, agent) == nil {
		t.Error("allowed in another project")
	}
	// A record moved to another project's name isn't that project's record.
	from, _, err := s.file(root)
	must(t, err)
	to, _, err := s.file(other)
	must(t, err)
	must(t, os.Rename(from, to))
	if refused(t, s, other, agent) == nil {
		t.Error("another project's record counts")
	}
}

func TestRecordsArePrivate(t *testing.T) {
	root, s := site(t)
	must(t, s.Allow(t.Context(), root, []Command{agent}))
	path, _, err := s.file(root)
	must(t, err)
	for p, want := range map[string]os.FileMode{path: 0o600, s.dir: 0o700,
		filepath.Dir(s.dir): 0o700} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
}

// A broken record allows nothing, and is replaced.
func TestBrokenRecord(t *testing.T) {
	root, s := site(t)
	must(t, s.Allow(t.Context(), root, []Command{agent}))
	path, _, err := s.file(root)
	must(t, err)
	for _, text := range []string{"", "{", "[]", `{"schema_version": 1}`, `{"schema_version": 2, "root": "` + root + `", "allowed": {}}`} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		if refused(t, s, root, agent) == nil {
			t.Errorf("%q allows something", text)
		}
		must(t, s.Allow(t.Context(), root, []Command{agent}))
		if refused(t, s, root, agent) != nil {
			t.Errorf("%q stays", text)
		}
	}
}

// A file too large for a record isn't read into memory, and allows nothing.
func TestHugeRecord(t *testing.T) {
	root, s := site(t)
	must(t, s.Allow(t.Context(), root, []Command{agent}))
	path, _, err := s.file(root)
	must(t, err)
	must(t, os.Truncate(path, durable.MaxFile+1))
	if err := s.Check(root, []Command{agent}); !errors.As(err, new(*durable.SizeError)) {
		t.Errorf("%v", err)
	}
}

// A repository can't allow its own commands.
func TestStoreInTheProject(t *testing.T) {
	root, _ := site(t)
	link := filepath.Join(filepath.Dir(root), "link")
	must(t, os.Symlink(root, link))
	for _, home := range []string{root, filepath.Join(root, "a", "b"), link} {
		s := open(home)
		if err := s.Allow(t.Context(), root, []Command{agent}); err == nil {
			t.Errorf("HOME %s: allowed", home)
		}
		if err := s.Check(root, []Command{agent}); err == nil {
			t.Errorf("HOME %s: passes", home)
		}
	}
}

// Without a home no command is allowed; without commands no home is needed.
func TestNoHome(t *testing.T) {
	root, _ := site(t)
	for _, home := range []string{"", "relative"} {
		s := open(home)
		if refused(t, s, root, agent) == nil {
			t.Errorf("HOME %q: passes", home)
		}
		if err := s.Allow(t.Context(), root, []Command{agent}); err == nil {
			t.Errorf("HOME %q: recorded", home)
		}
		must(t, s.Check(root, nil))
		must(t, s.Check("/no/such/place", nil))
	}
}

// A choice is free until a person has made one; then another choice needs their agreement.
func TestChoices(t *testing.T) {
	root, s := site(t)
	on, off := Command{Key: "sandbox", Line: "bwrap", Free: true},
		Command{Key: "sandbox", Line: "off", Free: true}
	if got := refused(t, s, root, on, off); got != nil || s.Recorded(root, on) {
		t.Errorf("without a choice: %v", got)
	}
	must(t, s.Allow(t.Context(), root, []Command{on}))
	if got := refused(t, s, root, on, off); len(got) != 1 || got[0] != off ||
		!s.Recorded(root, on) {
		t.Errorf("it was turned on: %v", got)
	}
	must(t, s.Allow(t.Context(), root, []Command{off}))
	if got := refused(t, s, root, off); got != nil {
		t.Errorf("a person turned it off: %v", got)
	}
	nowhere := Store{}
	if got, err := nowhere.Pending(root, []Command{off, agent}); err != nil || len(got) != 1 ||
		got[0] != agent {
		t.Errorf("nothing can be kept: %v, %v", got, err)
	}
}
