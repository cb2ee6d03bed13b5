package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
)

// A helpGroup is a part of the first help: what a person does at one time.
type helpGroup struct {
	title    string
	commands string // their names, separated by spaces
}

// firstHelp returns the commands for most days. The others are for scripts, agents and rare
// moments; gl help --all has them.
func firstHelp() []helpGroup {
	return []helpGroup{
		{"Start", "demo do init add-slice"},
		{"Run", "slice stop retry hold"},
		{"Look", "status board web why logs diff report"},
		{"Answer", "review accept reject answer say"},
		{"Keep", "land undo settings doctor"},
	}
}

// newHelp returns gl help. The texts are gl's own, because cobra's sort the commands and ignore the
// screen's width.
func newHelp(app *cmdutil.App, root *cobra.Command, order []*cobra.Command) *cobra.Command {
	all := false
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		// An error of the pager is one of stdout, which is remembered.
		_ = app.Page(func() error {
			switch {
			case c == root && all:
				app.IO.Printf("%s", wholeHelp(app.IO, root, order))
			case c == root:
				app.IO.Printf("%s", rootHelp(app.IO, root))
			default:
				app.IO.Printf("%s", commandHelp(app.IO, c))
			}
			return nil
		})
	})
	c := &cobra.Command{
		Use:   "help [command]",
		Short: "Show the commands for most days, or a command's usage",
		Long: `Show the commands for most days, or with --all every one; or the usage of one command; or a topic.

Exit codes: 0 shown; 2 no such command.`,
		Example: "  gl help\n  gl help --all\n  gl help slice\n  gl help state claim\n  gl help agents",
		ValidArgsFunction: func(_ *cobra.Command, have []string,
			word string) ([]string, cobra.ShellCompDirective) {
			return completeCommands(root, have, word), cobra.ShellCompDirectiveNoFileComp
		},
		// help doesn't fail on a flag's value
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(_ *cobra.Command, a []string) error {
			c, rest, err := root.Find(helpFor(root, a))
			if err != nil || len(rest) > 0 {
				if g, ok := findWord(strings.Join(a, " ")); ok {
					printWord(app.IO, g)
					return nil
				}
				return noSuchCommand(root, a)
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
	c.Flags().BoolVar(&all, "all", false, "list every command")
	return c
}

// helpFor returns the command whose help a person wants who takes another word for it.
func helpFor(root *cobra.Command, a []string) []string {
	if len(a) != 1 {
		return a
	}
	g, ok := guessOf(a[0])
	_, isWord := findWord(a[0])
	switch {
	case !ok || isWord || hasCommand(root, a[0]):
		return a
	case g.runs != "":
		return strings.Fields(strings.TrimSuffix(g.runs, " --all"))
	}
	return strings.Fields(g.offers[0].command)[:1]
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

// rootHelp lists the commands for most days, one line each.
func rootHelp(out *iostreams.Streams, root *cobra.Command) string {
	var b strings.Builder
	screen := out.Width()
	b.WriteString(term.Wrap(root.Short+".", screen, 0) + "\n\nUsage: gl COMMAND [flags]\n")
	var groups [][]*cobra.Command
	width := 0
	for _, g := range firstHelp() {
		list := inGroup(root, g)
		groups = append(groups, list)
		width = max(width, shapeWidth(list))
	}
	for i, g := range firstHelp() {
		b.WriteString("\n" + out.Paint(term.Bold, g.title) + "\n" +
			listCommands(groups[i], shape, width, screen))
	}
	b.WriteString("\n" + term.WrapLines("gl help COMMAND explains a command, gl help --all lists all of them.\n"+
		"gl alone shows where this project is, and what comes next.", screen) + "\n")
	return b.String()
}

// inGroup returns the commands of a group.
func inGroup(root *cobra.Command, g helpGroup) []*cobra.Command {
	var list []*cobra.Command
	for name := range strings.FieldsSeq(g.commands) {
		i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool {
			return c.Name() == name
		})
		if i >= 0 {
			list = append(list, root.Commands()[i])
		}
	}
	return list
}

// wholeHelp lists all commands by group, one line each, and the topics.
func wholeHelp(out *iostreams.Streams, root *cobra.Command, order []*cobra.Command) string {
	var b strings.Builder
	screen := out.Width()
	b.WriteString(term.Wrap(root.Short+".", screen, 0) + "\n\nUsage: gl COMMAND [flags]\n")
	all := inOrder(root, order)
	all = slices.DeleteFunc(all, func(c *cobra.Command) bool {
		return !c.IsAvailableCommand() && c.Name() != "help"
	})
	width := 0
	for _, c := range slices.Concat(all, topics()) {
		width = max(width, len(c.CommandPath()))
	}
	section := func(title string, list []*cobra.Command) {
		if len(list) > 0 {
			b.WriteString("\n" + out.Paint(term.Bold, title) + "\n" +
				listCommands(list, (*cobra.Command).CommandPath, width, screen))
		}
	}
	for _, g := range root.Groups() {
		section(strings.TrimSuffix(g.Title, ":"),
			slices.DeleteFunc(slices.Clone(all), func(c *cobra.Command) bool {
				return c.GroupID != g.ID
			}))
	}
	b.WriteString("\n" + out.Paint(term.Bold, "Topics of gl help") + "\n")
	b.WriteString(listCommands(topics(), (*cobra.Command).Name, width, screen))
	b.WriteString("\n" + out.Paint(term.Bold, "Flags of every command") + "\n")
	b.WriteString(flagLines(root.PersistentFlags(), screen))
	b.WriteString("\n" + term.Reflow("gl help COMMAND shows its flags and examples.\n"+
		cmdutil.ExitHelp, screen) + "\n")
	return b.String()
}

func shapeWidth(list []*cobra.Command) int {
	width := 0
	for _, c := range list {
		width = max(width, len(shape(c)))
	}
	return width
}

// listCommands returns a line for each command, which begins with its name as name gives it; on a
// narrow screen its description is below it.
func listCommands(list []*cobra.Command, name func(*cobra.Command) string,
	width, screen int) string {
	var b strings.Builder
	for _, c := range list {
		line := fmt.Sprintf("  %-*s  %s", width, name(c), c.Short)
		if screen > 0 && len(line) > screen {
			line = "  " + name(c) + "\n" + term.Wrap("      "+c.Short, screen, 6)
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
	section("Commands:", listCommands(subs, shape, shapeWidth(subs), screen))
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
