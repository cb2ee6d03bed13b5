package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
)

// Whatever an agent configures for its own worktree, or sets in its index, a snapshot is of the
// files that are there, and what git has left out is as it was.
func TestSnapshotIsOfWhatIsThere(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	for name, c := range map[string]struct {
		hide func(b *bench)
		want string // an entry of the tree: MODE PATH and what is in it
	}{
		"modes":            {func(b *bench) { b.set("core.fileMode", "false"); b.ok(os.Chmod(filepath.Join(b.w.Path, "f"), 0o755)) }, "100755 f=f\n"},
		"case":             {func(b *bench) { b.set("core.ignoreCase", "true"); b.write("F", "other\n") }, "100644 F=other\n"},
		"line ends":        {func(b *bench) { b.set("core.autocrlf", "input"); b.write("f", "x\r\n") }, "100644 f=x\r\n"},
		"strict line ends": {func(b *bench) { b.set("core.autocrlf", "true"); b.set("core.safecrlf", "true"); b.write("n", "x\n") }, "100644 n=x\n"},
		"excludes": {func(b *bench) {
			rules := filepath.Join(b.t.TempDir(), "rules")
			b.ok(os.WriteFile(rules, []byte("*\n"), 0o644))
			b.set("core.excludesFile", rules)
			b.write("n", "new\n")
		}, "100644 n=new\n"},
		"attributes": {func(b *bench) {
			rules := filepath.Join(b.t.TempDir(), "rules")
			b.ok(os.WriteFile(rules, []byte("* text eol=lf\n"), 0o644))
			b.set("core.attributesFile", rules)
			b.write("f", "x\r\n")
		}, "100644 f=x\r\n"},
		"links": {func(b *bench) {
			b.set("core.symlinks", "false")
			b.remove("f")
			b.ok(os.Symlink("a", filepath.Join(b.w.Path, "f")))
		}, "120000 f=a"},
		"an included file": {func(b *bench) {
			more := filepath.Join(b.t.TempDir(), "more")
			b.ok(os.WriteFile(more, []byte("[core]\n\tautocrlf = input\n"), 0o644))
			b.set("include.path", more)
			b.write("f", "x\r\n")
		}, "100644 f=x\r\n"},
		"skip-worktree": {func(b *bench) { b.git("update-index", "--skip-worktree", "f"); b.write("f", "edited\n") }, "100644 f=edited\n"},
		"assumed":       {func(b *bench) { b.git("update-index", "--assume-unchanged", "f"); b.write("f", "edited\n") }, "100644 f=edited\n"},
		"sparse": {func(b *bench) { b.git("sparse-checkout", "set", "d") },
			"100644 f=f\n"},
		"sparse, changed": {func(b *bench) { b.git("sparse-checkout", "set", "d"); b.write("f", "edited\n") }, "100644 f=edited\n"},
		"sparse, new":     {func(b *bench) { b.git("sparse-checkout", "set", "d"); b.write("x/n", "new\n") }, "100644 x/n=new\n"},
	} {
		for kind, exact := range map[string]bool{"last": true, "beside": false} {
			t.Run(name+", "+kind, func(t *testing.T) {
				b := worktree(t, map[string]string{"f": "f\n", "a": "a\n", "d/c": "c\n"})
				b.in(b.main, "config", "extensions.worktreeConfig", "true")
				c.hide(b)
				o := b.options()
				o.Exact = exact
				s := b.snapshot(o)
				head, text, _ := strings.Cut(c.want, "=")
				mode, path, _ := strings.Cut(head, " ")
				if got := b.in(b.main, "ls-tree", s.Tree, "--",
					path); !strings.HasPrefix(got, mode+" ") {
					t.Errorf("the tree has %q, not %s", got, head)
				} else if got := b.in(b.main, "cat-file", "blob",
					s.Tree+":"+path); got != strings.TrimSuffix(text, "\n") {
					t.Errorf("%s is %q", path, got)
				}
				if b.in(b.main, "ls-tree", s.Tree, "--", "a") == "" || len(s.Failed) > 0 {
					t.Errorf("a is gone, or not everything is kept: %v", s.Failed)
				}
			})
		}
	}
}

// set configures the worktree.
func (b *bench) set(key, value string) { b.git("config", "--worktree", key, value) }
