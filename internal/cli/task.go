package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/trust"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/run/testrun"
	"greenlight/internal/show/attempttext"
	"greenlight/internal/show/status"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// taskOptions are the flags of the commands that run an agent on a task other than a slice.
type taskOptions struct {
	agent     string
	max       int
	builds    bool // it changes the code: see attempt.Task
	isolation string
	dryRun    bool
	json      bool
}

const taskHelp = `

The agent runs in this terminal and can't ask questions. Its attempts are named @%[1]s.1, @%[1]s.2 and so on in gl status,
gl logs, gl stop and gl debug. It counts toward --max like a slice, and waits while launches are held. Inside an agent
nothing is started; the input of /gl:%[1]s is printed.

Exit codes: 0 done; 1 it failed, or was stopped; 2 wrong usage; 3 it is already running and can run only once at a time;
127 the agent's program is not on PATH; 130, 143 interrupted.`

// flags adds the flags that the commands share, and checks them before the command runs.
func (o *taskOptions) flags(app *cmdutil.App, c *cobra.Command) *cobra.Command {
	c.Long += fmt.Sprintf(taskHelp, c.Name())
	f := c.Flags()
	f.StringVar(&o.agent, "agent", "", "use the agent `NAME`, as for gl slice")
	if o.builds {
		f.StringVar(&o.isolation, "isolation", "", "where the agent works: `WHERE` is worktree (a worktree of its own) or shared (default: git.isolation)")
		cmdutil.CompleteFlag(c, "isolation", project.Isolations)
	}
	f.IntVar(&o.max, "max", 0, "wait while `N` agents are running in the project (default 4)")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would happen without changing anything")
	f.BoolVar(&o.json, "json", false, jsonOfRuns)
	cmdutil.CompleteFlag(c, "agent", app.Agents)
	run := c.RunE
	c.RunE = func(c *cobra.Command, a []string) error {
		if c.Flags().Changed("max") && o.max < 1 {
			return cmdutil.Usage("--max must be 1 or more, not %d", o.max)
		}
		return run(c, a)
	}
	return c
}

// maxText limits the person's text: the prompt is one word of a command line, which Linux limits to
// 128 KB.
const maxText = 64 << 10

// newTask returns the task with the words after its command.
func newTask(name string, words []string) (attempt.Task, error) {
	text := strings.TrimSpace(strings.Join(words, " "))
	if len(text) > maxText {
		return attempt.Task{}, cmdutil.Usage("the text is %d KB long, and the limit is %d KB: write it to a file and name the file", len(text)>>10, maxText>>10)
	}
	return attempt.Task{Name: name, Text: text,
		Prompt: strings.TrimSpace("/gl:" + name + " " + text)}, nil
}

// taskProject is AnyProject for a command that needs no project, only a git repository.
func taskProject(ctx context.Context, app *cmdutil.App) (*project.Project, error) {
	pr, err := app.AnyProject()
	if !errors.Is(err, project.ErrNoProject) {
		return pr, err
	}
	dir, dirErr := app.Dir()
	if dirErr != nil {
		return nil, dirErr
	}
	top, gitErr := git.Root(ctx, dir)
	if gitErr != nil {
		return nil, fmt.Errorf("%s isn't in a git repository or a Greenlight project, so an agent's work couldn't be kept apart "+
			"from your files. Run git init && git add . && git commit -m start, and try again", dir)
	}
	if top, err = project.MainPlace(top, app.Getenv("HOME")); err != nil {
		return nil, err
	}
	return project.OpenRuns(top)
}

// anywhere runs a task that needs no project. Inside an agent it only prints the task, with its
// text as key.
func anywhere(ctx context.Context, app *cmdutil.App, t attempt.Task, key string,
	o taskOptions) error {
	pr, err := taskProject(ctx, app)
	if err != nil {
		return err
	}
	if app.Inside() {
		tellTask(ctx, app, pr, t, key)
		return nil
	}
	return runTask(ctx, app, pr, t, o)
}

// configErr refuses to run agents with settings that can't be read.
func configErr(pr *project.Project) error {
	if pr.ConfigErr == nil {
		return nil
	}
	return fmt.Errorf("%w: correct it by hand; gl doctor checks it", pr.ConfigErr)
}

// runTask runs an agent on the task, here.
func runTask(ctx context.Context, app *cmdutil.App, pr *project.Project, t attempt.Task,
	o taskOptions) error {
	if err := configErr(pr); err != nil {
		return err
	}
	if pr.Config.Sandbox == project.SandboxBwrap && !t.Builds {
		app.IO.Message("sandbox is bwrap, but gl %s works in the checkout, where the agent isn't confined", t.Name)
	}
	if err := isolate(pr, o.isolation); err != nil {
		return err
	}
	app, events := streaming(app, o.json && !o.dryRun)
	j, err := newJob(app, pr, sliceOptions{agent: o.agent, max: o.max}, t.Name)
	if err != nil {
		return err
	}
	j.task, j.events = &t, events
	if o.dryRun {
		noteTrust(ctx, app, pr, j.kinds()...)
		return dryTask(app.IO, j, &t, o.json)
	}
	cfg := scheduler.Config{
		Project:  pr,
		Scope:    scheduler.Scope{Task: &t},
		Slots:    scheduler.Slots{Max: j.max, Fixed: j.o.max > 0, Now: pr.Slots, Serial: true},
		Mode:     scheduler.Mode{Foreground: true},
		Builders: scheduler.Builders{Trust: trust.Open(app.Getenv), TrustRoot: pr.Root},
		Pace:     scheduler.Pace{Interval: j.every},
		Stop:     pr.Runs.Control.WatchStop(), // before the person learns that the task waits
	}
	if err := j.permitted(ctx); err != nil {
		return err
	}
	if err := j.place(ctx, &t, &cfg); err != nil { // a refusal leaves nothing behind
		return err
	}
	if err := j.findPlugins(); err != nil {
		return err
	}
	cfg.Builders.Agents = j.launchables()
	if err := free(ctx, app, pr, &t); err != nil {
		return err
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return err
	}
	if cfg.Tools.Trees != nil && pr.Stateless() {
		// the summary would be gl's only file in the repository
		t.Summary = false
	}
	if p.Taken >= j.max {
		app.IO.Message("%s; --max %d starts it now", slotsTaken(p, j.max), p.Taken+1)
	}
	app.IO.Hush()
	return j.streamed(ctx, func() error { return j.drain(ctx, cfg) })
}

// place decides where the task's agent works
func (j *job) place(ctx context.Context, t *attempt.Task, cfg *scheduler.Config) error {
	switch {
	case j.rehearsal != nil: // a rehearsed task changes nothing
		t.Wants = nil
	case t.Builds:
		return j.inWorktree(ctx, cfg)
	}
	return nil
}

// free settles ended attempts, and refuses a task that can't run next to the running ones.
func free(ctx context.Context, app *cmdutil.App, pr *project.Project, t *attempt.Task) error {
	found, err := scheduler.Reconcile(ctx, pr)
	reportAside(app.IO, found.Aside)
	for _, r := range found.Settled {
		app.IO.Message("warning: %s", attempttext.Ended(r, pr.Whose(r).Flags()))
	}
	if err != nil {
		return err
	}
	return pr.Runs.Busy(t)
}

// slotsTaken returns the error that all slots are taken, and by what.
func slotsTaken(p *plan.Plan, limit int) string {
	const shown = 12
	names := underWay(p)
	more := words.More(len(names) - shown)
	return fmt.Sprintf("%d of %d slots are taken (%s%s): waiting for one", p.Taken, limit,
		strings.Join(names[:min(shown, len(names))], ", "), more)
}

// underWay returns what is running, slices and tasks.
func underWay(p *plan.Plan) []string {
	ids := append([]string(nil), p.Lists.Running...)
	for i := range p.Snapshot.Tasks {
		if t := &p.Snapshot.Tasks[i]; t.Attempt.HasSlot() {
			ids = append(ids, t.Name())
		}
	}
	return ids
}

// taskSummary describes the end of a task: its cost, where its work is, and where its summary is.
func (j *job) taskSummary(res *scheduler.Result, inCheckout bool) {
	switch {
	case res.Signal != nil:
		j.app.IO.Printf("Interrupted.\n")
	case res.Stopped:
		j.app.IO.Printf("Stopped by gl stop --all.\n")
	}
	for _, r := range res.Ended {
		if words := attempttext.Spent(r); len(words) > 0 {
			which := ""
			if len(res.Ended) > 1 {
				which = r.ID.Label() + ": "
			}
			j.app.IO.Printf("  %s%s\n", which, strings.Join(words, ", "))
		}
		if g := r.Landing; g != nil && r.Judged.Outcome.Traits().Success &&
			res.Lane.Has(r.ID.Work()) {
			j.app.IO.Printf("  merged into %s: %.10s\n",
				sanitize.Text(worktree.Short(g.Target)), g.Commit)
			j.app.IO.Printf("  gl diff %s shows it, gl undo %[1]s takes it back\n", r.ID.Work())
			if !j.pr.Config.Test.Command.IsSet() {
				j.app.IO.Printf("  no test command: %s\n",
					sanitize.Line(testrun.SetCommand(j.pr.Root, j.pr.Flags(), testrun.Command{})))
			}
		} else if inCheckout && r.Judged.Outcome.Traits().Success {
			j.app.IO.Printf("  done in the checkout: gl has neither tested nor merged it\n")
		}
		switch {
		case r.Task.HasSummary:
			j.app.IO.Printf("  summary: %s\n", r.Task.Summary)
		case r.Task.Summary != "" && r.Judged.Outcome.Traits().Success && !j.pr.Stateless():
			j.app.IO.Detail("it wrote no summary to %s, so gl changelog doesn't list it", r.Task.Summary)
		}
	}
	tellUndelivered(j.app.IO, res.Lane)
}

type dryTaskDoc struct {
	SchemaVersion int    `json:"schema_version"`
	Task          string `json:"task"`
	Text          string `json:"text"` // the command's arguments
	Root          string `json:"root"` // absolute path of the project
	// as in gl status --json; "none" without a project
	Format  string   `json:"format"`
	Taken   int      `json:"taken" jsonschema:"minimum=0"` // slots
	Max     int      `json:"max" jsonschema:"minimum=1"`
	Running []string `json:"running"` // slices, and tasks such as @quick.2
	// nothing is launched until it ends; null if nothing holds launches
	Hold *plan.Hold `json:"hold"`
	// the agent's argv; UUID is a placeholder for the session id
	Command []string `json:"command"`
}

// dryTask shows what would be run. It writes nothing and starts nothing.
func dryTask(out *iostreams.Streams, j *job, t *attempt.Task, asJSON bool) error {
	if err := j.pr.Runs.Busy(t); err != nil {
		return err
	}
	p, err := j.pr.Plan(time.Now(), j.pr.Options())
	if err != nil {
		return err
	}
	doc := dryTaskDoc{SchemaVersion: 1, Task: attempt.TaskID(t.Name), Text: t.Text, Root: j.pr.Root,
		Format: j.pr.Tracker.Traits().Format, Taken: p.Taken, Max: j.max,
		Running: jsondoc.OrEmpty(underWay(p)), Hold: p.Hold,
		Command: j.first().Command(agent.Job{Prompt: t.Prompt, Dir: j.pr.Root, SessionID: "UUID",
			Slice: attempt.TaskID(t.Name), Instructions: j.first().text,
			Briefed:   j.briefs(j.first()),
			BriefFile: j.pr.Runs.Files.Brief(attempt.TaskID(t.Name), 1)})}
	if asJSON {
		return out.JSON(doc)
	}
	out.Printf("Root: %s\n", sanitize.Text(doc.Root))
	if len(doc.Running) > 0 {
		out.Printf("Running (%d of %d slots): %s\n", p.Taken, j.max,
			sanitize.Text(strings.Join(doc.Running, ", ")))
	}
	switch {
	case p.Hold != nil:
		out.Printf("Would launch: %s, not before %s (%s)\n", doc.Task, clock(p.Hold.Until),
			sanitize.Text(p.Hold.Kind))
	case p.Taken >= j.max:
		out.Printf("Would launch: %s, once a slot is free\n", doc.Task)
	default:
		out.Printf("Would launch: %s\n", doc.Task)
	}
	out.Printf("Command: %s\n", commandText(doc.Command))
	return nil
}

// completeTasks completes tasks after the results of more: the names of running ones, or the kinds.
func completeTasks(app *cmdutil.App, more cobra.CompletionFunc, open bool) cobra.CompletionFunc {
	return func(c *cobra.Command, have []string, word string) ([]string, cobra.ShellCompDirective) {
		ids, directive := more(c, have, word)
		pr, err := app.AnyProject()
		if err != nil {
			return ids, directive
		}
		if !open {
			all, _ := pr.Runs.Index() // nothing to complete if unreadable
			return append(ids, taskIDs(all)...), directive
		}
		live, _ := ops.Running(pr)
		for _, r := range live {
			if r.ID.IsTask() {
				ids = append(ids, cobra.CompletionWithDesc(r.ID.Name(), status.Brief(r.ID.Title)))
			}
		}
		return ids, directive
	}
}

// completeFirstAttempt completes one slice or kind of task, as the first word.
func completeFirstAttempt(app *cmdutil.App, c *cobra.Command, have []string,
	word string) ([]string, cobra.ShellCompDirective) {
	if len(have) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeTasks(app, app.CompleteIDs, false)(c, have, word)
}

// tellTask prints the "key: value" lines that the slash command of a task begins with: the text is
// that given, or that of the attempt.
func tellTask(ctx context.Context, app *cmdutil.App, pr *project.Project,
	t attempt.Task, key string) {
	own := ownAttempt(app, pr, attempt.TaskID(t.Name))
	if own != nil && t.Text == "" {
		t.Text = own.ID.Title
	}
	lines := []keyValue{{"task", t.Name}, {key, t.Text}}
	root := pr.Root
	if own != nil {
		root = own.Job.Dir
	}
	if t.Summary && (own == nil || own.Task.Summary != "") {
		summary := filepath.Join(root, filepath.FromSlash(attempt.SummaryFile(&t, 0, time.Now())))
		if own != nil {
			summary = own.SummaryPath(root)
		}
		lines = append(lines, keyValue{"summary", summary})
	}
	pairs(app.IO, append(append(lines, headless(app)), projectFacts(ctx, app.IO, root, pr)...))
	tellHandoff(app.IO, own)
	markRead(pr, own)
}

// headless tells an agent started by gl that no person can answer.
func headless(app *cmdutil.App) keyValue {
	if app.Getenv("GL_SESSION") == "" {
		return keyValue{}
	}
	return keyValue{"headless", "no one can answer"}
}

// pairs prints "key: value" lines for agents, leaving out empty values.
func pairs(out *iostreams.Streams, lines []keyValue) {
	for _, l := range lines {
		if l.value != "" {
			out.Printf("%s: %s\n", l.key, sanitize.Line(l.value))
		}
	}
}

// stateless returns the error of a command that needs state, naming the tasks that run without it.
func stateless(app *cmdutil.App, err error) error {
	if !errors.Is(err, project.ErrNoState) {
		return err
	}
	pr, openErr := app.AnyProject()
	if openErr != nil {
		return err
	}
	p, planErr := pr.Plan(time.Now(), pr.Options())
	if planErr != nil {
		return err
	}
	for _, l := range atWork(p, time.Now()) {
		app.IO.Printf("%s\n", status.Hang(l[0], l[1], app.IO.Width()))
	}
	return err
}

// atWork returns the running and the merging items and tasks, each with a label.
func atWork(p *plan.Plan, now time.Time) [][2]string {
	list := [][2]string{
		{"Running:", status.Running(p, now)}, {"Merging:", status.Merging(p, now)},
	}
	return slices.DeleteFunc(list, func(l [2]string) bool { return l[1] == "" })
}

// notOnPath returns the error for a program that isn't on PATH.
func notOnPath(a agent.Agent, root string) error {
	if _, err := paths.Program(a.Program, root); err == nil {
		return nil
	}
	msg := fmt.Sprintf("%s is not on PATH", a.Program)
	if a.Install != "" {
		msg += ": install it with " + a.Install
	} else {
		msg += fmt.Sprintf(": it is the command of parallel.agents.%s in .greenlight/config.json",
			a.Name)
	}
	return &cmdutil.ExitError{Code: cmdutil.ExitMissing, Err: errors.New(msg)}
}
