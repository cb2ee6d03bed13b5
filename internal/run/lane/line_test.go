package lane

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
)

// queueFrom decodes records as runs/live has them.
func queueFrom(t *testing.T, records ...string) []*attempt.Record {
	t.Helper()
	var queue []*attempt.Record
	for _, text := range records {
		r := &attempt.Record{}
		if err := json.Unmarshal([]byte(text), r); err != nil {
			t.Fatal(err)
		}
		queue = append(queue, r)
	}
	return queue
}

// projectIn opens a project without slices in a directory.
func projectIn(t *testing.T, dir string) *project.Project {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, ".greenlight", "slices"), 0o755); err != nil {
		t.Fatal(err)
	}
	pr, err := project.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return pr
}

func TestLineOrder(t *testing.T) {
	pr := projectIn(t, t.TempDir())
	const (
		fresh   = `{"slice": "S-1", "n": 1, "landing": {"queued": "2026-01-01T00:00:00Z"}}`
		tried   = `{"slice": "S-2", "n": 1, "landing": {"queued": "2026-01-01T00:00:00Z", "tried": "old", "reason": "base red"}}`
		current = `{"slice": "S-3", "n": 2, "landing": {"queued": "2026-01-01T00:00:00Z", "tried": "new", "reason": "base red"}}`
		behind  = `{"slice": "S-4", "n": 1, "landing": {"queued": "2026-01-01T00:00:00Z", "behind": "S-9"}}`
	)
	for _, c := range []struct {
		name  string
		queue []string
		base  error
		want  string
		asked bool // for the base
	}{
		{name: "nothing"},
		{name: "the first", queue: []string{fresh, tried}, want: "S-1.1"},
		{name: "one that waits for another base", queue: []string{tried, fresh}, want: "S-2.1", asked: true},
		{name: "one that has failed at this base", queue: []string{current, fresh}, want: "S-1.1", asked: true},
		{name: "all have failed at this base", queue: []string{current}, asked: true},
		{name: "behind a conflict that is resolved", queue: []string{behind}, want: "S-4.1", asked: true},
		{name: "a standstill is told of each", queue: []string{current, fresh}, base: standstill("moved"), want: "S-3.2", asked: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, asked := &line{project: pr, stuck: map[string]string{}}, false
			r, err := l.first(t.Context(), queueFrom(t, c.queue...), func(context.Context) (string, error) {
				asked = true
				return "new", c.base
			})
			got := ""
			if r != nil {
				got = r.ID.Name()
			}
			if err != nil || got != c.want || asked != c.asked {
				t.Errorf("%q, asked for the base: %v, error: %v", got, asked, err)
			}
		})
	}
}

// What was passed over stays so until something has landed.
func TestLinePassesOver(t *testing.T) {
	l := &line{stuck: map[string]string{}}
	queue := queueFrom(t, `{"slice": "S-1", "n": 1, "landing": {"queued": "2026-01-01T00:00:00Z", "tried": "at"}}`)
	base := func(context.Context) (string, error) { return "at", nil }
	if r, err := l.first(t.Context(), queue, base); r != nil || err != nil || !l.isStuck(queue[0]) {
		t.Fatal(r, err)
	}
	moved := func(context.Context) (string, error) { return "further", nil }
	if r, err := l.first(t.Context(), queue, moved); r != nil || err != nil {
		t.Fatal(r, err)
	}
	l.unblock()
	if r, err := l.first(t.Context(), queue, moved); r == nil || err != nil {
		t.Fatal(r, err)
	}
	broken := errors.New("git can't be run")
	if _, err := l.first(t.Context(), queue, func(context.Context) (string, error) { return "", broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
}
