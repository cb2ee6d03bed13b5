package gsd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/conflict"
	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// Check returns the problems in GSD's files that confuse their readers or contradict what is on
// disk.
func (t *Tracker) Check() []tracker.Complaint {
	s := t.survey()
	c := &checker{place: s.place}
	c.config()
	data, err := durable.ReadFile(s.place.State())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !s.place.NoWorkstream {
			c.add(s.place.State(), t.slash("progress")+" in Claude Code",
				"is missing: where the project stands is unknown")
		}
		return c.list
	case err != nil:
		c.bad(s.place.State(), "make it readable", "can't be read: %v", err)
		return c.list
	}
	c.state(data)
	c.drift(s)
	return c.list
}

type checker struct {
	place Place
	list  []tracker.Complaint
}

func (c *checker) add(path, help, format string, a ...any) {
	w := plan.Warning{Path: c.place.rel(path), Message: fmt.Sprintf(format, a...)}
	c.list = append(c.list, tracker.Complaint{Warning: w, Help: help})
}

func (c *checker) bad(path, help, format string, a ...any) {
	c.add(path, help, format, a...)
	c.list[len(c.list)-1].Severity = tracker.Broken
}

func (c *checker) config() {
	path := filepath.Join(c.place.Planning, "config.json")
	data, err := durable.ReadFile(path)
	if err != nil {
		return // the file is optional
	}
	var doc map[string]json.RawMessage
	if err := jsonedit.Unmarshal(data, &doc); err != nil {
		c.bad(path, "correct it by hand", "isn't a JSON object (%v), so GSD's defaults count", err)
	}
}

// state checks the bytes of STATE.md.
func (c *checker) state(data []byte) {
	path := c.place.State()
	text := bytes.TrimPrefix(data, []byte("\ufeff"))
	d := Parse(data)
	switch {
	case len(text) < len(data):
		c.add(path, "remove the byte order mark",
			"begins with a byte order mark: GSD's status line reads none of the frontmatter")
	case d.FrontStart == 0 && bytes.HasPrefix(text, []byte("---")):
		c.bad(path, "add a second line ---", "the frontmatter isn't closed, so it isn't read")
	}
	if n := d.misclosed(); n > 0 {
		c.bad(path, "make it ---", "line %d is --, so the frontmatter goes on to the next ---", n)
	}
	if d.Stacked {
		c.bad(path, "keep the first block and delete the others",
			"the frontmatter is there several times, one block behind the other")
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		c.bad(path, "delete it", "line %d has a NUL byte", 1+bytes.Count(data[:i], []byte("\n")))
	}
	if len(data) > maxRead {
		c.add(path, "gl gsd state prune", "has %d kB: the status line reads the first %d",
			len(data)>>10, maxRead>>10)
	}
	if line, _ := conflict.Find(string(data)); line > 0 {
		c.bad(path, "keep one side of the conflict, or join them", "merge conflict in line %d",
			line)
	}
	for i := range d.Front {
		if v, _ := d.Get(d.Front[i].Key); v.Start != d.Front[i].Value.Start {
			c.add(path, "keep one of them", "%s is there twice; the last one counts",
				d.Front[i].Key)
		}
	}
}

// drift compares the counts in STATE.md with those that a sync would write.
func (c *checker) drift(s *survey) {
	t, ok := recount{}.of(s.front, s.facts)
	if !ok || !s.front.hasProgress() {
		return
	}
	compare := func(noun string, doneKey, allKey string, done, all *int) {
		hasDone, ok1 := s.front.storedCount(doneKey)
		hasAll, ok2 := s.front.storedCount(allKey)
		if ok1 && ok2 && (hasDone != *done || hasAll != *all) {
			c.add(c.place.State(), "gl gsd state sync",
				"counts %d of %d %s as completed, but the roadmap and the phase directories have %d of %d",
				hasDone, hasAll, noun, *done, *all)
		}
	}
	compare("phases", "completed_phases", "total_phases", t.completedPhases, t.totalPhases)
	compare("plans", "completed_plans", "total_plans", t.completedPlans, t.totalPlans)
}
