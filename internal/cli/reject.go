package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/attempt"
)

func newReject(app *cmdutil.App) *cobra.Command {
	var force bool
	var at places
	c := &cobra.Command{
		Use:   "reject ID [TEXT]",
		Short: "Send a waiting slice back, with what is wrong",
		Long: `Reject a slice that awaits review. TEXT says what is wrong with it: it is added to the slice's decisions, and the slice is
pending again. The next gl slice, or one that is running, has the same agent go on in the same worktree with that in mind.

--at comments on one line of the slice's work: the words after it, up to the next --at, are about that line. The agent gets each
comment with the line's text. FILE is relative to the repository's top, as gl diff shows it.` + fmt.Sprintf(decideHelp, ", or can't be written"),
		Example: `  gl reject S-07 "the mail must not name the customer"
  gl reject S-07 "almost" --at mail.go:12 "use the template" --at mail_test.go:40 "test an empty name, too"`,
		Args:              cmdutil.Args(cobra.MinimumNArgs(1)),
		ValidArgsFunction: cmdutil.CompleteFirst(app.CompleteSome(waiting)),
		RunE: func(c *cobra.Command, a []string) error {
			text, comments, err := at.split(a[1:])
			if err != nil {
				return err
			}
			return runReject(c.Context(), app, a[0], text, comments, force)
		},
	}
	at.flags = c.Flags()
	c.Flags().Var(&at, "at",
		"comment on a line, `FILE:LINE`, with the words after it; may be repeated")
	c.Flags().BoolVar(&force, "force", false,
		"also reject a slice that is being verified or has stalled")
	return c
}

// places are the values of --at, each with the number of arguments before it: the arguments after
// it belong to it.
type places struct {
	flags *pflag.FlagSet
	list  []linePlace
}

type linePlace struct {
	file   string
	line   int
	before int
}

// A lineComment is a person's comment on a line.
type lineComment struct {
	file string
	line int
	text string
}

func (p *places) String() string { return "" }
func (p *places) Type() string   { return "FILE:LINE" }

// Set implements pflag.Value.
func (p *places) Set(value string) error {
	file, line, ok := ops.ParsePlace(value)
	if !ok {
		return cmdutil.Usage("--at must be FILE:LINE with a line from 1 on, not %q", value)
	}
	p.list = append(p.list, linePlace{file, line, p.flags.NArg()})
	return nil
}

// split assigns to each place the arguments after it, without the id, which is the first argument.
func (p *places) split(a []string) (text string, comments []lineComment, err error) {
	end := len(a)
	for i := len(p.list) - 1; i >= 0; i-- {
		at := p.list[i]
		from := max(at.before-1, 0)
		c := lineComment{at.file, at.line, strings.TrimSpace(strings.Join(a[from:end], " "))}
		if at.before < 1 || !ops.IsLine(c.text) {
			return "", nil, cmdutil.Usage("say behind --at %s:%d, in one line of text, what is wrong there", at.file, at.line)
		}
		comments, end = append([]lineComment{c}, comments...), from
	}
	return strings.TrimSpace(strings.Join(a[:end], " ")), comments, nil
}

func runReject(ctx context.Context, app *cmdutil.App, id, text string, at []lineComment,
	force bool) error {
	if !ops.IsLine(text) && (text != "" || len(at) == 0) {
		return cmdutil.Usage("say what is wrong with %s, in one line of text without control characters", id)
	}
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	var comments []attempt.Comment
	for _, c := range at {
		comment, err := ops.Comment(ctx, pr, id, c.file, c.line, c.text)
		if err != nil {
			return err
		}
		comments = append(comments, comment)
	}
	if err := ops.Reject(ctx, pr, id, text, comments, force); err != nil {
		return err
	}
	if len(comments) > 0 {
		app.IO.Printf("%s is pending again, with %s\n", id, words.Count(len(comments), "comment"))
		return nil
	}
	app.IO.Printf("%s is pending again\n", id)
	return nil
}
