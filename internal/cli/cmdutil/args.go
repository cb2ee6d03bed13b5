package cmdutil

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/suggest"
)

// Args wraps an argument check so that its error is a usage error in the words of the command's
// usage line; cobra's errors are for programmers.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, a []string) error {
		err := check(c, a)
		if err == nil {
			return nil
		}
		var takes, needs []string
		for _, word := range strings.Fields(c.Use)[1:] {
			if strings.HasPrefix(word, "-") {
				continue
			}
			takes = append(takes, word)
			if !strings.HasPrefix(word, "[") && !strings.HasSuffix(word, "]") {
				needs = append(needs, strings.TrimSuffix(word, "..."))
			}
		}
		switch {
		case len(takes) == 0:
			err = fmt.Errorf("%s takes no arguments, but got %q", c.CommandPath(), a[0])
		case len(a) < len(needs):
			err = fmt.Errorf("%s needs %s", c.CommandPath(), strings.Join(needs[len(a):], " and "))
		case len(a) > len(takes):
			err = fmt.Errorf("%s: unexpected argument %q", c.CommandPath(), a[len(takes)])
		}
		return Usage("%s (usage: %s)", err, c.UseLine())
	}
}

// Family makes c a command that only has subcommands: called alone, it shows its help.
func Family(c *cobra.Command, members ...*cobra.Command) *cobra.Command {
	c.Args = OnlySubcommands
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(members...)
	return c
}

// OnlySubcommands refuses arguments that are not the name of a subcommand.
func OnlySubcommands(c *cobra.Command, a []string) error {
	if len(a) == 0 {
		return nil
	}
	return UnknownCommand(c, a[0])
}

// UnknownCommand returns the usage error for a word that is not a subcommand of c, with the one of
// the most similar spelling.
func UnknownCommand(c *cobra.Command, word string) error {
	var known []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	hint := ""
	if meant := suggest.Match(word, known); meant != "" {
		hint = ", did you mean " + meant + "?"
	}
	list := c.CommandPath() + " --help"
	if c.Parent() == nil {
		list = c.Name() + " help --all"
	}
	return Usage("unknown command %q for %s%s (%s lists them all)", sanitize.Text(word),
		c.CommandPath(), hint, list)
}

// FlagError turns an error in a flag into a usage error, with the flag that was probably meant.
func FlagError(c *cobra.Command, err error) error {
	msg, _, _ := strings.Cut(err.Error(), ": strconv.") // strconv's text is for programmers
	if bad, ok := strings.CutPrefix(msg, "unknown flag: --"); ok {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		switch meant := suggest.Match(bad, names); {
		case strings.Contains(bad, " "):
			msg += ": put -- before a value that begins with a dash"
		case meant != "":
			msg += fmt.Sprintf(", did you mean --%s?", meant)
		}
	}
	return Usage("%s (%s --help)", msg, c.CommandPath())
}

// MustBe returns the end of a usage error: the known words, the given one, and the one that was
// probably meant.
func MustBe(got string, known []string) string {
	s := ""
	for i, k := range known {
		switch {
		case i > 0 && i == len(known)-1:
			s += " or "
		case i > 0:
			s += ", "
		}
		s += k
	}
	s += ", not \"" + sanitize.Text(got) + "\""
	if meant := suggest.Match(got, known); meant != "" {
		s += ": did you mean " + meant + "?"
	}
	return s
}

// Paged sends a reading command's text through the pager, unless --json, --compact or one of the
// live flags is given, which make the command show changes as they come.
func Paged(app *App, c *cobra.Command, live ...string) *cobra.Command {
	run := c.RunE
	c.RunE = func(c *cobra.Command, a []string) error {
		for _, name := range append(live, "json", "compact") {
			if c.Flags().Changed(name) {
				return run(c, a)
			}
		}
		return app.Page(func() error { return run(c, a) })
	}
	return c
}
