package gsd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"greenlight/internal/base/paths"
)

type progressDoc struct {
	Updated     bool   `json:"updated"`
	Percent     *int   `json:"percent,omitempty"`
	PlanPercent *int   `json:"plan_percent,omitempty"`
	Completed   *int   `json:"completed,omitempty"`
	Total       *int   `json:"total,omitempty"`
	Bar         string `json:"bar,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

// UpdateProgress recounts plans and phases and draws the body's Progress, with the same percent
// in the file, in the bar and in the result.
func (s *Store) UpdateProgress(ctx context.Context) (Result, error) {
	var doc progressDoc
	return s.verb(ctx, writing{}, func(d *draft) error {
		doc = s.progress(d)
		return nil
	}, func(bool) Result {
		r := result(doc, doc.Bar)
		if !doc.Updated {
			r = refused(doc)
		}
		return r
	})
}

func (s *Store) progress(d *draft) progressDoc {
	f := s.facts(d.doc)
	d.percent = true
	t, ok := recount{percent: true, compat: s.Compat}.of(d.doc, f)
	switch {
	case f.Unbounded && !s.Compat:
		return progressDoc{Reason: "ROADMAP.md doesn't say which phases belong to the milestone: " +
			"STATE.md left unchanged"}
	case !ok || *t.totalPlans == 0:
		return progressDoc{Reason: "no plans found in the milestone's phases: " +
			"STATE.md left unchanged"}
	}
	plans, _ := planPercent(*t.completedPlans, *t.totalPlans)
	percent := plans
	if !s.Compat && t.percent != nil {
		percent = *t.percent
	}
	if !d.lead("Progress", func(old string) (string, bool) { return withBar(old, percent), true }) {
		return progressDoc{Reason: "Progress field not found in STATE.md"}
	}
	return progressDoc{Updated: true, Percent: &percent, PlanPercent: &plans,
		Completed: t.completedPlans, Total: t.totalPlans, Bar: drawBar(percent)}
}

// drawBar returns the body's bar: `[█████░░░░░] 47%`, one cell per ten percent, rounded.
func drawBar(percent int) string {
	filled := min(10, max(0, (percent+5)/10))
	return "[" + strings.Repeat("█", filled) + strings.Repeat("░", 10-filled) + "] " +
		strconv.Itoa(percent) + "%"
}

var barText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:(?:\[[^\]]*\]|[█▓▒░]+)[ \t]*)?\d{1,3}%`)
})

// withBar replaces the bar in a Progress field and keeps the text around it.
func withBar(old string, percent int) string {
	at := barText().FindStringIndex(old)
	if at == nil {
		return drawBar(percent)
	}
	return old[:at[0]] + drawBar(percent) + old[at[1]:]
}

// withoutBar replaces the bar in a Progress field by a dash: GSD takes a percent from there when
// it can't count one.
func withoutBar(old string) (string, bool) {
	return barText().ReplaceAllLiteralString(old, "—"), true
}

type syncDoc struct {
	Synced  bool     `json:"synced"`
	Changes []string `json:"changes"`
	DryRun  bool     `json:"dry_run"`
	Reason  string   `json:"reason,omitempty"`
}

// Sync updates STATE.md to match the disk: Total Plans in Phase, Progress, Last Activity, and
// the front matter to match the body. With verify it only reports what it would do.
func (s *Store) Sync(ctx context.Context, verify bool) (Result, error) {
	doc := syncDoc{Synced: !verify, DryRun: verify}
	result := func(bool) Result {
		if place := placeOf(s); !paths.Exists(place.Roadmap()) && !paths.IsDir(place.Phases()) {
			doc.Synced = false
			doc.Reason = "there is neither ROADMAP.md nor the directory phases: " +
				"nothing to compare STATE.md with"
		}
		return Result{Doc: doc, Failed: doc.Reason != ""}
	}
	change := func(d *draft) error {
		d.force = true
		doc.Changes = s.sync(d)
		return nil
	}
	if !verify {
		return s.verb(ctx, writing{}, change, result)
	}
	state, err := s.load()
	if err != nil {
		return whenMissing(err)
	}
	err = change(newDraft(state))
	return result(false), err
}

// whenMissing turns the error for a missing STATE.md into GSD's result; others stay.
func whenMissing(err error) (Result, error) {
	if errors.Is(err, errNoState) {
		return failed("%s", errNoState), nil
	}
	return Result{}, err
}

func (s *Store) sync(d *draft) []string {
	f := s.facts(d.doc)
	changes := []string{}
	if !f.HasPhases && !f.HasRoadmap {
		return changes
	}
	set := func(name string, put func(old string) (string, bool)) {
		before := d.get(name)
		d.lead(name, put)
		if after := d.get(name); after != before {
			changes = append(changes, fmt.Sprintf("%s: %s -> %s", name, before, after))
		}
	}
	if open := openPhase(f.Dirs); open != nil {
		set("Total Plans in Phase", func(old string) (string, bool) {
			return strconv.Itoa(open.Plans), old != "" && atoi(old) != open.Plans
		})
	}
	t, ok := recount{percent: true, compat: s.Compat}.of(d.doc, f)
	switch {
	case f.Unbounded:
		changes = append(changes,
			"Progress: skipped — ROADMAP.md doesn't say which phases belong to milestone "+
				cmp.Or(f.Milestone, d.doc.stored("milestone")))
	case ok && t.percent != nil:
		set("Progress", func(old string) (string, bool) {
			return withBar(old, *t.percent), old != ""
		})
	}
	if change := syncTodos(d, pendingTodos(s.Planning)); change != "" {
		changes = append(changes, change)
	}
	set("Last Activity", ifDefault("Last Activity", localDate(s.Now())))
	if s.miscounted(d) {
		changes = append(changes, "Frontmatter: progress")
	}
	return changes
}

// miscounted reports whether the front matter's progress block disagrees with the disk. Its
// other keys don't cause a write: if the body is unchanged, values that a person gave them
// stay.
func (s *Store) miscounted(d *draft) bool {
	if _, ok := d.doc.Get("progress"); !ok || !d.force {
		return false
	}
	text := func(doc *Doc) string {
		for _, e := range slices.Backward(doc.Front) {
			if e.Key == "progress" {
				return strings.TrimSpace(string(doc.Src[e.Start:e.End]))
			}
		}
		return ""
	}
	return text(Parse(d.settle(s.facts(d.doc), s.Now(), s.Compat))) != text(d.doc)
}

// openPhase returns the last unfinished phase, or else the first with plans.
func openPhase(dirs []PhaseDir) *PhaseDir {
	var first, open *PhaseDir
	for i := range dirs {
		switch p := &dirs[i]; {
		case p.Plans == 0:
		case p.Summaries < p.Plans:
			open = p
		case first == nil:
			first = p
		}
	}
	if open != nil {
		return open
	}
	return first
}
