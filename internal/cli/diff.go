package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/show/linecolor"
	"greenlight/internal/show/workdoc"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

type diffOptions struct {
	stat, json bool
	tool       string
	useTool    bool
}

// configuredTool means the program in git's configuration.
const configuredTool = "configured"

func newDiff(app *cmdutil.App) *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff [ID]",
		Short: "Show what a slice changed",
		Long: `Show what a slice changed. For an unfinished slice that is its current worktree, including uncommitted work, compared with the merged
work; for a done one, the commit that merged it. Without an ID, it is the slice of this session, or the only one with unmerged work.
Tasks such as @quick.1 are shown like slices.

On a terminal, gl diff uses colors and a pager. Otherwise its output is a patch that git apply takes.

Exit codes: 0 shown; 1 git doesn't know what the slice changed; 2 wrong usage.`,
		Example:           "  gl diff S-07\n  gl diff S-07 --stat\n  gl diff S-07 --tool=meld",
		Args:              cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: app.Complete(completeFirstAttempt),
		RunE: func(c *cobra.Command, a []string) error {
			o.useTool = c.Flags().Changed("tool")
			if o.useTool && (o.json || o.stat) || o.json && o.stat {
				return cmdutil.Usage("give one of --stat, --tool and --json")
			}
			return runDiff(c.Context(), app, append(a, "")[0], o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.stat, "stat", false, "show how much has changed in each file")
	f.StringVar(&o.tool, "tool", "",
		"open it in git difftool, with the program `NAME` or the configured one")
	f.Lookup("tool").NoOptDefVal = configuredTool
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	return c
}

func runDiff(ctx context.Context, app *cmdutil.App, id string, o diffOptions) error {
	pr, task, err := diffed(app, id)
	if err != nil {
		return err
	}
	l, err := openLane(ctx, app, pr, pr.Root)
	if none := new(worktree.Unavailable); errors.As(err, &none) {
		if none.NoRepository {
			return err
		}
		return errors.New("slices are built in the checkout here (" + none.Reason +
			"): git diff shows what isn't committed")
	}
	if err != nil {
		return err
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return err
	}
	switch {
	case task != "":
		id = task
	case id == "":
		id, err = toDiff(app, l, p)
	default:
		id, err = app.Resolve(p, id)
	}
	if err != nil {
		return err
	}
	d, err := l.Reader.Diff(ctx, id)
	if err != nil {
		return err
	}
	if d.TakenBack && !o.json {
		app.IO.Message("%s was taken back: this is what was merged", id)
	}
	switch {
	case o.json:
		return app.IO.JSON(workdoc.NewDiff(d))
	case d.Stat.Files == 0:
		app.IO.Message("%s has changed nothing", id)
		return nil
	case o.useTool:
		return openTool(ctx, app, l, d, o.tool)
	}
	return printDiff(ctx, app.IO, l, d, o.stat)
}

// committedHere begins what to do about the work of agents that commit to the checkout.
const committedHere = "its agents commit to the checkout, so git log lists what they did, and "

// diffed opens the project of what is to be shown. task is "" unless id means a task.
func diffed(app *cmdutil.App, id string) (pr *project.Project, task string, err error) {
	if attempt.IsTask(id) {
		return app.Work(id)
	}
	pr, err = app.Greenlight()
	return pr, "", cmdutil.Instead(err, committedHere+"git show COMMIT shows one")
}

// toDiff is the slice of this session, or the only one that has work which hasn't landed.
func toDiff(app *cmdutil.App, l *lane.Queue, p *plan.Plan) (string, error) {
	if own := app.Getenv("GL_SLICE"); own != "" && p.State(own) != nil {
		return own, nil
	}
	var ids []string
	for i := range p.States {
		st := &p.States[i]
		if lineage, err := l.Repo.Lineages.Get(l.Project.Key(), st.ID); err == nil &&
			lineage.Phase != worktree.Gone && st.Class != plan.Done {
			ids = append(ids, st.ID)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) &&
			!errors.As(err, new(*worktree.BadLineage)) {
			return "", err
		}
	}
	switch len(ids) {
	case 0:
		if merged := done(p); len(merged) > 0 {
			return "", cmdutil.Usage("no slice has unmerged work; merged: %s", words.Some(merged))
		}
		return "", cmdutil.Usage("no slice has unmerged work")
	case 1:
		return ids[0], nil
	}
	return "", cmdutil.Usage("which slice? these have unmerged work: %s", words.Some(ids))
}

func openTool(ctx context.Context, app *cmdutil.App, l *lane.Queue, d *lane.Diff,
	tool string) error {
	in, hasIn := app.IO.In.(*os.File)
	out, hasOut := app.IO.Out.(*os.File)
	errs, hasErr := app.IO.Err.(*os.File)
	if !hasIn || !hasOut || !hasErr {
		return errors.New("--tool needs a terminal")
	}
	if tool == configuredTool {
		tool = ""
	}
	return git.DiffTool(ctx, l.Repo.Git.Top, tool, d.From, d.To, in, out, errs)
}

const defaultWidth = 80

// printDiff prints a diff. What a terminal would obey is made visible there; elsewhere it is a
// patch, byte for byte.
func printDiff(ctx context.Context, out *iostreams.Streams, l *lane.Queue, d *lane.Diff,
	stat bool) error {
	var o git.DiffOptions
	if stat {
		if o.Stat = out.Width(); o.Stat == 0 {
			o.Stat = defaultWidth
		}
	}
	if out.Terminal() == nil && !out.Colors() {
		return git.Diff(ctx, l.Repo.Git.Common, d.From, d.To, o, out)
	}
	var text bytes.Buffer
	if err := git.Diff(ctx, l.Repo.Git.Common, d.From, d.To, o, &text); err != nil {
		return err
	}
	return paintDiff(out, &text, stat)
}

// paintDiff prints the lines of a diff in git's colors.
func paintDiff(out *iostreams.Streams, text io.Reader, stat bool) error {
	in := bufio.NewReader(text)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			out.Printf("%s\n",
				paintDiffLine(out, sanitize.Text(strings.TrimSuffix(line, "\n")), stat))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func paintDiffLine(out *iostreams.Streams, line string, stat bool) string {
	if stat {
		name, bar, ok := strings.Cut(line, " | ")
		if !ok {
			return line
		}
		plus, minus := strings.IndexByte(bar, '+'), strings.IndexByte(bar, '-')
		if plus >= 0 && minus > plus {
			return name + " | " + bar[:plus] + out.Paint(term.Green, bar[plus:minus]) +
				out.Paint(term.Red, bar[minus:])
		} else if plus >= 0 {
			return name + " | " + bar[:plus] + out.Paint(term.Green, bar[plus:])
		} else if minus >= 0 {
			return name + " | " + bar[:minus] + out.Paint(term.Red, bar[minus:])
		}
		return line
	}
	return out.Paint(linecolor.Diff(line), line)
}
