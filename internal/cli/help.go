package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/run/project"
)

// newHelp returns gl help. The texts are gl's own, because cobra's sort the commands and ignore the
// screen's width.
func newHelp(app *cmdutil.App, root *cobra.Command, order []*cobra.Command) *cobra.Command {
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		// An error of the pager is one of stdout, which is remembered.
		_ = app.Page(func() error {
			if c == root {
				app.IO.Printf("%s", rootHelp(app, root, order))
			} else {
				app.IO.Printf("%s", commandHelp(app.IO, c))
			}
			return nil
		})
	})
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show all commands and this project's state, or a command's usage",
		Long: `Show all commands and, in a project, its state; or the usage of one command.

Exit codes: 0 shown; 2 no such command.`,
		Example: "  gl help\n  gl help slice\n  gl help state claim",
		ValidArgsFunction: func(_ *cobra.Command, have []string,
			word string) ([]string, cobra.ShellCompDirective) {
			return completeCommands(root, have, word), cobra.ShellCompDirectiveNoFileComp
		},
		// help doesn't fail on a flag's value
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(_ *cobra.Command, a []string) error {
			c, rest, err := root.Find(a)
			if err != nil || len(rest) > 0 {
				return noSuchCommand(root, a)
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

func completeCommands(root *cobra.Command, have []string, word string) []string {
	c, _, err := root.Find(have)
	if err != nil {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), word) {
			names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	return names
}

// noSuchCommand returns an error that names the first word that isn't a command, and the command
// that was probably meant.
func noSuchCommand(root *cobra.Command, a []string) error {
	c := root
	for _, word := range a {
		i := slices.IndexFunc(c.Commands(), func(sub *cobra.Command) bool {
			return sub.Name() == word
		})
		if i < 0 {
			return cmdutil.UnknownCommand(c, word)
		}
		c = c.Commands()[i]
	}
	return nil
}

// rootHelp lists all commands by group, one line each, followed by the state of this project in one
// line.
func rootHelp(app *cmdutil.App, root *cobra.Command, order []*cobra.Command) string {
	var b strings.Builder
	screen := app.IO.Width()
	b.WriteString(term.Wrap(root.Short+".", screen, 0) + "\n\nUsage: gl COMMAND [flags]\n")
	all := inOrder(root, order)
	all = slices.DeleteFunc(all, func(c *cobra.Command) bool {
		return !c.IsAvailableCommand() && c.Name() != "help"
	})
	for _, g := range root.Groups() {
		var in []*cobra.Command
		for _, c := range all {
			if c.GroupID == g.ID {
				in = append(in, c)
			}
		}
		if len(in) > 0 {
			b.WriteString("\n" + app.IO.Paint(term.Bold, g.Title) + "\n" +
				listCommands(in, shapeWidth(all), screen))
		}
	}
	b.WriteString("\n" + app.IO.Paint(term.Bold, "Flags of every command:") + "\n")
	b.WriteString(flagLines(root.PersistentFlags(), screen))
	b.WriteString("\n" + term.Reflow("gl help COMMAND shows its flags and examples. gl help environment lists environment variables, gl help agents says how "+
		"agents are run, and gl help rehearsal what can happen in a rehearsal."+
		"\n"+cmdutil.ExitHelp, screen) + "\n")
	if line := projectLine(app); line != "" {
		b.WriteString("\n" + term.Wrap(line, screen, 2) + "\n")
	}
	return b.String()
}

func shapeWidth(list []*cobra.Command) int {
	width := 0
	for _, c := range list {
		width = max(width, len(shape(c)))
	}
	return width
}

// listCommands returns a line for each command; on a narrow screen its description is below it.
func listCommands(list []*cobra.Command, width, screen int) string {
	var b strings.Builder
	for _, c := range list {
		line := fmt.Sprintf("  %-*s  %s", width, shape(c), c.Short)
		if screen > 0 && len(line) > screen {
			line = "  " + shape(c) + "\n" + term.Wrap("      "+c.Short, screen, 6)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// commandHelp returns the help of one command.
func commandHelp(out *iostreams.Streams, c *cobra.Command) string {
	var b strings.Builder
	screen := out.Width()
	text := c.Long
	if text == "" {
		text = c.Short
	}
	b.WriteString(term.Reflow(text, screen) + "\n")
	section := func(title, text string) {
		if text = strings.TrimRight(text, " \n"); text != "" {
			b.WriteString("\n" + out.Paint(term.Bold, title) + "\n" + text + "\n")
		}
	}
	if c.Runnable() {
		section("Usage:", term.Wrap("  "+c.UseLine(), screen, 4))
	}
	section("Examples:", exampleText(c.Example, screen))
	var subs []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			subs = append(subs, sub)
		}
	}
	section("Commands:", listCommands(subs, shapeWidth(subs), screen))
	if c.Runnable() {
		section("Flags:", flagLines(c.LocalFlags(), screen))
		section("Flags of every command:", flagLines(c.InheritedFlags(), screen))
	}
	return b.String()
}

// A flagText is a flag in help and reference: its syntax and its meaning.
type flagText struct{ typed, means string }

func flagTexts(flags *pflag.FlagSet) []flagText {
	var list []flagText
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, means := pflag.UnquoteUsage(f)
		typed := "    --" + f.Name
		if f.Shorthand != "" {
			typed = "-" + f.Shorthand + ", --" + f.Name
		}
		if value != "" {
			typed += " " + value
		}
		switch f.DefValue {
		case "", "false", "0", "0s", "[]":
		default:
			means += " (default " + f.DefValue + ")"
		}
		if f.Name == "help" {
			means = "show this help"
		}
		list = append(list, flagText{typed, means})
	})
	return list
}

// flagLines returns a line for each flag; on a narrow screen its meaning is indented beside it, or
// below it.
func flagLines(flags *pflag.FlagSet, screen int) string {
	var b strings.Builder
	list, width := flagTexts(flags), 0
	for _, f := range list {
		width = max(width, len(f.typed))
	}
	column := width + 5
	for _, f := range list {
		line := fmt.Sprintf("  %-*s   %s", width, f.typed, f.means)
		switch {
		case screen == 0 || len(line) <= screen:
		case screen >= column+30:
			// Don't break the line within the first column.
			line = line[:column] + strings.TrimLeft(term.Wrap(strings.Repeat(" ", column)+f.means,
				screen, column), " ")
		default:
			line = "  " + strings.TrimSpace(f.typed) + "\n" + term.Wrap("      "+f.means, screen, 6)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// exampleText returns the examples; if a line is too long for the screen, the explanation of the
// command is below it. The command itself is on one line, for copying.
func exampleText(text string, screen int) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		command, about, found := strings.Cut(strings.TrimSpace(line), "   ")
		if !found || screen == 0 || term.Width(line) <= screen {
			lines = append(lines, line)
			continue
		}
		lines = append(lines, "  "+command, term.Wrap("      "+strings.TrimSpace(about), screen, 6))
	}
	return strings.Join(lines, "\n")
}

// inOrder returns all commands, with those that cobra added at the end.
func inOrder(root *cobra.Command, order []*cobra.Command) []*cobra.Command {
	all := slices.Clone(order)
	for _, c := range root.Commands() {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// shape returns a command's syntax, without the placeholder for flags.
func shape(c *cobra.Command) string { return strings.TrimSuffix(c.UseLine(), " [flags]") }

// projectLine returns the state of the current project in one line; "" without a project.
func projectLine(app *cmdutil.App) string {
	pr, p, err := compactPlan(app, "")
	switch {
	case errors.Is(err, project.ErrNoProject), errors.Is(err, project.ErrNoState),
		errors.Is(err, cmdutil.ErrGone):
		return ""
	case err != nil:
		return "This project: ? slices | ? running"
	}
	return "This project: " + barText(p, pr)
}
