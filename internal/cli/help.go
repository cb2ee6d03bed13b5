package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/project"
	"greenlight/internal/slice"
)

// newHelp is gl help. Commands are listed in their groups, in the order in which they were added: cobra's own help
// would sort them, and only a variable of its package says that it shouldn't.
func newHelp(e *env, root *cobra.Command, order []*cobra.Command) *cobra.Command {
	usual := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, a []string) {
		if c != root {
			usual(c, a)
			return
		}
		e.print("%s", rootHelp(e, root, order))
	})
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show all commands and where this project stands, or how one command is used",
		Long: `Show all commands, and in a project where it stands; or how one command is used.

Exit codes: 0 shown; 2 there is no such command.`,
		Example: "  gl help\n  gl help slice\n  gl help state claim",
		ValidArgsFunction: func(_ *cobra.Command, have []string, word string) ([]string, cobra.ShellCompDirective) {
			return completeCommands(root, have, word), cobra.ShellCompDirectiveNoFileComp
		},
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // help doesn't fail because of a flag's value
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

// noSuchCommand names the first word that isn't a command, and what was probably meant.
func noSuchCommand(root *cobra.Command, a []string) error {
	c := root
	for _, word := range a {
		i := slices.IndexFunc(c.Commands(), func(sub *cobra.Command) bool { return sub.Name() == word })
		if i < 0 {
			hint := ""
			if near := c.SuggestionsFor(word); len(near) > 0 {
				hint = ", did you mean " + strings.Join(near, " or ") + "?"
			}
			return usage("unknown command %q for %s%s (gl help lists them all)", word, c.CommandPath(), hint)
		}
		c = c.Commands()[i]
	}
	return nil
}

// rootHelp is all commands by group, a line each, and then the state of this project in one line.
func rootHelp(e *env, root *cobra.Command, order []*cobra.Command) string {
	var b strings.Builder
	b.WriteString(root.Short + ".\n\nUsage: gl COMMAND [flags]\n")
	all := inOrder(root, order)
	width := 0
	for _, c := range all {
		width = max(width, len(shape(c)))
	}
	for _, g := range root.Groups() {
		title := "\n" + e.paint(bold, g.Title) + "\n"
		for _, c := range all {
			if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				fmt.Fprintf(&b, "%s  gl %-*s  %s\n", title, width, shape(c), c.Short)
				title = ""
			}
		}
	}
	b.WriteString("\n" + e.paint(bold, "Flags of every command:") + "\n")
	b.WriteString(root.PersistentFlags().FlagUsages())
	b.WriteString("\ngl help COMMAND tells more about one, with examples." + exitHelp + "\n")
	if line := projectLine(e); line != "" {
		b.WriteString("\n" + line + "\n")
	}
	return b.String()
}

// inOrder is all commands, those that cobra added at the end.
func inOrder(root *cobra.Command, order []*cobra.Command) []*cobra.Command {
	all := slices.Clone(order)
	for _, c := range root.Commands() {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// shape is a command with its arguments, without the word for its flags.
func shape(c *cobra.Command) string { return strings.TrimSuffix(c.Use, " [flags]") }

// projectLine is the state of the project that gl was called in; "" where there is none.
func projectLine(e *env) string {
	p, err := compactPlan(e, "")
	switch {
	case errors.Is(err, project.ErrNoProject), errors.Is(err, slice.ErrNoState):
		return ""
	case err != nil:
		return "This project: ? slices | ? running"
	}
	return fmt.Sprintf("This project: %d/%d done | %d running", p.Done, p.Total, len(p.Running))
}
