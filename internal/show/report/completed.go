package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/scrub"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/show/view"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/spending"
)

// A history is all attempts and their results.
type history struct {
	all  []*attempt.Record          // oldest first
	lost map[*attempt.Record]bool   // attempts that failed
	of   map[*attempt.Record]string // the slice's current id
	done []completion               // oldest first, one for each slice
}

// A completion is the completion of a slice, by an attempt, a person's approval or a session.
type completion struct {
	id   string
	at   time.Time
	last *attempt.Record // of the slice; nil if it was never attempted
	by   bool            // last completed it
}

func newHistory(in Input) *history {
	h := &history{
		all:  records(in.Facts),
		lost: map[*attempt.Record]bool{},
		of:   map[*attempt.Record]string{},
	}
	for id, recs := range in.Facts.Records {
		for _, r := range recs {
			h.of[r] = id
		}
	}
	tried := make([]spending.Tried, len(h.all))
	for i, r := range h.all {
		tried[i] = spending.Tried{Slice: r.ID.Slice, Branch: r.Place.Branch,
			Outcome: string(r.Judged.Outcome)}
		if r.Life.Phase != plan.Settled {
			tried[i].Outcome = ""
		}
	}
	for i, lost := range spending.Lost(tried) {
		h.lost[h.all[i]] = lost
	}
	h.done = completions(in, h.all)
	return h
}

// completed reports whether the attempt completed a slice and wasn't taken back.
func completed(r *attempt.Record) bool {
	return r.Life.Phase == plan.Settled && r.Judged.Outcome.Traits().Success && !r.ID.IsTask() &&
		r.Since.Undone == nil
}

// addElsewhere adds another system's items that were completed after their last attempt, by a
// person's command: of that gl keeps no event.
func addElsewhere(in Input, by map[string]completion) {
	for i := range in.Plan.States {
		st := &in.Plan.States[i]
		list := in.Facts.Records[st.ID]
		if _, known := by[st.ID]; known || st.Class != plan.Done || len(list) == 0 {
			continue
		}
		last := list[len(list)-1]
		by[st.ID] = completion{id: st.ID, at: over(last, in.Now), last: last}
	}
}

func completions(in Input, recs []*attempt.Record) []completion {
	by := map[string]completion{}
	for _, r := range recs {
		if completed(r) {
			by[r.ID.Slice] = completion{r.ID.Slice, over(r, in.Now), r, true}
		}
	}
	for _, e := range in.Events {
		st := in.Plan.State(e.Slice)
		if st == nil || st.Class != plan.Done || by[e.Slice].by {
			continue
		}
		if e.Kind == journal.Accepted ||
			e.Kind == journal.Step && plan.Classify(e.Status) == plan.Done {
			c := completion{id: e.Slice, at: e.Time}
			if list := in.Facts.Records[e.Slice]; len(list) > 0 {
				c.last = list[len(list)-1]
			}
			by[e.Slice] = c
		}
	}
	if cmp.Or(in.Plan.Snapshot.Noun, plan.Slice) != plan.Slice {
		addElsewhere(in, by)
	}
	list := make([]completion, 0, len(by))
	for _, c := range by {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b completion) int {
		return cmp.Or(a.at.Compare(b.at), strings.Compare(a.id, b.id))
	})
	return list
}

// tally fills in a night's counts. until is when the next one began, or now.
func (h *history) tally(n *Night, until time.Time) {
	n.until = until
	for _, r := range inNight(h.all, *n) {
		n.Cost.Add(r)
		if !r.Accepted() {
			n.Attempts++
		}
		if h.lost[r] {
			n.Failed++
		}
		if v := r.Judged.Verdict; completed(r) && v.Green() && v.Passed != nil {
			n.Passed = v.Passed
		}
	}
	for _, c := range h.done {
		switch {
		case c.at.Before(n.From):
		case !c.at.After(n.To):
			n.Done++
		case c.at.Before(until):
			n.Since++
		}
	}
	n.Seconds = n.To.Sub(n.From).Seconds()
}

// landed returns the slices that were completed in the night, or since, in that order.
func landed(in Input, h *history, n Night) []Landed {
	list := []Landed{}
	for _, c := range h.done {
		if !c.at.Before(n.From) && (!c.at.After(n.To) || c.at.Before(n.until)) {
			list = append(list, newLanded(in, c))
		}
	}
	return list
}

// landedBy returns the commits by which work was merged.
func landedBy(g *attempt.Landing) []string {
	if len(g.Commits) > 0 {
		return g.Commits
	}
	return []string{g.Commit}
}

func newLanded(in Input, c completion) Landed {
	l := Landed{Item: Item{ID: c.id, Next: []string{}, Blocks: []string{}}, At: c.at.UTC(),
		Delivered: in.Facts.Lane.Has(c.id)}
	if !l.Delivered {
		l.NotMerged = scrub.Text(notMerged(in.Facts.Lane, c.id))
	}
	if r := c.last; r != nil {
		l.Name, l.Text = r.ID.Title, scrub.Text(r.Judged.Detail)
		l.Record, l.Log = paths(r)
		l.Worker = r.Life.Remote.Label()
		l.gate, l.Approved = r.Judged.Gate, scrub.Text(r.Ruled().Approval())
		l.Unverified, l.Counted = scrub.Text(r.Judged.Unverified), r.Judged.Tests
		l.Verified = r.Judged.Verified == plan.Green || r.Judged.Verdict.Green()
		if c.by {
			l.merged(in, r)
		}
	}
	if st := in.Plan.State(c.id); st != nil {
		l.Name = st.Name
		if !c.by {
			l.Verified, l.Counted = st.Verified == plan.Green, st.Tests
		}
		if st.Verified == plan.Green { // by gl verify, if not by the merge
			l.Verified, l.Unverified = true, ""
		}
	}
	if text := l.testedSince(in.Plan); text != "" {
		l.Unverified = strings.TrimPrefix(l.Unverified+"; "+text, "; ")
	}
	for _, a := range in.Facts.Records[c.id] {
		l.Cost.Add(a)
		if !a.Accepted() {
			l.Attempts++
		}
	}
	return l
}

// testedSince says that the whole suite has passed since an unverified item was completed, as by a
// gl verify without an id, and on what; "" if it hasn't.
func (l *Landed) testedSince(p *plan.Plan) string {
	s := p.Tests.Ran.Suite
	if l.Verified || s == nil || s.Red || s.Failed > 0 || s.At.Before(l.At) {
		return ""
	}
	on := "all that is merged"
	switch {
	case s.Commit == "":
		on = "the checkout"
	case s.Commit == l.Commit:
		on = "its commit"
	}
	return fmt.Sprintf("the tests passed since, at %s, on %s; gl verify %s%s verifies it",
		s.At.Local().Format("15:04"), on, l.ID, p.Snapshot.Flags)
}

// notMerged returns why the target doesn't have a tested slice.
func notMerged(s lane.Status, id string) string {
	if s.PullRequest != nil && slices.Contains(s.PullRequest.IDs(), id) {
		return "in the open pull request " + s.PullRequest.URL
	}
	return whyNotMerged(s)
}

// merged fills in what the attempt added to the project.
func (l *Landed) merged(in Input, r *attempt.Record) {
	if v := r.Judged.Verdict; v.Green() {
		l.After = v.Passed
	}
	g := r.Landing
	if g == nil {
		return
	}
	if l.New = g.Tests; l.New != nil && l.After != nil {
		before := *l.After - *l.New
		l.Before = &before
	}
	if g.Commit == "" {
		return
	}
	l.Commit, l.commits = g.Commit, landedBy(g)
	for _, hash := range l.commits {
		if c, ok := in.Changes[hash]; ok {
			l.Diff = cmp.Or(l.Diff, &view.Diff{})
			l.Diff.Files += c.Files
			l.Diff.Added += c.Insertions
			l.Diff.Removed += c.Deletions
		}
	}
	l.Command = "git show " + g.Commit[:min(len(g.Commit), 10)]
	if len(l.commits) > 1 {
		l.Command = "gl diff " + r.ID.Slice + in.Plan.Snapshot.Flags
	}
	l.Next = []string{l.Command}
}

// costs adds up the cost of attempts.
func (h *history) costs(recs []*attempt.Record) Cost {
	recs = slices.DeleteFunc(slices.Clone(recs), (*attempt.Record).Accepted)
	c := Cost{Account: []Share{}}
	by := func(key func(*attempt.Record) string) []Share {
		shares := map[string]*Share{}
		for _, r := range recs {
			s := shares[key(r)]
			if s == nil {
				s = &Share{Name: key(r)}
				shares[key(r)] = s
			}
			s.Attempts++
			s.Cost.Add(r)
			if h.lost[r] {
				s.Failed.Add(r)
			}
		}
		list := []Share{}
		for _, s := range shares {
			list = append(list, *s)
		}
		slices.SortFunc(list, func(a, b Share) int {
			return cmp.Or(cmp.Compare(b.Cost.USD, a.Cost.USD), strings.Compare(a.Name, b.Name))
		})
		return list
	}
	for _, r := range recs {
		c.Total.Add(r)
		if h.lost[r] {
			c.Failed.Add(r)
		}
	}
	c.Slices = by(func(r *attempt.Record) string { return h.of[r] })
	last := map[string]string{}
	for _, r := range h.all { // oldest first
		last[h.of[r]], _ = paths(r)
	}
	for i := range c.Slices {
		c.Slices[i].Record = last[c.Slices[i].Name]
	}
	c.Agents = by(func(r *attempt.Record) string { return r.Job.Agent })
	accounts := by(func(r *attempt.Record) string { return r.Job.Account })
	pairs := map[[2]string]bool{}
	for _, r := range recs {
		pairs[[2]string{r.Job.Agent, r.Job.Account}] = true
	}
	if len(accounts) > 1 && (len(pairs) > len(accounts) || len(pairs) > len(c.Agents)) {
		c.Account = accounts
	}
	return c
}
