package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/show/facts"
	"greenlight/internal/show/status"
	"greenlight/internal/show/view"
)

// dryRun shows what a run would do. It writes nothing and starts nothing.
func dryRun(ctx context.Context, app *cmdutil.App, pr *project.Project, p *plan.Plan, j *job,
	o sliceOptions) error {
	if err := j.admit(p, func(string) bool { return false }); err != nil {
		return err
	}
	launch, with := wouldLaunch(p, j)
	var refused error
	if len(launch) > 0 {
		noteTrust(ctx, app, pr, j.kinds()...)
		refused = j.refused(j.config(p))
		if refused == nil && !j.copies() {
			refused = (&workplaces{app: app, pr: pr}).inTheWay(ctx)
		}
		if refused != nil {
			launch = nil
		}
	}
	command, err := dryCommand(pr, p, j, launch, with)
	if err != nil {
		return err
	}
	if o.json {
		doc := dryDoc(p, launch, command)
		doc.Expected = expected(pr, p, j)
		return errors.Join(app.IO.JSON(doc), refused)
	}
	tellDry(app, p, launch, command)
	tellExpected(app.IO, expected(pr, p, j))
	if j.copies() && len(launch) > 0 {
		app.IO.Message("note: a rehearsal works in a scratch copy of the project")
	}
	return refused
}

// dryCommand returns the command line of what would be launched first, by the agent with that name,
// or else of the item ID. The conversation's id is made at the claim.
func dryCommand(pr *project.Project, p *plan.Plan, j *job, launch []string,
	with string) ([]string, error) {
	b, id, n := j.first(), "ID", 1
	job := agent.Job{Dir: pr.Root, SessionID: "UUID"}
	if len(launch) > 0 {
		id = launch[0]
		if i := slices.IndexFunc(j.agents, func(b *builder) bool { return b.Name == with }); i >= 0 {
			b = j.agents[i]
		} else if named, _, err := j.find(with); err == nil { // by the slice alone
			b = named
		}
		if j.config(p).Builders.Find != nil {
			job.Model = p.State(id).Model
		}
		last, err := pr.Runs.Last(id)
		if err != nil {
			return nil, err
		}
		if len(last[id]) > 0 {
			n = last[id][0].ID.N + 1
		}
	}
	job.Prompt = pr.Tracker.Prompt(id)
	job.Slice, job.Instructions, job.Briefed = id, b.instructions(job.Prompt), j.briefs(b)
	job.BriefFile = pr.Runs.Files.Brief(id, n)
	return b.Command(job), nil
}

// tellDry prints the plan, and what would be launched by which command.
func tellDry(app *cmdutil.App, p *plan.Plan, launch, command []string) {
	app.Warn(p)
	dryLists(app.IO, p)
	if len(launch) == 0 {
		if p.Done < p.Total {
			dryLine(app.IO, "Would launch", "nothing")
		}
		return
	}
	dryLine(app.IO, "Would launch", strings.Join(launch, ", "))
	app.IO.Printf("Command: %s\n", commandText(command))
}

// dryLine prints a line of a dry run, wrapped between ids.
func dryLine(out *iostreams.Streams, label, words string) {
	out.Printf("%s\n", term.Wrap(strings.TrimRight(label+": "+words, " "), out.Width(), 2))
}

// dryLists prints the slices by state.
func dryLists(out *iostreams.Streams, p *plan.Plan) {
	now := time.Now()
	list := func(label string, ids []string, words string) {
		if len(ids) > 0 {
			dryLine(out, fmt.Sprintf("%s (%d)", label, len(ids)), words)
		}
	}
	if len(p.Lists.Ready) == 0 {
		out.Printf("%s\n", term.Wrap(unready(p), out.Width(), 2))
	}
	list("Ready", p.Lists.Ready, strings.Join(p.Lists.Ready, ", "))
	list("Running", p.Lists.Running, strings.Join(p.Lists.Running, ", "))
	list("Merging", p.Lists.Landing, status.Briefs(p, p.Lists.Landing, now))
	list("Blocked", p.Lists.Blocked, status.Briefs(p, p.Lists.Blocked, now))
	for _, g := range p.Lists.Troubled() {
		list(g.Label, g.IDs, status.Troubled(p, g.IDs, now))
	}
	list("Waiting", p.Lists.Waiting, status.Briefs(p, p.Lists.Waiting, now))
	list("Unknown", p.Lists.Unknown, status.Briefs(p, p.Lists.Unknown, now))
	for _, h := range p.InEffect() {
		text := sanitize.Line(h.Sentence(now))
		if h.Agent == "" {
			text = "H" + text[1:]
		}
		out.Printf("%s\n", text)
	}
}

// wouldLaunch returns what the first round would start, and the name of the agent that would get
// the first of it.
func wouldLaunch(p *plan.Plan, j *job) (launch []string, with string) {
	n := max(j.max-p.Taken, 0)
	if !j.parallel() {
		n = min(n, 1)
	}
	candidates := p.Lists.Ready
	if len(j.ids) > 0 {
		candidates = nil
		for _, id := range j.ids {
			if attempt.Admit(p, attempt.Request{ID: id, Named: true, Force: j.o.force},
				time.Now()) == nil {
				candidates = append(candidates, id)
			}
		}
	}
	cfg := j.config(p)
	var accounts []plan.Account
	for _, a := range cfg.Builders.Agents {
		accounts = append(accounts, plan.Account{Agent: a.Name, ID: a.Job.Account})
	}
	for _, id := range candidates {
		if name := p.State(id).Agent; name != "" && cfg.Builders.Find != nil &&
			!slices.ContainsFunc(accounts, func(a plan.Account) bool {
				return a.Agent == name
			}) {
			accounts = append(accounts, plan.Account{Agent: name, Named: true})
		}
	}
	allotment := p.Allot(accounts, time.Now(),
		plan.AllotOptions{Forced: j.o.force && len(j.ids) > 0, Named: cfg.Builders.Find != nil})
	for _, id := range candidates {
		if i := allotment.Agent(id); i >= 0 && len(launch) < n {
			allotment.Launched(i)
			if launch = append(launch, id); len(launch) == 1 {
				with = accounts[i].Agent
			}
		}
	}
	return launch, with
}

type dryRunDoc struct {
	SchemaVersion int      `json:"schema_version"`
	Ready         []string `json:"ready"` // in launch order
	Running       []string `json:"running"`
	Blocked       []string `json:"blocked"`
	WouldLaunch   []string `json:"would_launch"` // what the first round would start
	// the agent's argv for the first of would_launch; UUID is a placeholder, and so is ID if there
	// is none
	Command []string `json:"command"`

	// when all buildable slices are done, simulated with several --max; empty without history
	Expected []dryEnd `json:"expected"`
}

// A dryEnd is the likely end with that many agents at a time.
type dryEnd struct {
	Max     int `json:"max" jsonschema:"minimum=1"`
	Seconds int `json:"seconds" jsonschema:"minimum=0"` // from now
}

// expected returns the likely end with the configured slots, with half and twice as many, and with
// one. It leaves out more slots that don't end earlier.
func expected(pr *project.Project, p *plan.Plan, j *job) []dryEnd {
	pace, now := facts.Pace(pr), time.Now()
	ends := []dryEnd{}
	if len(j.ids) > 0 { // only a part of the project
		return ends
	}
	slots := []int{1, max(1, j.max/2), j.max, 2 * j.max, 4 * j.max}
	slices.Sort(slots)
	for _, n := range slices.Compact(slots) {
		if left, ok := pace.Remaining(p, n, now); ok && left > 0 {
			ends = append(ends, dryEnd{n, *view.WholeSeconds(left)})
		}
	}
	return ends
}

// tellExpected prints "Expected: 5h with --max 1, 2h 30m with 2, 1h 40m with 4".
func tellExpected(out *iostreams.Streams, ends []dryEnd) {
	var parts []string
	for i, e := range ends {
		with := " with "
		if i == 0 {
			with = " with --max "
		}
		parts = append(parts,
			plan.Age(time.Duration(e.Seconds)*time.Second)+with+strconv.Itoa(e.Max))
	}
	if len(parts) > 0 {
		dryLine(out, "Expected", strings.Join(parts, ", "))
	}
}

func dryDoc(p *plan.Plan, launch, command []string) dryRunDoc {
	return dryRunDoc{SchemaVersion: 1, Ready: jsondoc.OrEmpty(p.Lists.Ready),
		Running: jsondoc.OrEmpty(p.Lists.Running), Blocked: jsondoc.OrEmpty(p.Lists.Blocked),
		WouldLaunch: jsondoc.OrEmpty(launch), Command: jsondoc.OrEmpty(command)}
}

// shellLine returns argv as a shell command, safe to print.
func shellLine(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = shellwords.Line(a)
	}
	return sanitize.Text(strings.Join(words, " "))
}

// commandText returns a command line for pasting, without the conversation's id, which works only
// once. A comment marks truncated words.
func commandText(argv []string) string {
	if i := slices.Index(argv, "--session-id"); i >= 0 && i+2 <= len(argv) {
		argv = slices.Delete(slices.Clone(argv), i, i+2)
	}
	short := shortened(argv)
	if slices.Equal(short, argv) {
		return shellLine(argv)
	}
	return shellLine(short) + "  # shortened where it has …"
}

// shortened truncates long words: the method's text, if it is the prompt.
func shortened(argv []string) []string {
	const most = 120
	short := make([]string, len(argv))
	for i, a := range argv {
		short[i] = term.Truncate(a, most)
	}
	return short
}
