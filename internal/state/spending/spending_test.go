package spending

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/state/journal"
)

func TestBook(t *testing.T) {
	usd := func(f float64) *float64 { return &f }
	ran := int64(1000)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	end := func(slice, agent, outcome string, day int, cost *float64, tokens *journal.Tokens) journal.Event {
		return journal.Event{Kind: journal.Ended, Slice: slice, Agent: agent, Outcome: outcome, Time: noon.AddDate(0, 0, day), CostUSD: cost, Tokens: tokens, DurationMS: &ran}
	}
	events := []journal.Event{
		end("S-1", "claude", "failed", 0, usd(1.5), &journal.Tokens{Input: 10, Output: 2, CacheRead: 100, CacheWrite: 1}),
		{Kind: journal.Settled, Slice: "S-1", CostUSD: usd(1.5), DurationMS: &ran}, // told once
		end("S-1", "claude", "done", 1, usd(2), nil),
		end("S-2", "codex", "done", 1, nil, &journal.Tokens{Input: 5, Output: 5}),
		end("S-3", "rehearsal", "done", 1, usd(0), nil),
		{Kind: journal.Ended, Slice: "S-4", Outcome: "failed"}, // nothing ran
	}
	b, err := Read(func(yield func(journal.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}, time.Time{}, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	want := Total{Attempts: 4, CostUSD: usd(3.5), UnknownCost: 1, FailedUSD: 1.5, Tokens: &journal.Tokens{Input: 15, Output: 7, CacheRead: 100, CacheWrite: 1}, UnknownTokens: 2}
	if diff := cmp.Diff(want, b.Total()); diff != "" {
		t.Error(diff)
	}
	if got := b.Total().Text(); got != "$3.50 and 1 attempt of unknown cost" {
		t.Error(got)
	}
	for way, keys := range map[string][]string{"slice": {"S-1", "S-2", "S-3"}, "agent": {"claude", "codex", "rehearsal"}, "day": {"2026-03-01", "2026-03-02"}} {
		var got []string
		for _, r := range b.By(way) {
			got = append(got, r.Key)
		}
		if diff := cmp.Diff(keys, got); diff != "" {
			t.Error(way, diff)
		}
	}
	if s := b.Slice("S-2"); s.CostUSD != nil || s.Text() != "unknown cost" {
		t.Errorf("%+v: unknown isn't 0", s)
	}
	if s := b.Slice("S-3"); s.Text() != "$0.00" {
		t.Errorf("%+v", s)
	}
}

// An attempt's cost counts when its agent ends, not when its work lands: once, on that day, and
// as a failure once it is one.
func TestQueued(t *testing.T) {
	ran, cost := int64(1000), 2.0
	evening := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)
	morning := evening.Add(9 * time.Hour)
	event := func(k journal.Kind, attempt string, at time.Time, outcome string) journal.Event {
		e := journal.Event{Kind: k, Slice: "S-" + attempt, Key: "S-" + attempt + "." + string(k), Time: at, Outcome: outcome, CostUSD: &cost, DurationMS: &ran}
		if k == journal.Ended {
			e.AgentEnded = &evening
		}
		return e
	}
	old := event(journal.Queued, "4", evening, "") // as gl wrote it before
	old.CostUSD, old.DurationMS = nil, nil
	events := []journal.Event{event(journal.Queued, "1", evening, ""), event(journal.Queued, "2", evening, ""), event(journal.Queued, "3", evening, ""), old,
		event(journal.Ended, "2", morning, "done"), event(journal.Ended, "3", morning, "red"), event(journal.Ended, "4", morning, "done")}
	read := func(from time.Time) *Book {
		b, err := Read(func(yield func(journal.Event, error) bool) {
			for _, e := range events {
				if !e.Time.Before(from) && !yield(e, nil) {
					return
				}
			}
		}, from, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := read(time.Time{})
	if got := b.Total(); got.Attempts != 4 || got.USD() != 8 || got.FailedUSD != 2 {
		t.Errorf("%+v", got)
	}
	if days := b.By("day"); len(days) != 1 || days[0].Key != "2026-03-01" {
		t.Errorf("%+v", days)
	}
	if got := read(morning.Add(-time.Hour)).Total(); got.Attempts != 0 {
		t.Errorf("today: %+v", got)
	}
}

// A red or conflicting attempt is lost unless a later one on its branch puts it right. What failed
// otherwise stays a failure.
func TestLost(t *testing.T) {
	for _, c := range []struct {
		tried []Tried
		want  []bool
	}{
		{[]Tried{{"S-1", "b/1", "conflict"}, {"S-2", "b/2", "done"}, {"S-1", "b/1", "waiting"}}, []bool{false, false, false}},
		{[]Tried{{"S-1", "b/1", "red"}, {"S-1", "b/1", "red"}, {"S-1", "b/1.2", "done"}}, []bool{true, true, false}},
		{[]Tried{{"S-1", "b/1", "red"}, {"S-1", "b/1", "held"}, {"S-1", "b/1", ""}}, []bool{true, false, false}},
		{[]Tried{{"S-1", "", "failed"}, {"S-1", "", "red"}, {"S-1", "", "done"}, {"S-1", "", "red"}}, []bool{true, false, false, true}},
	} {
		if diff := cmp.Diff(c.want, Lost(c.tried)); diff != "" {
			t.Error(c.tried, diff)
		}
	}
}

// A renamed slice keeps what it cost, also when it is renamed back.
func TestRenamed(t *testing.T) {
	usd, ran := 1.5, int64(1000)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	end := func(slice, outcome string) journal.Event {
		return journal.Event{Kind: journal.Ended, Slice: slice, Agent: "claude", Outcome: outcome, Time: noon, CostUSD: &usd, DurationMS: &ran}
	}
	events := []journal.Event{end("S-4", "failed"), end("S-44", "done"), end("S-5", "done")}
	b, err := Read(func(yield func(journal.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}, time.Time{}, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	b.Rename("S-44", "S-4")
	b.Rename("S-4", "S-4")
	b.Rename("S-9", "S-5")
	if got := b.Slice("S-4"); got.Attempts != 2 || got.USD() != 3 || got.FailedUSD != 1.5 || len(b.By("slice")) != 2 {
		t.Errorf("%+v", got)
	}
}
