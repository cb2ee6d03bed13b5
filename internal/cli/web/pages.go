package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/httpguard"
	"greenlight/internal/cli/inbox"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/attemptlog"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/show/attempttext"
	"greenlight/internal/show/eventtext"
	"greenlight/internal/show/explain"
	"greenlight/internal/show/facts"
	"greenlight/internal/show/report"
	"greenlight/internal/show/status"
	"greenlight/internal/show/view"
	"greenlight/internal/show/workdoc"
	"greenlight/internal/state/journal"
)

// A button is an action with its form.
type button struct {
	Do, Label string
	Hint      string // what it does, if the label doesn't say
	Ask       string // the label of a text; "" for none
	Needed    bool   // the text must be there
	Primary   bool
	Short     bool   // the text is a word
	Lines     bool   // there may be comments on lines of the diff
	Aside     bool   // the text is folded: mostly there is none
	ID        string // what the action is about, if that isn't the card's slice
}

// A card is one thing that waits.
type card struct {
	ID, Title, Kind string
	Seen            string // what is shown, for the action
	Buttons         []button
	Commands        []string
	Between         string // the commands: one after the other, or one of them
	Proposals       []string
	Here            bool     // its buttons are shown here: there is nothing more to see
	At              []string // lines to comment on, FILE:LINE
}

// takesComments reports whether a person may comment on lines of the diff.
func (c *card) takesComments() bool {
	return slices.ContainsFunc(c.Buttons, func(b button) bool { return b.Lines })
}

// noLines removes the fields for comments, for a slice without a diff.
func (c *card) noLines() {
	for i := range c.Buttons {
		c.Buttons[i].Lines = false
	}
}

// mostComments is how many lines of a page can be commented on without a script, one by one.
const mostComments = 50

// places returns the lines for which a page is asked to have fields.
func places(asked []string) []string {
	asked = slices.DeleteFunc(slices.Compact(asked), func(at string) bool {
		_, _, ok := ops.ParsePlace(at)
		return !ok
	})
	return asked[:min(len(asked), mostComments)]
}

// needs is the page with what waits for a person.
func (s *Server) needs(w http.ResponseWriter, r *http.Request) {
	l := s.hub.look()
	if l.err != nil {
		s.unread(w, r, l.err)
		return
	}
	if wantsJSON(r) {
		pr, err := s.Open()
		if err != nil {
			s.fail(w, r, http.StatusInternalServerError, err)
			return
		}
		in := inbox.NewReader(r.Context(), pr, func(string) {})
		doc := inbox.NewDocument()
		for i := range l.pending {
			doc.Items = append(doc.Items, in.Item(r.Context(), &l.pending[i]))
		}
		writeJSON(w, http.StatusOK, doc)
		return
	}
	page := struct {
		frame
		Cards []card
		Left  int // how many more there are
		Bar   string
	}{frame: s.frame(r, "Needs you"), Bar: l.model.Counts.Bar(l.model.Plan, l.model.Now)}
	shown := l.pending
	if r.FormValue("all") == "" {
		shown = shown[:min(len(shown), mostShown)]
	}
	page.Left = len(l.pending) - len(shown)
	for i := range shown {
		page.Cards = append(page.Cards, s.card(&l.pending[i], l.model.Plan, ops.Seen{}))
	}
	s.show(w, http.StatusOK, "needs", page)
}

// card returns what waits with its buttons; seen is what is shown of a slice.
func (s *Server) card(p *ops.Pending, of *plan.Plan, seen ops.Seen) card {
	c := card{ID: p.ID, Title: inbox.Title(p), Kind: string(p.Kind), Commands: p.Commands,
		Between: p.Between(), Here: p.ID == ""}
	for _, q := range p.Proposals {
		c.Proposals = append(c.Proposals, q.Command())
	}
	c.Seen = p.Why
	if p.ID == "" {
		c.Title = strings.ToUpper(c.Title[:1]) + c.Title[1:]
		c.Buttons = projectButtons(p, of)
		return c
	}
	if text, err := json.Marshal(seen); err == nil && !ofProject(p) {
		c.Seen = string(text)
	}
	if st := of.State(p.ID); st != nil && canDecide(s.Project, st) {
		c.Buttons = buttons(s.Project, p)
	}
	return c
}

// noteLabel is the label of words that go with an approval.
const noteLabel = "A note for its decisions"

// buttons returns the actions on a slice that waits, the usual one first.
func buttons(pr *project.Project, p *ops.Pending) []button {
	reject := button{Do: "reject", Label: "Send back", Ask: "What is wrong?", Lines: true}
	accept := button{Do: "accept", Label: "Accept", Primary: true, Ask: noteLabel, Aside: true}
	retry := button{Do: "retry", Label: "Retry", Ask: "What should its agent know? (optional)",
		Primary: true}
	fresh := button{Do: "fresh", Label: "Start over", Ask: retry.Ask, Aside: true,
		Hint: "Begins a new branch; the old one stays."}
	switch p.Kind {
	case ops.PendingQuestion:
		return []button{{Do: "answer", Label: "Answer", Ask: "Your answer", Needed: true,
			Primary: true}, reject}
	case ops.PendingReview:
		if p.Foreign { // its system's own commands decide
			return nil
		}
		return []button{accept, reject}
	case ops.PendingEmpty:
		accept.Primary = false
		return []button{reject, accept}
	case ops.PendingRed, ops.PendingConflict, ops.PendingFailed, ops.PendingStalled,
		ops.PendingInterrupted:
		if pr.Slices == nil { // held back: another system's item can't begin anew
			return []button{{Do: "retry", Label: retry.Label, Primary: true,
				Hint: "Has an agent fix it. If you have fixed it: gl accept " + p.ID}}
		}
		if p.Kind == ops.PendingRed && ops.TestsToAccept(pr, p.ID) == nil {
			return []button{{Do: "accept-tests", Label: "Accept its changed tests",
				Ask: noteLabel, Aside: true}, retry, fresh}
		}
		if slices.Contains(p.Commands, "gl accept "+p.ID) {
			accept.Primary, accept.Hint = false, "If you have fixed it by hand."
			return []button{retry, accept, fresh}
		}
		return []button{retry, fresh}
	case ops.PendingPaused:
		return []button{{Do: "resume", Label: "Resume", Primary: true}}
	case ops.PendingBudget:
		return []button{budgetButton("slice")}
	case ops.PendingUnknown, ops.PendingUndelivered, ops.PendingHeld, ops.PendingProposal,
		ops.PendingTests:
	}
	return nil
}

// projectButtons returns the actions on what waits and isn't about a slice.
func projectButtons(p *ops.Pending, of *plan.Plan) []button {
	switch p.Kind {
	case ops.PendingUndelivered:
		return []button{{Do: "land", Label: "Merge now", Primary: true}}
	case ops.PendingHeld:
		lift := button{Do: "lift", Label: "Lift the hold", Primary: true}
		if spent := of.Hold.Budget(); spent != "" {
			lift.Primary = false
			return []button{budgetButton(spent), lift}
		}
		return []button{lift}
	}
	return nil
}

// budgetButton returns the action that sets what a slice, a run or a day may cost.
func budgetButton(of string) button {
	return button{Do: "budget", ID: of, Label: "Set the budget",
		Ask: "Dollars that a " + of + " may cost", Needed: true, Primary: true, Short: true}
}

// A group is one of the board's, with its first rows.
type group struct {
	Name string
	Rows []view.Row
	Of   int // how many there are
	Open bool
}

// mostShown is how many rows of a group, or cards, a page has until it is asked for all: it opens
// at once with any number of slices.
const mostShown = 50

// groups returns the board's groups: all of them with their first rows, or one of them whole.
func groups(m *view.Model, whole string) []group {
	var list []group
	for _, g := range view.BoardGroups() {
		rows := m.In(g)
		shown := group{Name: g.String(), Rows: rows, Of: len(rows),
			Open: g != view.Done && g != view.Blocked || len(rows) < 20}
		switch {
		case len(rows) == 0 || whole != "" && whole != slug(g.String()):
			continue
		case whole == "":
			shown.Rows = rows[:min(len(rows), mostShown)]
		default:
			shown.Open = true
		}
		list = append(list, shown)
	}
	return list
}

// board is the page with all slices, by group.
func (s *Server) board(w http.ResponseWriter, r *http.Request) {
	l := s.hub.look()
	if l.err != nil {
		s.unread(w, r, l.err)
		return
	}
	m := l.model
	if wantsJSON(r) {
		doc, err := s.statusDocument(r.Context())
		if err != nil {
			s.fail(w, r, http.StatusInternalServerError, err)
			return
		}
		writeJSON(w, http.StatusOK, doc)
		return
	}
	page := struct {
		frame
		Bar, Leader, Cost, Left string
		Slots, Used             int
		Notes                   []status.Note
		Tasks                   []string
		Groups                  []group
		Now                     time.Time
	}{frame: s.frame(r, "Board"), Bar: m.Counts.Bar(m.Plan, m.Now), Leader: l.leader,
		Cost: m.Cost.String(), Slots: l.slots, Used: m.Counts.Running, Now: m.Now,
		Notes: status.Notes(m), Tasks: status.Tasks(m)}
	if m.ETA != nil {
		page.Left = view.Left(m.Plan, *m.ETA, m.Now)
	}
	page.Groups = groups(m, r.FormValue("group"))
	s.show(w, http.StatusOK, "board", page)
}

// statusDocument returns what gl status --json prints of the system in use.
func (s *Server) statusDocument(ctx context.Context) (*status.Document, error) {
	pr, err := s.Open()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	p, err := s.Plan(pr, now)
	if err != nil {
		return nil, err
	}
	f := facts.Summary(ctx, pr, p)
	if f.Landed, err = facts.Landed(pr, p); err != nil {
		return nil, err
	}
	return status.New(view.Summary(p, f, now), ""), nil
}

// A slicePage is what there is to see of a slice.
type slicePage struct {
	frame
	Item    item
	Work    work
	Card    *card // what it asks of a person; nil for nothing
	Running *card // what can be said to its agent; nil without one
}

// An item is the state of a slice.
type item struct {
	ID, Name, State, Reason string
	Group                   string
	Hops                    []string // what it waits for, step by step
	Task                    string   // what its file asks for
	Commands                []string // what to run next
}

// A work is what was done for a slice.
type work struct {
	ID       string // of the slice
	Facts    inbox.Facts
	Proof    []string
	Output   []string // the end of what its tests wrote, if they failed
	Attempts []attemptLine
	Diff     *patch
	Tests    *patch // how a red slice has changed its tests
	Tail     logTail
}

// A logTail is the end of a log.
type logTail struct {
	Lines []string
	More  bool // there is more before it
}

// An attemptLine is an attempt with what is known about it.
type attemptLine struct {
	N    int
	Text string
	More []string
}

// slice is the page of a slice.
func (s *Server) slice(w http.ResponseWriter, r *http.Request) {
	l, id := s.hub.look(), r.PathValue("id")
	st := s.known(id)
	if l.err != nil || st == nil {
		s.missing(w, r, id)
		return
	}
	ctx := r.Context()
	pr, err := s.Open()
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err)
		return
	}
	if wantsJSON(r) {
		doc := explain.NewDocument(l.model.Plan)
		if err := doc.Add(pr, l.model.Plan, []string{id}, time.Now()); err != nil {
			s.fail(w, r, http.StatusInternalServerError, err)
			return
		}
		writeJSON(w, http.StatusOK, doc)
		return
	}
	recs, err := pr.Runs.LastOf(st.Item)
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err)
		return
	}
	s.show(w, http.StatusOK, "slice", s.slicePage(ctx, r, pr, l, st, recs))
}

// missing answers for a slice that isn't there.
func (s *Server) missing(w http.ResponseWriter, r *http.Request, id string) {
	if err := s.hub.look().err; err != nil {
		s.unread(w, r, err)
		return
	}
	s.fail(w, r, http.StatusNotFound, fmt.Errorf("there is no slice %q", id))
}

// unread answers for a project that can't be read, or hasn't been yet.
func (s *Server) unread(w http.ResponseWriter, r *http.Request, err error) {
	code := http.StatusInternalServerError
	if errors.Is(err, errNotRead) {
		code = http.StatusServiceUnavailable
	}
	s.fail(w, r, code, err)
}

func (s *Server) slicePage(ctx context.Context, r *http.Request, pr *project.Project, l look,
	st *plan.State, recs []*attempt.Record) *slicePage {
	p, now := l.model.Plan, time.Now()
	why := p.Why(st.ID, now)
	page := &slicePage{frame: s.frame(r, st.ID), Work: work{ID: st.ID}, Item: item{
		ID: st.ID, Name: st.Name, State: why.State, Group: view.GroupOf(st).String(),
		Hops: p.Hops(st.ID, now), Task: ops.Task(pr, st.ID),
		Commands: explain.Help(p, why, now).Next,
	}}
	why.Next = nil
	page.Item.Reason = why.String()
	in := inbox.NewReader(ctx, pr, func(string) {})
	seen := ops.Look(ctx, pr, st)
	if i := slices.IndexFunc(l.pending, func(p ops.Pending) bool { return p.ID == st.ID }); i >= 0 {
		waits := &l.pending[i]
		brief := *waits
		brief.Name = "" // the page's title has it
		c := s.card(&brief, p, seen)
		c.Here, c.At = true, places(r.URL.Query()["at"])
		page.Card, page.Work.Facts = &c, in.Facts(ctx, waits)
		if waits.Kind == ops.PendingRed {
			if d, paths := in.TestsDiff(ctx, st.ID); d != nil {
				page.Work.Tests = readPatch(ctx, in, d.From, d.To, paths)
			}
		}
		if waits.Last != nil {
			page.Work.Output = attempttext.Output(waits.Last)
			page.Work.Proof = slices.Concat(attempttext.Proof(waits.Last, lane.Status{}),
				attempttext.Trouble(waits.Last))
		}
	} else {
		page.Work.Facts.Diff = in.Diff(ctx, st.ID)
		page.Card = s.notMerged(l, st.ID)
	}
	if d := page.Work.Facts.Diff; d != nil && d.Stat.Files > 0 {
		page.Work.Diff = readPatch(ctx, in, d.From, d.To, nil)
		page.Work.Diff.Comments = page.MayAct && page.Card != nil && page.Card.takesComments()
		page.Work.Diff.Stat = view.Diff{Files: d.Stat.Files, Added: d.Stat.Insertions,
			Removed: d.Stat.Deletions}
	} else if page.Card != nil {
		page.Card.noLines()
	}
	target := facts.Lane(pr, p)
	for _, rec := range recs {
		page.Work.Attempts = append(page.Work.Attempts, attemptLine{rec.ID.N,
			attempttext.Line(st, rec, now),
			slices.Concat(attempttext.Proof(rec, target), attempttext.Work(rec))})
	}
	if st.Class == plan.Active && st.Attempt.HasSlot() {
		text, _ := json.Marshal(seen)
		page.Running = &card{ID: st.ID, Seen: string(text), Here: true, Buttons: []button{
			{Do: "say", Label: "Say", Ask: "Say something to its agent", Needed: true,
				Primary: true},
			{Do: "stop", Label: "Stop its agent"}}}
	}
	page.readLog(st, recs)
	return page
}

// notMerged returns the card about tested work that isn't merged yet; nil if the slice's is.
func (s *Server) notMerged(l look, id string) *card {
	if !slices.ContainsFunc(l.model.Rows,
		func(r view.Row) bool { return r.ID == id && r.Undelivered }) {
		return nil
	}
	for i := range l.pending {
		if l.pending[i].Kind == ops.PendingUndelivered {
			c := s.card(&l.pending[i], l.model.Plan, ops.Seen{})
			return &c
		}
	}
	return nil
}

// readLog reads the end of the log of the last attempt that has one.
func (page *slicePage) readLog(st *plan.State, recs []*attempt.Record) {
	i := slices.IndexFunc(recs, func(r *attempt.Record) bool { return !r.Accepted() })
	if i < 0 {
		return
	}
	rec := recs[i]
	part, err := attemptlog.ReadPart(rec.Life.Log, rec.Job.Stream, 0)
	if err != nil {
		return
	}
	page.Work.Tail.More = part.More || len(part.Lines) > shownLines
	page.Work.Tail.Lines = part.Lines[max(0, len(part.Lines)-shownLines):]
	if st.Class == plan.Active && rec.Life.Phase != plan.Settled {
		page.Log = url.Values{"slice": {rec.ID.Slice}, "attempt": {fmt.Sprint(rec.ID.N)},
			"from": {fmt.Sprint(part.End)}}.Encode()
	}
}

// shownLines is how much of a log is on the page of its slice.
const shownLines = 200

// log is the page of an attempt's log, in parts.
func (s *Server) log(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	st := s.known(id)
	if st == nil {
		s.missing(w, r, id)
		return
	}
	recs, err := s.Project.Runs.LastOf(st.Item)
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err)
		return
	}
	n, back := 0, 0
	_, _ = fmt.Sscan(r.FormValue("attempt"), &n) // the last one
	_, _ = fmt.Sscan(r.FormValue("back"), &back) // the end
	back = min(max(back, 0), mostParts)
	i := slices.IndexFunc(recs, func(r *attempt.Record) bool {
		return !r.Accepted() && (n == 0 || r.ID.N == n)
	})
	if i < 0 {
		s.fail(w, r, http.StatusNotFound, fmt.Errorf("%s has no such attempt with a log", id))
		return
	}
	part, err := attemptlog.ReadPart(recs[i].Life.Log, recs[i].Job.Stream, back)
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err)
		return
	}
	s.logPart(w, r, recs[i], part, back)
}

// logPart shows the part of a log that lies back parts before its end.
func (s *Server) logPart(w http.ResponseWriter, r *http.Request, rec *attempt.Record,
	part attemptlog.Part, back int) {
	if wantsJSON(r) {
		doc := workdoc.NewLog(s.Project, rec)
		for _, ev := range part.Events {
			doc.Add(ev)
		}
		if part.More {
			w.Header().Set("Link", fmt.Sprintf(`<?attempt=%d&back=%d>; rel="prev"`, rec.ID.N, back+1))
		}
		writeJSON(w, http.StatusOK, doc)
		return
	}
	id := r.PathValue("id")
	page := struct {
		frame
		ID           string
		N            int
		Lines        []string
		Older, Newer string
	}{frame: s.frame(r, id+" log"), ID: id, N: rec.ID.N, Lines: part.Lines}
	if part.More {
		page.Older = logPath(id, page.N, back+1)
	}
	if back > 0 {
		page.Newer = logPath(id, page.N, back-1)
	}
	s.show(w, http.StatusOK, "log", page)
}

// logPath returns the path of the part of a log that lies back parts before its end.
func logPath(id string, n, back int) string {
	return fmt.Sprintf("slice/%s/log?attempt=%d&back=%d", url.PathEscape(id), n, back)
}

// mostEvents is how many events the history of a slice shows, the last ones.
const mostEvents = 500

// history is the page of what the journal has about a slice.
func (s *Server) history(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	st := s.known(id)
	if st == nil {
		s.missing(w, r, id)
		return
	}
	var events []journal.Event
	for e, err := range s.Project.Runs.Journal().Events(time.Time{}) {
		if err != nil {
			s.fail(w, r, http.StatusInternalServerError, err)
			return
		}
		if e.Kind != journal.Told && (e.Slice == id || slices.Contains(st.Was, e.Slice)) {
			events = append(events, e)
		}
	}
	more := len(events) > mostEvents
	events = events[max(0, len(events)-mostEvents):]
	if wantsJSON(r) {
		writeEvents(w, events)
		return
	}
	page := struct {
		frame
		ID    string
		Lines []string
		More  bool
	}{frame: s.frame(r, id+" history"), ID: id, More: more}
	now := time.Now()
	for _, e := range events {
		page.Lines = append(page.Lines, plan.At(e.Time, now, "15:04")+"  "+eventtext.Of(e))
	}
	s.show(w, http.StatusOK, "history", page)
}

// writeEvents writes events as gl events --json does, one on each line.
func writeEvents(w http.ResponseWriter, events []journal.Event) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	for _, e := range events {
		line, err := e.Line()
		if err == nil {
			_, err = w.Write(append(line, '\n'))
		}
		if err != nil { // the reader is gone
			return
		}
	}
}

// mostParts is more than a log has.
const mostParts = 1 << 16

// diff is the page of one file of a slice's diff, which was too long for the page of the slice.
func (s *Server) diff(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if s.known(id) == nil {
		s.missing(w, r, id)
		return
	}
	pr, err := s.Open()
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err)
		return
	}
	in := inbox.NewReader(r.Context(), pr, func(string) {})
	d := in.Diff(r.Context(), id)
	if d == nil {
		s.fail(w, r, http.StatusNotFound, fmt.Errorf("git tells no changes of %s", id))
		return
	}
	var paths []string
	if file := r.FormValue("file"); file != "" {
		paths = []string{file}
	}
	if wantsJSON(r) {
		writeJSON(w, http.StatusOK, workdoc.NewDiff(d))
		return
	}
	p := readPatch(r.Context(), in, d.From, d.To, paths)
	s.show(w, http.StatusOK, "diff", struct {
		frame
		ID   string
		Diff *patch
	}{s.frame(r, id+" diff"), id, p})
}

// site returns where the links of the report lead: to the pages of slices and of logs.
func (s *Server) site(base string) report.Site {
	page := func(file string) string {
		e, ok := attempt.OfFile(file)
		switch {
		case !ok || s.known(e.Slice) == nil:
			return ""
		case strings.HasPrefix(file, "log/"):
			return base + logPath(e.Slice, e.N, 0)
		}
		return base + "slice/" + url.PathEscape(e.Slice)
	}
	return report.Site{Record: page, Pages: []report.Link{
		{Address: base, Text: "Needs you"}, {Address: base + "board", Text: "Board"}}}
}

// report is the report of the last run. It is a page of its own that brings its styles along, and
// no scripts.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	pr, err := s.Open()
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err)
		return
	}
	now := time.Now()
	p, err := s.Plan(pr, now)
	var d *report.Document
	if err == nil {
		d, err = report.Gather(r.Context(), pr, p, time.Time{}, now)
	}
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err)
		return
	}
	if wantsJSON(r) {
		writeJSON(w, http.StatusOK, d)
		return
	}
	var b bytes.Buffer
	if err := d.Page(&b, s.site(httpguard.Of(r).Base)); err != nil {
		s.fail(w, r, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'; form-action 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.Copy(w, &b) // the reader may be gone
}
