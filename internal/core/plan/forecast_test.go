package plan

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A slice that would collide with running work comes after those that wouldn't, whatever its
// priority, and is still ready. A collision counts only while one side is at work.
func TestForecast(t *testing.T) {
	first, second, running := item("S-1", "pending"), item("S-2", "pending"), item("S-3", "in_progress")
	first.Priority = 1
	plans := func(list ...Collision) *Plan {
		return New(&Snapshot{Items: Pointers([]Item{first, second, running, item("S-4", "complete")}), Outlook: Outlook{Forecast: list}}, now, Options{})
	}
	p := plans(Collision{Slice: "S-1", With: "S-3", Paths: []string{"a"}})
	if !slices.Equal(p.Lists.Ready, []string{"S-2", "S-1"}) || len(p.Forecast) != 1 {
		t.Errorf("ready %q, forecast %v", p.Lists.Ready, p.Forecast)
	}
	if got := p.Why("S-1", now).Cause; got != "behind others, since it is likely to conflict with S-3 in a" {
		t.Errorf("S-1: %s", got)
	}
	if got := p.Foreseen("S-3"); len(got) != 1 || got[0].Text() != "likely to conflict with S-1 in a" {
		t.Errorf("S-3: %v", got)
	}
	p = plans(Collision{Slice: "S-1", With: "S-2"}, Collision{Slice: "S-1", With: "S-4"}, Collision{Slice: "S-1"}, Collision{Slice: "S-1", With: "S-9"})
	if !slices.Equal(p.Lists.Ready, []string{"S-1", "S-2"}) || len(p.Forecast) != 0 {
		t.Errorf("ready %q, forecast %v", p.Lists.Ready, p.Forecast)
	}
}

// The lists of files in slices' own files count where no worktree has facts: against running
// work, and among ready slices.
func TestForecastByHints(t *testing.T) {
	hinted := func(id, status string, files ...string) Item {
		it := item(id, status)
		it.Files = files
		return it
	}
	p := New(&Snapshot{Items: Pointers([]Item{
		hinted("S-1", "pending", "cmd/", "docs/a.md"), hinted("S-2", "pending", "./cmd/main.go"), hinted("S-3", "pending", "cmdline.go"),
		hinted("S-4", "pending", "internal/plan"), item("S-5", "pending"),
		hinted("S-6", "in_progress", "internal/plan/order.go", "x"), hinted("S-7", "in_progress", "x"), hinted("S-8", "complete", "cmdline.go"),
	})}, now, Options{})
	if !slices.Equal(p.Lists.Ready, []string{"S-1", "S-3", "S-5", "S-2", "S-4"}) {
		t.Errorf("ready %q", p.Lists.Ready)
	}
	if len(p.Forecast) != 1 || p.Forecast[0].String() != "S-4 and S-6 in internal/plan" {
		t.Errorf("forecast %v", p.Forecast)
	}
	if got := p.Why("S-4", now).Cause; got != "behind others, since it is likely to conflict with S-6 in internal/plan" {
		t.Errorf("S-4: %s", got)
	}
}

// A forecast changes only the order of launches.
func TestForecastHidesNothing(t *testing.T) {
	statuses := []string{"pending", "in_progress", "complete", "failed"}
	rapid.Check(t, func(t *rapid.T) {
		ids := []string{"S-1", "S-2", "S-3", "S-4", "S-5"}
		var items []Item
		for _, id := range ids {
			it := item(id, rapid.SampledFrom(statuses).Draw(t, id))
			it.Priority = rapid.IntRange(1, 3).Draw(t, "priority")
			it.Files = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a/b", "c", "/", ""}), 0, 2).Draw(t, "files")
			items = append(items, it)
		}
		list := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Collision {
			return Collision{Slice: rapid.SampledFrom(ids).Draw(t, "a"), With: rapid.SampledFrom(append(ids, "")).Draw(t, "b"), Paths: []string{"x"}}
		})).Draw(t, "forecast")
		without := New(&Snapshot{Items: Pointers(items)}, now, Options{})
		with := New(&Snapshot{Items: Pointers(items), Outlook: Outlook{Forecast: list}}, now, Options{})
		a, b := slices.Sorted(slices.Values(without.Lists.Ready)), slices.Sorted(slices.Values(with.Lists.Ready))
		if !slices.Equal(a, b) || !slices.Equal(without.Lists.Running, with.Lists.Running) {
			t.Fatalf("%q became %q", without.Lists.Ready, with.Lists.Ready)
		}
		behind := false
		for _, id := range with.Lists.Ready {
			meets := len(with.State(id).Meets) > 0
			if behind && !meets {
				t.Fatalf("%s is behind one that collides: %q", id, with.Lists.Ready)
			}
			behind = meets
		}
	})
}
