package forecast

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/workspace/worktree"
)

// BenchmarkForecast measures the conflict forecast for ten agents at work, each of which has
// changed a shared file since the last time: ten worktrees to read and forty-five pairs to
// merge. The project has 50 or 10,000 slices in git; the other slices are done, and their
// branches and snapshots exist. The case git runs only git: ten git status and forty-five git
// merge-tree.
func BenchmarkForecast(b *testing.B) {
	const agents = 10
	const pairs = agents * (agents - 1) / 2
	for _, slices := range []int{50, 10000} {
		s := newCrowd(b, slices, agents)
		f := &Forecaster{Repo: s.repo}
		n := 0
		b.Run(fmt.Sprint("gl/", slices), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				n++
				for i, w := range s.works {
					testfiles.Put(b, s.repo.Layout.Dir(w.Lineage), "routes", fmt.Sprint(i, " ", n, "\n"))
				}
				b.StartTimer()
				list, err := f.Find(b.Context(), s.works)
				if err != nil || len(list) != pairs {
					b.Fatalf("%d collisions, %v", len(list), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/look")
		})
		b.Run(fmt.Sprint("git/", slices), func(b *testing.B) {
			for b.Loop() {
				for i, w := range s.works {
					gitIn(b, s.repo.Layout.Dir(w.Lineage), "status", "--porcelain")
					for _, other := range s.works[i+1:] {
						cmd := exec.Command("git", "merge-tree", "--write-tree",
							f.looked[w.Lineage.Branch].commit,
							f.looked[other.Lineage.Branch].commit)
						cmd.Dir = s.root
						if err := cmd.Run(); err == nil {
							b.Fatal("no conflict")
						}
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/look")
		})
	}
}

// age makes the files of a worktree old: git rereads files from the second in which its index
// was written every time.
func age(b *testing.B, dir string) {
	b.Helper()
	old := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() != ".git" {
			err = os.Chtimes(path, old, old)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	gitIn(b, dir, "update-index", "-q", "--refresh")
}

// A crowd is a number of agents at work in a project with many finished slices.
type crowd struct {
	root  string
	repo  *worktree.Repo
	works []Work
}

func newCrowd(b *testing.B, slices, agents int) *crowd {
	b.Helper()
	b.Setenv("HOME", b.TempDir())
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	s := &crowd{root: filepath.Join(b.TempDir(), "p")}
	testfiles.Put(b, s.root, "routes", "0\n")
	testfiles.Put(b, s.root, ".greenlight/.gitignore", "runs/\n")
	for i := range slices {
		testfiles.Put(b, s.root, fmt.Sprintf(".greenlight/slices/S-%d.md", i), fmt.Sprintf("---\nid: S-%d\nstatus: complete\n---\n", i))
	}
	gitIn(b, s.root, "init", "-q", "-b", "main")
	gitIn(b, s.root, "add", ".")
	gitIn(b, s.root, "commit", "-qm", "first")
	repo, err := worktree.Open(b.Context(), s.root, worktree.Options{Prefix: "gl"})
	check(err)
	s.repo = repo
	check(os.MkdirAll(filepath.Join(s.root, ".greenlight/runs/lineage"), 0o700))
	base, err := repo.Queue.Base(b.Context())
	check(err)
	var refs strings.Builder
	for i := range slices {
		if i >= agents {
			fmt.Fprintf(&refs, "create refs/heads/gl/s/_/greenlight/S-%d/1 %s\ncreate refs/gl/wip/_/greenlight/S-%d/1/1/tree %s\n", i, base, i, base)
			continue
		}
		l, err := repo.Lineages.Plan(b.Context(), "greenlight", fmt.Sprint("S-", i), base, false)
		check(err)
		hold, err := repo.Make(b.Context(), l, worktree.Making{})
		check(err)
		check(hold.Release())
		age(b, repo.Layout.Dir(l))
		s.works = append(s.works, Work{Slice: l.Slice, Lineage: l, Running: true})
	}
	cmd := exec.Command("git", "update-ref", "--stdin")
	cmd.Dir, cmd.Stdin = s.root, strings.NewReader(refs.String())
	check(cmd.Run())
	return s
}
