package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/scrub"
	"greenlight/internal/base/words"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/show/view"
	"greenlight/internal/state/journal"
	"greenlight/internal/workspace/git"
)

// An Input is everything that a document is made from.
type Input struct {
	Plan    *plan.Plan
	Facts   view.Facts
	Events  []journal.Event         // oldest first
	Skipped int                     // unreadable lines of the journal
	Changes map[string]git.DiffStat // by commit
	Since   time.Time               // zero for the last night
	Running bool                    // something runs
	Now     time.Time
}

// ruling returns the gate's answers about the last attempt at an item; nil if it wasn't asked.
func ruling(f view.Facts, id string) *gate.Ruling {
	recs := f.Records[id]
	if len(recs) == 0 {
		return nil
	}
	return recs[len(recs)-1].Judged.Gate
}

// New returns the document.
func New(in Input) *Document {
	p, m := in.Plan, view.New(in.Plan, in.Facts, in.Now)
	d := &Document{
		SchemaVersion: 1,
		Project:       filepath.Base(p.Snapshot.Root),
		Root:          p.Snapshot.Root,
		Noun:          cmp.Or(p.Snapshot.Noun, plan.Slice),
		At:            in.Now.UTC(),
		Counts:        m.Counts,
		flags:         p.Snapshot.Flags,
		Warnings:      []string{},
		Queue:         []Item{},
		NeedsYou:      []Item{},
		Unheard:       []Item{},
		Landed:        []Landed{},
		TakenBack:     []TakenBack{},
		Failed:        []Failed{},
		Graph:         []Node{},
		Blocked:       []Blocked{},
	}
	recs := newHistory(in)
	d.addNights(in, recs)
	d.TakenBack = takenBack(in, m, recs, d.Night)
	d.Night.TakenBack = len(d.TakenBack)
	how := "Stopped"
	if d.Night.Running {
		how = "Running"
	}
	d.Sentence = m.Counts.Sentence(how, d.Noun)
	d.Verdict = verdict(&d.Night, d.Sentence)
	d.Tests = view.Tests(p)
	d.addNotices(in)
	d.addItems(in, m)
	d.Landed = landed(in, recs, d.Night)
	slices.SortStableFunc(d.Landed, func(a, b Landed) int {
		return gate.TestsFirst(a.gate, b.gate)
	})
	ours := inNight(recs.all, d.Night)
	d.Cost = recs.costs(ours)
	d.Timeline = timeline(in, recs, ours, d.Night)
	d.Merging = merging(in, ours, d.Night)
	for layer, ids := range p.Layers() {
		for _, id := range ids {
			st := p.State(id)
			deps := append([]string{}, st.Deps...)
			d.Graph = append(d.Graph, Node{id, st.Name, view.GroupOf(st).String(), layer, deps})
		}
	}
	d.Next = forecast(in)
	return d
}

// addNights adds the night and the one before.
func (d *Document) addNights(in Input, recs *history) {
	d.Night, d.Previous = choose(nights(in.Events), in.Since, in.Now, in.Running)
	recs.tally(&d.Night, in.Now)
	// work that was taken back since isn't in the suite any more
	if s := in.Plan.Snapshot.Ran.Suite; s != nil && !s.At.Before(d.Night.From) {
		d.Night.Passed = &s.Passed
	}
	if d.Previous != nil {
		recs.tally(d.Previous, d.Night.From)
	}
}

// addNotices adds holds and warnings.
func (d *Document) addNotices(in Input) {
	p := in.Plan
	var held []string
	for _, h := range p.InEffect() {
		held = append(held, h.Listed(in.Now))
	}
	if len(held) > 0 {
		text := scrub.Text(strings.Join(held, "; "))
		d.Hold = &text
	}
	for _, w := range p.Warnings {
		d.Warnings = append(d.Warnings, scrub.Text(strings.TrimPrefix(w.Path+": "+w.Message, ": ")))
	}
	if in.Skipped > 0 {
		text := fmt.Sprintf("%d lines of the journal can't be read, and are left out", in.Skipped)
		d.Warnings = append(d.Warnings, text)
	}
}

// addItems lists the items that aren't done.
func (d *Document) addItems(in Input, m *view.Model) {
	for _, s := range plan.Standstills(in.Plan, in.Now, in.Running) {
		d.Queue = append(d.Queue, Item{ID: s.Subject, Text: scrub.Text(s.Text),
			Command: strings.Join(s.Next[:min(len(s.Next), 1)], ""), Next: s.Next, Blocks: []string{}, whole: true})
	}
	d.Queue = append(d.Queue, queueNeeds(in, d.Night)...)
	for _, r := range m.In(view.Merging) { // nothing goes on by itself
		if a := in.Plan.State(r.ID).Attempt; a != nil && a.Idle {
			d.Queue = append(d.Queue, item(&r, in))
		}
	}
	for _, r := range m.In(view.NeedsYou) {
		d.NeedsYou = append(d.NeedsYou, item(&r, in))
	}
	for _, r := range m.In(view.Stopped) { // only a person can restart it
		d.NeedsYou = append(d.NeedsYou, item(&r, in))
	}
	slices.SortStableFunc(d.NeedsYou, func(a, b Item) int {
		return gate.TestsFirst(ruling(in.Facts, a.ID), ruling(in.Facts, b.ID))
	})
	d.Unheard = append(d.Unheard, unheard(in, d.Night)...)
	for _, r := range m.In(view.Failed) {
		d.Failed = append(d.Failed, failed(&r, in))
	}
	for _, r := range m.In(view.Blocked) {
		d.Blocked = append(d.Blocked, Blocked{r.ID, r.Name, in.Plan.Because(r.ID)})
	}
}

// records returns all records, oldest first.
func records(f view.Facts) []*attempt.Record {
	var all []*attempt.Record
	for _, list := range f.Records {
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b *attempt.Record) int {
		return cmp.Or(began(a).Compare(began(b)), strings.Compare(a.ID.Slice, b.ID.Slice),
			a.ID.N-b.ID.N)
	})
	return all
}

func began(r *attempt.Record) time.Time {
	if r.Life.StartedAt != nil {
		return *r.Life.StartedAt
	}
	return r.Life.ClaimedAt
}

// over returns when the attempt and its merge were over; now if they aren't.
func over(r *attempt.Record, now time.Time) time.Time {
	switch {
	case r.Life.SettledAt != nil:
		return *r.Life.SettledAt
	case r.Life.EndedAt != nil:
		return *r.Life.EndedAt
	}
	return now
}

// inNight returns the records of attempts that ran in the night.
func inNight(recs []*attempt.Record, n Night) []*attempt.Record {
	var list []*attempt.Record
	for _, r := range recs {
		if !began(r).After(n.To) && !over(r, n.To).Before(n.From) {
			list = append(list, r)
		}
	}
	return list
}

// verdict describes the night in one line.
func verdict(n *Night, sentence string) string {
	text := fmt.Sprintf("%s In %s: %d completed", sentence, plan.Age(n.To.Sub(n.From)), n.Done)
	if n.Failed > 0 {
		text += ", " + words.Count(n.Failed, "attempt") + " failed"
	}
	switch cost := n.Cost.String(); cost {
	case "":
	case "unknown":
		text += ", cost unknown"
	default:
		text += ", cost " + cost
	}
	switch {
	case n.Attempts == 0:
		text = sentence + " Nothing ran"
	case n.Running:
		text += "; still running"
	case n.Ended == nil:
		text += "; it was killed, or its end isn't in the journal"
	case n.Why == journal.Interrupted:
		text += "; it was interrupted"
	case n.Why == journal.NothingLeft: // by now there may be: what was added, or taken back
		text += "; it ended when nothing was left to do"
	case n.Why == journal.NothingReady, n.Why == journal.LaunchedOver:
		text += "; it ended when " + n.Why
	case n.Why != "":
		text += "; it ended: " + n.Why
	}
	if n.Since > 0 {
		text += fmt.Sprintf("; %d completed since", n.Since)
	}
	if n.TakenBack > 0 {
		text += fmt.Sprintf("; %d taken back", n.TakenBack)
	}
	return scrub.Text(text + ".")
}

func item(r *view.Row, in Input) Item {
	it := Item{
		ID:      r.ID,
		Name:    r.Name,
		Text:    scrub.Text(r.Text),
		Command: r.Command,
		Next:    append([]string{}, r.Next...),
		Blocks:  blocks(in.Plan, r.ID),
	}
	if recs := in.Facts.Records[r.ID]; len(recs) > 0 {
		it.Record, it.Log = paths(recs[len(recs)-1])
	}
	return it
}

// queueNeeds returns why done work isn't in the target yet, and what has happened to the target.
func queueNeeds(in Input, n Night) []Item {
	var list []Item
	queue := in.Facts.Lane
	target := cmp.Or(queue.Target, "the target")
	if waiting := queue.Waiting(); len(waiting) > 0 {
		state := "not merged yet"
		if plan.Tested(in.Plan, waiting) {
			state = "tested, " + state
		}
		text := fmt.Sprintf("%s %s (%s): %s", words.Count(len(waiting), "slice"), state,
			strings.Join(waiting, ", "), whyNotMerged(queue))
		command := queue.Command()
		list = append(list, Item{ID: target, Text: scrub.Text(text), Command: command,
			Next: []string{command + in.Plan.Snapshot.Flags}, Blocks: []string{}})
	}
	for _, e := range in.Events {
		if e.Kind == journal.NeedsYou && e.Slice == "" && e.Target != "" && !e.Time.Before(n.From) {
			list = append(list, Item{ID: e.Target, Text: scrub.Text(e.Reason), Next: []string{},
				Blocks: []string{}})
		}
	}
	return list
}

// whyNotMerged returns why the target doesn't have what was tested.
func whyNotMerged(s lane.Status) string {
	return cmp.Or(s.Reason, "waiting for the next run, or gl land")
}

// unheard returns the messages of people since the night began that no agent read. Those about a
// slice that is open again are omitted: its next agent gets them another way.
func unheard(in Input, n Night) []Item {
	var list []Item
	for _, e := range in.Events {
		if e.Kind != journal.Unheard || e.Time.Before(n.From) {
			continue
		}
		text := scrub.Text(journal.NobodyRead + ": " + e.Reason)
		it := Item{ID: e.Subject(), Text: text, Next: []string{}, Blocks: []string{}}
		if st := in.Plan.State(e.Slice); st != nil {
			if st.Class != plan.Done {
				continue
			}
			it.Name = st.Name
		}
		if recs := in.Facts.Records[e.Slice]; len(recs) > 0 {
			it.Record, it.Log = paths(recs[len(recs)-1])
		}
		list = append(list, it)
	}
	return list
}

// paths returns the paths of an attempt's record and log, relative to .greenlight/runs.
func paths(r *attempt.Record) (record, log string) {
	record = "live/" + r.ID.Name() + ".json"
	if r.Life.Phase == plan.Settled {
		record = "done/" + r.ID.Name() + "." + string(r.Judged.Outcome) + ".json"
	}
	return record, "log/" + r.ID.Name() + ".log"
}

// shownEvidence is the number of lines that explain a failure.
const shownEvidence = 12

func failed(row *view.Row, in Input) Failed {
	out := Failed{Item: item(row, in), Outcome: row.State, Evidence: []string{},
		Attempts: row.Attempts, Cost: row.Cost}
	recs := in.Facts.Records[row.ID]
	if len(recs) == 0 {
		return out
	}
	r := recs[len(recs)-1]
	out.Worker = r.Life.Remote.Label()
	out.Evidence = scrub.Lines(evidence(r))
	out.repeats = !slices.ContainsFunc(out.Evidence, func(l string) bool {
		return !strings.Contains(out.Text, strings.TrimSpace(l))
	})
	switch {
	case r.Place.Left == attempt.LeftNothing:
	case r.Place.Branch != "" && r.Place.Left != attempt.LeftFiles:
		out.Kept = "branch " + strings.TrimPrefix(r.Place.Branch, "refs/heads/")
	case r.Place.Saved != "":
		out.Kept = r.Place.Saved
	}
	return out
}

// Shown returns the evidence that says more than the text.
func (f *Failed) Shown() []string {
	if f.repeats {
		return nil
	}
	return f.Evidence
}

// evidence returns the most telling lines about a failed attempt: of the tests, git or the agent.
func evidence(r *attempt.Record) []string {
	var text []string
	switch v := r.Judged.Verdict; {
	case v != nil && !v.Green() && len(v.Failure) > 0:
		return v.Failure[:min(len(v.Failure), shownEvidence)]
	case v != nil && !v.Green():
		text = append(append(text, v.Failing[:min(len(v.Failing), shownEvidence/2)]...), v.Last...)
	case r.Landing != nil && r.Landing.Output != "":
		text = strings.Split(strings.TrimSpace(r.Landing.Output), "\n")
	case r.Judged.Evidence == nil:
	case r.Judged.Evidence.Stderr != "":
		text = strings.Split(strings.TrimSpace(r.Judged.Evidence.Stderr), "\n")
	case r.Judged.Evidence.Result != nil:
		text = strings.Split(strings.TrimSpace(r.Judged.Evidence.Result.Text), "\n")
	}
	text = slices.DeleteFunc(slices.Clone(text), func(l string) bool {
		return strings.TrimSpace(l) == ""
	})
	return text[max(0, len(text)-shownEvidence):]
}

// queueText returns the progress of an attempt in the merge queue.
func queueText(p *plan.Plan, r *attempt.Record) string {
	if st := p.State(r.ID.Slice); st != nil && st.Attempt != nil && st.Attempt.N == r.ID.N {
		return st.Attempt.Landing
	}
	return r.Landing.Text()
}

func timeline(in Input, h *history, recs []*attempt.Record, n Night) Timeline {
	t := Timeline{
		Attempts: []Span{},
		Holds:    append([]Span{}, holds(in.Events, n)...),
		Lane:     append([]Span{}, laneSpans(in.Events, n)...),
		Critical: critical(in.Plan, recs, n),
	}
	done := map[string]*attempt.Record{}
	for _, c := range h.done {
		done[c.id] = c.last
	}
	for _, r := range recs {
		if r.Life.StartedAt == nil {
			continue
		}
		end := n.To
		if r.Life.EndedAt != nil {
			end = *r.Life.EndedAt
		}
		s := Span{ID: r.ID.Slice, N: r.ID.N, From: *r.Life.StartedAt, To: end, State: h.state(r),
			Text:     scrub.Text(r.Judged.Outcome.Text(r.Judged.Detail)),
			Critical: slices.Contains(t.Critical, r.ID.Slice) && r.Judged.Outcome.Traits().Success,
			Worker:   r.Life.Remote.Label()}
		if r.Life.Phase != plan.Settled {
			s.Text = "running"
			if r.Life.Phase == plan.Queued {
				s.Text = "in the merge queue: " + queueText(in.Plan, r)
			}
		}
		if last := done[r.ID.Slice]; r.Judged.Outcome.Traits().Asks && last != nil &&
			last.Accepted() {
			s.Text += "; accepted since"
		}
		if r.Since.Undone != nil {
			s.Text += "; taken back since"
		}
		if s.Worker != "" {
			s.Text += ", " + r.Life.Remote.Place()
		}
		s.Record, _ = paths(r)
		t.Attempts = append(t.Attempts, s)
	}
	return t
}

func (h *history) state(r *attempt.Record) string {
	switch t := r.Judged.Outcome.Traits(); {
	case r.Life.Phase != plan.Settled:
		return SpanRunning
	case t.Success:
		return SpanDone
	case h.lost[r]:
		return SpanFailed
	case t.Limited:
		return SpanHeld
	}
	return SpanOther
}

// critical returns the chain of slices that determined the end of the night: the slice completed
// last, its dependency completed last, and so on.
func critical(p *plan.Plan, recs []*attempt.Record, n Night) []string {
	ends := map[string]time.Time{}
	last := ""
	for _, r := range recs {
		if !completed(r) {
			continue
		}
		ends[r.ID.Slice] = over(r, n.To)
		if last == "" || !ends[r.ID.Slice].Before(ends[last]) {
			last = r.ID.Slice
		}
	}
	chain := []string{}
	for seen := map[string]bool{}; last != "" && !seen[last]; {
		seen[last] = true
		chain = append(chain, last)
		next := ""
		if st := p.State(last); st != nil {
			for _, dep := range st.Deps {
				if end, ok := ends[dep]; ok && (next == "" || end.After(ends[next])) {
					next = dep
				}
			}
		}
		last = next
	}
	slices.Reverse(chain)
	return chain
}

func forecast(in Input) Forecast {
	slots := max(in.Facts.Slots, 1)
	pace := in.Facts.Pace
	f := Forecast{
		Ready:   append([]string{}, in.Plan.Lists.Ready...),
		Without: append([]string{}, view.Stuck(in.Plan)...),
		Slots:   slots,
		More:    2 * slots,
		Samples: pace.Samples,
	}
	if pace.Typical > 0 {
		f.Typical = seconds(pace.Typical)
	}
	if left, ok := pace.Remaining(in.Plan, slots, in.Now); ok {
		f.Seconds, f.Left = seconds(left), view.Left(in.Plan, left, in.Now)
	}
	if left, ok := pace.Remaining(in.Plan, f.More, in.Now); ok {
		f.Faster = seconds(left)
	}
	return f
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}
