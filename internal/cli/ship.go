package cli

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/workspace/git"
)

func newShip(app *cmdutil.App) *cobra.Command {
	var o taskOptions
	return o.flags(app, &cobra.Command{
		Use:   "ship [version]",
		Short: "Run the final verification before a release",
		Long: `Run an agent that verifies everything before a release and, with VERSION, tags it: /gl:ship. It refuses while slices
are open, and lists them. The agent writes its report and its verdict to .greenlight/SHIP.md. It is done when the verdict
is yes and, with VERSION, the tag is there; a verdict of no is a failure.`,
		Example: "  gl ship\n  gl ship v1.2.0",
		Args:    cmdutil.Args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			return runShip(c.Context(), app, a, o)
		},
	})
}

func runShip(ctx context.Context, app *cmdutil.App, words []string, o taskOptions) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	p, err := shownPlan(pr, time.Now(), "")
	if err != nil {
		return err
	}
	t, err := newTask("ship", words)
	if err != nil {
		return err
	}
	t.Beside, t.Wants = attempt.None, attempt.Want(shipReport)
	t.Wants.Verdict = shipReport
	if t.Text != "" {
		t.Wants.Tag = t.Text
	}
	refused := mayShip(p, time.Now())
	if app.Inside() {
		verdict := "ready to ship"
		if refused != nil {
			verdict = "refused: " + refused.Error()
		}
		pairs(app.IO, []keyValue{{"ship", verdict}})
		tellTask(ctx, app, pr, t, "version")
		return nil
	}
	app.Warn(p)
	if refused == nil {
		refused = mayTag(ctx, pr.Root, t.Text)
	}
	if refused != nil {
		return refused
	}
	for i := range p.Snapshot.Tasks {
		if task := &p.Snapshot.Tasks[i]; task.ID != attempt.TaskID(t.Name) {
			app.IO.Message("warning: %s is still running and may change what is verified: gl stop %s ends it", task.Name(), task.Name())
		}
	}
	return runTask(ctx, app, pr, t, o)
}

// shipReport is where the agent of gl ship writes its findings and its verdict.
const shipReport = ".greenlight/SHIP.md"

// mayTag refuses a version that can't become a tag: the agent would verify everything for nothing.
func mayTag(ctx context.Context, root, version string) error {
	if version == "" {
		return nil
	}
	if ok, err := git.ValidRef(ctx, "refs/tags/"+version); err == nil &&
		(!ok || strings.HasPrefix(version, "-")) {
		return cmdutil.Usage("%q can't be the name of a tag", version)
	}
	tags, err := git.Tags(ctx, root)
	switch {
	case errors.Is(err, git.ErrNone), errors.Is(err, git.ErrMissing):
		return fmt.Errorf("%s isn't in a git repository, so nothing can be tagged: run gl ship without a version", root)
	case err != nil:
		return err
	}
	for _, tag := range tags {
		if tag.Name == version {
			return fmt.Errorf("the tag %s already exists, at %s of %s: choose another version, or remove it with git tag -d %s", version, tag.Hash, tag.Date, version)
		}
	}
	return nil
}

// mayShip refuses while a slice is open, and names them all.
func mayShip(p *plan.Plan, now time.Time) error {
	var open []string
	for i := range p.States {
		if p.States[i].Class != plan.Done {
			open = append(open, p.States[i].ID)
		}
	}
	sort.Slice(open, func(i, j int) bool { return plan.NaturalLess(open[i], open[j]) })
	switch {
	case p.Snapshot.Unsure != "":
		return errors.New("can't tell whether every slice is done: " + p.Snapshot.Unsure)
	case p.Total == 0:
		return errors.New("nothing to ship: this project has no slices. Run gl add-slice")
	case len(open) == 0:
		return nil
	}
	for i, id := range open {
		open[i] = id + " (" + p.Why(id, now).State + ")"
	}
	next := "gl why"
	if len(p.Lists.Ready) > 0 {
		next += ", then gl slice --watch"
	}
	return fmt.Errorf("%d of %s not done: %s. Run %s", len(open),
		words.Count(p.Total, p.Snapshot.Noun), strings.Join(open, ", "), next)
}
