package attempt

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/executor"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/tracker"
)

// A fataler is *testing.T or *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// A bench is a project in a directory of its own, with a clock that stands still.
type bench struct {
	t     fataler
	root  string
	store *Store
	state *slice.Store
	now   time.Time
}

var noon = time.Date(2031, 5, 6, 12, 0, 0, 0, time.UTC)

// newBench makes a project whose slices have the states given, by id: "status/step".
func newBench(t fataler, root string, slices map[string]string) *bench {
	t.Helper()
	b := openBench(t, root)
	must(t, os.MkdirAll(filepath.Join(root, ".greenlight", "slices"), 0o755))
	for id, s := range slices {
		status, step, _ := strings.Cut(s, "/")
		b.write(id, status, step, "")
	}
	must(t, b.store.Files.Prepare())
	return b
}

// openBench is another gl's view of the same files.
func openBench(t fataler, root string) *bench {
	b := &bench{t: t, root: root, store: OpenStore(filepath.Join(root, ".greenlight", "runs")), state: slice.Open(root), now: noon}
	b.state.Dir.Now = func() time.Time { return b.now }
	return b
}

func (b *bench) write(id, status, step, session string) {
	b.t.Helper()
	text := fmt.Sprintf("---\nid: %s\nstatus: %s\nstep: %s\nstarted:\nupdated: 2031-01-01T00:00:00Z\ntests: 3\nsession: %s\n---\n\n# %s\n",
		id, status, step, session, id)
	must(b.t, os.WriteFile(b.file(id), []byte(text), 0o644))
}

func (b *bench) file(id string) string {
	return filepath.Join(b.root, ".greenlight", "slices", id+".md")
}

func (b *bench) set(id string, pairs ...string) {
	b.t.Helper()
	must(b.t, b.state.Edit(context.Background(), id, func(f *slice.File) error {
		for i := 0; i < len(pairs); i += 2 {
			if err := f.Set(pairs[i], pairs[i+1]); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (b *bench) settler(t tracker.Tracker) *Settler {
	return &Settler{Store: b.store, Tracker: t, Hold: 300 * time.Second, Now: func() time.Time { return b.now }, Executor: executor.NewLocal("")}
}

func (b *bench) mark(id string) plan.Mark {
	b.t.Helper()
	it := b.item(id)
	return plan.Mark{Status: it.Status, Step: it.Step, Session: it.Session}
}

func (b *bench) item(id string) (it plan.Item) {
	b.t.Helper()
	must(b.t, b.state.Do(context.Background(), func(tx tracker.Tx) (err error) {
		it, err = tx.Item(id)
		return err
	}))
	return it
}

func (b *bench) claim(id string) (r *Record) {
	b.t.Helper()
	a, err := agent.Find("x", agent.Config{Custom: map[string]agent.Custom{"x": {Command: []string{"true", "{slice}"}}}})
	must(b.t, err)
	must(b.t, b.state.Do(context.Background(), func(tx tracker.Tx) (err error) {
		r, err = b.store.Within(tx.Held()).Claim(tx, Request{ID: id, Agent: a, Job: agent.Job{Dir: b.root}, Runner: "process"}, b.now)
		return err
	}))
	return r
}

// start makes a claimed record a started one, of a wrapper and an agent that are gone.
func (b *bench) start(r *Record) *Record {
	b.t.Helper()
	c := *r
	gone, agent, at := deadID(1), deadID(2), b.now.Add(-time.Minute)
	c.Life.Phase, c.Life.Wrapper, c.Life.Process, c.Life.StartedAt = plan.Started, &gone, &agent, &at
	must(b.t, b.store.unlocked().Put(&c))
	return &c
}

// deadID names a process that is proven dead: the pid of this one, started at another time.
func deadID(n int) proc.ID {
	id := proc.Self()
	id.Start = fmt.Sprint("before this one ", n)
	return id
}

func (b *bench) get(r *Record) *Record {
	b.t.Helper()
	disk, err := b.store.Get(r.ID.Slice, r.ID.N)
	must(b.t, err)
	return disk
}

func (b *bench) live() []*Record {
	b.t.Helper()
	recs, bad, err := b.store.Live()
	must(b.t, err)
	if len(bad) > 0 {
		b.t.Fatalf("bad records: %v", bad)
	}
	return recs
}

// copyTree copies a project, as a kill would leave it.
func copyTree(t fataler, from, to string) {
	t.Helper()
	must(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	}))
}

func ptr[T any](v T) *T { return &v }

func tempDir(t fataler) (dir string, remove func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "gl-attempt-")
	must(t, err)
	return dir, func() { os.RemoveAll(dir) }
}

func benchFor(t *testing.T, slices map[string]string) *bench {
	return newBench(t, t.TempDir(), slices)
}

// unlocked is the store's writer in a test in which nothing else writes.
func (s *Store) unlocked() *Writer { return &Writer{s} }
