package gsd

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/text/textline"
)

// A Session describes where work stopped.
type Session struct {
	StoppedAt  string
	ResumeFile *string // nil if not given
}

type sessionDoc struct {
	Recorded bool     `json:"recorded"`
	Updated  []string `json:"updated,omitempty"`
	Created  bool     `json:"created,omitempty"`
	Reason   string   `json:"reason,omitempty"`
}

// RecordSession records the time of the last session, where it stopped and how to continue.
// Missing labels are added to the session section, which is created at the end of the file if
// it is missing.
func (s *Store) RecordSession(ctx context.Context, r Session) (Result, error) {
	err := checkTexts("--stopped-at", r.StoppedAt, "--resume-file", deref(r.ResumeFile))
	if err != nil {
		return Result{}, err
	}
	var doc sessionDoc
	return s.verb(ctx, writing{note: true}, func(d *draft) error {
		doc = r.apply(d, isoTime(s.Now()))
		return nil
	}, func(bool) Result {
		res := reported(doc, doc.Recorded)
		res.Failed = !doc.Recorded
		return res
	})
}

func (r Session) apply(d *draft, now string) sessionDoc {
	var updated updates
	var missing []Field
	updated.add("Last session", d.inSession("Last session", now))
	updated.add("Last Date", d.inSession("Last Date", now))
	if len(updated) == 0 {
		missing = append(missing, Field{"Last session", now})
	}
	if r.StoppedAt != "" {
		if before := string(d.body); !d.inSession("Stopped at", r.StoppedAt) {
			missing = append(missing, Field{"Stopped at", r.StoppedAt})
		} else {
			updated.add("Stopped At", string(d.body) != before)
		}
	}
	if r.ResumeFile != nil {
		if !d.inSession("Resume file", *r.ResumeFile) {
			missing = append(missing, Field{"Resume file", *r.ResumeFile})
		} else {
			updated.add("Resume File", true)
		}
	}
	if r.StoppedAt == "" && r.ResumeFile == nil { // nothing was given, so no labels are needed
		missing = nil
	}
	inResult := strings.NewReplacer("Stopped at", "Stopped At", "Resume file", "Resume File")
	for _, f := range missing {
		updated.add(inResult.Replace(f.Name), true)
	}
	d.addLabels(missing, map[string]string{"Last session": now, "Stopped at": r.StoppedAt,
		"Resume file": deref(r.ResumeFile)})
	if len(updated) == 0 {
		return sessionDoc{Reason: "No session fields found in STATE.md"}
	}
	return sessionDoc{Recorded: true, Updated: updated, Created: len(missing) > 0}
}

// inSession sets a field of the session section or, without such a section, the first in the
// file.
func (d *draft) inSession(name, value string) bool {
	if in, ok := session(d.body); ok {
		return d.replaceIn(in.text, name, value)
	}
	return d.replaceIn(d.all(), name, value)
}

// deref returns what p points to, or the zero value for nil.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// orNull returns a text for a document in which an empty one is null.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// addLabels adds fields to the session section after the existing ones, in their form; a
// section that has to be created gets all of them.
func (d *draft) addLabels(missing []Field, all map[string]string) {
	if len(missing) == 0 {
		return
	}
	in, ok := session(d.body)
	if !ok {
		lines := []string{"## Session", ""}
		for _, name := range []string{"Last session", "Stopped at", "Resume file"} {
			lines = append(lines, "**"+name+":** "+cmp.Or(textline.Join(all[name]), "None"))
		}
		d.appendLines(lines...)
		return
	}
	plain, at := false, -1
	for _, l := range d.lines(in.text) {
		for _, name := range []string{"Last session", "Last Date", "Stopped at", "Resume file",
			"Paused at"} {
			if _, ok := plainField(d.body, l, name); ok && !l.fenced {
				plain, at = true, l.next
			} else if _, ok := boldField(d.body, l, name); ok && !l.fenced {
				at = l.next
			}
		}
	}
	var lines []string
	for _, f := range missing {
		if plain {
			lines = append(lines, f.Name+": "+textline.Join(f.Value))
		} else {
			lines = append(lines, "**"+f.Name+":** "+textline.Join(f.Value))
		}
	}
	text := strings.Join(lines, d.eol)
	if at < 0 {
		e := d.firstItem(in.text, text)
		d.splice(e.span, e.text)
		return
	}
	d.splice(span{at, at}, d.ended(at)+text+d.eol)
}

// A Signal reports that an agent is waiting for a person.
type Signal struct{ Type, Question, Options, Phase string }

type signalFile struct {
	Status   string   `json:"status"`
	Type     string   `json:"type"`
	Question *string  `json:"question"`
	Options  []string `json:"options"`
	Since    string   `json:"since"`
	Phase    *string  `json:"phase"`
}

type signalDoc struct {
	Signaled bool   `json:"signaled"`
	Path     string `json:"path,omitempty"`
	Error    string `json:"error,omitempty"`
}

const signalName = "WAITING.json"

// SignalWaiting writes WAITING.json, to .gsd if the project has that, or else to .planning.
func (s *Store) SignalWaiting(g Signal) (Result, error) {
	dir := s.Planning
	if old := filepath.Join(s.Root, ".gsd"); paths.IsDir(old) {
		dir = old
	}
	file := signalFile{Status: "waiting", Type: cmp.Or(g.Type, "decision_point"),
		Question: orNull(g.Question), Options: []string{}, Since: isoTime(s.Now()),
		Phase: orNull(g.Phase)}
	if g.Options != "" {
		for _, o := range strings.Split(g.Options, "|") {
			file.Options = append(file.Options, strings.TrimSpace(o))
		}
	}
	data, err := json.MarshalIndent(file, "", "  ")
	path := filepath.Join(dir, signalName)
	if err == nil {
		err = durable.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = durable.WriteFile(path, data, 0o644)
	}
	if err != nil {
		return refused(signalDoc{Error: err.Error()}), nil
	}
	return reported(signalDoc{Signaled: true, Path: path}, true), nil
}

type resumedDoc struct {
	Resumed bool `json:"resumed"`
	Removed bool `json:"removed"`

	Reason string `json:"reason,omitempty"`
}

// SignalResume removes WAITING.json.
func (s *Store) SignalResume() (Result, error) {
	removed := false
	for _, dir := range []string{filepath.Join(s.Root, ".gsd"), s.Planning} {
		path := filepath.Join(dir, signalName)
		if !paths.IsFile(path) {
			continue
		}
		if err := durable.Remove(path); err != nil {
			return Result{}, err
		}
		removed = true
	}
	if !removed {
		return refused(resumedDoc{Resumed: true,
			Reason: "no agent is waiting: there is no " + signalName}), nil
	}
	return reported(resumedDoc{Resumed: true, Removed: true}, true), nil
}
