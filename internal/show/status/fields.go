// Package status is gl status in its three forms: lines for a pipe, a screen for a terminal, and a
// JSON document. One table, fields, lists what they show, in the order of all forms. A new field
// takes a row there and, for JSON, a key in Document. The package opens no files: a view.Model has
// everything.
package status

import (
	"fmt"
	"strings"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/lane"
	"greenlight/internal/show/view"
)

// A field is something that gl status shows.
type field struct {
	keys  []string                 // of Document
	label string                   // on a pipe, before each line: "Held:"
	text  func(*view.Model) string // on a pipe: its lines; "" leaves the field out
	place place                    // on a terminal

	groups []view.Group             // place rows: the groups whose rows show it
	words  func(*view.Model) string // on a terminal: its lines; nil for none there, or the rows
	color  func(*view.Model) term.Color
	wraps  bool // on a terminal long lines are wrapped; otherwise cut
}

// A place is where a screen shows a field.
type place int

const (
	nowhere place = iota
	top           // the first line
	head
	rows
	tasks
	foot
)

// fields lists everything that gl status shows.
var fields = [...]field{
	{keys: []string{"total", "done"}, label: "Progress:", text: progress, place: top},
	{keys: []string{"progress"}, label: "Recorded:", text: recorded,
		place: head, words: labeled("recorded: ", recorded), color: always(term.Dim)},
	{label: "Counted:", text: counted,
		place: head, words: labeled("counted: ", counted), color: always(term.Dim)},
	{keys: []string{"hold", "holds"}, label: "Held:", text: held,
		place: head, words: heldSentences, color: always(term.Yellow)},
	{keys: []string{"running"}, label: "Running:", text: running,
		place: rows, groups: []view.Group{view.Running}},
	{keys: []string{"tasks"}, place: tasks},
	{keys: []string{"forecast"}, label: "Forecast:", text: forecast},
	{label: "Verify:", text: toVerify,
		place: foot, words: labeled("Unverified: ", unverifiedHow),
		color: always(term.Yellow), wraps: true},
	{keys: []string{"undelivered"}, label: "Unmerged:", text: undelivered,
		place: foot, words: labeled("Not merged yet: ", undelivered),
		color: always(term.Yellow), wraps: true},
	{keys: []string{"pull_request"}, label: "Review:", text: pullRequest},
	{keys: []string{"landing"}, label: "Merging:", text: merging,
		place: rows, groups: []view.Group{view.Merging}},
	{label: "Because:", text: because,
		place: foot, words: labeled("Because: ", because), color: always(term.Yellow), wraps: true},
	{keys: []string{"ready"}, label: "Ready:", text: ready,
		place: rows, groups: []view.Group{view.Ready}},
	{keys: []string{"unplaced"}, label: "No agent:", text: unplaced,
		place: foot, words: labeled("No agent: ", unplaced), color: always(term.Yellow), wraps: true},
	{keys: []string{"blocked"}, label: "Blocked:", text: blocked,
		place: rows, groups: []view.Group{view.Blocked}},
	{keys: []string{"failed"}, label: "Failed:", text: troubled(plan.Failed),
		place: rows, groups: []view.Group{view.Failed}},
	{keys: []string{"red"}, label: "Red:", text: troubled(plan.Red),
		place: rows, groups: []view.Group{view.Failed}},
	{keys: []string{"conflict"}, label: "Conflict:", text: troubled(plan.Conflict),
		place: rows, groups: []view.Group{view.Failed}},
	{keys: []string{"stalled"}, label: "Stalled:", text: troubled(plan.Stalled),
		place: rows, groups: []view.Group{view.Failed, view.Stopped}},
	{keys: []string{"waiting"}, label: "Waiting:", text: waiting,
		place: rows, groups: []view.Group{view.NeedsYou}},
	{keys: []string{"unknown"}, label: "Unknown:", text: unknown,
		place: rows, groups: []view.Group{view.NeedsYou}},
	{keys: []string{"blockers"}, label: "Blockers:", text: blockers,
		place: head, words: blockerLines, color: always(term.Yellow), wraps: true},
	{keys: []string{"tests"}, label: "Tests:", text: tests,
		place: foot, words: labeled("Tests: ", testsShown), color: testsColor, wraps: true},
	{label: "Checkout:", text: halfDone,
		place: foot, words: halfDone, color: always(term.Yellow), wraps: true},
	{label: "Next:", text: next,
		place: foot, words: next, color: always(term.Green), wraps: true},
	{label: "Base:", text: redBase,
		place: foot, words: redBase, color: always(term.Red), wraps: true},
	{keys: []string{"cost"}, label: "Cost:", text: cost, place: top, words: labeled("cost ", cost)},
	{keys: []string{"eta_seconds", "eta_without"}, label: "Left:", text: leftIfMoving,
		place: top, words: labeled("left: ", left)},
}

// jsonOnly are the keys of Document that only programs need, or that other commands and stderr
// show.
var jsonOnly = []string{
	"schema_version", "format", "root", "milestone", "slices", "warnings", "others",
}

// always is the color of a field that has one color.
func always(c term.Color) func(*view.Model) term.Color {
	return func(*view.Model) term.Color { return c }
}

// labeled puts a label before a text that isn't empty.
func labeled(label string, text func(*view.Model) string) func(*view.Model) string {
	return func(m *view.Model) string {
		if text := text(m); text != "" {
			return label + text
		}
		return ""
	}
}

func progress(m *view.Model) string {
	p := m.Plan
	bar := Bar(p.Done, p.Total, BarCells)
	return fmt.Sprintf("%s %d/%d %ss", bar, p.Done, p.Total, p.Snapshot.Noun)
}

// recorded is the progress that the format's file records.
func recorded(m *view.Model) string {
	if pr := m.Plan.Snapshot.Progress; pr != nil && pr.Recorded != nil {
		return recordText(m.Plan, *pr.Recorded)
	}
	return ""
}

// counted is the progress that gl counts, where the format's file records another or none.
func counted(m *view.Model) string {
	pr := m.Plan.Snapshot.Progress
	if pr == nil || pr.Recorded != nil && pr.Recorded.Same(pr.Counted()) {
		return ""
	}
	return recordText(m.Plan, pr.Counted())
}

func recordText(p *plan.Plan, r plan.Recorded) string {
	progress := p.Snapshot.Progress
	text := fmt.Sprintf("%d/%d %ss, %d/%d %ss",
		r.Done, r.Total, p.Snapshot.Noun, r.PartsDone, r.PartsAll, progress.Parts)
	if progress.Milestone != "" {
		text = sanitize.Text(progress.Milestone) + ": " + text
	}
	if r.Percent != nil {
		text += fmt.Sprintf(", %d%%", *r.Percent)
	}
	return text
}

func held(m *view.Model) string {
	var lines []string
	for _, h := range m.Plan.InEffect() {
		lines = append(lines, sanitize.Line(h.Listed(m.Now)))
	}
	return strings.Join(lines, "\n")
}

func heldSentences(m *view.Model) string { return strings.Join(Holds(m.Plan, m.Now), "\n") }

func running(m *view.Model) string { return Running(m.Plan, m.Now) }
func merging(m *view.Model) string { return mergingBut(m.Plan, stuck(m).reason, m.Now) }
func ready(m *view.Model) string   { return listed(m.Plan.Lists.Ready) }
func blocked(m *view.Model) string { return Briefs(m.Plan, m.Plan.Lists.Blocked, m.Now) }
func waiting(m *view.Model) string { return Briefs(m.Plan, m.Plan.Lists.Waiting, m.Now) }
func unknown(m *view.Model) string { return Briefs(m.Plan, m.Plan.Lists.Unknown, m.Now) }

// unplaced names the ready slices that no agent can be launched for, with the reason.
func unplaced(m *view.Model) string { return strings.Join(NoAgent(m.Plan), "\n") }

func troubled(c plan.Class) func(*view.Model) string {
	return func(m *view.Model) string {
		for _, g := range m.Plan.Lists.Troubled() {
			if g.Class == c {
				return Troubled(m.Plan, g.IDs, m.Now)
			}
		}
		return ""
	}
}

// forecast describes the work that is likely to conflict.
func forecast(m *view.Model) string {
	var list []string
	for _, c := range m.Plan.Forecast {
		list = append(list, c.String())
	}
	if len(list) == 0 {
		return ""
	}
	const most = 5
	shown := strings.Join(list[:min(most, len(list))], "; ")
	return sanitize.Text(shown + words.More(len(list)-most) + " will likely conflict")
}

// unverified names the done slices of which gl has seen no tests pass. Where that is all of many,
// as in a clone, which has no records, the names say nothing.
func unverified(m *view.Model) string {
	const many = 5
	p := m.Plan
	if n := len(p.Lists.Unverified); n > many && n == p.Done {
		return fmt.Sprintf("%d complete slices, none with a verdict here", n)
	}
	return words.Some(p.Lists.Unverified)
}

func toVerify(m *view.Model) string {
	if list := unverified(m); list != "" {
		return list + " (" + strings.TrimSuffix("unverified: "+sanitize.Line(m.Proving), ": ") + ")"
	}
	return ""
}

// unverifiedHow is toVerify for a terminal, where the label says what they are.
func unverifiedHow(m *view.Model) string {
	if list := unverified(m); list != "" {
		return list + words.InBrackets(sanitize.Line(m.Proving), "")
	}
	return ""
}

// undelivered names the slices that have landed, or were taken back, and that the target doesn't
// reflect yet, with the reason.
func undelivered(m *view.Model) string {
	s := m.Lane
	switch {
	case len(s.Waiting()) == 0:
		return ""
	case s.Reason == "", sanitize.Line(s.Reason) == stuck(m).reason:
		return words.Some(s.Waiting())
	case strings.Contains(s.Reason, "gl land"):
		return sanitize.Line(words.Some(s.Waiting()) + " (" + s.Reason + ")")
	}
	return sanitize.Line(words.Some(s.Waiting()) + " (" + s.Reason + ", gl land)")
}

// because is the reason that several slices share.
func because(m *view.Model) string {
	s := stuck(m)
	if s.reason == "" {
		return ""
	}
	return words.Some(s.ids) + ": " + s.reason
}

func pullRequest(m *view.Model) string { return sanitize.Text(Proposed(m.Lane)) }

// Proposed names the slices that are in a pull request, "" for none.
func Proposed(s lane.Status) string {
	if s.PullRequest == nil {
		return ""
	}
	return words.Some(s.PullRequest.IDs()) + ": " + s.PullRequest.URL
}

func blockers(m *view.Model) string {
	return sanitize.Text(strings.Join(m.Plan.Snapshot.Blockers, "; "))
}

func blockerLines(m *view.Model) string { return strings.Join(Blockers(m.Plan), "\n") }

// redBase tells of tests that fail whatever the slices do.
func redBase(m *view.Model) string {
	red := plan.RedBase(m.Plan)
	if red == nil {
		return ""
	}
	return red.Text + ", then run " + strings.Join(red.Next, plan.Then)
}

func halfDone(m *view.Model) string { return m.HalfDone }

// next says what comes next where every item is complete; "" elsewhere.
func next(m *view.Model) string {
	p := m.Plan
	if p.Total == 0 || m.Counts.Done < p.Total || m.Counts.Undelivered > 0 || p.Total < len(p.States) {
		return ""
	}
	text := "all " + p.Snapshot.Noun + "s are complete. gl report" + p.Snapshot.Flags + " shows what was built"
	if p.Snapshot.Noun == plan.Slice {
		text += `, gl add-slice` + p.Snapshot.Flags + ` "NAME" adds the next`
	}
	return text
}

func tests(m *view.Model) string { return view.Tests(m.Plan) }

// testsShown is tests for a terminal, where numbers of tests that nothing ran say nothing.
func testsShown(m *view.Model) string {
	if text := tests(m); text == "" || !m.Plan.Tests.Unknown() {
		return text
	}
	return "none run"
}

func testsColor(m *view.Model) term.Color {
	if m.Plan.Tests.Red() {
		return term.Red
	}
	return term.Dim
}

func cost(m *view.Model) string { return m.Cost.String() }

func left(m *view.Model) string {
	if m.ETA == nil || *m.ETA <= 0 {
		return ""
	}
	return view.Left(m.Plan, *m.ETA, m.Now)
}

// leftIfMoving is left while anything can go on by itself.
func leftIfMoving(m *view.Model) string {
	if p := m.Plan; len(p.Lists.Running)+len(p.Lists.Landing)+len(p.Lists.Ready) == 0 {
		return ""
	}
	return left(m)
}
