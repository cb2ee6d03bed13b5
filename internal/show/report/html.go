package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
	"greenlight/internal/show/view"
)

//go:embed page.html
var page string

// A tile is a number at the top of the page.
type tile struct {
	N       int
	Text    string
	Tone    string
	Section string // of the page: it lists them
}

// A shares is a table of costs.
type shares struct {
	What   string
	Shares []Share
	Names  map[string]string // of slices
	Failed bool              // some cost was spent on attempts that failed
}

// HTML writes the document as one self-contained page. base is the prefix of links to records: ""
// for a page in .greenlight/runs, otherwise that directory's path.
func (d *Document) HTML(w io.Writer, base string) error {
	return d.Page(w, Site{Record: func(path string) string {
		u := url.URL{Path: path}
		if base != "" {
			u = url.URL{Scheme: "file", Path: strings.TrimSuffix(base, "/") + "/" + path}
		}
		return u.String()
	}})
}

// A Site is what is around a page.
type Site struct {
	Record func(path string) string // the address of a file in .greenlight/runs; "" for none
	Pages  []Link                   // the others
}

// A Link leads to another page.
type Link struct{ Address, Text string }

// Page writes the document as one page of a site. It brings its styles along, and has no scripts.
func (d *Document) Page(w io.Writer, in Site) error {
	link := func(path, text string) template.HTML {
		text = template.HTMLEscapeString(sanitize.Line(text))
		address := ""
		if path != "" {
			address = in.Record(path)
		}
		if address == "" {
			return template.HTML(text)
		}
		return template.HTML(`<a href="` + template.HTMLEscapeString(address) + `">` + text + `</a>`)
	}
	t, err := template.New("page").Funcs(d.funcs()).Funcs(template.FuncMap{"link": link,
		"pages": func() []Link { return in.Pages }}).Parse(page)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, d); err != nil {
		return err
	}
	// no character may reorder text, in attributes and pictures either
	_, err = io.WriteString(w, sanitize.Text(b.String()))
	return err
}

// funcs returns the functions that the page calls.
func (d *Document) funcs() template.FuncMap {
	return template.FuncMap{
		"attempt":  func(s Span) string { return fmt.Sprintf("%s.%d", s.ID, s.N) },
		"clock":    func(t time.Time) string { return plan.At(t, d.Night.To, "15:04:05") },
		"costTile": func(c view.Cost) string { c.Unknown = 0; return orDash(c.String()) },
		"count":    words.Count,
		"day":      day,
		"duration": duration,
		"forecast": (*Document).ForecastText,
		"gantt":    gantt,
		"heldUp":   d.heldUp,
		"join":     func(l []string) string { return strings.Join(l, ", ") },
		"key":      key,
		"layer":    func(i int) int { return i + 1 },
		"listed":   func(n Node) string { return n.listed() },
		"money":    view.Cost.String,
		"name":     name,
		"nothing":  d.nothing,
		"now":      func(t TakenBack) string { return t.now() },
		"item":     d.item,
		"orDash":   orDash,
		"picture":  picture,
		"runs":     runs,
		"short":    func(commit string) string { return commit[:min(len(commit), 10)] },
		"table":    d.newShares,
		"tests":    testsOf,
		"then":     func() string { return plan.Then },
		"tiles":    (*Document).tiles,
		"time":     moment,
		"tone":     (*Document).tone,
	}
}

// nothing returns in one line what there is none of.
func (d *Document) nothing() string {
	var parts []string
	if len(d.ToDo()) == 0 {
		parts = append(parts, "Nothing needs you.")
	}
	if len(d.Landed) == 0 {
		parts = append(parts, "Nothing was completed.")
	}
	if len(d.Failed) == 0 {
		parts = append(parts, "No "+d.Noun+" failed.")
	}
	return strings.Join(parts, " ")
}

// item returns the word for an item as the heading of a column: Slice, Unit or Phase.
func (d *Document) item() string { return strings.ToUpper(d.Noun[:1]) + d.Noun[1:] }

// newShares returns the table of the costs by slice, agent or account.
func (d *Document) newShares(what string, list []Share) shares {
	t := shares{What: what, Shares: list, Names: map[string]string{}}
	for _, s := range list {
		t.Failed = t.Failed || s.Failed.Known > 0
	}
	if what == d.item() {
		for _, n := range d.Graph {
			t.Names[n.ID] = name(n.ID, n.Name)
		}
	}
	return t
}

func day(t time.Time) string { return t.Local().Format(time.DateOnly) }

func moment(t time.Time) string { return t.Local().Format("Mon 2006-01-02 15:04") }

func duration(seconds float64) string {
	return plan.Age(time.Duration(seconds * float64(time.Second)))
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func number(n *int) string {
	if n == nil {
		return "unknown"
	}
	return strconv.Itoa(*n)
}

// name returns the name for people, or "" if that is the id.
func name(id, name string) string {
	if id == name {
		return ""
	}
	return name
}

// testsOf returns the number of tests on the merge, and how many of them are new: "29, 1 new".
// If their run printed no number, it returns the agent's count.
func testsOf(l Landed) string {
	switch {
	case l.After == nil && l.New != nil:
		return plan.Gain(*l.New)
	case l.After == nil && l.Counted > 0:
		return fmt.Sprintf("%d reported", l.Counted)
	case l.After == nil:
		return orDash("")
	case l.New == nil:
		return strconv.Itoa(*l.After)
	}
	return strconv.Itoa(*l.After) + ", " + plan.Gain(*l.New)
}

// tone returns the class that colors the verdict.
func (d *Document) tone() string {
	switch {
	case d.Counts.Failed > 0:
		return "bad"
	case len(d.ToDo()) > 0, d.Counts.Done < d.Counts.Total, d.Counts.Undelivered > 0:
		return "warn"
	case d.Counts.Total == 0:
		return ""
	}
	return "good"
}

func (d *Document) tiles() []tile {
	var list []tile
	tones := map[view.Group]string{view.NeedsYou: "warn", view.Failed: "bad"}
	sections := map[view.Group]string{
		view.NeedsYou: "todo", view.Stopped: "todo", view.Failed: "failed",
		view.Ready: "next", view.Blocked: "next",
	}
	for _, g := range []view.Group{
		view.Failed, view.Stopped, view.NeedsYou, view.Running, view.Merging, view.Ready, view.Blocked,
	} {
		if n := d.Counts.Of(g); n > 0 {
			text := view.Tally(n, g)
			list = append(list, tile{n, strings.TrimPrefix(text, strconv.Itoa(n)+" "), tones[g], sections[g]})
		}
	}
	if n := d.Counts.Undelivered; n > 0 {
		list = append(list, tile{n, d.Waiting().unmerged(), "warn", "waiting"})
	}
	if n := d.Night.TakenBack; n > 0 {
		list = append(list, tile{n, "taken back", "", "back"})
	}
	return list
}

// A comparison is a figure of the night and of the one before.
type comparison struct{ What, Now, Before string }

// Comparison compares the night with the one before, in what is known of either.
func (d *Document) Comparison() []comparison {
	n, b := d.Night, d.Previous
	count := strconv.Itoa
	list := []comparison{
		{"Completed", count(n.Done), count(b.Done)},
		{"Attempts", count(n.Attempts), count(b.Attempts)},
		{"Failed attempts", count(n.Failed), count(b.Failed)},
	}
	if n.Cost.Known+b.Cost.Known > 0 {
		list = append(list, comparison{"Cost", orDash(n.Cost.String()), orDash(b.Cost.String())})
	}
	if n.Passed != nil || b.Passed != nil {
		list = append(list, comparison{"Tests passing", number(n.Passed), number(b.Passed)})
	}
	return append(list, comparison{"Time", duration(n.Seconds), duration(b.Seconds)})
}

// TimeText returns how long the night took, and for what.
func (d *Document) TimeText() string {
	n := d.Night
	text := duration(n.Seconds) + " for " + words.Count(n.Attempts, "attempt")
	if n.Slots > 0 {
		text += ", at most " + strconv.Itoa(n.Slots) + " at once"
	}
	return text + "."
}

// NextCommand returns the command that goes on; "" if nothing is ready.
func (d *Document) NextCommand() string {
	if len(d.Next.Ready) == 0 || d.Night.Running {
		return ""
	}
	return "gl slice --watch" + d.flags
}

// CostText returns the night's cost, as far as the agents reported it.
func (d *Document) CostText() string {
	total, failed := d.Cost.Total, d.Cost.Failed
	switch {
	case total.Known == 0 && total.Unknown == 0:
		return "Nothing ran."
	case total.Known == 0:
		return "No agent has said what it cost."
	case failed.Known == 0:
		return total.String() + " in all."
	}
	return total.String() + " in all, of which " + failed.String() + " on failed attempts."
}

// ForecastText returns how long the rest takes, and whether more slots would help.
func (d *Document) ForecastText() string {
	f := d.Next
	switch {
	case d.Counts.Total > 0 && d.Counts.Done == d.Counts.Total:
		return "Everything is done."
	case f.Seconds == nil:
		return "How long the rest takes is unknown: too few " + d.Noun + "s are complete to learn from."
	case *f.Seconds <= 0:
		return "Nothing is left that goes on by itself."
	}
	text := "Left: " + f.Left
	switch {
	case f.Faster == nil:
	case *f.Faster < *f.Seconds*0.95:
		text += fmt.Sprintf(". With %d slots instead of %d it would be %s",
			f.More, f.Slots, duration(*f.Faster))
	default:
		text += fmt.Sprintf(". More than %s wouldn't help", words.Count(f.Slots, "slot"))
	}
	if f.Typical != nil {
		text += fmt.Sprintf(". One %s takes %s, by %s",
			d.Noun, duration(*f.Typical), words.Count(f.Samples, "attempt"))
	}
	return text + "."
}
