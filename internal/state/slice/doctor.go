package slice

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"greenlight/internal/base/paths"
	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// Check implements tracker.Tracker.
func (s *Store) Check() []tracker.Complaint {
	c, err := s.Load()
	if err != nil {
		return nil // Load reports the error
	}
	return append(s.Dir.Complaints(c), s.page.checkView()...)
}

// Complaints returns the problems outside the slices: in GRAPH.json, in project-state.json, and
// the remains of a killed migration.
func (d *Dir) Complaints(c *tracker.Contents) []tracker.Complaint {
	all := d.checkProject(c)
	if c.Unsure != "" {
		all = append(all, tracker.Complaint{
			Check: "graph", Severity: tracker.Broken,
			Warning: plan.Warning{Path: stateRel("GRAPH.json"),
				Message: c.Unsure + "; slices that don't name their own deps aren't launched"},
			Help: "edit " + stateRel("GRAPH.json"),
		})
	}
	for _, path := range d.Unfinished() {
		all = append(all, tracker.Complaint{
			Check: "leftovers", Fixable: true,
			Warning: plan.Warning{Path: path,
				Message: "a migration was interrupted, or is running"},
		})
	}
	return all
}

// Unfinished lists the remains of a killed migration, relative to the root. The next writer
// removes or completes it. While a migration runs, its own files are included.
func (d *Dir) Unfinished() []string {
	var left []string
	for _, dir := range d.stages() {
		left = append(left, stateRel(filepath.Base(dir)))
	}
	if _, err := os.Lstat(d.journalPath()); err == nil {
		left = append(left, sliceRel(journalFile))
	}
	return left
}

// checkView checks that STATE.md is up to date.
func (p *statePage) checkView() []tracker.Complaint {
	bad := tracker.Complaint{Check: "state-md", Warning: plan.Warning{Path: stateRel("STATE.md")},
		Fixable: true}
	stale, byHand, err := p.viewState()
	switch {
	case err != nil:
		bad.Message, bad.Help, bad.Fixable = err.Error(), "gl state render", false
	case byHand:
		bad.Message = "was written by hand: the next change saves it as a backup and replaces it"
	case stale:
		bad.Message = "is out of date"
	default:
		return nil
	}
	return []tracker.Complaint{bad}
}

// viewState compares STATE.md with what Refresh would write. stale reports whether they differ;
// byHand, whether the file isn't generated, so that Refresh would save a backup first.
func (p *statePage) viewState() (stale, byHand bool, err error) {
	p.dir.mu.Lock()
	defer p.dir.mu.Unlock()
	old, text, err := p.render()
	if err != nil {
		return false, false, err
	}
	return !old.there || old.text != text, old.there && !generated(old.text) &&
		!textline.Blank(old.text), nil
}

// checkProject checks project-state.json and the types in it. Everything else ignores a value
// of the wrong type.
func (d *Dir) checkProject(c *tracker.Contents) []tracker.Complaint {
	path := stateRel(projectFile)
	complain := func(severity tracker.Severity, message, help string) tracker.Complaint {
		return tracker.Complaint{Check: "project-state", Severity: severity,
			Warning: plan.Warning{Path: path, Message: message}, Help: help}
	}
	ps, err := d.ReadProject()
	if err != nil {
		return []tracker.Complaint{complain(tracker.Broken, err.Error(), "edit "+path)}
	}
	var all []tracker.Complaint
	for _, bad := range wrongTypes(ps.Bytes()) {
		all = append(all, complain(tracker.Wrong, bad, "edit "+path))
	}
	for _, id := range pausedIDs(ps.Bytes()) {
		mark, _ := ps.Paused(id)
		i := slices.IndexFunc(c.Items, func(it *plan.Item) bool { return it.ID == id })
		note := complain(tracker.Note, "", "")
		switch note.Item = id; {
		case i < 0:
			note.Message, note.Help = id+" is marked as paused, but no such slice exists",
				"edit "+path
		case c.Items[i].Corrupt == "" && plan.Classify(c.Items[i].Status) == plan.Done:
			note.Message, note.Help = id+" is marked as paused, but is complete", "gl resume "+id
		case mark.ResumeFile != "" &&
			!paths.Exists(filepath.Join(d.root, filepath.FromSlash(mark.ResumeFile))):
			note.Path, note.Message, note.Help = mark.ResumeFile,
				"the hand-off file of "+id+" is missing", "gl pause "+id+" writes a new one"
		default:
			continue
		}
		all = append(all, note)
	}
	return all
}

// wrongTypes names the keys of project-state.json that have an unexpected type.
func wrongTypes(data []byte) []string {
	var top map[string]json.RawMessage
	if jsonedit.Unmarshal(data, &top) != nil {
		return []string{"must be an object"}
	}
	var bad []string
	for _, k := range []struct{ key, kinds, words string }{
		{"overview", `{"`, "an object"}, {"session", `{"`, "an object"},
		{"blockers", `["`, "a list"}, {"paused", `{`, "an object"},
	} {
		raw := strings.TrimSpace(string(top[k.key]))
		if raw != "" && raw != "null" && !strings.Contains(k.kinds, raw[:1]) {
			bad = append(bad, k.key+" must be "+k.words)
		}
	}
	return bad
}

func pausedIDs(data []byte) []string {
	var top struct{ Paused map[string]json.RawMessage }
	_ = jsonedit.Unmarshal(data, &top) // wrongTypes reports other types
	ids := make([]string, 0, len(top.Paused))
	for id := range top.Paused {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool { return plan.NaturalLess(ids[i], ids[j]) })
	return ids
}

// Repair implements tracker.Tracker: it completes or removes an interrupted migration and
// regenerates STATE.md.
func (s *Store) Repair(ctx context.Context) ([]string, error) {
	did, err := s.Dir.ClearUp(func() error { return s.locked(ctx, func() error { return nil }) })
	if err != nil {
		return did, err
	}
	stale, byHand, err := s.page.viewState()
	if err != nil || !stale {
		return did, err
	}
	if err := s.Refresh(ctx); err != nil {
		return did, err
	}
	what := "regenerated " + stateRel("STATE.md")
	if byHand {
		what += " and saved the handwritten one as a backup"
	}
	return append(did, what), nil
}

// ClearUp completes or removes an interrupted migration, as a side effect of taking the lock,
// and returns a description of what it did.
func (d *Dir) ClearUp(lock func() error) (did []string, err error) {
	left := d.Unfinished()
	if len(left) == 0 {
		return nil, nil
	}
	d.mu.Lock()
	d.swept = false // look again: another process may have left a migration since
	d.mu.Unlock()
	err = lock()
	after := d.Unfinished()
	for _, path := range left {
		if !slices.Contains(after, path) {
			did = append(did,
				fmt.Sprintf("completed or removed the interrupted migration in %s", path))
		}
	}
	return did, err
}
