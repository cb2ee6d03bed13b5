package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/suggest"
	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/worktree"
)

// showOrExplain shows all settings, those of a section, or one.
func showOrExplain(app *cmdutil.App, c *cobra.Command, a []string, asJSON bool) error {
	switch {
	case len(a) == 0:
		return runSettings(c.Context(), app, "", asJSON)
	case len(a) == 1:
		for _, section := range project.SettingSections() {
			if only := strings.TrimSuffix(a[0], ".") + "."; only == section.Keys {
				return runSettings(c.Context(), app, only, asJSON)
			}
		}
		return explainSetting(c.Context(), app, a[0], asJSON)
	}
	if _, _, ok := project.AboutSetting(a[0]); ok {
		return cmdutil.Usage("to change it, run gl settings set %s %s", a[0],
			shellwords.Quote(strings.Join(a[1:], " ")))
	}
	return cmdutil.UnknownCommand(c, a[0])
}

// targetInUse returns the branch that work is merged into while git.target isn't set; "" if that is
// still to be decided.
func targetInUse(ctx context.Context, pr *project.Project) string {
	if pr == nil {
		return ""
	}
	repo, err := pr.Worktrees(ctx)
	if err != nil {
		return ""
	}
	return worktree.Short(repo.Target())
}

// showSettings prints the settings by section, each with what it does, and the agents' models.
// target is the branch in use.
func showSettings(out *iostreams.Streams, s *project.Settings, only, target string) {
	own := s.List()
	for i, section := range project.SettingSections() {
		if only != "" && only != section.Keys {
			continue
		}
		if i > 0 && only == "" {
			out.Printf("\n")
		}
		out.Printf("%s\n", out.Paint(term.Bold, section.Title))
		for _, key := range section.List() {
			set, _ := s.Get(key) // a known key
			printSetting(out, key, valueText(set.Value), sourceText(set)+inUse(set, target))
			about, _, _ := project.AboutSetting(key)
			out.Printf("%s\n", out.Paint(term.Dim, term.Wrap("      "+about.Line, out.Width(), 6)))
		}
	}
	title := "\n" + out.Paint(term.Bold, "Your own keys in the file") + "\n"
	for _, set := range own {
		if _, _, known := project.AboutSetting(set.Key); known || !strings.HasPrefix(set.Key, only) {
			continue
		}
		out.Printf("%s", title)
		printSetting(out, sanitize.Line(set.Key), valueText(set.Value), sourceText(set))
		title = ""
	}
	if only != "" {
		return
	}
	out.Printf("\n%s\n",
		out.Paint(term.Bold, "Models of the agents, profile "+sanitize.Line(s.Profile())))
	for _, m := range s.Models() {
		printSetting(out, sanitize.Line(m.Role),
			cmp.Or(sanitize.Line(m.Model), "(what its own file names)"), modelSource(m))
	}
	out.Printf("\n%s\n", out.Paint(term.Dim, term.Wrap(
		"gl settings KEY explains one setting, gl settings set KEY VALUE changes it.", out.Width(), 0)))
}

// inUse adds the branch in use to the source of git.target where that isn't set.
func inUse(set project.Setting, target string) string {
	if set.Key != "git.target" || target == "" || valueText(set.Value) != "" {
		return ""
	}
	return ": " + sanitize.Line(target) + " is in use"
}

// sourceText says where a value comes from: "default", "config.json; default 4".
func sourceText(set project.Setting) string {
	_, usual, known := project.AboutSetting(set.Key)
	text := "default"
	switch {
	case set.File:
		text = "config.json"
	case set.State:
		text = "project-state.json"
	case valueText(set.Value) == "":
		return "not set"
	default:
		return text
	}
	if known && usual != nil {
		text += "; default " + cmp.Or(valueText(usual), "none")
	}
	return text
}

// printSetting prints a value and, in brackets, its source. Defaults are dim.
func printSetting(out *iostreams.Streams, key, value, source string) {
	text := key
	if value != "" {
		text += " = " + value
	}
	if source != "" {
		text += " (" + source + ")"
	}
	text = term.Wrap("  "+text, out.Width(), 6)
	rest := strings.TrimPrefix(text, "  "+key)
	c := term.Color("")
	if strings.HasPrefix(source, "config.json") || source == "override" {
		c = term.Green
	}
	out.Printf("  %s%s\n", out.Paint(term.Bold, key), out.Paint(c, rest))
}

// explainSetting prints one setting on a screen.
func explainSetting(ctx context.Context, app *cmdutil.App, key string, asJSON bool) error {
	if asJSON {
		return runSettingsGet(app, key, true)
	}
	s, err := settings(app)
	if err != nil {
		return err
	}
	set, err := s.Get(key)
	if err != nil {
		return unknownSetting(key, err)
	}
	if set.Wrong != "" {
		app.IO.Message("warning: %s; using the default", set.Wrong)
	}
	about, usual, known := project.AboutSetting(key)
	out := app.IO
	say := func(text string) { out.Printf("%s\n", term.Wrap(text, out.Width(), 0)) }
	title := out.Paint(term.Bold, sanitize.Line(key))
	if !known {
		say(title + ": a key of your own, which gl doesn't read")
		printSetting(out, "value", valueText(set.Value), sourceText(set))
		return nil
	}
	say(title + ": " + about.Line)
	out.Printf("\n")
	fact := func(name, text string) {
		head := "  " + term.Pad(name, len("default")) + "  "
		out.Printf("%s\n", term.WrapColumn(head, text, out.Width()))
	}
	pr, _ := app.AnyProject() // settings has reported its error
	fact("value", strings.TrimSpace(valueText(set.Value)+" ("+sourceText(set)+
		inUse(set, targetInUse(ctx, pr))+")"))
	fact("default", cmp.Or(valueText(usual), "none"))
	if len(about.Values) > 0 {
		fact("values", strings.Join(about.Values, ", "))
	}
	if about.More != "" {
		out.Printf("\n")
		say(about.More)
	}
	if about.Guarded {
		out.Printf("\n")
		say("A value in the file takes effect only once you have allowed it, because it could come with a repository " +
			"from elsewhere: gl trust asks you. What you set with gl settings set is allowed by that.")
	}
	out.Printf("\n  %s\n", settingExample(key, about, usual))
	return nil
}

// settingExample returns a command that sets the setting.
func settingExample(key string, about project.About, usual json.RawMessage) string {
	value := about.Example
	if value == "" && len(about.Values) > 0 {
		value = about.Values[len(about.Values)-1]
	}
	return "gl settings set " + key + " " + shellwords.Line(cmp.Or(value, valueText(usual), "VALUE"))
}

// unknownSetting returns the error for a word that is neither a setting nor a subcommand, with what
// was meant.
func unknownSetting(word string, err error) error {
	if meant := suggest.Match(word, []string{"profile", "model", "mode", "get", "set", "unset"}); meant != "" {
		return cmdutil.Usage("%w: did you mean gl settings %s?", err, meant)
	}
	if bad := new(project.SettingError); errors.As(err, &bad) {
		return settingError(bad)
	}
	return err
}
