package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
)

// An overviewDoc is what gl state overview --json prints.
type overviewDoc struct {
	SchemaVersion int      `json:"schema_version"`
	ValueProp     *string  `json:"value_prop"` // the project's purpose; null for unknown
	Stack         *string  `json:"stack"`      // its technologies; null for unknown
	Mode          string   `json:"mode" jsonschema:"enum=interactive,enum=yolo"`
	Blockers      []string `json:"blockers"`
}

func newStateOverview(app *cmdutil.App) *cobra.Command {
	var c ops.OverviewChanges
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "overview [KEY=VALUE...]",
		Short: "Show or change the project's purpose, stack and blockers",
		Long: `Show what is known of the project besides its slices, or change it: value_prop (what the project is for), stack, and the
blockers. It is kept in project-state.json and shown in STATE.md. An empty value clears a field. All changes are one write. --decision adds a
decision of the whole project to DECISIONS.md; one of a slice goes there by gl state note.

Exit codes: 0 shown or written; 1 it failed, or no such blocker; 2 wrong usage.`,
		Example: `  gl state overview
  gl state overview value_prop="Bookings for small hotels" stack="Go, PostgreSQL"
  gl state overview --blocker "No access to the payment sandbox"
  gl state overview --resolve sandbox
  gl state overview --decision "Prices are integers of cents"`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string,
			string) ([]string, cobra.ShellCompDirective) {
			var list []string
			for _, key := range ops.OverviewKeys() {
				list = append(list, key+"=")
			}
			return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
		RunE: func(cmd *cobra.Command, a []string) error {
			return runOverview(cmd.Context(), app, a, c, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&c.Add, "blocker", nil, "add a blocker that says `TEXT`")
	f.StringArrayVar(&c.Resolve, "resolve", nil, "remove the blocker that contains `TEXT`")
	f.StringArrayVar(&c.Decide, "decision", nil, "add a decision of the whole project that says `TEXT` to DECISIONS.md, and print its number")
	f.BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func runOverview(ctx context.Context, app *cmdutil.App, words []string, c ops.OverviewChanges,
	asJSON bool) error {
	var err error
	if c.Set, err = ops.ParseOverview(words); err != nil {
		return err
	}
	for _, text := range slices.Concat(c.Add, c.Resolve, c.Decide) {
		if !ops.IsLine(text) {
			return cmdutil.Usage("a blocker and a decision must be one line of text without control characters")
		}
	}
	for _, s := range c.Set {
		if s.Value != "" && !ops.IsLine(s.Value) {
			return cmdutil.Usage("%s must be one line of text without control characters", s.Key)
		}
	}
	pr, err := app.Greenlight()
	if err != nil {
		return err
	}
	if len(c.Set)+len(c.Add)+len(c.Resolve)+len(c.Decide) > 0 {
		decided, err := ops.EditOverview(ctx, pr, c)
		for _, id := range decided {
			app.IO.Printf("%s\n", id)
		}
		return err
	}
	o, err := ops.ReadOverview(pr)
	switch {
	case err != nil:
		return err
	case asJSON:
		return app.IO.JSON(overviewDoc{1, jsondoc.OrNull(o.ValueProp), jsondoc.OrNull(o.Stack),
			o.Mode, jsondoc.OrEmpty(o.Blockers)})
	}
	list := []keyValue{{"value_prop", o.ValueProp}, {"stack", o.Stack}, {"mode", o.Mode}}
	for _, b := range o.Blockers {
		list = append(list, keyValue{"blocker", b})
	}
	pairs(app.IO, list)
	return nil
}
