package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

func newDo(app *cmdutil.App) *cobra.Command {
	o := sliceOptions{watch: true}
	var file string
	c := &cobra.Command{
		Use:   "do TEXT...",
		Short: "Have agents do tasks side by side, in any git repository",
		Long: `Have an agent work on each TEXT, side by side, each in a worktree and on a branch of its own. What an agent calls complete is
tested on the merge (test.command) and then merged, one after the other, into the branch that was checked out when gl first built something
here, or git.target. gl status, gl review, gl diff and the other commands work on these tasks as on slices.

It needs no project. Without one, the state is kept in .greenlight at the top of the repository, where git ignores it; in a project, the
tasks become slices of it. In a project of Specwright or GSD, use gl quick.

With -f, each line of FILE is a task, unless it is blank, begins with # or is ticked off ("- [x]"). Marks of a list in front ("-", "1.") are
left out.

Exit codes: 0 all are done; 1 one isn't, or it failed; 2 wrong usage; 127 the agent's program is not on PATH; 130, 143 interrupted.`,
		Example: `  gl do 'fix the typo in the README' 'add --json to the list command'` +
			"\n  gl do -f tasks.md --max 6",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, texts []string) error {
			if err := o.check(c); err != nil {
				return err
			}
			return runDo(c.Context(), app, texts, file, o)
		},
	}
	f := c.Flags()
	f.StringVarP(&file, "file", "f", "", "take the tasks from the lines of `FILE`, - for stdin")
	f.IntVar(&o.max, "max", 0, "run at most `N` agents at once (default 4)")
	f.StringVar(&o.agent, "agent", "", "use the agent `NAME`, as for gl slice")
	f.StringVar(&o.runner, "runner", "",
		"run agents in parallel `HOW`: tmux or process (default tmux if installed)")
	f.BoolVar(&o.json, "json", false,
		"print events as they come, one JSON document a line, and messages to stderr")
	cmdutil.CompleteFlag(c, "agent", app.Agents)
	cmdutil.CompleteFlag(c, "runner", runners)
	return c
}

// readTasks returns the tasks of a text, one per line, and those that are ticked off.
func readTasks(text string) (tasks, ticked []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		line = afterMark(line)
		done := false
		for _, box := range []string{"[ ]", "[x]", "[X]"} {
			if rest, ok := strings.CutPrefix(line, box); ok {
				line, done = strings.TrimSpace(rest), box != "[ ]"
				break
			}
		}
		switch {
		case line == "":
		case done:
			ticked = append(ticked, line)
		default:
			tasks = append(tasks, line)
		}
	}
	return tasks, ticked
}

// afterMark returns a line without its list marker: "- ", "* ", "+ ", "1. ", "2) ".
func afterMark(line string) string {
	mark, rest, ok := strings.Cut(line, " ")
	number := strings.TrimRight(mark, ".)")
	isNumber := len(mark) == len(number)+1 && number != "" &&
		strings.Trim(number, "0123456789") == ""
	switch {
	case mark == "-", mark == "*", mark == "+", isNumber:
		if !ok {
			return ""
		}
		return strings.TrimSpace(rest)
	}
	return line
}

func runDo(ctx context.Context, app *cmdutil.App, tasks []string, file string,
	o sliceOptions) error {
	if file != "" {
		more, err := tasksOf(app, file)
		if err != nil {
			return err
		}
		tasks = append(tasks, more...)
	}
	for i, text := range tasks {
		if tasks[i] = strings.TrimSpace(text); !ops.Sayable(tasks[i]) {
			return cmdutil.Usage("task %d must be text, of at most %d KB and without control characters", i+1, maxText>>10)
		}
	}
	if len(tasks) == 0 {
		return cmdutil.Usage("say what is to be done, each task in quotes: gl do 'fix the typo' 'add a test'")
	}
	if app.Inside() {
		return errors.New("gl do starts agents, which is for a person in a terminal: use gl add-slice here")
	}
	if err := notOurs(ctx, app, tasks); err != nil {
		return err
	}
	pr, err := adHocPlace(ctx, app)
	if err != nil {
		return err
	}
	// First, so that a job that can't be started leaves neither a project nor slices behind.
	inCopy, err := mayDo(ctx, app, pr, o)
	if err != nil {
		return err
	}
	if pr, err = beginAdHoc(ctx, app, pr); err != nil {
		return err
	}
	noteUntested(app, pr)
	var ids []string
	for _, text := range tasks {
		id, err := ops.AddTask(ctx, pr, text)
		if err != nil {
			return err
		}
		ids = append(ids, id)
		name, _, _ := strings.Cut(text, "\n")
		tell := app.IO
		if o.json {
			tell = tell.ForMessages()
		}
		tell.Printf("%s: %s\n", id, sanitize.Line(name))
	}
	err = runSlice(ctx, app, o, ids)
	if inCopy {
		app.IO.Message("the rehearsal was in a copy: the project has %s, still to be done; gl remove %s drops it",
			words.Some(ids), ids[0])
	}
	return err
}

// tasksOf reads the tasks of a file, and tells which of its tasks are left out.
func tasksOf(app *cmdutil.App, file string) ([]string, error) {
	text, err := readText(app, file)
	if err != nil {
		return nil, err
	}
	tasks, ticked := readTasks(text)
	if n := len(ticked); n > 0 {
		app.IO.Message("left out %s that %s ticked off: %s%s", words.Count(n, "task"),
			map[bool]string{true: "is", false: "are"}[n == 1],
			strings.Join(sanitized(ticked[:min(n, mostTicked)]), "; "), words.More(n-mostTicked))
	}
	return tasks, nil
}

// notOurs refuses tasks where another system keeps the state, and says what does them there.
func notOurs(ctx context.Context, app *cmdutil.App, tasks []string) error {
	pr, err := taskProject(ctx, app)
	if err != nil || pr.Stateless() || pr.RequireGreenlight() == nil {
		return nil // adHocPlace tells what is wrong
	}
	text := sanitize.Line(shellwords.Quote(tasks[0]))
	how := "gl quick " + text + " does it now"
	if keep := pr.System().Keep; keep != "" {
		how += ", " + keep + " " + text + " keeps it for the plan"
	}
	if len(tasks) > 1 {
		how += ", and so on"
	}
	return fmt.Errorf("gl do adds Greenlight slices, and %s is a %s project: %s", pr.Root, pr.System().Name, how)
}

// mayDo checks that agents can be started on tasks, and reports whether they will work in a scratch
// copy. It changes nothing.
func mayDo(ctx context.Context, app *cmdutil.App, pr *project.Project,
	o sliceOptions) (inCopy bool, err error) {
	if err := configErr(pr); err != nil {
		return false, err
	}
	if err := checkRunner(o.runner); err != nil {
		return false, err
	}
	if _, err := pr.OpenWorktrees(ctx); err != nil {
		return false, err
	}
	j, err := newJob(app, pr, o, "quick") // a place without state may have tasks, but no slices
	if err != nil {
		return false, err
	}
	return j.copies(), j.permitted(ctx)
}

// noteUntested notes that the work will be merged untested, and how to change that.
func noteUntested(app *cmdutil.App, pr *project.Project) {
	if pr.Config.Test.Command.IsSet() {
		return
	}
	app.IO.Message("there is no test command, so merged work is unverified: %s",
		testrun.SetCommand(pr.Root, pr.Flags(), testrun.Command{}))
}

// mostTicked limits how many ticked-off tasks are named.
const mostTicked = 5

// sanitized makes texts from a file safe for a terminal, each on one line.
func sanitized(texts []string) []string {
	list := make([]string, len(texts))
	for i, t := range texts {
		list[i] = sanitize.Line(t)
	}
	return list
}

// maxTasks is the largest file of tasks that is read, in bytes.
const maxTasks = 1 << 20

// readText reads a file that the person named, - for stdin.
func readText(app *cmdutil.App, name string) (string, error) {
	if name == "-" {
		data, err := io.ReadAll(io.LimitReader(app.IO.In, maxTasks))
		return string(data), err
	}
	if !filepath.IsAbs(name) {
		dir, err := app.Dir()
		if err != nil {
			return "", err
		}
		name = filepath.Join(dir, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTasks))
	return string(data), err
}

// adHocPlace returns the project here or, in a git repository without one, the place for a private
// project. It changes nothing.
func adHocPlace(ctx context.Context, app *cmdutil.App) (*project.Project, error) {
	pr, err := taskProject(ctx, app)
	if err != nil {
		return nil, err
	}
	if !pr.Stateless() {
		if err := pr.RequireGreenlight(); err != nil {
			return nil, err
		}
		return pr, ops.LandsWith(pr)
	}
	if err := worktree.CheckGit(ctx); err != nil {
		return nil, err
	}
	top, err := git.Root(ctx, pr.Root)
	if err != nil {
		return nil, err
	}
	if top == "" {
		return nil, fmt.Errorf("%s isn't in a git repository: run %s", pr.Root, worktree.BeginRepository)
	}
	return pr, nil
}

// beginAdHoc creates a private project at an adHocPlace without one.
func beginAdHoc(
	ctx context.Context, app *cmdutil.App, pr *project.Project,
) (*project.Project, error) {
	if !pr.Stateless() {
		return pr, nil
	}
	if err := ops.BeginAdHoc(ctx, pr.Root); err != nil {
		return nil, err
	}
	app.IO.Message("the state is in %s, where git ignores it",
		filepath.Join(pr.Root, ".greenlight"))
	return project.Open(pr.Root)
}

// landBranches puts branches through the merge queue, one after the other.
func landBranches(ctx context.Context, app *cmdutil.App, branches []string) error {
	pr, err := adHocPlace(ctx, app)
	if err != nil {
		return err
	}
	repo, err := pr.OpenWorktrees(ctx)
	if err != nil {
		return err
	}
	for _, name := range branches {
		if _, err := ops.BranchTip(ctx, repo, name); err != nil {
			return err
		}
	}
	if pr, err = beginAdHoc(ctx, app, pr); err != nil {
		return err
	}
	l, err := permittedLane(ctx, app, pr)
	if err != nil {
		return err
	}
	noteUntested(app, pr)
	failed := false
	for _, name := range branches {
		b, err := ops.TakeBranch(ctx, pr, repo, name)
		if errors.Is(err, ops.ErrNothingToDo) {
			app.IO.Printf("%s is merged already\n", sanitize.Line(b.Name))
			continue
		}
		if err != nil {
			return err
		}
		if b.LeftOver > 0 {
			app.IO.Message("%s in %s isn't committed, so it isn't merged",
				words.Count(b.LeftOver, "path"), b.Where)
		}
		app.Made(pr, b.Slice)
		app.IO.Printf("merging %s as %s\n", sanitize.Line(b.Name), b.Slice)
		a, err := ops.Accept(ctx, pr, b.Slice, b.Lineage, ops.Approval{})
		if err == nil {
			err = landAccepted(ctx, app, l, b.Lineage, a)
		}
		if exit := new(cmdutil.ExitError); errors.As(err, &exit) && exit.Err == nil {
			failed = true
			continue
		}
		if err != nil {
			return err
		}
	}
	if failed {
		return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
	}
	return nil
}
