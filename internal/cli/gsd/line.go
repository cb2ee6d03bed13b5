package gsd

import (
	"fmt"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/state/gsd"
)

func newLine(app *cmdutil.App) *cobra.Command {
	var compact, asJSON bool
	c := &cobra.Command{
		Use:   "line",
		Short: "Print the state's segment of the status line",
		Long: `Print where a GSD project stands, in one line, as GSD's own status line has it: the milestone with its bar, then the phase
that a command works on, or the command to run next, or that the milestone is complete, or the status and the phase. It is
for a status line of your own; gl statusline is a whole one.

The project is found from here upwards; with workstreams GSD_WORKSTREAM, or the one that GSD has stored, is the one shown. At
most 256 kB of STATE.md are read, and nothing is written.

Exit codes: 0 printed; 1 there is no GSD state here, or it can't be read; 2 wrong usage.`,
		Example: "  gl gsd line\n  gl gsd line --compact\n  gl gsd line --json | jq -r .position.percent",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE:    func(*cobra.Command, []string) error { return runLine(app, compact, asJSON) },
	}
	c.Flags().BoolVar(&compact, "compact", false, "in few columns: v1.12 · P7/12 · executing")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

// maxGsdLine limits the characters of the line, which other programs put into a status line.
const maxGsdLine = 4 << 10

// A LineDoc is what gl gsd line --json prints.
type LineDoc struct {
	SchemaVersion int         `json:"schema_version"`
	Line          string      `json:"line"`    // the segment, with the text of the files, unescaped
	Compact       string      `json:"compact"` // the same in fewer columns
	Position      positionDoc `json:"position"`
}

// A positionDoc is what the line is made from, as in the file.
type positionDoc struct {
	// from the front matter, otherwise a word for the body's status
	Status          *string  `json:"status"`
	Milestone       *string  `json:"milestone"`        // its version
	MilestoneName   *string  `json:"milestone_name"`   // its name
	ActivePhase     *string  `json:"active_phase"`     // the phase that a command is working on
	NextAction      *string  `json:"next_action"`      // the command to run next, without its slash
	NextPhases      []string `json:"next_phases"`      // the phases to run it on
	CompletedPhases *string  `json:"completed_phases"` // digits
	TotalPhases     *string  `json:"total_phases"`     // digits
	Percent         *string  `json:"percent"`          // digits
	// digits, from the body's line Phase: 1 of 5 (Name)
	PhaseNumber *string `json:"phase_number"`
	PhaseTotal  *string `json:"phase_total"` // digits, from the same line
	PhaseName   *string `json:"phase_name"`  // from the same line
	// the project has workstreams and none is selected
	NoWorkstream bool `json:"no_workstream"`
}

func runLine(app *cmdutil.App, compact, asJSON bool) error {
	dir, err := app.Dir()
	if err != nil {
		return err
	}
	p, ok := gsd.ReadPosition(dir, app.Getenv)
	if !ok {
		return fmt.Errorf("%s: no .planning/STATE.md that can be read, here or above: type %s in Claude Code to begin one", dir,
			gsd.Slash(dir, "new-project", app.Getenv))
	}
	if !asJSON {
		app.IO.Printf("%s\n", term.OneLine(p.Line(compact), maxGsdLine))
		return nil
	}
	next := p.NextPhases
	if next == nil {
		next = []string{}
	}
	return app.IO.JSON(LineDoc{1, p.String(), p.Compact(), positionDoc{
		Status: jsondoc.OrNull(p.Status), Milestone: jsondoc.OrNull(p.Milestone),
		MilestoneName: jsondoc.OrNull(p.MilestoneName),
		ActivePhase:   jsondoc.OrNull(p.ActivePhase), NextAction: jsondoc.OrNull(p.NextAction),
		NextPhases:      next,
		CompletedPhases: jsondoc.OrNull(p.CompletedPhases),
		TotalPhases:     jsondoc.OrNull(p.TotalPhases), Percent: jsondoc.OrNull(p.Percent),
		PhaseNumber: jsondoc.OrNull(p.PhaseNum), PhaseTotal: jsondoc.OrNull(p.PhaseTotal),
		PhaseName: jsondoc.OrNull(p.PhaseName), NoWorkstream: p.NoWorkstream,
	}})
}
