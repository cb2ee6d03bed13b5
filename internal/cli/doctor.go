package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/doctor"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/run/project"
)

func newDoctor(app *cmdutil.App) *cobra.Command {
	var fix, asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything, and say what to do",
		Long: `Check the project: slice files, graph, claims, attempts, leftovers of dead processes, worktrees, STATE.md, project-state.json,
config.json, the tools and their versions, and what git should ignore. Each finding says where it is, what is wrong, and
what helps. They are in three groups: what you must see to, because it keeps slices from being built (an error in --json); what
you should, because it is wrong (a warning); and what is good to know (a note). Nothing is written.

--fix fixes what is safe to fix, and lists what it did: it removes temporary files of dead processes and environments of
attempts that have ended, settles attempts whose gl process is gone, and writes STATE.md and .greenlight/.gitignore.

Without a project, only git, tmux and the agent are checked.

Exit codes: 0 no errors found; 1 errors found; 2 wrong usage.`,
		Example: "  gl doctor\n  gl doctor --fix\n  gl doctor --json | jq '.findings[] | select(.group == \"must\")'",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return runDoctor(c.Context(), app, fix, asJSON)
		},
	}
	c.Flags().BoolVar(&fix, "fix", false, "fix what is safe to fix")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func runDoctor(ctx context.Context, app *cmdutil.App, fix, asJSON bool) error {
	pr, err := app.Project()
	if (errors.Is(err, project.ErrNoProject) || errors.Is(err, project.ErrNoState)) && !fix {
		pr, err = machine(app)
	}
	if err != nil {
		return err
	}
	busy := app.IO.Progress("reading the project")
	defer busy.Done()
	var fixed []string
	if fix {
		fixed = fixProject(ctx, app.IO, pr)
	}
	dir, _ := app.Dir() // if the directory is gone, paths are shown whole
	report, err := doctor.Check(ctx, pr, doctor.Options{
		Version: release(), Content: shipped(), Self: cmdutil.Self, Getenv: app.Getenv, Dir: dir,
		Now:   time.Now(),
		Begin: func(check string) { busy.Step("checking: " + check) },
	})
	if err != nil {
		return err
	}
	report.Fixed = append(report.Fixed, fixed...)
	busy.Done()
	if asJSON {
		err = app.IO.JSON(report)
	} else {
		printReport(app.IO, report)
	}
	if err == nil && report.Errors > 0 {
		return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
	}
	return err
}

// machine returns a place without a project, for the checks of this machine.
func machine(app *cmdutil.App) (*project.Project, error) {
	dir, err := app.Dir()
	if err != nil {
		return nil, err
	}
	app.IO.Message(`there is no Greenlight project here, so only git, tmux and the agent are checked: gl do "TEXT" or gl init begins one`)
	return project.OpenRuns(dir)
}

// fixProject fixes what is safe to fix and returns what it did. A fix that fails is a warning.
func fixProject(ctx context.Context, io *iostreams.Streams, pr *project.Project) []string {
	var did []string
	for _, f := range doctor.Fix(ctx, pr) {
		did = append(did, f.Did...)
		if f.Err != nil {
			io.Message("warning: %v", f.Err)
		}
	}
	return did
}

// doctorGroups has the headings of the groups and what belongs there.
var doctorGroups = map[doctor.Group]struct {
	title, about string
	color        term.Color
}{
	doctor.Must:       {"Must", "slices aren't built, or gl doesn't do what is set, until then", term.Red},
	doctor.Should:     {"Should", "wrong, but it keeps nothing from going on", term.Yellow},
	doctor.GoodToKnow: {"Good to know", "nothing is wrong", ""},
}

// printReport prints the findings by group, the most urgent first.
func printReport(io *iostreams.Streams, r *doctor.Report) {
	for _, did := range r.Fixed {
		io.Printf("fixed: %s\n", sanitize.Text(did))
	}
	switch {
	case len(r.Findings) > 0:
	case r.Format == project.NoFormat:
		io.Printf("No problems found\n")
		return
	default:
		io.Printf("No problems found in %s\n", words.Count(r.Slices, r.Noun))
		return
	}
	first := len(r.Fixed) == 0
	for _, group := range doctor.Groups() {
		list := slices.DeleteFunc(slices.Clone(r.Findings), func(f doctor.Finding) bool {
			return f.Group != group
		})
		if len(list) == 0 {
			continue
		}
		if !first {
			io.Printf("\n")
		}
		first = false
		g := doctorGroups[group]
		head := fmt.Sprintf("%s (%d)", g.title, len(list))
		text := term.Wrap(head+": "+g.about, io.Width(), 2)
		io.Printf("%s%s\n", io.Paint(g.color, io.Paint(term.Bold, head)), text[len(head):])
		for _, f := range list {
			printFinding(io, f)
		}
	}
	fixable := 0
	for _, f := range r.Findings {
		if f.Fixable {
			fixable++
		}
	}
	if fixable > 0 {
		io.Printf("\n%s fixes %d\n", doctor.FixCommand, fixable)
	}
}

// printFinding prints a finding, with the help on separate, unwrapped lines, so that commands can
// be copied.
func printFinding(io *iostreams.Streams, f doctor.Finding) {
	text := ""
	if f.Path != nil && !strings.Contains(f.Message, *f.Path) {
		text = *f.Path + ": "
	}
	text += strings.ReplaceAll(f.Message, "\n", "; ")
	io.Printf("%s\n", term.Wrap("  "+sanitize.Text(text), io.Width(), 2))
	if f.Help != nil {
		io.Printf("    %s\n", io.Paint(term.Green, sanitize.Text(*f.Help)))
	}
}
