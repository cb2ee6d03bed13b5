package worktree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
)

// BenchmarkOverhead is what a slice's worktree and its last snapshot cost in a repository of 5,000
// files, against bare git in the same repository: worktree add with its checkout, and add -A into a
// temporary index with write-tree. One operation is all the slices; ms/slice is for one.
func BenchmarkOverhead(b *testing.B) {
	root := filepath.Join(tempDir(b), "repo")
	newRepo(b, root)
	files := map[string]string{}
	for i := range 5000 {
		files[fmt.Sprintf("d%d/e%d/f%d", i%10, i%100, i)] = strings.Repeat(fmt.Sprintf("line %d\n",
			i), 100)
	}
	testfiles.Write(b, root, files)
	commit(b, root, "5,000 files")
	r := open(b, root)
	edit := func(dir, text string) {
		for i := range 10 {
			testfiles.Write(b, dir, map[string]string{fmt.Sprintf("d%d/e%d/f%d", i, i, i): text})
		}
	}
	perSlice := func(b *testing.B, slices int) {
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*slices), "ms/slice")
	}
	made := 0 // of all runs: each has names of its own
	for _, slices := range []int{10, 100} {
		b.Run(fmt.Sprintf("bare/worktree/slices=%d", slices), func(b *testing.B) {
			var dirs []string
			for b.Loop() {
				for range slices {
					made++
					dir := filepath.Join(root+".bare", fmt.Sprint(made))
					gitIn(b, root, "worktree", "add", "-q", "-b", fmt.Sprint("bare-", made), dir)
					dirs = append(dirs, dir)
				}
			}
			perSlice(b, slices)
			discard(b, root, dirs)
		})
		b.Run(fmt.Sprintf("gl/worktree/slices=%d", slices), func(b *testing.B) {
			var dirs []string
			for b.Loop() {
				for range slices {
					made++
					l := plan(b, r, fmt.Sprint("S-", made))
					finish(b, r, l, Making{})
					dirs = append(dirs, l.Path)
				}
			}
			perSlice(b, slices)
			discard(b, root, dirs)
		})
		var lineages []*Lineage
		var dirs []string
		ready := func(b *testing.B) {
			for len(lineages) < slices {
				made++
				l := plan(b, r, fmt.Sprint("S-", made))
				finish(b, r, l, Making{})
				lineages, dirs = append(lineages, l), append(dirs, l.Path)
			}
		}
		b.Run(fmt.Sprintf("bare/snapshot/slices=%d", slices), func(b *testing.B) {
			ready(b)
			for b.Loop() {
				for _, l := range lineages {
					made++
					edit(l.Path, fmt.Sprint("bare ", made))
					index := filepath.Join(b.TempDir(), "index")
					cmd := exec.Command("sh", "-c",
						"git read-tree HEAD && git add -A && git write-tree")
					cmd.Dir, cmd.Env = l.Path, append(os.Environ(), "GIT_INDEX_FILE="+index)
					if out, err := cmd.CombinedOutput(); err != nil {
						b.Fatalf("%v: %s", err, out)
					}
				}
			}
			perSlice(b, slices)
		})
		b.Run(fmt.Sprintf("gl/snapshot/slices=%d", slices), func(b *testing.B) {
			ready(b)
			for b.Loop() {
				for _, l := range lineages {
					made++
					edit(l.Path, fmt.Sprint("gl ", made))
					if _, err := r.Snapshots.Take(b.Context(), l,
						SnapshotOptions{Last: true, Why: "benchmark"}); err != nil {
						b.Fatal(err)
					}
				}
			}
			perSlice(b, slices)
		})
		discard(b, root, dirs)
	}
}

// discard removes what a benchmark has made, so that the next one has the same disk.
func discard(b *testing.B, root string, dirs []string) {
	b.Helper()
	for _, dir := range dirs {
		gitIn(b, root, "worktree", "remove", "--force", "--force", dir)
	}
}
