package slice

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/base/rapidtest"
	"greenlight/internal/state/tracker"
)

// following opens a store with a follower that answers from memory, however few files there
// are.
func following(root string) *Store {
	s := Open(root)
	s.Dir.many = 1
	return s
}

// After any change to the files, a store that answers from memory and one that reads them agree
// immediately.
func TestMemoryIsNeverBelievedAgainstTheFiles(t *testing.T) {
	t.Parallel()
	sleep := sleepTick(t)
	base := t.TempDir()
	dirs := 0
	rapidtest.Limit(t, 25)
	rapid.Check(t, func(rt *rapid.T) {
		dirs++
		w := newWorld(t, filepath.Join(base, fmt.Sprint(dirs)))
		s := following(w.root)
		defer s.Follow()()
		for range rapid.IntRange(1, 16).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "settle") {
				sleep()
			}
			if rapid.Bool().Draw(rt, "plain edit") {
				w.edit(rt)
			} else {
				w.upset(rt, s)
			}
			w.compareTo(rt, s)
		}
	})
}

// upset makes changes that a memory might overlook.
func (w *world) upset(rt *rapid.T, s *Store) {
	slices, id := filepath.Join(w.dir, "slices"), rapid.SampledFrom([]string{"S-1", "S-2", "s-02", "S-5"}).Draw(rt, "id")
	path := filepath.Join(slices, id+".md")
	switch rapid.SampledFrom([]string{"lose events", "other directory", "directory", "link", "swap", "ours", "ours unseen", "foreign", "grow"}).Draw(rt, "upset") {
	case "lose events":
		if s.files.memory.log != nil {
			s.files.memory.log.Close()
		}
	case "other directory": // with all its contents
		_ = os.Rename(slices, slices+".old")
		w.write("slices/S-2.md", sliceText("S-2", "complete", ""))
		_ = os.RemoveAll(slices + ".old")
	case "directory":
		_ = os.RemoveAll(path)
		_ = os.Mkdir(path, 0o755)
	case "link":
		_ = os.RemoveAll(path)
		_ = os.Symlink("S-3.md", path)
	case "swap":
		_ = os.Rename(path, filepath.Join(slices, "S-3.md"))
	case "ours":
		_ = s.Edit(context.Background(), id, func(f *File) error { return f.Set("status", "failed") })
	case "ours unseen": // without checking all files in between
		_ = s.Do(context.Background(), func(x tracker.Tx) error {
			_ = x.Claim(id, "token")
			_, err := x.Item(id)
			return err
		})
	case "foreign":
		w.write("slices/"+rapid.SampledFrom([]string{"README.md", "x.md.tmp", "n.markdown", ".S-9.md", "a b.md"}).Draw(rt, "name"), "---\n")
	case "grow":
		_ = os.RemoveAll(path)
		w.write("slices/"+id+".md", sliceText(id, "failed", "deps: S-2\n"))
	}
}

func (w *world) compareTo(rt *rapid.T, s *Store) {
	got, gotErr := s.Load()
	want, wantErr := plain(w.root).Load()
	if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
		rt.Fatalf("from memory %v, from the files %v", gotErr, wantErr)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(tracker.Contents{})); diff != "" {
		rt.Fatalf("from the files and from memory:\n%s", diff)
	}
	if gotErr != nil || !rapid.Bool().Draw(rt, "show") {
		return
	}
	s.page.takeUnshown() // otherwise the change could count as shown by an earlier rendering
	if err := s.Refresh(context.Background()); err != nil {
		return // a directory is in the way
	}
	is, text, err := render(plain(w.root))
	if err != nil || is.text != text {
		rt.Fatalf("STATE.md isn't what it should be: %v\n%s", err, cmp.Diff(text, is.text))
	}
}

func render(s *Store) (is stateFile, text string, err error) {
	s.Dir.mu.Lock()
	defer s.Dir.mu.Unlock()
	return s.page.render()
}

// A follower checks only the files that changed, and occasionally all of them: the kernel
// doesn't report every change.
func TestMemoryIsUsed(t *testing.T) {
	sleep := sleepTick(t)
	root := project(t, map[string]string{"slices/a.md": sliceText("a", "pending", ""), "slices/b.md": sliceText("b", "pending", "")})
	if err := os.Link(filepath.Join(root, ".greenlight/slices/b.md"), filepath.Join(root, "b")); err != nil {
		t.Fatal(err)
	}
	sleep()
	s := following(root)
	defer s.Follow()()
	first := mustLoad(t, s)
	if s.files.memory.values == nil {
		t.Skip("no log on this file system")
	}
	put(t, root, "slices/a.md", sliceText("a", "stalled", ""))
	if err := os.WriteFile(filepath.Join(root, "b"), []byte(sliceText("b", "complete", "")), 0o644); err != nil {
		t.Fatal(err)
	}
	sleep()
	if diff := cmp.Diff([]string{"a stalled []", "b pending []"}, brief(mustLoad(t, s))); diff != "" {
		t.Errorf("more than the changed file was looked at: %s", diff)
	}
	again := mustLoad(t, s)
	if &again.Items[0] != &mustLoad(t, s).Items[0] {
		t.Error("nothing has changed, and the items were put together anew")
	}
	s.files.memory.whole = time.Now().Add(-wholeLook)
	if diff := cmp.Diff([]string{"a stalled []", "b complete []"}, brief(mustLoad(t, s))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a pending []", "b pending []"}, brief(first)); diff != "" {
		t.Errorf("an old answer has changed: %s", diff)
	}
	s.Follow()()
	if s.files.memory == nil {
		t.Error("nobody follows any more, since one of two has stopped")
	}
}
