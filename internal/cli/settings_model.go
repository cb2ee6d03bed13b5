package cli

import (
	"context"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/trust"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/project"
)

func newSettingsModel(app *cmdutil.App) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "model [AGENT [MODEL|reset]]",
		Short: "Print each agent's model, or set one",
		Long: `Set one agent's model, whatever the profile says: a short name (opus, sonnet, haiku, …) or a full model id. reset
returns the agent to the profile's model.

Without MODEL, print the agent's model. Without AGENT, print "agent: model" lines; an agent whose own file names its
model prints nothing.` + settingsExit,
		Example:           "  gl settings model security opus\n  gl settings model security reset\n  gl settings model gl-test-writer",
		Args:              cmdutil.Args(cobra.MaximumNArgs(2)),
		ValidArgsFunction: app.Complete(completeModel),
		RunE: func(c *cobra.Command, a []string) error {
			if len(a) == 2 {
				app.IO.Hush()
				if err := setModel(c.Context(), app, a[0], a[1], !asJSON); err != nil || !asJSON {
					return err
				}
			}
			return runPrintModel(app, append(a, "")[0], asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false,
		"print the models as they are then, in one JSON document")
	return c
}

// A modelsDoc is the models of agents.
type modelsDoc struct {
	SchemaVersion int            `json:"schema_version"`
	Profile       string         `json:"profile"`
	Models        []settingModel `json:"models"` // of the named agent, or of all
}

func completeModel(app *cmdutil.App, c *cobra.Command, have []string,
	word string) ([]string, cobra.ShellCompDirective) {
	if len(have) == 1 {
		return append(project.ModelNames(), project.ResetModel), cobra.ShellCompDirectiveNoFileComp
	}
	return completeSettings(app, (*project.Settings).Roles)(c, have, word)
}

// setModel sets an agent's model, and prints the result.
func setModel(ctx context.Context, app *cmdutil.App, role, model string, tell bool) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	if sibling(pr) {
		if err := keepPrivate(ctx, app, pr); err != nil {
			return err
		}
	}
	var before, after []project.Model
	err = pr.EditSettings(ctx, func(s *project.Settings) error {
		before = s.Models()
		err := s.SetModel(role, model)
		after = s.Models()
		return err
	})
	if err == nil {
		err = pr.Proposals().Decided(ctx, []trust.Command{{Key: "model_overrides." + role}})
	}
	if err != nil {
		return settingError(err)
	}
	if !tell {
		return nil
	}
	for i, m := range after {
		if i < len(before) && before[i] != m {
			app.IO.Printf("%s\n", sanitize.Line(m.Role+" gets "+modelText(m)))
			return nil
		}
	}
	app.IO.Printf("%s\n", sanitize.Line(role+" has that model already"))
	return nil
}

// runPrintModel prints the models as commands read them.
func runPrintModel(app *cmdutil.App, role string, asJSON bool) error {
	s, err := settings(app)
	if err != nil {
		return err
	}
	list := s.Models()
	if role != "" {
		m, err := s.ModelOf(role)
		if err != nil {
			return settingError(err)
		}
		list = []project.Model{m}
	}
	if asJSON {
		return app.IO.JSON(modelsDoc{1, s.Profile(), modelItems(list)})
	}
	if role != "" {
		m := list[0]
		if m.Model != "" {
			app.IO.Printf("%s\n", sanitize.Line(m.Model))
		}
		return nil
	}
	for _, m := range list {
		if m.Model != "" {
			app.IO.Printf("%s\n", sanitize.Line(m.Role+": "+m.Model))
		}
	}
	return nil
}

func modelText(m project.Model) string {
	switch {
	case m.Model == "":
		return "the model that its own file names"
	case m.Override:
		return m.Model + ", its own"
	}
	return m.Model + ", the profile's"
}

// modelSource returns where a model comes from; "" if unknown.
func modelSource(m project.Model) string {
	switch {
	case m.Override:
		return "override"
	case m.Model != "":
		return "profile"
	}
	return ""
}

func modelItems(list []project.Model) []settingModel {
	items := []settingModel{}
	for _, m := range list {
		items = append(items,
			settingModel{m.Role, jsondoc.OrNull(m.Model), jsondoc.OrNull(modelSource(m))})
	}
	return items
}
