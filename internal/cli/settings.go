package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/suggest"
	"greenlight/internal/base/trust"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/state/statedir"
)

const settingsExit = `

Exit codes: 0 done; 1 it failed; 2 wrong usage, or a value that can't be.`

func newSettings(app *cmdutil.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "settings [KEY]",
		Short: "Show and explain the settings, or change one",
		Long: `Show every setting with what it does, its value and where that comes from, and the model of each agent. With a KEY, explain
one setting; with the beginning of keys, such as parallel or test, show those. Settings are stored in .greenlight/config.json,
where a change keeps every other byte. A command's flag overrides the setting.` + settingsExit,
		Example: `  gl settings
  gl settings parallel.max
  gl settings test
  gl settings profile budget
  gl settings model security opus
  gl settings mode yolo
  gl settings set parallel.max 6
  gl settings unset parallel.max
  gl settings get test.command`,
		ValidArgsFunction: completeSettings(app, settingKeys),
		RunE: func(c *cobra.Command, a []string) error {
			return showOrExplain(app, c, a, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	c.AddCommand(newSettingsProfile(app), newSettingsModel(app), newSettingsMode(app),
		newSettingsGet(app), newSettingsSet(app), newSettingsUnset(app))
	return c
}

func newSettingsProfile(app *cmdutil.App) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "profile [NAME]",
		Short: "Choose which models the agents get",
		Long: `Choose the profile, or explain it. It selects a model for each agent that has none of its own. The profiles are those in
config.json, or quality, balanced and budget.` + settingsExit,
		Example:           "  gl settings profile quality",
		Args:              cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: completeSettings(app, (*project.Settings).Profiles),
		RunE: func(c *cobra.Command, a []string) error {
			if len(a) == 0 {
				return explainSetting(c.Context(), app, "model_profile", asJSON)
			}
			return changeSetting(c.Context(), app, "model_profile", a[0], asJSON)
		},
	}
	return settingJSON(app, c, &asJSON)
}

// settingJSON gives a command that changes a setting the flag --json, which prints the new setting.
func settingJSON(app *cmdutil.App, c *cobra.Command, asJSON *bool) *cobra.Command {
	c.Flags().BoolVar(asJSON, "json", false,
		"print the setting as it is then, in one JSON document")
	return cmdutil.Telling(app, c)
}

func newSettingsMode(app *cmdutil.App) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:     "mode [interactive|yolo]",
		Short:   "Choose between interactive and yolo mode",
		Long:    "Choose the mode, or explain it. In interactive mode gl asks before it takes over a stale claim and in similar cases; in yolo mode it\ndoesn't." + settingsExit,
		Example: "  gl settings mode yolo",
		Args:    cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: completeSettings(app, func(*project.Settings) []string {
			return project.Modes()
		}),
		RunE: func(c *cobra.Command, a []string) error {
			if len(a) == 0 {
				return explainSetting(c.Context(), app, "mode", asJSON)
			}
			return changeSetting(c.Context(), app, "mode", a[0], asJSON)
		},
	}
	return settingJSON(app, c, &asJSON)
}

func newSettingsGet(app *cmdutil.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "get KEY",
		Short: "Print the value of one setting",
		Long: "Print a setting's value, or its default if config.json has none or there is no project yet. Strings are printed as they\n" +
			"are, everything else as JSON. A setting without a value whose default is nothing prints nothing." + "\n\nExit codes: 0 printed; 1 it failed; 2 wrong usage, or no such setting.",
		Example:           "  gl settings get parallel.max",
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: completeSettings(app, settingKeys),
		RunE: func(_ *cobra.Command, a []string) error {
			return runSettingsGet(app, a[0], asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func newSettingsSet(app *cmdutil.App) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "set KEY VALUE",
		Short: "Change one setting",
		Long: `Change one setting. The value is checked first. Write lists and objects as JSON; command lines
(parallel.claude_flags, parallel.agents.NAME.command and .resume, git.setup, git.teardown, test.command) can also be words,
which are split as a shell splits them; no shell runs them. test.command alone is run by sh -c if it has operators,
variables or patterns outside of quotes, such as cd web && npm test. Put gl's own flags before the key.

gl settings KEY explains a setting, with its values and an example.

A command that you set is allowed by that (gl trust). The agents of gl slice can't change settings: what they wanted is
kept as a proposal, which gl doctor lists until you set that key.` + settingsExit,
		Example: `  gl settings set parallel.max 6
  gl settings set parallel.claude_flags '--max-turns 100 --allowedTools "Bash(git *)"'
  gl settings set parallel.agents.mine.command 'my-agent --task {prompt}'
  gl settings set parallel.agents.work '{"extends": "claude", "env": {"CLAUDE_CONFIG_DIR": "~/.claude-work"}}'
  gl settings set test.command "go test ./..."`,
		Args:              cmdutil.Args(cobra.ExactArgs(2)),
		ValidArgsFunction: app.Complete(completeSetting),
		RunE: func(c *cobra.Command, a []string) error {
			return changeSetting(c.Context(), app, a[0], a[1], asJSON)
		},
	}
	c.Flags().SetInterspersed(false) // a value such as "--max-turns 100" isn't a flag of ours
	return settingJSON(app, c, &asJSON)
}

func newSettingsUnset(app *cmdutil.App) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "unset KEY",
		Short: "Remove one setting from the file",
		Long: `Remove a setting from .greenlight/config.json: its default counts again. A key of your own, or an agent of parallel.agents, goes
with all that is below it.` + settingsExit,
		Example:           "  gl settings unset parallel.max\n  gl settings unset parallel.agents.mine",
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: completeSettings(app, settingKeys),
		RunE: func(c *cobra.Command, a []string) error {
			return unsetSetting(c.Context(), app, a[0], asJSON)
		},
	}
	return settingJSON(app, c, &asJSON)
}

// settingKeys returns the keys for completion, with what they do.
func settingKeys(*project.Settings) []string {
	var list []string
	for _, key := range project.SettingKeys() {
		about, _, _ := project.AboutSetting(key)
		list = append(list, cobra.CompletionWithDesc(key, about.Line))
	}
	return list
}

// settingError turns a typing error into a usage error, with what was probably meant.
func settingError(err error) error {
	var bad *project.SettingError
	if !errors.As(err, &bad) {
		return err
	}
	meant := suggest.Match(bad.Got, bad.Known)
	for _, k := range bad.Known {
		if bad.Got != "" && strings.HasSuffix(k, "."+bad.Got) { // max is parallel.max
			meant = k
		}
	}
	if meant != "" {
		return cmdutil.Usage("%s: did you mean %s?", bad.Reason, meant)
	}
	return cmdutil.Usage("%w", err)
}

func changeSetting(ctx context.Context, app *cmdutil.App, key, text string, asJSON bool) error {
	if role, ok := strings.CutPrefix(key, "model_overrides."); ok {
		if err := setModel(ctx, app, role, text, !asJSON); err != nil || !asJSON {
			return err
		}
		return runSettingsGet(app, key, true)
	}
	pr, err := settingPlace(ctx, app, key, text)
	if err != nil {
		return err
	}
	was, is, err := ops.SetSetting(ctx, pr, trust.Open(app.Getenv), key, text)
	if err != nil {
		return settingError(err)
	}
	switch before := valueText(was.Value); {
	case asJSON:
		return errors.Join(app.IO.JSON(settingDoc{1, is.Item()}), pr.Tracker.Refresh(ctx))
	case bytes.Equal(was.Value, is.Value) && was.File:
		app.IO.Printf("%s is already %s\n", key, cmp.Or(valueText(is.Value), "unset"))
	case valueText(is.Value) == "" && before != "":
		app.IO.Printf("%s is unset (was %s)\n", key, before)
	case valueText(is.Value) == "":
		app.IO.Printf("%s is unset\n", key)
	case was.Value == nil || before == "":
		app.IO.Printf("%s is now %s\n", key, valueText(is.Value))
	case !was.File:
		app.IO.Printf("%s is now %s (default %s)\n", key, valueText(is.Value), before)
	default:
		app.IO.Printf("%s is now %s (was %s)\n", key, valueText(is.Value), before)
	}
	if key == "test.command" && valueText(is.Value) != "" {
		app.IO.Message("gl verify%s runs it now", pr.Flags())
	}
	return pr.Tracker.Refresh(ctx) // STATE.md shows the mode
}

func unsetSetting(ctx context.Context, app *cmdutil.App, key string, asJSON bool) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	was, is, err := ops.UnsetSetting(ctx, pr, key)
	if err != nil {
		return settingError(err)
	}
	now, before := valueText(is.Value), valueText(was.Value)
	switch {
	case asJSON:
		return errors.Join(app.IO.JSON(settingDoc{1, is.Item()}), pr.Tracker.Refresh(ctx))
	case !was.File && was.Wrong == "":
		app.IO.Printf("%s isn't in %s\n", key, project.ConfigFile)
	case now == "":
		app.IO.Printf("%s is unset (was %s)\n", key, cmp.Or(before, "empty"))
	default:
		app.IO.Printf("%s is %s again, the default (was %s)\n", key, now, cmp.Or(before, "empty"))
	}
	return pr.Tracker.Refresh(ctx)
}

// settingPlace returns the project whose setting is to change. In a git repository without a
// project it makes a private one, as gl do does, because the tests have to be set before the first
// task. A setting that can't be set leaves none behind.
func settingPlace(ctx context.Context, app *cmdutil.App, key,
	text string) (*project.Project, error) {
	pr, err := app.Project()
	if err == nil && sibling(pr) {
		s, err := pr.Settings()
		if err == nil {
			err = settingError(s.Set(key, text))
		}
		if err != nil {
			return nil, err
		}
		return pr, keepPrivate(ctx, app, pr)
	}
	if !errors.Is(err, project.ErrNoProject) || app.Inside() {
		return pr, err
	}
	if err := project.DefaultSettings().Set(key, text); err != nil {
		return nil, settingError(err)
	}
	place, placeErr := adHocPlace(ctx, app)
	if placeErr != nil {
		return nil, err
	}
	return beginAdHoc(ctx, app, place)
}

// keepPrivate keeps the first setting in another system's project out of git.
func keepPrivate(ctx context.Context, app *cmdutil.App, pr *project.Project) error {
	if app.Inside() {
		return nil
	}
	private, err := ops.KeepPrivate(ctx, pr.Root)
	if err == nil && private {
		app.IO.Message("the settings are in %s, which git ignores now; git add -f %s shares them",
			statedir.Path(pr.Root), project.ConfigFile)
	}
	return err
}

// valueText returns a setting's value for people: one clean line.
func valueText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return sanitize.Line(text)
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return sanitize.Text(b.String())
}

type settingDoc struct {
	SchemaVersion int `json:"schema_version"`
	project.SettingItem
}

// settings returns the settings of the project, or the defaults without a project.
func settings(app *cmdutil.App) (*project.Settings, error) {
	pr, err := app.AnyProject() // a project with only an interview has no state yet
	if errors.Is(err, project.ErrNoProject) {
		return project.DefaultSettings(), nil
	}
	if err != nil {
		return nil, err
	}
	return pr.Settings()
}

func runSettingsGet(app *cmdutil.App, key string, asJSON bool) error {
	s, err := settings(app)
	if err != nil {
		return err
	}
	set, err := s.Get(key)
	if err != nil {
		return settingError(err)
	}
	if set.Wrong != "" {
		app.IO.Message("warning: %s; using the default", set.Wrong)
	}
	if asJSON {
		return app.IO.JSON(settingDoc{1, set.Item()})
	}
	if set.Value == nil { // known but not set, without a default
		return nil
	}
	app.IO.Printf("%s\n", valueText(set.Value))
	return nil
}

type settingsDoc struct {
	SchemaVersion int                   `json:"schema_version"`
	File          string                `json:"file"`     // relative to the root; it need not exist
	Profiles      []string              `json:"profiles"` // the values of model_profile
	Settings      []project.SettingItem `json:"settings"`
	Models        []settingModel        `json:"models"`
	Warnings      []project.WarningItem `json:"warnings"`
}

type settingModel struct {
	Agent string `json:"agent"`
	// null if the agent's own file decides
	Model *string `json:"model"`
	// where the model comes from
	Source *string `json:"source" jsonschema:"enum=override,enum=profile"`
}

// runSettings shows all settings, or those of one section.
func runSettings(ctx context.Context, app *cmdutil.App, only string, asJSON bool) error {
	pr, err := app.AnyProject()
	s, warnings := project.DefaultSettings(), []plan.Warning(nil)
	switch {
	case err == nil:
		s, err = pr.Settings()
		warnings = settingWarnings(pr, s, err)
	case !errors.Is(err, project.ErrNoProject):
		return err
	}
	for _, w := range warnings {
		app.IO.Message("warning: %s", cmdutil.WarningText(w))
	}
	if asJSON {
		return app.IO.JSON(newSettingsDoc(s, only, warnings))
	}
	return app.Page(func() error {
		showSettings(app.IO, s, only, targetInUse(ctx, pr))
		return nil
	})
}

// settingWarnings returns warnings about invalid values, or only that the file can't be read.
func settingWarnings(pr *project.Project, s *project.Settings, err error) []plan.Warning {
	if err != nil {
		return configWarnings(pr)
	}
	var list []plan.Warning
	for _, set := range s.List() {
		if set.Wrong != "" {
			list = append(list,
				plan.Warning{Path: project.ConfigFile, Message: set.Wrong + "; using the default"})
		}
	}
	return list
}

func newSettingsDoc(s *project.Settings, only string, warnings []plan.Warning) settingsDoc {
	doc := settingsDoc{SchemaVersion: 1, File: project.ConfigFile, Profiles: s.Profiles(),
		Settings: []project.SettingItem{}, Models: modelItems(s.Models()),
		Warnings: project.WarningItems(warnings)}
	for _, set := range s.List() {
		if strings.HasPrefix(set.Key, only) {
			doc.Settings = append(doc.Settings, set.Item())
		}
	}
	return doc
}
