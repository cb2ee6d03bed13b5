package slice

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"greenlight/internal/base/durable"
)

// viewFile holds two numbers, "17 12": how many changes the project has had, and how many of
// them STATE.md shows. It lets concurrent writers share one rendering: a rendering that begins
// after a change shows it, whichever process renders. The file is written under the project's
// lock, in place and without fsync; losing it in a crash costs one rendering.
const viewFile = "runs/view"

func (p *statePage) readView() (changes, shown uint64) {
	data, err := durable.ReadFile(p.dir.path(viewFile))
	if err != nil || !strings.HasSuffix(string(data), "\n") {
		return 0, 0
	}
	if _, err := fmt.Sscanf(string(data), "%d %d\n", &changes, &shown); err != nil {
		return 0, 0
	}
	return changes, shown
}

func (p *statePage) writeView(changes, shown uint64) error {
	text := fmt.Appendf(nil, "%d %d\n", changes, shown)
	err := durable.Overwrite(p.dir.path(viewFile), text, 0o600)
	if missing(err) {
		if err = durable.MkdirPrivate(p.dir.path("runs")); err == nil {
			err = durable.Overwrite(p.dir.path(viewFile), text, 0o600)
		}
	}
	return err
}

// unshown is the number of an uncounted change: only its own writer's rendering shows it.
const unshown = ^uint64(0)

// noteChange counts a change that the caller has just written and returns its number. The
// caller holds the lock.
func (p *statePage) noteChange() uint64 {
	changes, shown := p.readView()
	n := changes + 1
	if p.writeView(n, shown) != nil {
		n = unshown
	}
	return n
}

// A shownSoon is a change whose writer is about to call Refresh. It expires after a while: a
// rendering by another process in between may predate later edits by people.
type shownSoon struct {
	change uint64 // 0 for none
	at     time.Time
}

const soon = time.Second

// takeUnshown returns the change that Refresh is to show, or 0 to check everything. A follower
// always gets 0, since other processes leave it to show their changes.
func (p *statePage) takeUnshown() uint64 {
	p.dir.mu.Lock()
	defer p.dir.mu.Unlock()
	u := p.unshown
	p.unshown = shownSoon{}
	if time.Since(u.at) > soon || p.files.memory != nil {
		return 0
	}
	return u.change
}

// show renders STATE.md unless it already shows the change. It takes the lock.
func (s *Store) show(ctx context.Context, change uint64) error {
	return s.locked(ctx, func() error {
		if _, shown := s.page.readView(); change != unshown && shown >= change {
			return nil
		}
		return s.page.refreshAndCount()
	})
}

// refreshAndCount renders STATE.md and records which changes it shows. The caller holds the
// lock.
func (p *statePage) refreshAndCount() error {
	changes, shown := p.readView()
	if err := p.refreshView(); err != nil {
		return err
	}
	p.files.sweepSlices()
	p.noteShown()
	if shown < changes {
		_ = p.writeView(changes, changes) // on failure, other writers render for themselves
	}
	return nil
}

// A rendering is the input of one STATE.md.
type rendering struct {
	page    *statePage
	v       *view
	project projectState
	text    string
	shape   shape
	kept    []*line // table lines without a slice file
}

// holds reports whether STATE.md and all its sources are unchanged. The caller holds s.mu.
func (r *rendering) holds() bool {
	p := r.page
	stems, _, err := p.files.list()
	if err != nil || !equal(stems, r.v.stems) {
		return false
	}
	files := p.files.recallFiles(stems)
	for i, f := range files {
		if was := r.v.files[i]; f != was && !reflect.DeepEqual(f, was) {
			return false
		}
	}
	if g := p.dir.readGraph(); g.graph != r.v.graph.graph && !reflect.DeepEqual(g, r.v.graph) {
		return false
	}
	data, err := durable.ReadFile(p.dir.path("STATE.md"))
	return err == nil && string(data) == r.text && reflect.DeepEqual(p.dir.readProject(), r.project)
}
