package attempt

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/journal"
)

// told are the kinds of the journal's events, in order.
func (b *bench) told() (kinds []string) {
	b.t.Helper()
	for e, err := range b.store.Journal().Events(time.Time{}) {
		must(b.t, err)
		kinds = append(kinds, string(e.Kind))
	}
	return kinds
}

// forget takes the journal's last event away, as a kill between a record and its event does.
func (b *bench) forget() {
	b.t.Helper()
	path := b.store.Journal().Path()
	data, err := os.ReadFile(path)
	must(b.t, err)
	data = bytes.TrimSuffix(data, []byte("\n"))
	must(b.t, os.WriteFile(path, data[:bytes.LastIndexByte(data, '\n')+1], 0o600))
}

// Any process can be killed anywhere while it settles an attempt, also between a record and its
// event: in the end the journal has each event of the attempt once, in order.
func TestJournalOfKilledSettlers(t *testing.T) {
	limited := exited(1).with(limitHit).limited(rateLimit)
	for _, tt := range []struct {
		name     string
		worked   []string
		evidence *Evidence
		want     string
	}{
		{"failed", []string{"status", "tests", "step", "tests"}, exited(7), "claimed launched ended settled"},
		{"waiting", []string{"status", "verifying", "waiting_for", "me"}, exited(0).with(success), "claimed launched ended settled needs_you"},
		{"held", []string{"step", "tests"}, limited, "claimed launched hold ended settled"},
		{"setup failed", nil, &Evidence{Worktree: "no space"}, "claimed launched setup_failed ended settled"},
	} {
		for _, own := range []bool{false, true} {
			for _, lost := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/own=%v/lost=%v", tt.name, own, lost), func(t *testing.T) {
					dir := t.TempDir()
					b := newBench(t, filepath.Join(dir, "start"), map[string]string{"S-1": "pending/none"})
					r := b.start(b.claim("S-1"))
					b.store.diary.tell(r, false)
					if own {
						self := proc.Self()
						r.Life.Wrapper = &self
						must(t, b.store.unlocked().Put(r))
					}
					b.set("S-1", tt.worked...)
					r.Judged.Evidence = tt.evidence
					for name, root := range killPoints(t, dir, r) {
						k := openBench(t, root)
						switch {
						case name == "holding": // is made from two projects: the record is older than the journal
							continue
						case lost && name != "over":
							k.forget()
						}
						for _, live := range k.live() {
							live.Judged.Evidence = r.Judged.Evidence
							if lost && own { // a process that is killed isn't the one that goes on
								gone := deadID(1)
								live.Life.Wrapper = &gone
								must(t, k.store.unlocked().Put(live))
							}
							_, err := k.settler(k.state).Settle(t.Context(), live)
							must(t, err)
						}
						got := k.told()
						if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(strings.Fields(tt.want)))) {
							t.Errorf("killed when %s: %q, want %q", name, got, tt.want)
						}
						if got := strings.Join(k.told(), " "); !lost && got != tt.want {
							t.Errorf("killed when %s: %q, want %q", name, got, tt.want)
						}
					}
				})
			}
		}
	}
}

// A claim that is given back by one that was killed, and by the next.
func TestJournalOfGivenBack(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	r := b.claim("S-1")
	b.forget()
	must(t, b.settler(b.state).GiveBack(t.Context(), r))
	must(t, b.store.unlocked().Put(r)) // it was killed before it had removed the record
	must(t, b.settler(b.state).GiveBack(t.Context(), r))
	again := b.claim("S-1")
	if again.ID.N != r.ID.N {
		t.Fatalf("attempt %d", again.ID.N)
	}
	if got := strings.Join(b.told(), " "); got != "claimed given_back claimed" {
		t.Errorf("%q", got)
	}
}

func TestJournalOfHolds(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	until := b.now.Add(time.Hour)
	must(t, b.store.HoldFile.PutPersons(plan.Account{}, until, b.now))
	b.store.HoldFile.TellEnded(b.store.HoldFile.Everybody(), until.Add(time.Minute)) // two runs notice
	b.store.HoldFile.TellEnded(b.store.HoldFile.Everybody(), until.Add(2*time.Minute))
	for range 2 { // the second time there is none
		_, err := b.store.HoldFile.Lift(func(*plan.Hold) bool { return true }, until.Add(time.Hour))
		must(t, err)
	}
	var got []string
	for e, err := range b.store.Journal().Events(time.Time{}) {
		must(t, err)
		got = append(got, string(e.Kind))
		if e.Kind == journal.HoldEnded && !e.Time.Equal(until) {
			t.Errorf("ended at %v, not %v", e.Time, until)
		}
	}
	if !slices.Equal(got, []string{"hold", "hold_ended"}) {
		t.Errorf("%q", got)
	}
}

// A hold that replaces one that is over also writes the end of that one, which no process may have
// seen in between.
func TestJournalOfReplacedHolds(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	for i := range 3 {
		now := b.now.Add(time.Duration(i) * 20 * time.Minute)
		must(t, b.store.HoldFile.PutPersons(plan.Account{Agent: "codex"}, now.Add(time.Duration(i+1)*15*time.Minute), now))
	} // the second one is over only after the third one has begun: that moves its end
	var got []string
	for e, err := range b.store.Journal().Events(time.Time{}) {
		must(t, err)
		got = append(got, string(e.Kind))
	}
	if !slices.Equal(got, []string{"hold", "hold_ended", "hold", "hold"}) {
		t.Errorf("%q", got)
	}
}
