package attempt

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/base/rapidtest"
	"greenlight/internal/base/statcache"
	"greenlight/internal/core/outcome"
)

// Whatever comes and goes in live/ and done/, the tallies are those of the names
// there.
func TestTalliesAreThoseOfTheNames(t *testing.T) {
	t.Cleanup(statcache.LowerTick(15 * time.Millisecond))
	base := t.TempDir()
	n := 0
	rapidtest.Limit(t, 40)
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		s, following := OpenStore(dir), OpenStore(dir)
		following.settled.many = 1
		defer following.Follow()()
		if err := s.Files.Prepare(); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			e := Entry{Slice: rapid.SampledFrom([]string{"S-1", "S-2"}).Draw(rt, "slice"), N: rapid.IntRange(1, 3).Draw(rt, "n"),
				Outcome: rapid.SampledFrom([]outcome.Outcome{outcome.Done, outcome.Failed, outcome.Held, "of-another-gl"}).Draw(rt, "outcome")}
			switch rapid.SampledFrom([]string{"claim", "settle", "drop", "clean", "wait", "look"}).Draw(rt, "step") {
			case "claim":
				_ = os.WriteFile(s.Files.livePath(e.Slice, e.N), nil, 0o600)
			case "settle":
				_ = os.WriteFile(s.Files.donePath(e.Slice, e.N, e.Outcome), nil, 0o600)
				if rapid.Bool().Draw(rt, "whole") {
					_ = os.Remove(s.Files.livePath(e.Slice, e.N))
				}
			case "drop":
				_ = os.Remove(s.Files.donePath(e.Slice, e.N, e.Outcome))
			case "clean":
				_ = os.RemoveAll(filepath.Join(dir, "done"))
				_ = s.Files.Prepare()
			case "wait":
				time.Sleep(statcache.Tick() + time.Millisecond)
			case "look":
				compareTallies(rt, following)
				compareTallies(rt, s)
			}
		}
		compareTallies(rt, following)
		compareTallies(rt, s)
		compareTallies(rt, OpenStore(dir))
	})
}

func compareTallies(rt *rapid.T, s *Store) {
	want, err := s.talliesOfIndex()
	if err != nil {
		rt.Fatal(err)
	}
	got, err := s.Tallies()
	if err != nil {
		rt.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("by the names, and as they are told:\n%s", diff)
	}
}

// A follower reads the names once.
func TestTalliesAreFollowed(t *testing.T) {
	s := OpenStore(t.TempDir())
	s.settled.many = 1
	defer s.Follow()()
	if err := s.Files.Prepare(); err != nil {
		t.Fatal(err)
	}
	var counted map[string]bool
	for n := 1; n < 6; n++ {
		if err := os.WriteFile(s.Files.donePath("S-1", n, outcome.Done), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		of, err := s.Tallies()
		if err != nil || of["S-1"].Used != n || of["S-1"].Last.N != n {
			t.Errorf("%+v, %v", of, err)
		}
		if n == 3 {
			if counted = s.settled.counted; counted == nil {
				t.Skip("no log on this file system")
			}
			counted["mine"] = true
		}
	}
	if !s.settled.counted["mine"] {
		t.Error("the names were read again")
	}
}
