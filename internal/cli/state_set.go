package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
)

func newStateSet(app *cmdutil.App) *cobra.Command {
	keys := ops.AgentKeys()
	agents := term.Wrap("The agent of an attempt can change its own slice, and of its fields only "+
		strings.Join(keys[:len(keys)-1], ", ")+" and "+keys[len(keys)-1]+
		". The others are for a person.", 120, 0)
	return &cobra.Command{
		Use:   "set ID key=value...",
		Short: "Change fields of a slice, all in one write",
		Long: `Change fields of a slice's file, all in one write. Other fields keep every byte, and "updated" becomes the time of the
change. An empty value clears a field. gl checks the fields it knows: status must be a known one, counts must be whole
numbers, and deps must be slices and must not form a cycle. Other keys can have any value.

` + agents + `

gl also changes a slice that another session is working on, with a warning. Setting status to pending lets the next
gl slice launch a stalled slice again.

Exit codes: 0 written; 1 it failed; 2 wrong usage, or an invalid value.`,
		Example: `  gl state set S-07 status=implementing step=implementing
  gl state set S-07 status=complete step=complete tests=42 security_tests=7
  gl state set S-07 deps=S-02,S-03
  gl state set S-07 waiting_for="a look at the mail's wording"`,
		Args:              cmdutil.Args(cobra.MinimumNArgs(2)),
		ValidArgsFunction: app.Complete(completeSet),
		RunE: func(c *cobra.Command, a []string) error {
			return runSet(c.Context(), app, a[0], a[1:])
		},
	}
}

func completeSet(app *cmdutil.App, c *cobra.Command, have []string,
	word string) ([]string, cobra.ShellCompDirective) {
	if len(have) == 0 {
		return app.CompleteIDs(c, have, word)
	}
	var list []string
	if key, _, chosen := strings.Cut(word, "="); chosen {
		for _, v := range valuesOf(app, key) {
			list = append(list, key+"="+v)
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
	for _, k := range ops.Keys() {
		if k != "id" { // can't be changed
			list = append(list, k+"=")
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// valuesOf returns the values of a field for completion.
func valuesOf(app *cmdutil.App, key string) []string {
	switch key {
	case "status":
		return ops.Statuses()
	case "step":
		return append([]string{"none", "complete"},
			slices.DeleteFunc(ops.Statuses(), func(s string) bool { return !plan.IsStep(s) })...)
	case "milestone":
		return app.Milestones()
	case "deps":
		ids, _ := app.CompleteIDs(nil, nil, "")
		return ids
	}
	return nil
}

func runSet(ctx context.Context, app *cmdutil.App, id string, words []string) error {
	changes, err := ops.ParseChanges(words)
	if err != nil {
		return err
	}
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	if app.Caller() != nil {
		if err := ops.CheckAgent(id, changes); err != nil {
			return err
		}
	}
	notes, err := ops.Set(ctx, pr, id, changes, app.Claimant(id))
	messages(app.IO, notes)
	return err
}
