package slice

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/statcache"
	"greenlight/internal/base/text/conflict"
	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/state/sliceid"
)

// projectFile holds what belongs to no single slice.
const projectFile = "project-state.json"

// emptyProject is the project-state.json of a new project.
const emptyProject = `{
  "overview": {
    "value_prop": "",
    "stack": "",
    "mode": ""
  },
  "session": {
    "last_session": null,
    "resume_file": null
  },
  "blockers": []
}
`

// A ProjectState is project-state.json, held as text: everything not set keeps every byte,
// including unknown keys and number formats.
type ProjectState struct{ doc *jsonedit.Doc }

// ParseProjectState parses project-state.json; blank text gives that of a new project. The
// error names the line.
func ParseProjectState(data []byte) (*ProjectState, error) {
	if strings.TrimSpace(strings.TrimPrefix(string(data), textline.BOM)) == "" {
		data = []byte(emptyProject)
	}
	if line, _ := conflict.Find(string(data)); line > 0 {
		return nil, fmt.Errorf("merge conflict in line %d", line)
	}
	doc, err := jsonedit.Parse(data)
	return &ProjectState{doc}, err
}

// Bytes returns the content of the file.
func (p *ProjectState) Bytes() []byte { return p.doc.Bytes() }

// LastSession returns the time of the last work on the project, verbatim; "" for never.
func (p *ProjectState) LastSession() string { return p.parsed().lastSession }

// ResumeFile returns the hand-off file to continue from; "" for none.
func (p *ProjectState) ResumeFile() string { return p.parsed().resume }

// Blockers returns the project's blockers, one line each.
func (p *ProjectState) Blockers() []string { return p.parsed().blockers }

// Overview returns what the project is, what it is built with, and its mode.
func (p *ProjectState) Overview() (valueProp, stack, mode string) {
	s := p.parsed()
	return s.value, s.stack, s.mode
}

func (p *ProjectState) parsed() projectState {
	return parseProject(p.doc.Bytes(), statcache.Stamp{})
}

// A PausedSlice records where work on a slice was paused.
type PausedSlice struct {
	Step       string `json:"step"`
	PausedAt   string `json:"paused_at"`   // RFC 3339
	ResumeFile string `json:"resume_file"` // relative to the root
}

// Paused returns the mark of a paused slice, and false if the slice isn't paused.
func (p *ProjectState) Paused(id string) (PausedSlice, bool) {
	var mark PausedSlice
	raw, ok := p.mark(p.pausedKey(id))
	if ok {
		_ = json.Unmarshal(raw, &mark) // a mark of any other type still counts
	}
	return mark, ok
}

// mark returns the value of a key in "paused".
func (p *ProjectState) mark(key string) (json.RawMessage, bool) {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(bytes.TrimPrefix(p.doc.Bytes(), []byte(textline.BOM)), &all)
	marks, _ := object(all["paused"])
	raw, ok := marks[key]
	return raw, ok
}

// SetLastSession sets the time of the last work on the project.
func (p *ProjectState) SetLastSession(at time.Time) error {
	return p.setField("session", "last_session", jsonedit.Quote(formatTime(at)))
}

// SetResumeFile sets the hand-off file to continue from; "" for none.
func (p *ProjectState) SetResumeFile(path string) error {
	return p.setField("session", "resume_file", orNull(path))
}

// SetOverview sets one of value_prop, stack and mode.
func (p *ProjectState) SetOverview(key, value string) error {
	switch key {
	case "value_prop", "stack", "mode":
		return p.setField("overview", key, jsonedit.Quote(value))
	}
	return fmt.Errorf("unknown overview field %q: use value_prop, stack or mode", key)
}

// Pause marks a slice as paused at a step, with the file that tells how to continue ("" for
// none).
func (p *ProjectState) Pause(id, step string, at time.Time, resumeFile string) error {
	if err := sliceid.Valid(id); err != nil {
		return err
	}
	if err := p.wantObject("paused", ""); err != nil {
		return err
	}
	key := p.pausedKey(id)
	if raw, ok := p.mark(key); ok && raw[0] != '{' { // a mark of another type
		p.doc.Remove("paused", key)
	}
	for _, set := range [][2]string{
		{"step", jsonedit.Quote(step)}, {"paused_at", jsonedit.Quote(formatTime(at))},
		{"resume_file", orNull(resumeFile)},
	} {
		if err := p.doc.Set(json.RawMessage(set[1]), "paused", key, set[0]); err != nil {
			return err
		}
	}
	return nil
}

// Unpause removes the mark of a paused slice.
func (p *ProjectState) Unpause(id string) { p.doc.Remove("paused", p.pausedKey(id)) }

// AddBlocker adds a blocker, unless it exists.
func (p *ProjectState) AddBlocker(text string) error {
	if text = textline.Join(text); text == "" {
		return fmt.Errorf("a blocker must not be empty")
	}
	if slices.Contains(p.Blockers(), text) {
		return nil
	}
	if err := p.wantList("blockers"); err != nil {
		return err
	}
	return p.doc.Append(json.RawMessage(jsonedit.Quote(text)), "blockers")
}

// RemoveBlocker removes the blockers with that text and reports whether there were any.
func (p *ProjectState) RemoveBlocker(text string) (bool, error) {
	if text = textline.Join(text); !slices.Contains(p.Blockers(), text) {
		return false, nil
	}
	if err := p.wantList("blockers"); err != nil {
		return false, err
	}
	for i, raw := range slices.Backward(p.doc.Elements("blockers")) {
		if slices.Contains(texts(raw), text) {
			p.doc.RemoveElement(i, "blockers")
		}
	}
	return true, nil
}

// setField sets a key of "overview" or "session". In older files these are strings rather than
// objects.
func (p *ProjectState) setField(name, key, value string) error {
	main := map[string]string{"overview": "value_prop", "session": "last_session"}[name]
	if err := p.wantObject(name, main); err != nil {
		return err
	}
	return p.doc.Set(json.RawMessage(value), name, key)
}

// wantObject converts the member to an object if it isn't one; its old value becomes the value
// of key.
func (p *ProjectState) wantObject(name, key string) error {
	old, ok := p.doc.Get(name)
	if !ok || old[0] == '{' || string(old) == "null" {
		return nil
	}
	if key == "" {
		return fmt.Errorf("%q in %s is not an object but %.40s: correct it by hand", name,
			stateRel(projectFile), old)
	}
	if err := p.doc.Set(json.RawMessage("null"), name); err != nil {
		return err
	}
	return p.doc.Set(old, name, key)
}

// wantList converts the member to a list; a lone value becomes its first element, unless it
// means "none".
func (p *ProjectState) wantList(name string) error {
	old, ok := p.doc.Get(name)
	if ok && old[0] == '[' {
		return nil
	}
	if len(texts(old)) == 0 {
		return p.doc.Set(json.RawMessage("[]"), name)
	}
	if err := p.doc.Set(json.RawMessage("null"), name); err != nil {
		return err
	}
	return p.doc.Append(old, name)
}

// pausedKey returns the spelling under which a slice is marked as paused, or id itself if it
// isn't.
func (p *ProjectState) pausedKey(id string) string {
	var same []string
	for _, key := range p.parsed().paused {
		switch {
		case key == id:
			return id
		case sliceid.Key(key) == sliceid.Key(id):
			same = append(same, key)
		}
	}
	if len(same) == 1 {
		return same[0]
	}
	return id
}

// formatTime formats a time as files store it: UTC, to the second.
func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return jsonedit.Quote(text)
}

// ReadProject reads project-state.json; if it is missing, the result is that of a new project.
func (d *Dir) ReadProject() (*ProjectState, error) {
	data, err := durable.ReadFile(d.path(projectFile))
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("read %s: %w", stateRel(projectFile), bareError(err))
	}
	return readable(data)
}

// readable is ParseProjectState with the file's name in the error.
func readable(data []byte) (*ProjectState, error) {
	p, err := ParseProjectState(data)
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w: correct it by hand",
			stateRel(projectFile), err)
	}
	return p, nil
}

// EditProject changes project-state.json by f, under the lock, and then updates STATE.md. It
// creates a missing file even if f changes nothing. If other writers interfere, f runs up to
// three times, each time on the latest content; then the error is tracker.ErrChanged. A file
// that isn't JSON is an error and stays unchanged.
func (s *Store) EditProject(ctx context.Context, f func(*ProjectState) error) error {
	return s.locked(ctx, func() error {
		if err := s.Dir.RewriteProject(f); err != nil {
			return err
		}
		return s.page.refreshView()
	})
}

// RewriteProject is EditProject under the caller's lock, without STATE.md.
func (d *Dir) RewriteProject(f func(*ProjectState) error) error {
	return d.Rewrite(projectFile, func(old []byte) ([]byte, error) {
		p, err := readable(old)
		if err != nil {
			return nil, err
		}
		if err := f(p); err != nil {
			return nil, err
		}
		return p.Bytes(), nil
	})
}
