package gsd

import (
	"cmp"
	"context"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/textline"
)

type switchDoc struct {
	Switched bool   `json:"switched"`
	Version  string `json:"version"`
	Name     string `json:"name"`
	Status   string `json:"status"`
}

// MilestoneSwitch begins a new milestone: the phases, plans and progress of the old one are
// removed, all else stays. It creates a missing STATE.md.
func (s *Store) MilestoneSwitch(ctx context.Context, version, name string) (Result, error) {
	version, name = strings.TrimSpace(version), strings.TrimSpace(name)
	if version == "" {
		return failed("milestone required (--milestone <vX.Y>)"), nil
	}
	if err := checkTexts("--milestone", version, "--name", name); err != nil {
		return Result{}, err
	}
	name = cmp.Or(name, "milestone")
	if err := durable.MkdirAll(s.Planning, 0o755); err != nil {
		return Result{}, err
	}
	return s.verb(ctx, writing{create: true}, func(d *draft) error {
		switchMilestone(d, version, name, s.Now())
		return nil
	}, func(bool) Result { return reported(switchDoc{true, version, name, "planning"}, true) })
}

func switchMilestone(d *draft, version, name string, now time.Time) {
	today := localDate(now)
	d.zero = true
	for _, w := range []wanted{{"milestone", version}, {"milestone_name", name},
		{"status", "planning"}, {"last_updated", isoTime(now)}, {"last_activity", today}} {
		d.exact(w.key, w.text)
	}
	d.drop = []string{"current_phase", "current_phase_name", "current_plan",
		"total_plans_in_phase", "stopped_at", "paused_at", "last_activity_desc", "active_phase",
		"next_action", "next_phases"}
	fields := []Field{{"Phase", "Not started (defining requirements)"}, {"Plan", "—"},
		{"Status", "Defining requirements"},
		{"Last activity", today + " — Milestone " + version + " started"}}
	if _, ok := d.position(); !ok {
		lines := []string{"## Current Position", ""}
		for _, f := range fields {
			lines = append(lines, f.Name+": "+textline.Join(f.Value))
		}
		if len(strings.TrimSpace(string(d.body))) == 0 {
			lines = append([]string{"# Project State", ""}, lines...)
		}
		d.appendLines(lines...)
		return
	}
	var missing []string
	for _, f := range fields {
		if !d.inPosition(f.Name, always(f.Value)) {
			missing = append(missing, f.Name+": "+textline.Join(f.Value))
		}
	}
	d.openWith(missing)
	d.inPosition("Progress", func(old string) (string, bool) { return withBar(old, 0), true })
	for _, stale := range []string{"Current Phase", "Current Phase Name", "Current Plan",
		"Total Plans in Phase"} {
		d.inPosition(stale, always("—"))
	}
}

// openWith inserts lines before the first text of Current Position.
func (d *draft) openWith(lines []string) {
	in, _ := d.position()
	if len(lines) == 0 {
		return
	}
	text := strings.Join(lines, d.eol)
	for _, l := range d.lines(in) {
		if !l.empty(d.body) {
			d.splice(span{l.start, l.start}, text+d.eol)
			return
		}
	}
	e := d.firstItem(in, text)
	d.splice(e.span, e.text)
}
