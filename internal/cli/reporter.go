package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	xterm "golang.org/x/term"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/install"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/rehearsal"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/run/tmux"
	"greenlight/internal/show/attempttext"
	"greenlight/internal/show/facts"
	"greenlight/internal/show/status"
	"greenlight/internal/show/view"
	"greenlight/internal/state/eta"
	"greenlight/internal/state/journal"
	"greenlight/internal/workspace/worktree"
)

// A reporter prints a run's reports: a line for each event, and on a terminal a last line that is
// redrawn.
type reporter struct {
	app     *cmdutil.App
	cfg     scheduler.Config
	live    *os.File      // nil: no live line
	session *tmux.Session // nil: not in tmux
	shown   bool
	plan    *plan.Plan
	greeted bool
	said    string          // the last line printed
	pace    func() eta.Pace // how long slices take
}

func newReporter(app *cmdutil.App, cfg scheduler.Config) *reporter {
	t := &reporter{app: app, cfg: cfg, pace: facts.NewPacer(cfg.Project).Pace}
	if !cfg.Mode.Foreground { // in the foreground the agent's own lines are last
		t.live = app.IO.Terminal()
	}
	return t
}

// report prints one pass.
func (t *reporter) report(r scheduler.Report) {
	if r.Max > 0 {
		t.cfg.Slots.Max = r.Max
	}
	lines := t.lines(r)
	if len(lines) > 0 {
		t.clear()
		for _, l := range lines {
			t.print(l)
		}
	}
	if r.Plan.Total > 0 {
		t.plan = r.Plan
	}
	t.draw()
}

// A line is an event of a run, for people. What belongs to it follows behind line breaks.
type line struct {
	text    string
	tone    outcome.Tone // "" for plain
	command bool         // a command line, which stays as it is, for copying
}

func uncolored(text string) line { return line{text: text} }

// endedLine is the line of an attempt that has ended, with more text behind it.
func endedLine(rec *attempt.Record, p *plan.Plan, more string) line {
	return line{text: attempttext.Ended(rec, p.Snapshot.Flags) + more,
		tone: rec.Judged.Outcome.Traits().Shown.Tone}
}

// print prints a line. On a terminal it begins with the time, has its color and is no wider than
// the screen. Elsewhere it stays as scripts know it, and gl events has the time.
func (t *reporter) print(l line) {
	out := t.app.IO
	l.text = sanitize.Text(l.text)
	t.said = l.text
	switch w := out.Width(); {
	case w == 0 || l.command:
	case strings.HasPrefix(l.text, belowIndent):
		l.text = term.WrapMessage(l.text, w, len(belowIndent)+2)
	default:
		l.text = onTerminal(l, time.Now(), w, out.Paint)
	}
	out.Printf("%s\n", l.text)
}

// belowIndent begins a line that belongs to the one above and has no time of its own.
const belowIndent = "   "

// onTerminal returns a line with the time before it, in its color and wrapped to the width. What
// belongs to it is indented below.
func onTerminal(l line, at time.Time, width int, paint func(term.Color, string) string) string {
	const stamp = "15:04:05 "
	text, notes, _ := strings.Cut(l.text, "\n")
	indent := strings.Repeat(" ", len(stamp))
	color := colorOf(l.tone)
	first, rest, broken := strings.Cut(term.Wrap(indent+text, width, len(stamp)+2), "\n")
	first = paint(color, strings.TrimLeft(first, " "))
	lines := []string{paint(term.Dim, at.Format(stamp)) + first}
	if broken {
		for _, text := range strings.Split(rest, "\n") {
			lines = append(lines, paint(color, text))
		}
	}
	for note := range strings.Lines(notes) {
		lines = append(lines, term.Wrap(indent+"  "+strings.TrimSpace(note), width, len(stamp)+4))
	}
	return strings.Join(lines, "\n")
}

// colorOf returns the color of a tone.
func colorOf(t outcome.Tone) term.Color {
	switch t {
	case outcome.Good:
		return term.Green
	case outcome.Wait:
		return term.Yellow
	case outcome.Bad:
		return term.Red
	case outcome.Plain:
	}
	return ""
}

// outcomeColor returns the color of an attempt: of its outcome, or of running ones.
func outcomeColor(r *attempt.Record) term.Color {
	if r.Life.Phase == plan.Settled {
		return colorOf(r.Judged.Outcome.Traits().Shown.Tone)
	}
	return term.Blue
}

// warn prints a warning at once, in the middle of a pass.
func (t *reporter) warn(words string) {
	t.clear()
	t.app.IO.Printf("warning: %s\n", sanitize.Text(words))
}

// lines returns what happened in a pass, a line for each event.
func (t *reporter) lines(r scheduler.Report) []line {
	var lines []line
	for _, text := range t.aboutRun(r) {
		lines = append(lines, uncolored(text))
	}
	for _, rec := range r.Adopted {
		lines = append(lines, uncolored(fmt.Sprintf("adopted %s (attempt %d, running for %s)",
			rec.ID.Slice, rec.ID.N, plan.Age(time.Since(rec.Life.ClaimedAt)))))
	}
	lines = append(lines, t.turnover(r)...)
	for _, e := range r.Unheard {
		text := e.Subject() + " " + journal.NobodyRead + ": " + e.Reason
		lines = append(lines, line{text: text, tone: outcome.Wait})
	}
	for _, w := range r.Warnings {
		lines = append(lines, line{text: "warning: " + w, tone: outcome.Wait})
	}
	for _, u := range r.Unplaced {
		text := words.Some(u.IDs) + ": " + u.Cause + "; " + u.Next
		lines = append(lines, line{text: text, tone: outcome.Wait})
	}
	for _, h := range r.Holds {
		lines = append(lines, line{text: t.holdText(h), tone: outcome.Wait})
	}
	return lines
}

// aboutRun returns what happened to the run itself.
func (t *reporter) aboutRun(r scheduler.Report) []string {
	var lines []string
	if r.Leader != "" {
		lines = append(lines, "another gl slice --watch is building this project: "+r.Leader+
			"; watching, and taking over when it ends")
	}
	if r.TookOver {
		lines = append(lines, "the other gl slice --watch is gone: taking over")
	}
	if r.Locked != "" {
		lines = append(lines, lockedText(r.Locked))
	}
	if r.NoSpace != nil {
		lines = append(lines, "the disk is full, so no attempt can be settled or started; "+
			"free some space in "+t.cfg.Project.Root+", and gl goes on by itself")
	}
	if r.Full {
		who := "gl status shows them"
		if len(r.Plan.Lists.Running) > 0 {
			who = "gl why" + r.Plan.Snapshot.Flags + " says by whom"
		}
		lines = append(lines, slotsTaken(r.Plan, t.cfg.Slots.Max)+"; "+who)
	}
	return lines
}

// lockedText describes which process a run waits for.
func lockedText(holder string) string {
	return "waiting for the project's lock, which is held by " + sanitize.Text(holder) +
		"; if that process hangs or is stopped, end it"
}

func (t *reporter) holdText(h *plan.Hold) string {
	who := ""
	if h.Agent != "" {
		who = sanitize.Line(h.Agent) + " is "
	}
	if h.Kind == plan.HeldByPerson {
		return fmt.Sprintf("%sheld until %s by gl hold; gl hold --lift%s ends it",
			who, clock(h.Until), t.cfg.Project.Flags())
	}
	if h.Kind == plan.HeldByCurfew {
		return fmt.Sprintf("held until %s: %s", clock(h.Until), h.Reason)
	}
	if h.Kind == plan.HeldByBudget {
		return fmt.Sprintf("held %s: %s", h.End(time.Now()), h.Reason)
	}
	if h.Open() {
		return fmt.Sprintf("held until you lift it: %s; find out why, then gl hold --lift%s",
			h.Reason, t.cfg.Project.Flags())
	}
	if h.Kind == plan.HeldByWindow {
		return fmt.Sprintf("%sheld until %s: %s", who, clock(h.Until), h.Reason)
	}
	s := fmt.Sprintf("%sheld until %s: %s met by %s", who, clock(h.Until), h.Kind, h.By)
	if h.Reason != "" {
		s += " (" + h.Reason + ")"
	}
	for _, a := range t.cfg.Builders.Agents {
		account := plan.Account{Agent: a.Name, ID: a.Job.Account}
		if h.Kind == agent.Login && a.Login != "" && h.Holds(account) {
			s += "; log in with: " + a.Login
		}
	}
	return s
}

// turnover pairs each attempt that ended with the one that took its place.
func (t *reporter) turnover(r scheduler.Report) []line {
	launched := r.Launched
	var lines []line
	if !t.greeted && len(launched) > 0 {
		t.greeted = true
		lines = append(lines, t.greeting(r)...)
		for _, rec := range r.Ended {
			lines = append(lines, endedLine(rec, r.Plan,
				notes(attempttext.Flaky(rec), attempttext.Work(rec))))
		}
		return lines
	}
	for _, rec := range r.Ended {
		i := slices.IndexFunc(launched, func(next *attempt.Record) bool {
			return next.ID.Slice == rec.ID.Slice && next.Talk.Mends()
		})
		if i >= 0 {
			launched = slices.Delete(slices.Clone(launched), i, i+1)
			more := " -> its agent goes on" + notes(attempttext.Flaky(rec), attempttext.Trouble(rec))
			lines = append(lines, endedLine(rec, r.Plan, more))
			continue
		}
		next := ""
		if len(launched) > 0 && !launched[0].Talk.Mends() &&
			launched[0].ID.Name() != rec.ID.Name() {
			next = " -> launched " + launched[0].ID.Label() + placed(launched[0])
			launched = launched[1:]
		}
		lines = append(lines, endedLine(rec, r.Plan,
			next+notes(attempttext.Flaky(rec), attempttext.Work(rec))))
	}
	for _, rec := range launched {
		if rec.Talk.Mends() {
			lines = append(lines, uncolored(rec.ID.Label()+" goes on"+called(r.Plan, rec)))
			continue
		}
		lines = append(lines, uncolored("launched "+rec.ID.Label()+called(r.Plan, rec)))
	}
	return lines
}

// notes appends lines to the one that they belong to.
func notes(lists ...[]string) string {
	text := ""
	for _, l := range slices.Concat(lists...) {
		text += "\n   " + l
	}
	return text
}

// greeting returns the lines of the first launch: how many agents, and what they may do.
func (t *reporter) greeting(r scheduler.Report) []line {
	n := len(r.Launched)
	head := fmt.Sprintf("-> %s ready, launching %d", words.Count(r.Ready, r.Plan.Snapshot.Noun), n)
	if r.Ready == 1 {
		head = "-> launching " + r.Launched[0].ID.Label() + called(r.Plan, r.Launched[0])
	}
	if rest := r.Ready - n; rest > 0 && t.cfg.Mode.Refill {
		head += fmt.Sprintf("... (%d queued)", rest)
	}
	if t.session != nil {
		head += fmt.Sprintf(" in tmux session %q", t.session.Name)
	}
	ids := make([]string, n)
	for i, rec := range r.Launched {
		ids[i] = rec.ID.Slice
	}
	lines := []line{uncolored(head)}
	if n > 1 {
		list := make([]string, n)
		for i, rec := range r.Launched {
			list[i] = rec.ID.Slice + placed(rec)
		}
		lines = append(lines, uncolored("launched "+strings.Join(list, ", ")))
	}
	lines = append(lines, t.agentLines(r.Launched)...)
	flags := r.Plan.Snapshot.Flags
	switch {
	case t.session != nil:
		lines = append(lines, uncolored(belowIndent+"attach with: gl attach"+flags))
	case !t.cfg.Mode.Foreground:
		lines = append(lines, uncolored(belowIndent+"watch one with: gl logs -f "+ids[0]+flags))
	}
	return lines
}

// agentLines returns a line for each agent of the attempts: its name, the flags by which it asks
// for no permission, and where they are set. Only --verbose and --dry-run show whole command
// lines, except for those that the project's own settings define.
func (t *reporter) agentLines(launched []*attempt.Record) []line {
	var lines []line
	var seen []string
	for _, rec := range launched {
		if slices.Contains(seen, rec.Job.Agent) {
			continue
		}
		seen = append(seen, rec.Job.Agent)
		if l := t.agentLine(rec); l.text != "" {
			l.text = belowIndent + l.text
			lines = append(lines, l)
		}
	}
	return lines
}

func (t *reporter) agentLine(rec *attempt.Record) line {
	i := slices.IndexFunc(t.cfg.Builders.Agents,
		func(a scheduler.Agent) bool { return a.Name == rec.Job.Agent })
	if i < 0 {
		return line{}
	}
	a := t.cfg.Builders.Agents[i]
	name, change := sanitize.Line(a.Name), "gl help agents"
	if slices.Contains(a.Keys, agent.FlagsSetting) {
		change = "gl settings " + agent.FlagsSetting
	}
	confined := ""
	if t.cfg.Project.Config.Sandbox == project.SandboxBwrap {
		confined = ", confined by bwrap"
	}
	flags := agent.Unasked(rec.Job.Argv)
	switch {
	case slices.Contains(rec.Job.Argv, rehearsal.Command):
		return uncolored("the agent is built in, and costs nothing")
	case flags != "":
		text := fmt.Sprintf("%s asks for no permission (%s)%s; to change that: %s", name, flags, confined, change)
		if !t.cfg.Project.Runs.Files.FirstTime(text) {
			return line{}
		}
		return uncolored(text)
	case slices.Contains(a.Keys, agent.FlagsSetting):
		return uncolored(fmt.Sprintf("%s works with %s%s (%s)", name, shellLine(t.cfg.Project.Config.Flags), confined, agent.FlagsSetting))
	}
	return line{text: commandText(rec.Job.Argv), command: true}
}

// called returns the name behind a label: " (Session list)".
func called(p *plan.Plan, rec *attempt.Record) string {
	if rec.ID.IsTask() && rec.ID.Title != "" {
		return " (" + status.Brief(rec.ID.Title) + ")"
	}
	if st := p.State(rec.ID.Slice); st != nil && st.Name != rec.ID.Slice {
		return " (" + st.Name + ")" + placed(rec)
	}
	return placed(rec)
}

// placed names the worker that has an attempt; "" for this machine.
func placed(rec *attempt.Record) string {
	if rec.Life.Remote == nil {
		return ""
	}
	return " " + rec.Life.Remote.Place()
}

// summary prints the end of a run: its totals, and why each remaining slice isn't done.
func (t *reporter) summary(res *scheduler.Result) {
	p := res.Plan
	if p == nil {
		return
	}
	app := t.app
	if p.Total == 0 && res.Signal == nil && !res.Stopped {
		app.IO.Printf("%s\n", nothingYet(p))
		return
	}
	leftOver(app.IO, p, t.said)
	t.noteCommands(p)
	for _, why := range res.Barred {
		app.IO.Printf("%s\n", term.Wrap("  "+sanitize.Text(why), app.IO.Width(), 4))
	}
	if t.cfg.Tools.Lane != nil {
		merged := t.mergedText(res)
		if merged != "" {
			app.IO.Printf("%s\n", term.Wrap("  "+merged, app.IO.Width(), 4))
		}
		tellUndelivered(app.IO, res.Lane)
		if res.Lost != "" && len(p.Lists.Landing) == 0 { // what is queued has it as its reason
			app.IO.Printf("%s\n", term.Wrap("  "+sanitize.Text(res.Lost), app.IO.Width(), 4))
		}
		repo := t.cfg.Tools.Lane.Repo
		if t.cfg.Project.Config.Git.Deliver == project.DeliverMerge && otherBranchText(repo) != "" && merged != "" { // the start of the run said it in full
			app.IO.Message("note: the merged work is on %s, which isn't checked out here", worktree.Short(repo.Target()))
		}
	}
	if res.Signal != nil {
		t.goesOn(res)
	}
	if text := t.unverified(res); text != "" {
		app.IO.Printf("%s\n", term.Wrap("  "+text, app.IO.Width(), 4))
	}
	app.IO.Printf("%s\n", term.Wrap("  "+totals(p), app.IO.Width(), 4))
	t.sentence(res)
}

// goesOn prints what isn't over after a run that was interrupted.
func (t *reporter) goesOn(res *scheduler.Result) {
	out, flags := t.app.IO, res.Plan.Snapshot.Flags
	var ids, queued []string
	for _, rec := range res.Open {
		if rec.Life.Phase == plan.Queued {
			queued = append(queued, rec.ID.Slice)
		} else {
			ids = append(ids, rec.ID.Slice)
		}
	}
	if len(queued) > 0 {
		text := fmt.Sprintf("  Not merged yet: %s. gl land%s merges what is in the queue",
			strings.Join(queued, ", "), flags)
		out.Printf("%s\n", term.Wrap(text, out.Width(), 4))
	}
	if len(ids) == 0 {
		return
	}
	show := "gl logs -f " + ids[0] + flags
	if t.session != nil {
		show = "gl attach" + flags + " or " + show
	}
	lands, stop := "", "ends it"
	if t.cfg.Tools.Lane != nil { // the last to end works the merge queue
		lands, stop = "What they finish is still tested and merged. ", "prevents that"
	}
	text := fmt.Sprintf("  Still running in the background: %s. %s%s shows it, "+
		"gl stop --all%s %s, gl slice --watch%s takes over",
		strings.Join(ids, ", "), lands, show, flags, stop, t.agentFlag()+flags)
	out.Printf("%s\n", term.Wrap(text, out.Width(), 4))
}

// noteCommands says how Claude Code gets the commands of another system that a person is to type
// there.
func (t *reporter) noteCommands(p *plan.Plan) {
	named := slices.ContainsFunc(p.Lists.Waiting, func(id string) bool {
		return slices.ContainsFunc(p.Why(id, time.Now()).Next,
			func(command string) bool { return strings.HasPrefix(command, "/") })
	})
	key := t.cfg.Project.System().Key
	if !named || !slices.Contains(install.Systems(), key) {
		return
	}
	if text, err := unknownCommands(t.app, key, t.cfg.Project.Root); err == nil && text != "" {
		t.app.IO.Message("%s", text)
	}
}

// mostNamed is how many merged slices the end of a run names; more are counted.
const mostNamed = 5

// mergedText tells where the work of the run is now; "" if nothing was merged.
func (t *reporter) mergedText(res *scheduler.Result) string {
	target := ""
	var ids []string
	for _, r := range res.Ended {
		if g := r.Landing; g != nil && g.Target != "" && r.Judged.Outcome.Traits().Success &&
			!slices.Contains(res.Lane.Waiting(), r.ID.Slice) &&
			res.Lane.PullRequest == nil {
			target, ids = worktree.Short(g.Target), append(ids, r.ID.Slice)
		}
	}
	if len(ids) == 0 || t.cfg.Project.Away { // what makes the copy says where its work is
		return ""
	}
	flags := res.Plan.Snapshot.Flags
	id, it, what := ids[0], "it", strings.Join(ids, ", ")
	if len(ids) > 1 {
		id, it = "ID", "one"
	}
	if len(ids) > mostNamed {
		what = words.Count(len(ids), res.Plan.Snapshot.Noun)
	}
	return sanitize.Line(fmt.Sprintf("Merged into %s: %s; gl diff %s%s shows %s, gl undo %s%s takes %[5]s back",
		target, what, id, flags, it, id, flags))
}

// unverified names the slices of this run that no tests have verified, and how to change that; ""
// for none.
func (t *reporter) unverified(res *scheduler.Result) string {
	of := *res.Plan
	of.Lists.Unverified = slices.DeleteFunc(slices.Clone(of.Lists.Unverified), func(id string) bool {
		return !slices.ContainsFunc(res.Ended, func(r *attempt.Record) bool { return r.ID.Slice == id })
	})
	how := facts.Proving(context.Background(), t.cfg.Project, &of)
	if how == "" || t.cfg.Project.Away {
		return ""
	}
	return "Unverified: " + sanitize.Line(words.Some(of.Lists.Unverified)+words.InBrackets(how, ""))
}

// sentence prints the last line of a run: how it ended, and the counts. A run of named slices has
// none: each had a line of its own.
func (t *reporter) sentence(res *scheduler.Result) {
	how, color := "Stopped", term.Yellow
	switch {
	case res.Signal != nil:
		how = "Interrupted"
	case res.Stopped:
		how = "Stopped by gl stop --all"
	case len(t.cfg.Scope.IDs) > 0:
		return
	}
	c := view.Count(res.Plan, res.Lane)
	switch {
	case c.Failed > 0:
		color = term.Red
	case c.Done == c.Total && c.Undelivered == 0 && res.Lost == "":
		color = term.Green
	}
	out := t.app.IO
	text := c.Sentence(how, res.Plan.Snapshot.Noun)
	if res.Lost != "" {
		text += " Merged work isn't in " + res.Lane.Target + " any more."
	}
	// a rehearsal costs nothing
	if res.Spent.Attempts > 0 && (res.Spent.CostUSD == nil || *res.Spent.CostUSD > 0) {
		if res.Spent.CostUSD == nil {
			text += " Cost of this run: unknown."
		} else {
			text += " Cost of this run: " + res.Spent.Text() + "."
		}
	}
	out.Printf("%s\n", out.Paint(color, term.Wrap(text, out.Width(), 2)))
}

// agentFlag returns the flag that hints about a scratch copy need: without it, the configured agent
// would start there, at a cost.
func (t *reporter) agentFlag() string {
	var names []string
	for _, a := range t.cfg.Builders.Agents {
		names = append(names, a.Name)
	}
	if !t.cfg.Project.Away || slices.Equal(names, t.cfg.Project.Config.Agent) {
		return ""
	}
	return " --agent " + shellwords.Quote(strings.Join(names, ","))
}

// nothingYet tells how to add the first item.
func nothingYet(p *plan.Plan) string {
	if p.Snapshot.Noun != plan.Slice {
		return fmt.Sprintf("There are no %ss yet.", p.Snapshot.Noun)
	}
	return "There are no slices yet. Run gl add-slice NAME, or gl init"
}

// totals returns the summary line: "28/36 done | 1,847 tests | 8 blocked on S6.1".
func totals(p *plan.Plan) string {
	s := fmt.Sprintf("%d/%d done", p.Done, p.Total)
	if p.Snapshot.Noun == plan.Slice || p.Tests.Recorded > 0 { // the siblings don't count tests
		s += " | " + p.Tests.Brief()
	}
	switch root, n := p.BlockedOn(); {
	case n == 0:
	case n < len(p.Lists.Blocked):
		s += fmt.Sprintf(" | %d blocked, %d of them on %s", len(p.Lists.Blocked), n,
			sanitize.Text(root))
	default:
		s += fmt.Sprintf(" | %d blocked on %s", n, sanitize.Text(root))
	}
	return s
}

// leftOver prints why each slice isn't done, starting with those that block others. A cause that
// the line above has just said isn't repeated.
func leftOver(out *iostreams.Streams, p *plan.Plan, said string) {
	now := time.Now()
	for _, ids := range [][]string{
		p.Lists.TroubledIDs(), p.Lists.Waiting, p.Lists.Unknown, p.Lists.Running, p.Lists.Landing,
		p.Lists.Ready, p.Lists.Blocked,
	} {
		for _, id := range ids {
			why := p.Why(id, now)
			if why.State != "waiting" && strings.HasPrefix(said, id+" ") && strings.Contains(said, why.Cause) && len(why.Next) > 0 {
				why.Cause = ""
			}
			text := "  " + sanitize.Text(why.String())
			out.Printf("%s\n", term.Wrap(text, out.Width(), 4))
		}
	}
}

// draw redraws the live line.
func (t *reporter) draw() {
	if t.live == nil || t.plan == nil {
		return
	}
	width, _, err := xterm.GetSize(int(t.live.Fd()))
	if err != nil || width < 2 {
		width = 80
	}
	t.shown = true
	fmt.Fprintf(t.live, "\r\x1b[K%s", t.liveText(time.Now(), width-1))
}

// clear removes the live line, to print others.
func (t *reporter) clear() {
	if t.shown {
		t.shown = false
		fmt.Fprint(t.live, "\r\x1b[K")
	}
}

// liveText returns the live line for that many columns. It always has the progress, the slots and
// the time left, and as many running and merging slices as fit. The bar is dropped first.
func (t *reporter) liveText(now time.Time, width int) string {
	p := t.plan
	done := fmt.Sprintf("%d/%d", p.Done, p.Total)
	rest := fmt.Sprintf(" | %d of %d slots", p.Taken, t.cfg.Slots.Max)
	if eta := t.eta(); eta > 0 {
		rest += " | about " + plan.Age(eta) + " left"
	}
	var running []string
	for _, id := range p.Lists.Running {
		st := p.State(id)
		s := id + " " + st.Doing(now)
		if st.Attempt.Live() && !st.Attempt.Started.IsZero() {
			s += " " + plan.Age(now.Sub(st.Attempt.Started))
		}
		running = append(running, sanitize.Text(s))
	}
	for _, id := range p.Lists.Landing { // without a slot: the tests may take long
		running = append(running, sanitize.Line(id+" "+p.State(id).Attempt.Landing))
	}
	bar := status.Bar(p.Done, p.Total, status.BarCells)
	line := bar + " " + done + withMore(running, len(running)) + rest
	for n := len(running); term.Width(line) > width && n >= 0; n-- {
		line = done + withMore(running, n) + rest
	}
	return term.Truncate(line, width)
}

// withMore returns the first n of a list and the number of the others: " | a, b, 3 more".
func withMore(list []string, n int) string {
	shown := list[:n:n]
	if left := len(list) - n; left > 0 {
		shown = append(shown, fmt.Sprintf("%d more", left))
	}
	if len(shown) == 0 {
		return ""
	}
	return " | " + strings.Join(shown, ", ")
}

// eta returns how long the rest is likely to take, 0 if unknown.
func (t *reporter) eta() time.Duration {
	left, _ := t.pace().Remaining(t.plan, t.cfg.Slots.Max, time.Now())
	return left
}
