package lane_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/state/journal"
)

// slow has the journal tell that the tests take long.
func (s *site) slow() {
	s.t.Helper()
	ms, zero := (5 * time.Minute).Milliseconds(), 0
	j := s.project().Runs.Journal()
	check(s.t, s.project().Runs.Files.Prepare())
	for range 3 {
		check(s.t, j.Append(journal.Event{Kind: journal.Verdict, Command: "./test.sh", DurationMS: &ms, Exit: &zero, Outcome: "green"}))
	}
}

// lie is an agent whose work doesn't pass: a file that isn't listed.
func lie(t testing.TB, id string) func(dir string) {
	return func(dir string) { testfiles.Put(t, dir, "src/"+id, "not listed") }
}

// If tests take long, five that wait are tested as one. If they fail, bisection finds whose work
// fails, and the others land.
func TestBatch(t *testing.T) {
	s := newSite(t, "")
	runs := s.countTests()
	var recs []*attempt.Record
	for n := 1; n <= 5; n++ {
		id := fmt.Sprintf("S-%d", n)
		work := apart(t, id)
		if n == 3 {
			work = lie(t, id)
		}
		recs = append(recs, s.queue(id, work))
	}
	s.slow()
	s.work()
	for i, r := range recs {
		if i == 2 {
			s.settled(r, outcome.Red, "exit status 1")
			continue
		}
		final := s.landed(r)
		if final.Judged.Verified != plan.Green || final.Landing.Batch == nil {
			t.Errorf("%s: verified %q, batch %+v", r.ID.Slice, final.Judged.Verified, final.Landing.Batch)
		}
	}
	if got := s.get(recs[3]).Judged.Detail; !strings.Contains(got, "verified together with S-5") {
		t.Errorf("S-4: %s", got)
	}
	if got := s.landings("main"); !slices.Equal(got, []string{"S-5", "S-4", "S-2", "S-1"}) {
		t.Errorf("landed: %q", got)
	}
	// All five, twice; the first three, twice; 1 and 2; 4 and 5. 3 on top of 1 and 2 is known.
	if runs() != 6 {
		t.Errorf("the tests ran %d times:\n%s", runs(), strings.Join(s.said, "\n"))
	}
	s.delivered()
	s.green("main")
	var audited []string
	before := runs()
	check(t, s.lane().Audit(t.Context(), "", func(c *lane.Check) {
		if !c.Green() || c.Belied() {
			t.Errorf("the audit says %+v", c)
		}
		audited = append(audited, c.Slice)
	}))
	if !slices.Equal(audited, []string{"S-1", "S-2", "S-4", "S-5"}) || runs()-before != 2 {
		t.Errorf("audited %q by %d runs", audited, runs()-before)
	}
}

// Fast tests are run for each, and what conflicts with another of a batch has its own turn.
func TestNoBatch(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, "")
	a, b, c := s.queue("S-1", list(t, "S-1")), s.queue("S-2", list(t, "S-2")), s.queue("S-3", apart(t, "S-3"))
	s.slow()
	s.work()
	s.settled(b, outcome.Conflict, "list")
	for _, r := range []*attempt.Record{a, c} {
		if final := s.landed(r); final.Landing.Batch == nil {
			t.Errorf("%s landed alone", r.ID.Slice)
		}
	}
	d := s.queue("S-4", apart(t, "S-4"))
	s.work()
	if final := s.landed(d); final.Landing.Batch != nil {
		t.Errorf("S-4 landed with %q", final.Landing.Batch.Members)
	}
	s.delivered()
	s.green("main")
}

// A worker that lands a batch is killed before any of its own calls that change a file. The next
// one brings the rest to the same end.
func TestBatchKilledAnywhere(t *testing.T) {
	testfiles.Slow(t)
	killedAnywhere(t, 400, "", nil, func(t *testing.T, s *site) func(*testing.T) {
		recs := []*attempt.Record{s.queue("S-1", list(t, "S-1")), s.queue("S-2", apart(t, "S-2")), s.queue("S-3", lie(t, "S-3"))}
		s.slow()
		return func(t *testing.T) {
			s.workAfterKill()
			s.landed(recs[0])
			s.landed(recs[1])
			s.settled(recs[2], outcome.Red, "exit status 1")
			if got := s.landings("main"); !slices.Equal(got, []string{"S-2", "S-1"}) {
				t.Errorf("landed: %q", got)
			}
			s.delivered()
			s.green("main")
			s.git("fsck", "--connectivity-only")
		}
	})
}
