package lane_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/outcome"
	"greenlight/internal/run/lane"
)

// In each of git.land's shapes the same tree lands, once, with the proof. The record names the
// commits, and the worktree can be removed.
func TestShapes(t *testing.T) {
	testfiles.Slow(t)
	for _, shape := range []string{"squash", "rebase"} {
		t.Run(shape, func(t *testing.T) {
			s := newSite(t, fmt.Sprintf(`"git": {"isolation": "worktree", "commit_state": false, "land": %q}, "test": {"command": "./test.sh"}`, shape))
			first := s.queue("S-1", apart(t, "S-1"))
			r := s.queue("S-2", func(dir string) {
				list(t, "S-2")(dir)
				testfiles.Put(t, dir, "doc/more", "more\n")
				gitIn(t, dir, "add", "-A", ".")
				gitIn(t, dir, "-c", "user.name=Agent", "commit", "-qm", "more\n\nwhy\n\nSlice: S-9\nVerified: everything, exit 0, 1s\nReviewed-by: me")
			})
			s.work()
			s.landed(first)
			final := s.landed(r)
			g := final.Landing
			want := map[string]int{"squash": 1, "rebase": 2}[shape]
			if got := s.git("rev-list", "--count", s.get(first).Landing.Commit+"..main"); got != fmt.Sprint(want) || g.As != shape || len(g.Commits) != want && want > 1 {
				t.Errorf("%s commits landed; the record says %s %q", got, g.As, g.Commits)
			}
			if got := s.landings("main"); !slices.Equal(got, []string{"S-2", "S-1"}) {
				t.Errorf("landed: %q", got)
			}
			if got := s.git("log", "-1", "--format=%an/%(trailers:key=Verified,valueonly)", "main"); shape == "rebase" && !strings.HasPrefix(got, "Agent/./test.sh, exit 0, ") {
				t.Errorf("the commit says %q", got)
			}
			if got := s.git("log", "-1", "--format=%B", "main"); strings.Contains(got, "S-9") || shape == "rebase" && !strings.Contains(got, "Reviewed-by: me\nSlice: S-2\n") {
				t.Errorf("the message is\n%s", got)
			}
			if got := s.git("rev-list", "--merges", "main"); got != "" {
				t.Errorf("merges: %s", got)
			}
			s.delivered()
			s.green("main")
			if dirs, _ := filepath.Glob(s.top + ".gl/*/*/S-*"); len(dirs) > 0 {
				t.Errorf("left: %q: %s", dirs, strings.Join(s.said, "\n"))
			}
			kept, err := s.lane().Repo.Archive.Kept(t.Context())
			check(t, err)
			for _, k := range kept {
				if !k.Contained {
					t.Errorf("%s %s", k.Branch, k.Why)
				}
			}
			var checked []*lane.Check
			check(t, s.lane().Audit(t.Context(), "", func(c *lane.Check) { checked = append(checked, c) }))
			if len(checked) != 2 || !checked[0].Green() || !checked[1].Green() || checked[1].Claim == "" {
				t.Errorf("the audit says %+v", checked)
			}
		})
	}
}

// Commits that don't give the tested tree one by one land as one, and the record says so.
func TestRebaseThatDoesntApply(t *testing.T) {
	s := newSite(t, `"git": {"isolation": "worktree", "commit_state": false, "land": "rebase"}, "test": {"command": "./test.sh"}`)
	a := s.queue("S-1", list(t, "S-1"))
	b := s.queue("S-2", list(t, "S-2"))
	s.work()
	s.landed(a)
	s.settled(b, outcome.Conflict, "list")
	again := s.queue("S-2", func(dir string) { testfiles.Put(t, dir, "list", "S-2\nS-1\n") })
	s.work()
	if g := s.landed(again).Landing; g.As != "squash" || !strings.Contains(strings.Join(g.Caveats, "\n"), "one by one") {
		t.Errorf("landed as %s: %q", g.As, g.Caveats)
	}
	s.delivered()
	s.green("main")
}
