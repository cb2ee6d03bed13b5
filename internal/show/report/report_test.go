package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/core/agent"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/testrun"
	"greenlight/internal/show/report"
	"greenlight/internal/show/view"
	"greenlight/internal/state/eta"
	"greenlight/internal/state/journal"
	"greenlight/internal/workspace/git"
)

var began = time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC)

const secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz"

// night is a bad one: of so many slices most are done, some failed, one waits, and the rest is
// blocked by these. The night before had one run with two attempts.
func night(slices int) report.Input {
	now := began.Add(9 * time.Hour)
	s := &plan.Snapshot{Noun: plan.Slice, Root: "/home/you/<shop>", Attempts: map[string]*plan.Attempt{}, Used: map[string]int{}}
	in := report.Input{Now: now, Changes: map[string]git.DiffStat{}}
	in.Facts = view.Facts{Records: map[string][]*attempt.Record{}, Slots: 4, Lane: lane.Status{Known: true, Undelivered: []string{"S-3"}}}
	event := func(after time.Duration, e journal.Event) {
		e.Time = began.Add(after)
		in.Events = append(in.Events, e)
	}
	event(-24*time.Hour, journal.Event{Kind: journal.DrainStarted, Max: 4})
	event(-22*time.Hour, journal.Event{Kind: journal.DrainEnded, Reason: "nothing left to do"})
	event(0, journal.Event{Kind: journal.DrainStarted, Max: 4})
	until := began.Add(4 * time.Hour)
	event(3*time.Hour, journal.Event{Kind: journal.Held, Until: &until, Reason: "rate limit", By: "S-5"})
	event(4*time.Hour, journal.Event{Kind: journal.HoldEnded})
	names := []string{"Project skeleton", "Catalog storage", "注文履歴の表示と検索", "<b>Prices</b> & \"rules\"", "Basket"}
	for i := range slices {
		id := fmt.Sprint("S-", i+1)
		it := plan.Item{ID: id, Name: names[i%len(names)], Status: "complete", Verified: plan.Green, Tests: 3, Position: i}
		if i > 3 {
			it.Deps = []string{fmt.Sprint("S-", i-2)}
		} else if i > 0 {
			it.Deps = []string{"S-1"}
		}
		start := began.Add(time.Duration(i/4)*9*time.Minute + time.Duration(i%4)*time.Minute)
		end := start.Add(time.Duration(6+i%5) * time.Minute)
		usd := 0.25 + float64(i%7)/10
		r := &attempt.Record{
			ID:     attempt.Identity{Slice: id, N: 1, Title: it.Name, Token: "2026-03-01T22:00:00Z-abcdef"},
			Job:    attempt.Job{Agent: []string{"claude", "codex"}[i%2]},
			Life:   attempt.Life{ClaimedAt: start, StartedAt: &start, EndedAt: &end, SettledAt: &end, Phase: plan.Settled},
			Judged: attempt.Judgement{Outcome: outcome.Done, Verified: plan.Green, Evidence: &attempt.Evidence{Result: &agent.Result{CostUSD: &usd}}},
			Place:  attempt.Place{Branch: "refs/heads/gl/s/_/greenlight/" + id + "/1"},
		}
		passed, brought, zero := 100+3*i, 3, 0
		r.Landing, r.Judged.Verdict = &attempt.Landing{Tests: &brought, Commit: fmt.Sprintf("%010d%030d", i, 0)}, &testrun.Verdict{Passed: &passed, ExitCode: &zero}
		in.Changes[r.Landing.Commit] = git.DiffStat{Files: 2, Insertions: 10 * i, Deletions: i}
		switch {
		case i == 4: // no cost known
			r.Judged.Evidence.Result.CostUSD = nil
		case i%10 == 7:
			it.Status, it.Tests = "failed", 0
			one := 1
			r.Judged.Outcome, r.Judged.Detail, r.Landing = outcome.Red, "tests: exit 1: 2 failed", nil
			r.Judged.Verdict = &testrun.Verdict{ExitCode: &one, Failing: []string{"TestLogin"}, Last: []string{"login_test.go:12: API_KEY=" + secret, "FAIL <script>alert(1)</script>"}}
			s.Attempts[id] = &plan.Attempt{N: 1, Phase: plan.Settled, Detail: r.Judged.Detail, Outcome: plan.Outcome{Active: plan.Red, Available: plan.Red}, Agent: r.Job.Agent}
		case i == 9:
			it.Status, it.WaitingFor = "verifying", "a look at the colors"
			r.Judged.Outcome, r.Landing, r.Judged.Verdict = outcome.Waiting, nil, nil
		case i > slices-3:
			it.Status, it.Tests, it.Deps = "pending", 0, []string{"S-8"}
			r = nil
		}
		s.Items = append(s.Items, &it)
		if r == nil {
			continue
		}
		s.Used[id] = 1
		in.Facts.Records[id] = []*attempt.Record{r}
		if r.Landing != nil {
			ms := int64(20000)
			in.Events = append(in.Events, journal.Event{Kind: journal.Verdict, Time: end, Slice: id, Outcome: "green", DurationMS: &ms})
		}
	}
	event(8*time.Hour, journal.Event{Kind: journal.DrainEnded, Reason: "nothing left to do"})
	old, oldEnd, usd := began.Add(-24*time.Hour), began.Add(-23*time.Hour), 1.5
	in.Facts.Records["S-1"] = append([]*attempt.Record{{
		ID:     attempt.Identity{Slice: "S-1", N: 1},
		Job:    attempt.Job{Agent: "claude"},
		Life:   attempt.Life{ClaimedAt: old, StartedAt: &old, EndedAt: &oldEnd, SettledAt: &oldEnd, Phase: plan.Settled},
		Judged: attempt.Judgement{Outcome: outcome.Failed, Detail: "exit 7", Evidence: &attempt.Evidence{Result: &agent.Result{CostUSD: &usd}}},
	}}, in.Facts.Records["S-1"]...)
	in.Facts.Records["S-1"][1].ID.N = 2
	var took []time.Duration
	for _, recs := range in.Facts.Records {
		for _, r := range recs {
			if r.Judged.Outcome == outcome.Done && r.Life.EndedAt != nil {
				took = append(took, r.Life.EndedAt.Sub(*r.Life.StartedAt))
			}
		}
	}
	in.Facts.Pace = eta.Of(took...)
	in.Plan = plan.New(s, now, plan.Options{})
	return in
}

func html(t testing.TB, d *report.Document) string {
	var b bytes.Buffer
	if err := d.HTML(&b, ""); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func markdown(t testing.TB, d *report.Document) string {
	var b strings.Builder
	if err := d.Markdown(&b, ".greenlight/runs"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDocument(t *testing.T) {
	d := report.New(night(24))
	if want := "Stopped: 19 done, 2 failed, 1 needs you, 2 blocked, 1 not merged yet."; d.Sentence != want {
		t.Errorf("sentence %q, want %q", d.Sentence, want)
	}
	if want := d.Sentence + " In 8h00m: 19 completed, 2 attempts failed, cost $11.15 + 1 unknown; it ended when nothing was left to do."; d.Verdict != want {
		t.Errorf("verdict %q, want %q", d.Verdict, want)
	}
	if len(d.Failed) != d.Counts.Failed || len(d.NeedsYou) != d.Counts.NeedsYou || len(d.Blocked) != d.Counts.Blocked || len(d.Landed) != d.Night.Done || len(d.Graph) != d.Counts.Total {
		t.Errorf("the lists aren't as long as the counts say: %+v", d.Counts)
	}
	f := d.Failed[0]
	if f.ID != "S-8" || f.Kept != "branch gl/s/_/greenlight/S-8/1" || f.Command != "gl logs S-8" || !slices.Equal(f.Next, []string{"gl logs S-8", "gl retry S-8"}) || f.Record != "done/S-8.1.red.json" {
		t.Errorf("failed: %+v", f)
	}
	if text := strings.Join(f.Evidence, "\n"); !strings.Contains(text, "TestLogin") || strings.Contains(text, secret) || !strings.Contains(text, "login_test.go:12") {
		t.Errorf("evidence: %q", text)
	}
	if d.NeedsYou[0].Command != "gl accept S-10" {
		t.Errorf("needs you: %+v", d.NeedsYou[0])
	}
	if l := d.Landed[1]; l.ID != "S-2" || *l.Before != 100 || *l.After != 103 || *l.New != 3 || *l.Diff != (view.Diff{Files: 2, Added: 10, Removed: 1}) || !l.Verified || !l.Delivered {
		t.Errorf("landed: %+v", l)
	}
	if d.Landed[2].Delivered {
		t.Error("S-3 isn't delivered")
	}
	if n := d.Previous; n == nil || n.Attempts != 1 || n.Failed != 1 || n.Done != 0 || n.Cost.String() != "$1.50" || n.Seconds != 7200 {
		t.Errorf("the night before: %+v", n)
	}
	var slices, agents view.Cost
	for _, s := range d.Cost.Slices {
		slices = slices.Plus(s.Cost)
	}
	for _, s := range d.Cost.Agents {
		agents = agents.Plus(s.Cost)
	}
	if slices.String() != d.Cost.Total.String() || agents.String() != slices.String() || d.Cost.Total != d.Night.Cost {
		t.Errorf("costs: slices %s, agents %s, total %s, night %s", slices, agents, d.Cost.Total, d.Night.Cost)
	}
	if len(d.Timeline.Holds) != 1 || d.Timeline.Holds[0].To.Sub(d.Timeline.Holds[0].From) != time.Hour {
		t.Errorf("holds: %+v", d.Timeline.Holds)
	}
	if c := d.Timeline.Critical; len(c) != 4 || c[0] != "S-13" || c[3] != "S-22" {
		t.Errorf("critical path: %v", c)
	}
	if d.Next.Seconds == nil || *d.Next.Seconds != 0 || d.ForecastText() != "Nothing is left that goes on by itself." {
		t.Errorf("forecast: %+v, %s", d.Next, d.ForecastText())
	}
}

// What a person reads first comes first, in each form: what to do, what was merged, what failed,
// and then the figures and pictures. Each line leads to its record.
func TestOrderAndLinks(t *testing.T) {
	d := report.New(night(24))
	for form, text := range map[string]string{"html": html(t, d), "markdown": markdown(t, d)} {
		last := strings.Index(text, strings.Fields(d.Verdict)[0])
		for _, heading := range []string{"To do (4)", "Merged (18)", "Tested, not merged yet (1)", "Failed (2)", "Cost and time", "Timeline", "Graph", "What is next"} {
			at := regexp.MustCompile(`(## |<h2 id="[a-z]+">)` + regexp.QuoteMeta(heading)).FindStringIndex(text)
			if at == nil || at[0] < last {
				t.Fatalf("%s: %s is missing, or too early", form, heading)
			}
			last = at[0]
		}
		for _, r := range []string{"done/S-10.1.waiting.json", "done/S-8.1.red.json", "done/S-1.2.done.json"} { // in their lists, the costs and the timeline
			if n := len(regexp.MustCompile(`(href="|\(\.greenlight/runs/)`+regexp.QuoteMeta(r)).FindAllString(text, -1)); n != 3 {
				t.Errorf("%s: %d links to %s", form, n, r)
			}
		}
		if !strings.Contains(text, "S-2 tests passed") {
			t.Errorf("%s: no times of the lane in words", form)
		}
	}
}

// Accounts are listed where they say something else than agents do.
func TestAccounts(t *testing.T) {
	in := night(12)
	accounts := func(of map[string]string) int {
		for _, recs := range in.Facts.Records {
			for _, r := range recs {
				r.Job.Account = of[r.Job.Agent]
			}
		}
		in.Facts.Records["S-1"][1].Job.Account = of["first"] + in.Facts.Records["S-1"][1].Job.Account
		return len(report.New(in).Cost.Account)
	}
	if n := accounts(map[string]string{"claude": "a", "codex": "a"}); n != 0 {
		t.Errorf("one account: %d", n)
	}
	if n := accounts(map[string]string{"claude": "a", "codex": "b"}); n != 0 {
		t.Errorf("one for each agent: %d", n)
	}
	if n := accounts(map[string]string{"claude": "a", "codex": "b", "first": "second "}); n != 3 {
		t.Errorf("two for one agent: %d", n)
	}
}

// What was taken back isn't completed, and the report says when it was taken back, and in whose
// words.
func TestTakenBack(t *testing.T) {
	in := night(12)
	before := report.New(in)
	in.Facts.Records["S-2"][0].Since.Undone = &attempt.Undo{Commit: "0", Why: "it lost <orders>"}
	at := began.Add(8*time.Hour + 30*time.Minute)
	in.Events = append(in.Events,
		journal.Event{Kind: journal.Undone, Time: began.Add(-23 * time.Hour), Slice: "S-1", Commit: "9", Reason: "the night before"},
		journal.Event{Kind: journal.Undone, Time: at, Slice: "S-2", Commit: "0", Reason: "it lost <orders>"})
	d := report.New(in)
	if d.Night.Done != before.Night.Done-1 || len(d.Landed) != d.Night.Done || d.Landed[1].ID == "S-2" {
		t.Errorf("%d of %d completed, %d listed", d.Night.Done, before.Night.Done, len(d.Landed))
	}
	if len(d.TakenBack) != 1 || d.TakenBack[0].ID != "S-2" || !d.TakenBack[0].At.Equal(at) || d.TakenBack[0].Why != "it lost <orders>" || d.Night.TakenBack != 1 {
		t.Fatalf("taken back: %+v", d.TakenBack)
	}
	if !strings.HasSuffix(d.Verdict, "; 1 taken back.") {
		t.Error(d.Verdict)
	}
	when := at.Local().Format("Mon 2006-01-02 15:04")
	if page := html(t, d); !strings.Contains(page, "Catalog storage: taken back "+when+": “it lost &lt;orders&gt;”; it was merged again since") {
		t.Error("not on the page")
	}
	if text := markdown(t, d); !strings.Contains(text, "## Taken back (1)\n\n- **[S-2](.greenlight/runs/done/S-2.1.done.json)** Catalog storage: taken back "+when) {
		t.Errorf("not in\n%s", text)
	}

	// Taken back twice, it is listed once; so is each task, which may have been done many times.
	again := in
	again.Events = append(slices.Clone(in.Events),
		journal.Event{Kind: journal.Undone, Time: at.Add(time.Minute), Slice: "S-2", Commit: "1"},
		journal.Event{Kind: journal.Undone, Time: at, Slice: "@quick", Commit: "2", Attempt: 1},
		journal.Event{Kind: journal.Undone, Time: at, Slice: "@quick", Commit: "3", Attempt: 2})
	d = report.New(again)
	if len(d.TakenBack) != 3 || d.TakenBack[0].Commit != "1" || d.TakenBack[1].ID != "@quick" {
		t.Errorf("taken back twice: %+v", d.TakenBack)
	}
	if text := markdown(t, d); !strings.Contains(text, "taken back "+when+"; a task isn't done again") {
		t.Errorf("not in\n%s", text)
	}

	// The journal has rotated that away.
	in.Events = in.Events[:len(in.Events)-1]
	if d := report.New(in); len(d.TakenBack) != 1 || d.TakenBack[0].At != nil || d.TakenBack[0].Why != "it lost <orders>" {
		t.Errorf("without the event: %+v", d.TakenBack)
	}
}

// What waits in the merge queue while no gl works on that is for a person to go on with.
func TestIdleQueue(t *testing.T) {
	for idle, want := range map[bool]int{true: 1, false: 0} {
		s := &plan.Snapshot{Noun: plan.Slice, Root: "/p", Items: []*plan.Item{{ID: "S-1", Name: "Basket", Status: "in_progress", Session: "t"}},
			Attempts: map[string]*plan.Attempt{"S-1": {N: 1, Token: "t", Phase: plan.Queued, Landing: "queued, and no gl is working on the queue", Idle: idle}}}
		d := report.New(report.Input{Plan: plan.New(s, began, plan.Options{}), Now: began})
		todo := d.ToDo()
		if len(todo) != want || d.Counts.Merging != 1 {
			t.Fatalf("idle %v: %+v of %+v", idle, todo, d.Counts)
		}
		if idle && (todo[0].ID != "S-1" || todo[0].Command != "gl land") {
			t.Errorf("%+v", todo[0])
		}
	}
}

// Where nothing goes on, or the tests fail on what was merged, the report says so before all else,
// and how a person changes that.
func TestStandstillsLead(t *testing.T) {
	item := func(status, deps string) []*plan.Item {
		return []*plan.Item{{ID: "S-1", Status: status, Deps: strings.Fields(deps)}}
	}
	red := &plan.Suite{Red: true, Failed: 2, Commit: "413d763f1400"}
	open := &plan.Hold{Until: plan.UntilLifted, Kind: plan.HeldByPerson}
	for name, c := range map[string]struct {
		snapshot plan.Snapshot
		want     string
	}{
		"red":       {plan.Snapshot{Items: item("complete", ""), Ran: plan.LastRun{Suite: red}}, "tests: the tests fail on what was merged (2 failing, at 413d763f14): fix them, or the test command: gl verify"},
		"not begun": {plan.Snapshot{Items: item("failed", ""), Ran: plan.LastRun{Suite: red}}, "tests: the tests fail without any slice's work (2 failing, at 413d763f14): fix them, or the test command: gl verify"},
		"idle":      {plan.Snapshot{Items: item("pending", "")}, "run: 1 slice is ready, but no run is active: gl slice --watch"},
		"held":      {plan.Snapshot{Items: item("pending", ""), Hold: open}, "run: nothing is launched until you lift it (gl hold): gl hold --lift"},
		"blocked":   {plan.Snapshot{Items: item("pending", "S-9")}, "run: all that is left is blocked: gl why"},
		"stopped":   {plan.Snapshot{Items: item("pending", ""), Blockers: []string{"S-4 hit a wall"}}, "project: S-4 hit a wall: "},
		"done":      {plan.Snapshot{Items: item("complete", ""), Ran: plan.LastRun{Suite: &plan.Suite{Passed: 2, Commit: "413d763f14"}}}, ""},
	} {
		c.snapshot.Noun = plan.Slice
		d := report.New(report.Input{Plan: plan.New(&c.snapshot, began, plan.Options{}), Now: began})
		got := ""
		if todo := d.ToDo(); len(todo) > 0 {
			got = fmt.Sprintf("%s: %s: %s", todo[0].ID, todo[0].Text, strings.Join(todo[0].Next, ", "))
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if nothing := strings.Contains(markdown(t, d), "Nothing needs you"); nothing != (c.want == "") {
			t.Errorf("%s: nothing needs you: %v", name, nothing)
		}
	}
}

// What there is none of takes no heading, and a column that says nothing is left out.
func TestEmptyTakesALine(t *testing.T) {
	in := night(4)
	for _, recs := range in.Facts.Records {
		for _, r := range recs {
			r.Judged.Evidence, r.Landing, r.Judged.Verdict = nil, nil, nil
		}
	}
	in.Facts.Lane, in.Running = lane.Status{}, true // S-3 and S-4 need a slice that isn't there
	d := report.New(in)
	for form, text := range map[string]string{"html": html(t, d), "markdown": markdown(t, d)} {
		if !strings.Contains(text, "No slice failed.") {
			t.Errorf("%s: nothing of what failed", form)
		}
		for _, bad := range []string{"To do (", "Failed (", "Taken back", "Merged (", ">Diff<", "| diff", ">Cost of all attempts<", "| cost of", "ests passing"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q", form, bad)
			}
		}
	}
}

// A project in which nothing has run has a report, and it says so. What a person said and no agent
// has read is listed for this night, not for the one before, and not of a slice that is open again.
func TestUnheard(t *testing.T) {
	in := night(24)
	at := began.Add(-23 * time.Hour)
	for _, e := range []journal.Event{
		{Slice: "S-1", Reason: "last night", Time: at}, {Slice: "S-8", Reason: "it is open again"}, {Slice: "S-2", Reason: "use <blue>, " + secret}, {Slice: "@quick", Attempt: 3, Reason: "too late"},
	} {
		if e.Kind = journal.Unheard; e.Time.IsZero() {
			e.Time = began.Add(9 * time.Hour)
		}
		in.Events = append(in.Events, e)
	}
	d := report.New(in)
	if len(d.Unheard) != 2 || d.Unheard[0].ID != "S-2" || d.Unheard[0].Record == "" || d.Unheard[1].ID != "@quick.3" || d.Unheard[1].Record != "" {
		t.Errorf("unheard: %+v", d.Unheard)
	}
	page := html(t, d)
	if strings.Contains(page, secret) || !strings.Contains(page, journal.NobodyRead+": use &lt;blue&gt;") || !strings.Contains(page, "@quick.3") {
		t.Error("the page doesn't have what nobody has read")
	}
	if strings.Contains(html(t, report.New(night(24))), journal.NobodyRead) {
		t.Error("a night in which everything was read has the section")
	}
}

// What agents don't say isn't made up.
func TestCostText(t *testing.T) {
	known, unknown := view.Cost{USD: 4.2, Known: 2}, view.Cost{Unknown: 3}
	for want, c := range map[string]report.Cost{
		"Nothing ran.":                                     {},
		"No agent has said what it cost.":                  {Total: unknown, Failed: unknown},
		"$4.20 + 3 unknown in all.":                        {Total: known.Plus(unknown), Failed: unknown},
		"$4.20 in all, of which $4.20 on failed attempts.": {Total: known, Failed: known},
	} {
		if got := (&report.Document{Cost: c}).CostText(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestEmptyDocument(t *testing.T) {
	d := report.New(report.Input{Plan: plan.New(&plan.Snapshot{Root: "/p"}, began, plan.Options{}), Now: began})
	if d.Verdict != "Stopped: 0 done. Nothing ran." {
		t.Error(d.Verdict)
	}
	if text := html(t, d); !strings.Contains(text, "There are no slices yet.") {
		t.Error(text)
	}
}

// Since takes in what is older than the last night; without it a night is what no hour parts.
func TestSince(t *testing.T) {
	in := night(12)
	in.Since = began.Add(-25 * time.Hour)
	d := report.New(in)
	if d.Night.Attempts != 11 || d.Previous != nil || !d.Night.From.Equal(in.Since) {
		t.Errorf("%d attempts since %s, before %v", d.Night.Attempts, d.Night.From, d.Previous)
	}
	in = night(12)
	in.Events = in.Events[:len(in.Events)-1]
	in.Running = true
	if d := report.New(in); !d.Night.Running || !strings.HasPrefix(d.Verdict, "Running: ") || !strings.HasSuffix(d.Verdict, "still running.") || !d.Night.To.Equal(in.Now) {
		t.Error(d.Verdict)
	}
	in.Running = false
	if d := report.New(in); !strings.Contains(d.Verdict, "it was killed, or its end isn't in the journal.") {
		t.Error(d.Verdict)
	}
}

var (
	reaches = regexp.MustCompile(`(?i)<(script|link rel="?stylesheet|iframe|img|object|embed)|https?://|@import|url\(|\bsrc=|\bon[a-z]+=`)
	ids     = regexp.MustCompile(`\sid="([^"]*)"`)
)

// The page is well formed, reaches for nothing outside, names its pictures, and has no text of
// others as markup, nor a secret.
func TestPage(t *testing.T) {
	text := html(t, report.New(night(24)))
	if m := reaches.FindString(text); m != "" {
		t.Errorf("the page has %q", m)
	}
	for _, bad := range []string{secret, "<b>Prices", "<script>alert", "ZgotmplZ"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	body := text[strings.Index(text, "</head>")+len("</head>") : strings.Index(text, "</html>")]
	dec := xml.NewDecoder(strings.NewReader(body))
	for {
		if _, err := dec.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("not well formed: %v", err)
		}
	}
	seen := map[string]bool{}
	for _, m := range ids.FindAllStringSubmatch(text, -1) {
		if seen[m[1]] {
			t.Errorf("two elements have the id %q", m[1])
		}
		seen[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`aria-labelledby="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		for _, id := range strings.Fields(m[1]) {
			if !seen[id] {
				t.Errorf("aria-labelledby names %q, which isn't there", id)
			}
		}
	}
	for _, want := range []string{`lang="en"`, `id="gantt-title"`, `<title id="graph-title">`, `href="done/S-8.1.red.json"`, "prefers-color-scheme: dark", "@media print", "S-10 needs you"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// patches are a patch of so many lines for each slice that landed.
func patches(d *report.Document, lines int) map[string]string {
	byCommit := map[string]string{}
	for _, l := range d.Landed {
		byCommit[l.Commit] = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old <b>\n" + strings.Repeat("+\tnew API_KEY="+secret+"\n", lines) + " same"
	}
	return byCommit
}

// What landed leads to its diff on the page, which has no secrets and no markup of others.
// What reorders text is shown escaped, wherever it came from.
func TestPageReordersNothing(t *testing.T) {
	in := night(24)
	for _, all := range in.Facts.Records {
		for _, r := range all {
			r.Judged.Detail, r.Job.Agent = "a\u202eb", "x\u2066y"
		}
	}
	if text := html(t, report.New(in)); strings.ContainsAny(text, "\u202e\u2066\x1b") {
		t.Error("the page has raw characters of direction")
	}
}

func TestPatches(t *testing.T) {
	d := report.New(night(24))
	d.AddPatches(patches(d, 2))
	text := html(t, d)
	for _, want := range []string{`<a href="#diff-0000000000">diff</a>`, `<pre id="diff-0000000000">`, "<span class=\"good\">&#43;\tnew API_KEY=[removed]\n&#43;\tnew API_KEY=[removed]</span>", `<span class="bad">-old &lt;b&gt;</span>`, "\n same\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, secret) {
		t.Error("a secret is in it")
	}
	in := night(24)
	in.Facts.Records["S-2"][0].Landing.Commits = []string{fmt.Sprintf("%010d%030d", 0, 0), in.Facts.Records["S-2"][0].Landing.Commit}
	d = report.New(in)
	byCommit := patches(report.New(night(24)), 2)
	byCommit[in.Facts.Records["S-4"][0].Landing.Commit] = strings.Repeat("+minified", 10000)
	d.AddPatches(byCommit)
	if l := d.Landed[1]; l.Command != "gl diff S-2" || len(l.Patch) != 16 {
		t.Errorf("landed as two commits: %s, %d lines", l.Command, len(l.Patch))
	}
	if l := d.Landed[3]; l.ID != "S-4" || l.Patch != nil {
		t.Errorf("%s: a patch of %d KB", l.ID, len(strings.Join(l.Patch, "\n"))>>10)
	}
}

// A night of 300 attempts is a page that any browser opens at once. How long that takes is in the
// log of TestPageInChromium.
func TestLargePageIsSmall(t *testing.T) {
	const most = 512 << 10
	d := report.New(night(300))
	d.AddPatches(patches(d, 10))
	if n := len(html(t, d)); n > most {
		t.Errorf("%d KB", n>>10)
	}
}

func TestMarkdown(t *testing.T) {
	text := markdown(t, report.New(night(24)))
	for _, want := range []string{"## To do (4)\n\n- **the target**: 1 slice tested, not merged yet (S-3): waiting for the next run, or gl land: `gl land`\n- **[S-10](.greenlight/runs/done/S-10.1.waiting.json)** Basket: waiting for a look at the colors: `gl review S-10`, then `gl accept S-10`\n", "## Failed (2)", "| [S-4](.greenlight/runs/done/S-4.1.done.json) | &lt;b>Prices", "API\\_KEY"} {
		if want == "API\\_KEY" {
			want = "login_test.go:12: API_KEY=[removed]"
		}
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, secret) {
		t.Error("a secret is in it")
	}
}

// Work that removed tests comes first, with what a person approved. Where the run of the tests told
// no number, the column isn't empty.
func TestTestsRemovedComeFirst(t *testing.T) {
	in := night(24)
	gone := in.Facts.Records["S-6"][0]
	gone.Judged.Gate = &gate.Ruling{Answers: []gate.Answer{{Question: gate.Tests, Says: gate.Approved, Items: []gate.Item{{Kind: gate.Removed, Name: "a_test.go"}}}}}
	gone.Judged.Verdict.Passed, gone.Landing.Tests, gone.Judged.Tests = nil, nil, 59
	d := report.New(in)
	if d.Landed[0].ID != "S-6" || d.Landed[0].Approved != "tests removed, approved" {
		t.Fatalf("the first one is %+v", d.Landed[0])
	}
	if text := markdown(t, d); !strings.Contains(text, "| 59 reported | verified; **tests removed, approved** |") {
		t.Errorf("not told in\n%s", text)
	}
	if page := html(t, d); !strings.Contains(page, "tests removed, approved") || !strings.Contains(page, "59 reported") {
		t.Error("not told on the page")
	}
}

func BenchmarkPage(b *testing.B) {
	in := night(300)
	for b.Loop() {
		html(b, report.New(in))
	}
}

// The report says how long the run waited for the merge queue alone, how many test runs went on
// side by side, and what was set aside for which reason.
func TestMerging(t *testing.T) {
	in := report.Input{Now: began.Add(time.Hour), Plan: plan.New(&plan.Snapshot{Root: "/p"}, began, plan.Options{}),
		Facts: view.Facts{Records: map[string][]*attempt.Record{}}}
	in.Events = []journal.Event{{Kind: journal.DrainStarted, Max: 2, Time: began}}
	minutes := func(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }
	for i, at := range [][3]int{{0, 10, 20}, {0, 12, 24}, {14, 16, 30}} { // started, agent's end, settled
		start, end, settled := minutes(at[0]), minutes(at[1]), minutes(at[2])
		id := fmt.Sprint("S-", i+1)
		in.Facts.Records[id] = []*attempt.Record{{
			ID:      attempt.Identity{Slice: id, N: 1},
			Life:    attempt.Life{ClaimedAt: start, StartedAt: &start, EndedAt: &end, SettledAt: &settled, Phase: plan.Settled},
			Judged:  attempt.Judgement{Outcome: outcome.Done},
			Landing: &attempt.Landing{},
		}}
	}
	ms := (10 * time.Minute).Milliseconds()
	in.Events = append(in.Events, []journal.Event{
		{Kind: journal.SetAside, Slice: "S-2", Attempt: 1, Outcome: "conflict", Reason: "it doesn't merge with S-1 <b>" + secret, Time: minutes(12)},
		{Kind: journal.Verdict, Slice: "S-1", Attempt: 1, Outcome: "green", DurationMS: &ms, Time: minutes(20)},
		{Kind: journal.Verdict, Slice: "S-2", Attempt: 1, Outcome: "green", DurationMS: &ms, Time: minutes(24)},
		{Kind: journal.Verdict, Slice: "S-3", Attempt: 1, Outcome: "green", DurationMS: &ms, Time: minutes(30)},
		{Kind: journal.DrainEnded, Time: minutes(30)},
	}...)
	d := report.New(in)
	if m := d.Merging; m.Runs != 3 || m.AtOnce != 2 || m.Busy != 20*60 || m.Waited != 16*60 || len(m.SetAside) != 1 {
		t.Errorf("%+v", m)
	}
	var page, text bytes.Buffer
	if err := errors.Join(d.HTML(&page, ""), d.Markdown(&text, "")); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{page.String(), text.String()} {
		if !strings.Contains(out, "tested without: S-2.") || !strings.Contains(out, "ran the tests 3 times, up to 2 runs side by side") || !strings.Contains(out, "set aside: it doesn&#39;t merge with S-1") && !strings.Contains(out, "set aside: it doesn't merge with S-1") || strings.Contains(out, secret) || strings.Contains(out, "S-1 <b>") {
			t.Errorf("the report has\n%s", out)
		}
	}
}
