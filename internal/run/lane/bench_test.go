package lane_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkLand is what it costs to land a slice: merge, test (a test that takes no time), delivery
// to the branch that is checked out, and the removal of the slice's worktree, against bare git that
// does the same. One operation is ten slices; ms/slice is for one.
func BenchmarkLand(b *testing.B) {
	const slices = 10
	perSlice := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N*slices), "ms/slice")
	}
	text := func(id, status string) string {
		return "---\nid: " + id + "\nstatus: " + status + "\nstep: none\nwaiting_for:\nsession:\ntests: 0\n---\n\n# B\n"
	}
	for _, done := range []int{0, 10000} { // slices that the project has besides, with what they have left in git
		b.Run(fmt.Sprint("gl/", done), func(b *testing.B) {
			s := newSiteAt(b, filepath.Join(b.TempDir(), "p"), "", "")
			var refs strings.Builder
			for i := range done {
				id := fmt.Sprint("D-", i)
				s.write(".greenlight/slices/"+id+".md", text(id, "complete"))
				fmt.Fprintf(&refs, "create refs/heads/gl/s/_/greenlight/%s/1 HEAD\ncreate refs/gl/wip/_/greenlight/%[1]s/1/1/tree HEAD\n", id)
			}
			cmd := exec.Command("git", "update-ref", "--stdin")
			cmd.Dir, cmd.Stdin = s.top, strings.NewReader(refs.String())
			check(b, cmd.Run())
			n := 0
			for b.Loop() {
				b.StopTimer()
				for range slices {
					n++
					id := fmt.Sprint("B-", n)
					s.write(".greenlight/slices/"+id+".md", text(id, "pending"))
					s.queue(id, apart(b, id))
				}
				b.StartTimer()
				s.work()
			}
			perSlice(b)
			if landed := strings.Count(s.git("log", "--first-parent", "--format=%s"), "Land B-"); landed != n {
				b.Errorf("%d of %d have landed", landed, n)
			}
		})
	}
	b.Run("bare", func(b *testing.B) {
		s := newSiteAt(b, filepath.Join(b.TempDir(), "p"), "", "")
		bed := filepath.Join(b.TempDir(), "bed")
		s.git("worktree", "add", "-q", "--detach", bed)
		n := 0
		for b.Loop() {
			b.StopTimer()
			var branches []string
			for range slices {
				n++
				branch := fmt.Sprint("b-", n)
				dir := filepath.Join(s.top+".bare", branch)
				s.git("worktree", "add", "-q", "-b", branch, dir)
				apart(b, branch)(dir)
				branches = append(branches, branch)
			}
			b.StartTimer()
			for _, branch := range branches {
				tree := s.git("merge-tree", "--write-tree", "main", branch)
				commit := s.git("commit-tree", "-p", "main", "-p", branch, "-m", "Land "+branch, tree)
				gitIn(b, bed, "checkout", "-q", "--detach", commit)
				test := exec.Command("./test.sh")
				test.Dir, test.Env = bed, os.Environ()
				check(b, test.Run())
				s.git("merge", "-q", "--ff-only", commit)
				s.git("worktree", "remove", filepath.Join(s.top+".bare", branch))
			}
		}
		perSlice(b)
	})
}
