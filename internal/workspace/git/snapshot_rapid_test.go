package git

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/rapidtest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever is done in a worktree, a snapshot that is restored has every byte that git doesn't
// ignore; where attributes say something of line endings, but for those.
func TestSnapshotThenRestore(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	// Each check runs git some thirty times.
	rapidtest.Limit(t, 15)
	rapid.Check(t, func(rt *rapid.T) {
		b.ok(os.Remove(filepath.Join(b.w.Admin, "index"))) // and its flags
		entries, err := os.ReadDir(b.w.Path)
		b.ok(err)
		for _, e := range entries {
			if e.Name() != ".git" {
				b.remove(e.Name())
			}
		}
		b.git("reset", "-q", "--hard")
		names := rapid.SampledFrom([]string{"a", "b", "d", "d/c", "d/e", "f", "g", "g/h", "new",
			"new/deep/x", "a\nb", `q"'\`, "\xff\xfe", " -x", "nr/in", "nr/deep/er", "x.log",
			"run.sh", "*", "é"})
		texts := rapid.SampledFrom([]string{"", "1\n", "2\n", "1\r\n2\r\n", "1\r\n2\n", "\x00\x01",
			"no end"})
		full := func(name string) string { return filepath.Join(b.w.Path, name) }
		room := func(name string) { // nothing is in the way of a file of the name
			for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
				if info, err := os.Lstat(full(dir)); err == nil && !info.IsDir() {
					b.remove(dir)
				}
			}
			b.remove(name)
			b.ok(os.MkdirAll(filepath.Dir(full(name)), 0o755))
		}
		eol := false
		for range rapid.IntRange(1, 12).Draw(rt, "edits") {
			name := names.Draw(rt, "name")
			switch rapid.IntRange(0, 10).Draw(rt, "edit") {
			case 0, 1, 2:
				room(name)
				b.write(name, texts.Draw(rt, "text"))
			case 3:
				os.RemoveAll(full(name))
			case 4:
				if info, err := os.Lstat(full(name)); err == nil && info.Mode().IsRegular() {
					b.ok(os.Chmod(full(name), info.Mode()^0o111))
				}
			case 5:
				room(name)
				b.ok(os.Symlink(rapid.SampledFrom([]string{"a", "nowhere", "d", ".."}).Draw(rt,
					"target"), full(name)))
			case 6:
				to := names.Draw(rt, "to")
				if _, err := os.Lstat(full(name)); err == nil &&
					!strings.HasPrefix(to+"/", name+"/") && !strings.HasPrefix(name+"/", to+"/") {
					room(to)
					os.Rename(full(name), full(to))
				}
			case 7: // what is staged, or fails to be
				exec.Command("git", "-C", b.w.Path, "--literal-pathspecs", "add", "-f", "--",
					name).Run()
			case 8:
				exec.Command("git", "-C", b.w.Path, "update-index",
					rapid.SampledFrom([]string{"--assume-unchanged", "--skip-worktree"}).Draw(rt,
						"flag"), name).Run()
			case 9:
				dir := rapid.SampledFrom([]string{"nr", "nr/deep", "d", "g"}).Draw(rt, "repository")
				if info, err := os.Lstat(full(dir)); err == nil && info.IsDir() {
					b.in(full(dir), "init", "-q")
					if rapid.Bool().Draw(rt, "commits") {
						b.in(full(dir), "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q",
							"--allow-empty", "-m", "x")
					}
				}
			case 10:
				eol = true
				b.write(".gitattributes", rapid.SampledFrom([]string{"* text=auto\n",
					"* text eol=crlf\n", "a eol=lf\n", "* -text\n"}).Draw(rt, "attributes"))
			}
		}
		o := b.options()
		o.Exact = rapid.Bool().Draw(rt, "exact")
		s, err := b.w.Snapshot(t.Context(), o)
		if err != nil {
			rt.Fatal(err)
		}
		if len(s.Failed) > 0 {
			rt.Fatalf("failed: %q", s.Failed)
		}
		want, got := b.want(), b.tree(s.Tree)
		tracked := map[string]bool{}
		for _, line := range split(b.git("ls-files", "-z", "-t")) {
			tag, name, _ := strings.Cut(line, " ")
			tracked[name] = true
			if _, there := want[name]; tag == "S" && !there {
				delete(got, name) // left out, as in a sparse checkout, rather than removed
			}
		}
		for name := range want {
			if strings.HasPrefix(name, "x.log") && !tracked[name] {
				delete(want, name)
				delete(got, name)
			}
		}
		if eol {
			for _, m := range []map[string]string{want, got} {
				for name, text := range m {
					m[name] = string(bytes.ReplaceAll([]byte(text), []byte("\r\n"), []byte("\n")))
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("-worktree +restored:\n%s", diff)
		}
	})
}

// A program that writes and removes files all the time doesn't make a snapshot fail, and files that
// stay are in it.
func TestSnapshotBesideAWriter(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	stop, ended := make(chan struct{}), make(chan struct{})
	started := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			dir := filepath.Join(b.w.Path, fmt.Sprintf("tmp%d", i%7))
			for j := range 20 {
				os.MkdirAll(dir, 0o755)
				os.WriteFile(filepath.Join(dir, fmt.Sprint(j)),
					bytes.Repeat([]byte{byte(i)}, 1+i*j%5000), 0o644)
			}
			if i == 0 {
				close(started)
			}
			os.RemoveAll(dir)
		}
	}()
	<-started
	for i := range 10 {
		b.write("mine", fmt.Sprint(i))
		o := b.options()
		o.Exact = i%2 == 1
		s, err := b.w.Snapshot(t.Context(), o)
		if err != nil {
			t.Errorf("%d: %v", i, err)
			continue
		}
		if got := b.git("show", s.Tree+":mine"); got != fmt.Sprint(i) {
			t.Errorf("mine is %q, not %d", got, i)
		}
	}
	close(stop)
	<-ended
}

// BenchmarkSnapshot compares a snapshot of 5,000 files, ten of them changed, with bare git add -A
// into a copy of the index.
func BenchmarkSnapshot(b *testing.B) {
	files := map[string]string{}
	for i := range 5000 {
		files[fmt.Sprintf("d%d/e%d/f%d", i%10, i%100, i)] = strings.Repeat(fmt.Sprintf("line %d\n",
			i), 100)
	}
	w := worktree(b, files)
	k := 0
	edit := func() {
		for i := range 10 {
			k++
			w.write(fmt.Sprintf("d%d/e%d/f%d", i, i, i), fmt.Sprint("edit ", k))
		}
	}
	b.Run("git-add", func(b *testing.B) {
		for b.Loop() {
			edit()
			index := filepath.Join(b.TempDir(), "index")
			w.ok(copyFile(filepath.Join(w.w.Admin, "index"), index))
			cmd := exec.Command("sh", "-c", "git add -A && git write-tree")
			cmd.Dir, cmd.Env = w.w.Path, append(os.Environ(), "GIT_INDEX_FILE="+index)
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
	for _, exact := range []bool{false, true} {
		b.Run(fmt.Sprintf("exact=%v", exact), func(b *testing.B) {
			for b.Loop() {
				edit()
				o := w.options()
				o.Exact = exact
				if _, err := w.w.Snapshot(b.Context(), o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
