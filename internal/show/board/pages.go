package board

import (
	"fmt"
	"path/filepath"
	"slices"

	tea "charm.land/bubbletea/v2"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/attemptlog"
	"greenlight/internal/run/project"
	"greenlight/internal/show/linecolor"
	"greenlight/internal/show/rowlayout"
)

const (
	peeked = 200  // lines of a log beside the list
	most   = 5000 // and in a panel
)

// A page is what a panel shows of a slice: the output of a gl command, or the end of a file that
// may be large.
type page struct {
	name  string
	argv  func(id string) []string
	end   func(l *logs, id string) (title string, lines []string)
	color func(line string) term.Color
	words bool // wrapped between words
	grows bool // followed at its end
}

// output is the page of a command that the person typed.
var output = page{name: "output", words: true}

func pages() []page {
	command := func(name string) func(string) []string {
		return func(id string) []string { return []string{name, id} }
	}
	return []page{
		{name: "diff", argv: command("diff"), color: linecolor.Diff},
		{name: "why", argv: command("why"), words: true},
		{name: "log", end: (*logs).ofAgent, color: linecolor.Log, words: true, grows: true},
		{name: "tests", end: (*logs).ofTests, grows: true},
	}
}

// A filled is the text of a panel whose command has ended.
type filled struct {
	panel *panel
	lines []string
}

// open shows a page of the selected slice.
func (b *board) open(name string) tea.Cmd {
	row := b.list.row()
	i := slices.IndexFunc(pages(), func(p page) bool { return p.name == name })
	if row == nil || i < 0 {
		return nil
	}
	pg := pages()[i]
	title := row.ID
	if row.Name != row.ID {
		title += " " + row.Name
	}
	b.panel = &panel{page: pg, id: row.ID, title: sanitize.Line(title) + ": " + pg.name}
	b.panel.view.follow = pg.grows
	b.readLogs()
	return b.refill()
}

// refill runs the command of the open page again. The page of a file is read by readLogs.
func (b *board) refill() tea.Cmd {
	p := b.panel
	if p == nil || p.busy || p.page.argv == nil {
		return nil
	}
	p.busy = true
	argv, gl := p.page.argv(p.id), b.gl
	return func() tea.Msg {
		out, err := gl.output(argv)
		lines := outputLines(out)
		if err != nil && len(lines) == 0 {
			lines = []string{commandLine(argv) + ": " + err.Error()}
		}
		return filled{p, lines}
	}
}

// readLogs reads the ends of the files that are shown: they grow without an event.
func (b *board) readLogs() {
	logs := &logs{b.cfg.Project, &b.list}
	if p := b.panel; p != nil && p.page.end != nil {
		title, lines := p.page.end(logs, p.id)
		p.title = title
		p.fill(lines)
	}
	b.peekText = nil
	if b.logShown() {
		if rec := b.list.lastAttempt(b.list.selected); rec != nil {
			b.peekText = logs.tail(rec, peeked)
		}
	}
}

// logs reads what attempts wrote.
type logs struct {
	project *project.Project
	list    *list
}

func (l *logs) tail(r *attempt.Record, n int) []string {
	return attemptlog.End(l.project.Runs.Files.Log(r.ID.Slice, r.ID.N), r.Job.Stream, n)
}

// ofAgent returns the end of what the agent did and said in the last attempt.
func (l *logs) ofAgent(id string) (title string, lines []string) {
	rec := l.list.lastAttempt(id)
	if rec == nil {
		return sanitize.Line(id) + ": log", []string{"no attempt has begun yet"}
	}
	title = fmt.Sprintf("%s: log of attempt %d, %s", rec.ID.Slice, rec.ID.N,
		rowlayout.AgentName(rec.Job.Agent))
	if rec.Life.Remote != nil {
		title += " " + rec.Life.Remote.Place()
	}
	return sanitize.Line(title), l.tail(rec, most)
}

// ofTests returns the end of what the tests wrote in the last attempt. The tests of several slices
// together have one file.
func (l *logs) ofTests(id string) (title string, lines []string) {
	title = sanitize.Line(id) + ": tests"
	rec := l.list.lastAttempt(id)
	if rec == nil {
		return title, []string{"no attempt has begun yet"}
	}
	path := l.project.Runs.Files.TestsLog(rec.ID.Slice, rec.ID.N)
	if v := rec.Judged.Verdict; v != nil && v.Log != "" {
		path = filepath.Join(filepath.Dir(path), filepath.Base(v.Log))
	}
	title = sanitize.Line(fmt.Sprintf("%s: tests of attempt %d", rec.ID.Slice, rec.ID.N))
	if lines = attemptlog.End(path, "", most); lines == nil {
		lines = []string{"its tests haven't run yet"}
	}
	return title, lines
}
