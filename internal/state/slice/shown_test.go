package slice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/base/rapidtest"
	"greenlight/internal/base/statcache"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// showing opens a store that writes runs/shown however few slices there are; plain opens one
// that doesn't use that file.
func showing(root string) *Store {
	s := Open(root)
	s.Dir.program, s.Dir.worth = "this test", 1
	return s
}

func plain(root string) *Store {
	s := Open(root)
	s.Dir.program = ""
	return s
}

// sleepTick returns a function that waits until earlier stamps are settled, and shortens that
// time for the test.
func sleepTick(t testing.TB) func() {
	t.Helper()
	t.Cleanup(statcache.LowerTick(15 * time.Millisecond))
	return func() { time.Sleep(statcache.Tick() + time.Millisecond) }
}

// newWorld creates a project of three slices.
func newWorld(t *testing.T, root string) *world {
	w := &world{t: t, root: root, dir: filepath.Join(root, ".greenlight")}
	for _, id := range []string{"S-1", "S-2", "S-3"} {
		w.write("slices/"+id+".md", sliceText(id, "pending", ""))
	}
	w.write("runs/x", "")
	return w
}

// After any change to the files, STATE.md is what a gl without runs/shown renders.
func TestShownIsNeverBelievedAgainstTheFiles(t *testing.T) {
	t.Parallel()
	sleep := sleepTick(t)
	base := t.TempDir()
	dirs := 0
	rapidtest.Limit(t, 60)
	rapid.Check(t, func(rt *rapid.T) {
		dirs++
		w := newWorld(t, filepath.Join(base, fmt.Sprint(dirs)))
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "settle") {
				sleep()
			}
			w.edit(rt)
			if rapid.Bool().Draw(rt, "look") {
				w.compare(rt)
			}
		}
		w.compare(rt)
	})
}

// A world is a project edited from all sides.
type world struct {
	t    *testing.T
	root string
	dir  string
}

func (w *world) write(name, text string) {
	put(w.t, w.root, name, text)
}

func (w *world) edit(rt *rapid.T) {
	id := rapid.SampledFrom([]string{"S-1", "S-2", "S-3", "s-02", "S-4"}).Draw(rt, "id")
	path := filepath.Join(w.dir, "slices", id+".md")
	text := sliceText(id, rapid.SampledFrom([]string{"pending", "stalled", "blocked", "complete"}).Draw(rt, "status"),
		rapid.SampledFrom([]string{"", "deps: S-1\n", "deps: S-2\n", "tests: 12\n"}).Draw(rt, "extra"))
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() { // left by upset
		_ = os.RemoveAll(path)
	}
	old, statErr := os.Stat(path)
	switch rapid.SampledFrom([]string{"gl", "gl", "in place", "same times", "renamed over", "remove", "graph", "state", "project", "gl", "lose shown", "break shown"}).Draw(rt, "edit") {
	case "in place":
		w.write("slices/"+id+".md", text)
	case "same times":
		w.write("slices/"+id+".md", text)
		if statErr == nil {
			_ = os.Chtimes(path, old.ModTime(), old.ModTime())
		}
	case "renamed over":
		w.write("other", text)
		if statErr == nil {
			_ = os.Chtimes(filepath.Join(w.dir, "other"), old.ModTime(), old.ModTime())
		}
		_ = os.Rename(filepath.Join(w.dir, "other"), path)
	case "remove":
		_ = os.Remove(path)
	case "graph":
		w.write("GRAPH.json", rapid.SampledFrom([]string{
			`{"slices":[{"id":"S-2","deps":["S-1"]},"S-5"]}`, `{"slices":[{"id":"S-2","deps":["S-3"]},"S-5"]}`,
			`{"slices":["S-1","S-2"],"edges":[{"from":"S-2","to":"S-1"}]}`, `{`, `{"slices":{"s-2":{"deps":[],"wave":2}}}`,
		}).Draw(rt, "text"))
	case "state":
		w.write("STATE.md", rapid.SampledFrom([]string{rows, "# Project State\n", "<!-- GENERATED -->\n## Mine\nkept\n"}).Draw(rt, "text"))
	case "project":
		w.write("project-state.json", rapid.SampledFrom([]string{`{"blockers":["a"]}`, `{"blockers":["b"]}`, `{"paused":{"S-1":{}}}`}).Draw(rt, "text"))
	case "gl":
		set := rapid.SampledFrom([][2]string{{"status", "in_progress"}, {"status", "complete"}, {"status", ""}, {"step", "tests"}, {"tests", "7"}, {"failing", "2"},
			{"security_tests", "1"}, {"name", "a | b"}, {"deps", "S-1"}, {"waiting_for", "you"}}).Draw(rt, "set")
		_ = showing(w.root).Edit(context.Background(), id, func(f *File) error { return f.Set(set[0], set[1]) })
	case "lose shown":
		_ = os.RemoveAll(filepath.Join(w.dir, "runs"))
	case "break shown":
		if data, err := os.ReadFile(filepath.Join(w.dir, shownFile)); err == nil && len(data) > 0 {
			data[rapid.IntRange(0, len(data)-1).Draw(rt, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
			_ = os.WriteFile(filepath.Join(w.dir, shownFile), data, 0o600)
		}
	}
}

// compare reads and renders with runs/shown, and without it.
func (w *world) compare(rt *rapid.T) {
	got, gotErr := showing(w.root).Load()
	want, wantErr := plain(w.root).Load()
	if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
		rt.Fatalf("with runs/shown %v, without %v", gotErr, wantErr)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(tracker.Contents{})); diff != "" {
		rt.Fatalf("without runs/shown and with it:\n%s", diff)
	}
	if gotErr != nil {
		return
	}
	if err := showing(w.root).Refresh(context.Background()); err != nil {
		rt.Fatal(err)
	}
	old, text, err := render(plain(w.root))
	if err != nil || old.text != text {
		rt.Fatalf("STATE.md isn't what it should be: %v\n%s", err, cmp.Diff(text, old.text))
	}
}

// The second gl renders nothing.
func TestShownIsUsed(t *testing.T) {
	sleep := sleepTick(t)
	root := project(t, map[string]string{"slices/a.md": sliceText("a", "pending", ""), "slices/b.md": sliceText("b", "pending", ""),
		// after a, although its file's name sorts before a.md
		"slices/a-b.md": sliceText("a-b", "pending", ""),
		"GRAPH.json":    `{"slices":["a","b"]}`, "runs/x": ""})
	for range 3 { // STATE.md is written, then found to be current
		sleep()
		if err := showing(root).Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s := showing(root)
	if _, err := s.Load(); err != nil {
		t.Fatal(err)
	}
	if !s.page.isShown() {
		t.Error("STATE.md isn't known to be right")
	}
	follower := showing(root)
	follower.Dir.many = 1
	defer follower.Follow()()
	if _, err := follower.Load(); err != nil || !follower.page.isShown() {
		t.Errorf("STATE.md isn't known to be right from memory: %v", err)
	}
	other := showing(root)
	other.Dir.program = "another build"
	if other.page.isShown() {
		t.Error("another program's note was used")
	}
	put(t, root, "slices/b.md", sliceText("b", "stalled", ""))
	if s := showing(root); s.page.isShown() {
		t.Error("a change since isn't noticed")
	}
}

// Changing one slice reads no other slice and no graph, and edits only its part of STATE.md,
// even right after other changes.
func TestOneChangeRendersNothing(t *testing.T) {
	sleepTick(t)
	root := project(t, map[string]string{"slices/a.md": sliceText("a", "pending", "name: One | two\n"), "slices/b.md": sliceText("b", "in_progress", "deps: a\n"),
		"slices/a-b.md": sliceText("a-b", "pending", ""), "GRAPH.json": `{"slices":["a",{"id":"b","name":"Named by the graph"}, "c"]}`, "runs/x": "",
		"STATE.md": header + "## Slices\n\n## Mine\n\n## Current\n| a | is not it |\n"})
	if err := showing(root).Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	set := func(id string, pairs ...string) *Store {
		t.Helper()
		s := showing(root)
		err := s.Edit(t.Context(), id, func(f *File) error {
			for i := 0; i < len(pairs); i += 2 {
				if err := f.Set(pairs[i], pairs[i+1]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if old, text, err := render(plain(root)); err != nil || old.text != text {
			t.Errorf("%s %q: %v\n%s", id, pairs, err, cmp.Diff(text, old.text))
		}
		return s
	}
	for _, change := range [][]string{
		{"a", "status", "in_progress", "step", "tests"}, {"b", "status", "complete"}, {"b", "tests", "12", "security_tests", "3", "failing", "1"},
		{"a", "step", "implementing"}, {"a-b", "status", "fixing"}, {"a", "status", "complete"}, {"a-b", "status", "pending"}, {"a", "status", ""},
	} {
		if s := set(change[0], change[1:]...); s.page.rendered != nil || len(s.files.cache.stems) > 1 || s.Dir.graph != nil {
			t.Errorf("%q: all was looked at", change)
		}
	}
	for _, change := range [][]string{{"a", "name", "Another"}, {"a-b", "deps", "b"}} {
		if s := set(change[0], change[1:]...); s.page.rendered == nil {
			t.Errorf("%q: nothing was rendered", change)
		}
	}
	if s := set("c", "status", "complete"); s.page.rendered == nil { // it gets a file
		t.Error("a new file: nothing was rendered")
	}
	put(t, root, "slices/b.md", sliceText("b", "stalled", ""))
	if s := set("a", "status", "complete"); s.page.rendered == nil {
		t.Error("what another program has changed isn't shown")
	}
	if s := set("a", "status", "pending"); s.page.rendered != nil {
		t.Error("all was looked at once more")
	}
}

// A file written just now is identified by its text, and by its stamp once that is reliable.
func TestShownByText(t *testing.T) {
	sleep := sleepTick(t)
	root := project(t, map[string]string{"slices/a.md": sliceText("a", "pending", ""), "slices/b.md": sliceText("b", "pending", ""), "runs/x": ""})
	sleep()
	if err := showing(root).Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	edit := func(id, status string) {
		t.Helper()
		if err := showing(root).Edit(t.Context(), id, func(f *File) error { return f.Set("status", status) }); err != nil {
			t.Fatal(err)
		}
	}
	byText := func() []string {
		t.Helper()
		var head shownHead
		line, _, _ := strings.Cut(get(t, root, shownFile), "\n")
		if err := json.Unmarshal([]byte(line), &head); err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(maps.Keys(head.Texts))
	}
	statcache.LowerTick(time.Hour)
	edit("a", "tests")
	edit("b", "tests")
	if diff := cmp.Diff([]string{"slices/a.md", "slices/b.md"}, byText()); diff != "" {
		t.Error(diff)
	}
	statcache.LowerTick(time.Millisecond)
	time.Sleep(2 * time.Millisecond)
	edit("b", "complete")
	if diff := cmp.Diff([]string{"slices/b.md"}, byText()); diff != "" {
		t.Error(diff)
	}
}

// While files change faster than STATE.md is written, it is never recorded as current.
func TestShownWhileFilesChange(t *testing.T) {
	root := project(t, map[string]string{"slices/a.md": sliceText("a", "pending", ""), "runs/x": ""})
	for round := range 40 {
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for n := range round { // stop at any point of the loop above
				put(t, root, "slices/a.md", sliceText("a", fmt.Sprintf("x%d-%d", round, n), ""))
			}
		}()
		if err := showing(root).Refresh(t.Context()); err != nil && !errors.Is(err, tracker.ErrChanged) {
			t.Error(err)
		}
		<-stopped
		if !showing(root).page.isShown() {
			continue
		}
		if old, text, err := render(plain(root)); err != nil || old.text != text {
			t.Fatalf("STATE.md is believed: %v\n%s", err, cmp.Diff(text, old.text))
		}
	}
}

// On a file system with one-second timestamps, a stamp isn't trusted until some seconds have
// passed.
func TestCoarseTimes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("mkfs.ext4"); err != nil || os.Getuid() != 0 {
		t.Skip("making a file system needs root and mkfs.ext4")
	}
	image, root := filepath.Join(t.TempDir(), "image"), t.TempDir()
	if err := os.WriteFile(image, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{{"mkfs.ext4", "-q", "-I", "128", image}, {"mount", "-o", "loop", image, root}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%q: %v: %s", argv, err, out)
		}
	}
	t.Cleanup(func() { _ = exec.Command("umount", root).Run() })
	put(t, root, "runs/x", "")
	for begin := 0; ; begin++ {
		for time.Now().Nanosecond() > 3e8 {
			time.Sleep(10 * time.Millisecond)
		}
		put(t, root, "slices/a.md", sliceText("a", "pending", ""))
		before, err := statcache.Stat(filepath.Join(root, ".greenlight/slices/a.md"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(statcache.Tick() + 10*time.Millisecond)
		if err := showing(root).Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		put(t, root, "slices/a.md", sliceText("a", "stalled", ""))
		after, err := statcache.Stat(filepath.Join(root, ".greenlight/slices/a.md"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a stalled []"}, brief(mustLoad(t, showing(root)))); diff != "" {
			t.Error(diff)
		}
		if after == before || begin == 5 { // within one second, as intended
			return
		}
	}
}

func mustLoad(t *testing.T, s *Store) *tracker.Contents {
	t.Helper()
	c, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// For any content of runs/shown, editing STATE.md terminates, and changes only existing text.
func FuzzShape(f *testing.F) {
	f.Add([]byte("## Slices\n\n| a | A | pending | 0 | 0 | none |\n\nProgress: [░░░░░░░░░░] 0/1 slices\n\n## Current\n\nNone\n\nTotal: 0 passing, 0 failing, 0 security\n"),
		10, 46, 94, 95, 100, 1, 0, 0)
	f.Fuzz(func(t *testing.T, text []byte, table, progress, current, end, summary, all, done, tests int) {
		at := shape{sums{Slices: all, Done: done, TestCounts: plan.TestCounts{Recorded: tests}}, table, progress, current, end, summary}
		was, is := parseSlice([]byte(sliceText("a", "pending", ""))), parseSlice([]byte(sliceText("a", "complete", "")))
		if changes, _ := at.change(text, "a", was, is); changes != nil {
			splice(text, changes)
		}
	})
}
