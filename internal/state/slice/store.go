package slice

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/roadmap"
	"greenlight/internal/state/sliceid"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
)

// A Store is the state of a project with one file per slice.
type Store struct {
	Dir *Dir

	files    *sliceFiles
	page     *statePage
	changes  changes
	migrator migrator
}

var (
	_ tracker.Tracker  = (*Store)(nil)
	_ tracker.Follower = (*Store)(nil)
)

// Open returns the Store of the project at root, an absolute path. It reads nothing yet.
func Open(root string) *Store {
	d := NewDir(root)
	files := &sliceFiles{dir: d}
	page := &statePage{dir: d, files: files}
	return &Store{Dir: d, files: files, page: page, changes: changes{d, files},
		migrator: migrator{d, page}}
}

func (s *sliceFiles) slicePath(stem string) string {
	return filepath.Join(s.dir.path("slices"), stem+".md")
}

func sliceRel(name string) string { return stateRel("slices/" + name) }

// Traits implements tracker.Tracker.
func (s *Store) Traits() tracker.Traits {
	return tracker.Traits{Format: Slices, Managed: true, Completes: true, Lands: true,
		Guarded: true, View: stateRel("STATE.md")}
}

// Roadmap implements tracker.Tracker.
func (s *Store) Roadmap() (*roadmap.Roadmap, error) { return roadmap.Own(s.Dir.root) }

// Prompt returns the slash command that works on a slice.
func (s *Store) Prompt(id string) string { return Prompt(id) }

// Prompt returns the slash command that works on one of Greenlight's own slices.
func Prompt(id string) string { return "/gl:slice " + id }

// Watch returns the directories of the slice files and of all other state.
func (s *Store) Watch() []string { return []string{s.Dir.path("slices"), s.Dir.path("")} }

// Do runs f with the project's lock held.
func (s *Store) Do(ctx context.Context, f func(tracker.Tx) error) error {
	return s.holding(ctx, func(held statedir.Held) error {
		t := &tx{s: s, held: held}
		err := f(t)
		if t.wrote {
			n := s.page.noteChange()
			s.Dir.mu.Lock()
			s.page.unshown = shownSoon{n, time.Now()}
			s.Dir.mu.Unlock()
		}
		return err
	})
}

// locked runs f under the project's lock, after any housekeeping that is due, including the
// completion of an interrupted migration.
func (s *Store) locked(ctx context.Context, f func() error) error {
	return s.holding(ctx, func(statedir.Held) error { return f() })
}

// holding is locked for an f that passes the lock on.
func (s *Store) holding(ctx context.Context, f func(statedir.Held) error) error {
	if err := here(s.Dir.root); err != nil {
		return err
	}
	return s.Dir.locked(ctx, s.migrator.completeMigration, func(held statedir.Held) error {
		if err := s.changes.completeChange(); err != nil {
			return err
		}
		return f(held)
	})
}

// here returns an error if the project at root has no slice files.
func here(root string) error {
	format, err := Detect(root)
	if err == nil && format != Slices {
		err = fmt.Errorf("%s has no slice files: its slices are rows of %s: run gl migrate", root,
			stateRel("STATE.md"))
	}
	return err
}

// Line implements tracker.Tracker.
func (s *Store) Line(compact bool) tracker.Line { return s.Dir.Line(compact) }

// ReadProject reads project-state.json; if it is missing, the result is that of a new project.
func (s *Store) ReadProject() (*ProjectState, error) { return s.Dir.ReadProject() }

// Decide appends project-wide decisions to DECISIONS.md and returns their numbers.
func (s *Store) Decide(ctx context.Context, at time.Time,
	texts ...string) (ids []string, err error) {
	return s.Dir.Decide(ctx, at, texts...)
}

// Follow implements tracker.Follower.
func (s *Store) Follow() (stop func()) { return s.files.Follow() }

// MigrateFrom converts a legacy project to slice files; see migrator.MigrateFrom.
func (s *Store) MigrateFrom(ctx context.Context, read func() (*Source, error),
	dryRun bool) (*Migration, error) {
	return s.migrator.MigrateFrom(ctx, read, dryRun)
}

// Read parses the file of one slice afresh. The error is tracker.ErrNotFound if there is none,
// and a *CorruptError if it can't be parsed.
func (s *Store) Read(id string) (*File, error) {
	if err := sliceid.Valid(id); err != nil {
		return nil, err
	}
	_, f, err := s.files.readForEdit(id)
	if f != nil {
		f.Path = sliceRel(id + ".md")
	}
	if err == nil && f == nil {
		return nil, fmt.Errorf("%w: %q has no file %s", tracker.ErrNotFound, id, sliceRel(id+".md"))
	}
	return f, err
}

// readForEdit returns the file's bytes and the parsed file, both nil if there is no file.
func (s *sliceFiles) readForEdit(id string) ([]byte, *File, error) {
	data, err := readInState(s.slicePath(id))
	if missing(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", sliceRel(id+".md"), bareError(err))
	}
	f, err := ParseFile(data)
	if err != nil {
		return nil, nil, &CorruptError{Path: sliceRel(id + ".md"), Reason: reason(err)}
	}
	if data == nil {
		data = []byte{}
	}
	return data, f, nil
}

// Edit changes one slice's file by f, under the lock, and then updates STATE.md. If the slice
// exists only in GRAPH.json, its file is created first. Unless f sets it, the key "updated"
// becomes the time of the change. If other writers interfere, f runs up to three times, each
// time on the latest content; then the error is tracker.ErrChanged with the path.
func (s *Store) Edit(ctx context.Context, id string, f func(*File) error) error {
	defer s.Follow()() // f and STATE.md read all files, more than once
	var change uint64
	err := s.holding(ctx, func(held statedir.Held) error {
		was := s.page.shownBefore(id)
		t := &tx{s: s, held: held}
		if err := t.edit(id, true, f); err != nil {
			return err
		}
		switch {
		case !t.wrote && was == nil:
			return s.page.refreshAndCount()
		case !t.wrote:
		case was == nil || !s.page.showOne(was, t.last):
			change = s.page.noteChange()
		}
		return nil
	})
	if err != nil || change == 0 {
		return err
	}
	return s.show(ctx, change)
}

// A tx is one holding of the lock. The set of slices stays as at its first look.
type tx struct {
	s     *Store
	held  statedir.Held
	view  *view
	seen  tracker.Seen
	marks map[string]plan.Mark // of the items that were returned one by one
	wrote bool                 // a slice file
	last  fileEdit
}

// look returns the view and the canonical id. The caller holds s.mu.
func (t *tx) look(id string) (*view, string, error) {
	if t.view == nil {
		v, err := t.s.files.look()
		if err != nil {
			return nil, "", err
		}
		t.view = v
	}
	id, err := t.view.ix.resolve(id)
	return t.view, id, err
}

// resolve returns the canonical id.
func (t *tx) resolve(id string) (string, error) {
	if t.s.files.hasFile(id) {
		return id, nil
	}
	t.s.Dir.mu.Lock()
	defer t.s.Dir.mu.Unlock()
	_, id, err := t.look(id)
	return id, err
}

// Item implements tracker.Tx.
func (t *tx) Item(id string) (plan.Item, error) {
	t.s.Dir.mu.Lock()
	defer t.s.Dir.mu.Unlock()
	it, ok := t.s.files.ownItem(id)
	if !ok || it.Name == id { // the graph may have a better name
		v, id, err := t.look(id)
		if err != nil {
			return plan.Item{}, err
		}
		it = v.item(id)
	}
	t.seen.One(it.ID, it.Session)
	if t.marks == nil {
		t.marks = map[string]plan.Mark{}
	}
	t.marks[it.ID] = it.Mark()
	return it, nil
}

// Load implements tracker.Tx.
func (t *tx) Load() (*tracker.Contents, error) {
	t.view = nil
	c, err := t.s.Load()
	if err == nil {
		t.seen.All(c.Items)
	}
	return c, err
}

// Claim implements tracker.Tx.
func (t *tx) Claim(id, token string) error {
	id, err := t.resolve(id)
	if err != nil {
		return err
	}
	if err := t.edit(id, false, func(f *File) error {
		return f.Claim(token, t.s.Dir.Now())
	}); err != nil {
		return err
	}
	t.seen.One(id, token)
	delete(t.marks, id)
	return nil
}

// Settle implements tracker.Tx. If git has brought back a file since the item was returned that
// calls it done, the error is tracker.ErrChanged: without its claim, that would be a person's word.
func (t *tx) Settle(id string, e tracker.Effect, before tracker.Before) (plan.Mark, error) {
	seen, known := t.marks[id]
	return t.underClaim(id, func(f *File) error {
		if known && plan.Classify(seen.Status) != plan.Done &&
			plan.Classify(f.get("status")) == plan.Done {
			return tracker.ErrChanged
		}
		return f.Settle(e, before)
	})
}

// Enqueue implements tracker.Lander.
func (t *tx) Enqueue(id string) (plan.Mark, error) {
	return t.underClaim(id, (*File).Enqueue)
}

// Land implements tracker.Lander.
func (t *tx) Land(id string, l tracker.Landed) (plan.Mark, error) {
	return t.underClaim(id, func(f *File) error { return f.Land(id, l) })
}

// CountFailing implements tracker.Lander.
func (t *tx) CountFailing(id string, n int) error {
	_, err := t.underClaim(id, func(f *File) error { return f.CountFailing(n) })
	return err
}

// Enqueue marks a slice that its agent reports complete.
func (f *File) Enqueue() error {
	return f.SetAll([][2]string{{"status", tracker.Verifying}, {"step", tracker.Verifying}})
}

// CountFailing records how many tests fail on the slice's work; 0 removes the record.
func (f *File) CountFailing(n int) error {
	if n == plan.Uncounted {
		return f.Set("failing", uncounted)
	}
	if n > 0 {
		return f.Set("failing", strconv.Itoa(n))
	}
	return f.SetAll(noneFailing)
}

// Ask makes the slice wait for a person's review, with the reason.
func (f *File) Ask(reason string) error {
	return f.SetAll([][2]string{{"status", tracker.Verifying}, {"step", tracker.Verifying},
		{"session", ""}, {"waiting_for", textline.Join(reason)}})
}

// noneFailing clears the record of failing tests.
var noneFailing = [][2]string{{"failing", ""}, {"tests_failing", ""}}

// Undo implements tracker.Lander.
func (t *tx) Undo(id, why string) error {
	return t.edit(id, false, func(f *File) error { return f.Undo(why, t.s.Dir.Now()) })
}

// Undo makes a done slice available again, from the start, with a note giving the reason.
func (f *File) Undo(why string, now time.Time) error {
	note := now.UTC().Format(time.DateOnly) + ": Taken back"
	if why != "" {
		note += ": " + textline.Join(why)
	}
	if err := f.AppendToSection("Decisions", note); err != nil {
		return err
	}
	set := [][2]string{{"status", "pending"}, {"step", "none"}, {"session", ""},
		{"waiting_for", ""}, {"verified", ""}, {"tests", "0"}, {"new_tests", ""}}
	return f.SetAll(append(set, noneFailing...))
}

// Ask implements tracker.Lander.
func (t *tx) Ask(id, reason string) (plan.Mark, error) {
	return t.underClaim(id, func(f *File) error { return f.Ask(reason) })
}

// underClaim changes the slice if its claim is the one the caller has seen, and returns the
// resulting mark.
func (t *tx) underClaim(id string, change func(*File) error) (mark plan.Mark, err error) {
	if id, err = t.resolve(id); err != nil {
		return mark, err
	}
	err = t.edit(id, false, func(f *File) (err error) {
		if !t.seen.Lost(id, f.get("session")) {
			err = change(f)
		}
		mark = f.mark()
		return err
	})
	t.seen.One(id, mark.Session)
	delete(t.marks, id)
	return mark, err
}

// PutBack implements tracker.Tx.
func (t *tx) PutBack(id string, was plan.Mark, over bool) error {
	return t.edit(id, false, func(f *File) error { return f.PutBack(was, over) })
}

// Claim marks the slice as in progress under the token. The start date stays that of the first
// claim.
func (f *File) Claim(token string, now time.Time) error {
	set := [][2]string{{"status", "in_progress"}, {"session", token}, {"verified", ""}}
	if f.get("started") == "" {
		set = append(set, [2]string{"started", now.UTC().Format(time.DateOnly)})
	}
	return f.SetAll(set)
}

// Settle ends a claim.
func (f *File) Settle(e tracker.Effect, before tracker.Before) error {
	switch e {
	case tracker.Fail:
		return f.SetAll([][2]string{{"session", ""}, {"status", "failed"}})
	case tracker.Restore:
		return f.SetAll([][2]string{
			{"status", before.Status}, {"step", before.Step}, {"session", before.Session},
			{"started", before.Started},
		})
	case tracker.Reopen:
		set := [][2]string{{"session", ""}, {"status", "pending"}}
		if plan.Classify(f.get("step")) == plan.Done { // its agent reported it done
			set = append(set, [2]string{"step", tracker.Verifying})
		}
		return f.SetAll(set)
	}
	return f.SetAll([][2]string{{"session", ""}})
}

// Land completes a slice whose tests gl has run, or couldn't run.
func (f *File) Land(id string, l tracker.Landed) error {
	if err := l.Pass.Completes(id); err != nil {
		return err
	}
	set := [][2]string{{"status", "complete"}, {"session", ""},
		{"verified", string(l.Pass.Verdict())}}
	if f.get("step") == tracker.Verifying {
		set = append(set, [2]string{"step", "complete"})
	}
	if l.Tests != nil {
		set = append(set, [2]string{"tests", strconv.Itoa(*l.Tests)})
	}
	counted := ""
	if l.New != nil {
		counted = strconv.Itoa(*l.New)
	}
	set = append(set, [2]string{"new_tests", counted})
	// failures in landed work belong to the suite's count
	return f.SetAll(append(set, noneFailing...))
}

// Approve completes a slice that a person approved and that has nothing to merge. verdict
// reports whether its file has a verdict.
func (f *File) Approve(id string, p gate.Pass, verdict bool) error {
	if err := p.Completes(id); err != nil {
		return err
	}
	set := [][2]string{{"status", "complete"}, {"step", "complete"}, {"waiting_for", ""},
		{"session", ""}}
	if verdict {
		set = append(set, [2]string{"verified", string(p.Verdict())})
	}
	return f.SetAll(set)
}

// PutBack makes the slice pending if its mark still equals was; otherwise the error is
// tracker.ErrChanged. The slice keeps its step unless over is true.
func (f *File) PutBack(was plan.Mark, over bool) error {
	if f.mark() != was {
		return tracker.ErrChanged
	}
	set := [][2]string{{"status", "pending"}, {"session", ""}, {"waiting_for", ""}}
	if f.failing() != 0 { // how many fail, and how many pass, is unknown until the tests run again
		set = append(append(set, [2]string{"tests", "0"}), noneFailing...)
	}
	switch step := f.get("step"); {
	case over:
		set = append(set, [2]string{"step", "none"})
	case plan.Classify(step) == plan.Done: // its agent reported it done
		set = append(set, [2]string{"step", tracker.Verifying})
	case !plan.StepReached(step) && plan.IsStep(f.get("status")):
		set = append(set, [2]string{"step", f.get("status")})
	}
	return f.SetAll(set)
}

// mark returns the file's status, step and session.
func (f *File) mark() plan.Mark {
	return plan.Mark{Status: f.get("status"), Step: f.get("step"), Session: f.get("session")}
}

// Progress returns the slice's progress as the journal records it.
func (f *File) Progress() journal.Progress {
	return journal.Progress{Status: f.get("status"), Step: f.get("step"),
		Tests: count(f.get("tests")), SecurityTests: count(f.get("security_tests")),
		Failing: f.failing()}
}

// get returns a key's value, "" if there is none.
func (f *File) get(key string) string {
	v, _ := f.Get(key)
	return v
}

// SetAll sets pairs of a key and its value. It doesn't create a missing key to set it to "". A
// new waiting_for clears waiting_kind, which belongs to the old text.
func (f *File) SetAll(set [][2]string) error {
	has := func(key string) bool {
		return slices.ContainsFunc(set, func(s [2]string) bool { return s[0] == key })
	}
	if has("waiting_for") && !has("waiting_kind") {
		set = append(slices.Clone(set), [2]string{"waiting_kind", ""})
	}
	for _, s := range set {
		key, value := s[0], s[1]
		if _, there := f.Get(key); !there && value == "" {
			continue
		}
		if err := f.Set(key, value); err != nil {
			return err
		}
	}
	return nil
}

// edit makes one read-modify-write. With create, a slice without a file gets one even if f
// changes nothing.
// Held implements tracker.Tx.
func (t *tx) Held() statedir.Held { return t.held }

func (t *tx) edit(id string, create bool, f func(*File) error) error {
	id, err := t.resolve(id)
	if err != nil {
		return err
	}
	for range tries {
		err = t.try(id, create, f)
		if !errors.Is(err, durable.ErrChanged) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", sliceRel(id+".md"), tracker.ErrChanged)
}

func (t *tx) try(id string, create bool, f func(*File) error) error {
	old, file, err := t.s.files.readForEdit(id)
	if err != nil {
		return err
	}
	now := t.s.Dir.Now().UTC().Format(time.RFC3339)
	if file == nil {
		if file, err = t.newFile(id, now); err != nil {
			return err
		}
	}
	file.Held = t.held
	before, stamp := string(file.Bytes()), file.get("updated")
	if err := f(file); err != nil {
		return err
	}
	if string(file.Bytes()) == before && (old != nil || !create) {
		return nil
	}
	if old != nil && file.get("updated") == stamp {
		if err := file.Set("updated", now); err != nil {
			return err
		}
	}
	data := file.Bytes()
	if _, err := ParseFile(data); err != nil {
		return fmt.Errorf("edit %s: the result wouldn't be a slice file: %w",
			sliceRel(id+".md"), err)
	}
	if err := durable.Replace(t.s.files.slicePath(id), old, data); err != nil {
		return fmt.Errorf("write %s: %w", sliceRel(id+".md"), bareError(err))
	}
	t.wrote, t.last = true, fileEdit{id, old, data}
	if t.view != nil {
		t.view.ix.hasNow(id)
	}
	return nil
}

// newFile returns the file for a slice that exists only in the graph.
func (t *tx) newFile(id, now string) (*File, error) {
	t.s.Dir.mu.Lock()
	defer t.s.Dir.mu.Unlock()
	v, id, err := t.look(id)
	if err != nil {
		return nil, err
	}
	return v.newFile(id, now)
}
