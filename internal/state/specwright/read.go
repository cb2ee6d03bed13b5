package specwright

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/text/jsonedit"
)

// A reader reads values of any shape and notes those it can't interpret.
type reader struct {
	doc *jsonedit.Doc
	odd []string
}

func (r *reader) note(format string, a ...any) { r.odd = append(r.odd, fmt.Sprintf(format, a...)) }

// raw returns the JSON of a value; nil if it is missing or null.
func (r *reader) raw(path ...string) json.RawMessage {
	raw, ok := r.doc.Get(path...)
	if !ok || string(raw) == "null" {
		return nil
	}
	return raw
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// text returns a string, or the text of a number or a boolean.
func (r *reader) text(path ...string) string { return scalar(r.raw(path...)) }

func scalar(raw json.RawMessage) string {
	var s string
	switch {
	case raw == nil, raw[0] == '{', raw[0] == '[':
		return ""
	case json.Unmarshal(raw, &s) == nil:
		return s
	}
	return string(raw)
}

// first returns the first nonempty text.
func (r *reader) first(at []string, keys ...string) string {
	for _, key := range keys {
		if s := r.text(under(at, key)...); s != "" {
			return s
		}
	}
	return ""
}

func under(at []string, keys ...string) []string { return append(slices.Clip(at), keys...) }

// count returns a whole number, nil for anything else.
func (r *reader) count(path ...string) *int {
	f, err := strconv.ParseFloat(r.text(path...), 64)
	if err != nil || f < 0 || f > 1e9 || f != float64(int(f)) {
		return nil
	}
	n := int(f)
	return &n
}

func (r *reader) list(path ...string) []json.RawMessage {
	var list []json.RawMessage
	raw := r.raw(path...)
	if raw != nil && json.Unmarshal(raw, &list) != nil {
		r.note("%s isn't a list, but %.40s", strings.Join(path, "."), raw)
	}
	return list
}

// old reports whether the file has the keys of version 0.2.0, which calls the status the phase.
func old(version string) bool { return strings.HasPrefix(version, "0.") }

// workPath returns the path of the work: a file of version 3 is itself one work.
func workPath(version string) []string {
	if strings.HasPrefix(version, "3") {
		return nil
	}
	return []string{"currentWork"}
}

func (r *reader) work(version string) (*Work, error) {
	at := workPath(version)
	if at != nil {
		raw := r.raw(at...)
		if raw == nil {
			return nil, nil
		}
		if !isObject(raw) {
			return nil, fmt.Errorf("currentWork isn't an object, but %.40s", raw)
		}
	}
	w := &Work{
		ID: r.text(under(at, "id")...), Description: r.text(under(at, "description")...),
		Status: r.first(at, "status", "phase"), Dir: r.text(under(at, "workDir")...),
		Unit: r.first(at, "unitId", "activeWorkUnit"), Task: r.text(under(at, "currentTask")...),
		Intensity: r.text(under(at, "intensity")...), Total: r.count(under(at, "tasksTotal")...),
	}
	if old(version) {
		w.Status = cmp.Or(w.Status, r.text("phase"))
		w.Unit = cmp.Or(w.Unit, r.text("activeWorkUnit"))
	}
	for _, raw := range r.list(under(at, "tasksCompleted")...) {
		w.Done = append(w.Done, nameOf(raw))
	}
	return w, nil
}

// nameOf returns a text, or the id of an object.
func nameOf(raw json.RawMessage) string {
	var o struct{ ID json.RawMessage }
	if isObject(raw) && json.Unmarshal(raw, &o) == nil {
		return scalar(o.ID)
	}
	return scalar(raw)
}

func (r *reader) units(s *State) {
	for i, raw := range r.list("workUnits") {
		// parsed separately, because each lookup scans from the start
		doc, err := jsonedit.Parse(raw)
		if err != nil {
			r.note("workUnits.%d isn't an object, but %.40s", i, raw)
			continue
		}
		one := &reader{doc: doc}
		u := Unit{ID: one.text("id"), Description: one.text("description"),
			Status: one.first(nil, "status", "phase"), Dir: one.text("workDir"), place: i}
		if f, err := strconv.ParseFloat(one.text("order"), 64); err == nil {
			u.Order = &f
		}
		s.Units = append(s.Units, u)
	}
	slices.SortStableFunc(s.Units, func(a, b Unit) int {
		switch {
		case a.Order == nil && b.Order == nil:
			return 0
		case a.Order == nil:
			return 1
		case b.Order == nil || *a.Order < *b.Order:
			return -1
		case *a.Order > *b.Order:
			return 1
		}
		return 0
	})
}

// gates reads gates by name, or by unit and name.
func (r *reader) gates(s *State) {
	if raw := r.raw("gates"); raw != nil && !isObject(raw) {
		r.note("gates isn't an object, but %.40s", raw)
	}
	for _, key := range r.doc.Keys("gates") {
		at := []string{"gates", key}
		if !r.byUnit(at) {
			r.gate(s, "", at)
			continue
		}
		for _, name := range r.doc.Keys(at...) {
			r.gate(s, key, under(at, name))
		}
	}
}

// byUnit reports whether the value contains gates rather than being one.
func (r *reader) byUnit(at []string) bool {
	keys := r.doc.Keys(at...)
	for _, key := range keys {
		if !isObject(r.raw(under(at, key)...)) || key == "findings" {
			return false
		}
	}
	return len(keys) > 0
}

func (r *reader) gate(s *State, unit string, at []string) {
	raw := r.raw(at...)
	if raw == nil {
		return
	}
	g := Gate{Name: strings.TrimPrefix(at[len(at)-1], "gate-"), Unit: unit, path: at}
	if !isObject(raw) {
		g.Status = scalar(raw)
		s.Gates = append(s.Gates, g)
		return
	}
	g.Status, g.LastRun = r.first(at, "verdict", "status"), r.first(at, "lastRun", "timestamp")
	g.Evidence = r.text(under(at, "evidence")...)
	zero := 0
	// a plain count has no kinds: nothing blocks
	if n := r.count(under(at, "findings")...); n != nil {
		g.Block, g.Warn, g.Info = &zero, &zero, n
	} else {
		g.Block = r.count(under(at, "findings", "block")...)
		g.Warn = r.count(under(at, "findings", "warn")...)
		g.Info = r.count(under(at, "findings", "info")...)
	}
	s.Gates = append(s.Gates, g)
}
