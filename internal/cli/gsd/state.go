package gsd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	xterm "golang.org/x/term"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/suggest"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/state/gsd"
)

// A verb is one of GSD's verbs.
type verb struct {
	group             string // gl gsd GROUP NAME; "" for gl gsd NAME
	name, args, short string
	long              string   // what there is to say beside short; "" for nothing
	example           string   // behind the name; "" for the name alone
	flags             []string // for completion
	run               func(context.Context, *gsd.Store, verbArgs) (gsd.Result, error)
}

const stateHelp = `Read and change .planning/STATE.md with the verbs of GSD's own tools: the same arguments, JSON and lock (STATE.md.lock),
so that both can work on one project at the same time. A change leaves all other bytes alone: order, comments, unknown
keys and line endings.

The result is JSON on stdout; a result of more than 50,000 characters is written to a file and printed as @file:PATH. The
frontmatter follows the body: each write updates it from there, and what was set by hand stays until the body changes.

  --raw          print the bare value, or true and false
  --json-errors  report wrong usage as {"ok":false,"reason":…,"message":…} on stderr
  --compat       use the status words, percent and exit codes of GSD's own tools

GSD_PROJECT and GSD_WORKSTREAM select a part of .planning.

Exit codes: 0 done; 1 it wasn't done, the JSON says why (with --compat 0), or wrong usage.`

func newState(app *cmdutil.App) *cobra.Command {
	verbs := verbs(app)
	for i := range verbs {
		verbs[i].group = "state"
	}
	c := &cobra.Command{
		Use:   "state [verb]",
		Short: "GSD's state verbs, without damage to STATE.md",
		Long:  stateHelp,
		Example: `  gl gsd state json
  gl gsd state get "Current Position" --raw
  gl gsd state begin-phase --phase 4 --name Observability --plans 3
  gl gsd state set-lifecycle --next-action execute-phase --next-phases 4.5,4.6
  gl gsd state resolve-blocker --text "API key"`,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, a []string) error {
			return runUnnamed(app, c, verbs, a)
		},
	}
	for _, v := range verbs {
		c.AddCommand(verbCommand(app, v))
	}
	return c
}

func newSnapshot(app *cmdutil.App) *cobra.Command {
	return verbCommand(app,
		verb{name: "state-snapshot", short: "Everything that STATE.md says, in one document",
			run: func(_ context.Context, s *gsd.Store, _ verbArgs) (gsd.Result, error) {
				return s.Snapshot()
			}})
}

// line returns an example of the verb's use.
func (v verb) line() string {
	return strings.Join(strings.Fields(v.group+" "+v.name+" "+v.example), " ")
}

func verbCommand(app *cmdutil.App, v verb) *cobra.Command {
	return &cobra.Command{
		Use:   strings.TrimSpace(v.name + " " + v.args),
		Short: v.short,
		Long: strings.TrimSuffix(v.short+". "+v.long, " ") + ` With --raw it prints the bare value; with --json-errors wrong usage is JSON; with --compat status,
percent and exit codes are those of GSD's own tools.

Exit codes: 0 done; 1 it wasn't done, the JSON says why (with --compat 0), or wrong usage.`,
		Example:            "  gl gsd " + v.line(),
		DisableFlagParsing: true,
		ValidArgsFunction: func(*cobra.Command, []string,
			string) ([]string, cobra.ShellCompDirective) {
			var list []string
			for _, f := range append(slices.Clone(v.flags), "raw", "json-errors", "compat") {
				list = append(list, "--"+f)
			}
			return list, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, a []string) error { return runGsd(app, c, v, a) },
	}
}

// runUnnamed runs gl gsd state without a verb, which means load, as in GSD, or with an unknown one.
func runUnnamed(app *cmdutil.App, c *cobra.Command, verbs []verb, a []string) error {
	a, help, err := globals(app, c, nil, a)
	if err != nil || help {
		return orHelp(c, err)
	}
	leading := 0 // flags of every verb, which may stand before it, as with GSD's tools
	for leading < len(a) && slices.Contains([]string{"--raw", "--json-errors", "--compat"}, a[leading]) {
		leading++
	}
	a = slices.Concat(a[leading:], a[:leading])
	args := verbArgs(a)
	if leading == len(a) {
		return runGsd(app, c, verbs[0], a)
	}
	var names []string
	for _, v := range verbs {
		names = append(names, v.name)
	}
	if i := slices.Index(names, args[0]); i >= 0 { // after gl's own flags
		return runGsd(app, c, verbs[i], a[1:])
	}
	hint := ""
	if meant := suggest.Match(args[0], names); meant != "" {
		hint = " Did you mean " + meant + "?"
	}
	return report(app, &gsd.UsageError{Message: fmt.Sprintf("Unknown state subcommand: %q.%s Available: %s", args[0], hint,
		strings.Join(names, ", "))}, args.has("json-errors"))
}

func orHelp(c *cobra.Command, err error) error {
	if err != nil {
		return err
	}
	return c.Help()
}

// globals removes gl's own flags from the front: a command that parses its own arguments gets them,
// too. A flag that the verb has as well is the verb's.
func globals(app *cmdutil.App, c *cobra.Command,
	own, a []string) (rest []string, help bool, err error) {
	for len(a) > 0 {
		if a[0] == "-h" || a[0] == "--help" {
			return nil, true, nil
		}
		name, value, joined := strings.Cut(a[0], "=")
		f := globalFlag(c, name)
		switch {
		case f == nil || slices.Contains(own, strings.TrimPrefix(name, "--")):
			return a, false, app.CheckGlobals()
		case len(name) > 2 && name[1] != '-': // -Cdir
			value = a[0][2:]
		case !joined && f.NoOptDefVal != "":
			value = f.NoOptDefVal
		case !joined && len(a) == 1:
			return nil, false, cmdutil.Usage("flag needs an argument: %s", name)
		case !joined:
			a, value = a[1:], a[1]
		}
		if err := f.Value.Set(value); err != nil {
			return nil, false, cmdutil.Usage("%s: %w", name, err)
		}
		a = a[1:]
	}
	return nil, false, app.CheckGlobals()
}

// globalFlag returns gl's own flag that the word begins with; nil for none.
func globalFlag(c *cobra.Command, word string) *pflag.Flag {
	flags := c.Root().PersistentFlags()
	if name, ok := strings.CutPrefix(word, "--"); ok {
		return flags.Lookup(name)
	}
	if len(word) < 2 || word[0] != '-' {
		return nil
	}
	f := flags.ShorthandLookup(word[1:2])
	if f != nil && len(word) > 2 && f.NoOptDefVal != "" {
		return nil
	}
	return f
}

func runGsd(app *cmdutil.App, c *cobra.Command, v verb, a []string) error {
	a, help, err := globals(app, c, v.flags, a)
	if err != nil || help {
		return orHelp(c, err)
	}
	args := verbArgs(a)
	if args.has("help") || slices.Contains(a, "-h") && len(a) == 1 {
		return c.Help()
	}
	raw, asJSON, compat := args.take("raw"), args.take("json-errors"), args.take("compat")
	dir, err := app.Dir()
	if err != nil {
		return err
	}
	s, err := gsd.OpenStore(dir, app.Getenv)
	if err != nil {
		return report(app, err, asJSON)
	}
	s.Compat, s.Warn = compat, func(text string) { app.IO.Message("%s", text) }
	app.IO.Detail("gsd %s %s: %s", v.group, v.name, s.Path())
	r, err := v.run(c.Context(), s, args)
	if err != nil {
		return report(app, err, asJSON)
	}
	if err := printResult(app, r, raw); err != nil {
		return err
	}
	// GSD exits 0 here, which scripts mistake for success.
	if r.Failed && !compat {
		return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
	}
	return nil
}

// report prints an error as GSD does, because callers parse it.
func report(app *cmdutil.App, err error, asJSON bool) error {
	var wrong *gsd.UsageError
	if !asJSON {
		app.IO.Message("Error: %s", err)
		return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
	}
	reason := "unknown"
	if errors.As(err, &wrong) {
		reason = "usage"
	}
	doc, jsonErr := jsondoc.Marshal(struct {
		OK      bool   `json:"ok"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
	}{false, reason, err.Error()}, "")
	if jsonErr != nil {
		return jsonErr
	}
	fmt.Fprintln(app.IO.Err, doc)
	return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
}

// maxAnswer limits the characters of an answer on stdout: agents' tools truncate longer ones.
const maxAnswer = 50_000

// printResult prints without a final newline, as GSD does: callers use the whole output as the
// value.
func printResult(app *cmdutil.App, r gsd.Result, raw bool) error {
	text := ""
	if raw && r.Raw != nil {
		text = *r.Raw
	} else {
		doc, err := jsondoc.Marshal(r.Doc, "  ")
		if err != nil {
			return err
		}
		if text = doc; len(utf16.Encode([]rune(doc))) > maxAnswer {
			path, err := spill(doc)
			if err != nil {
				return err
			}
			text = "@file:" + path
		}
	}
	if f, ok := app.IO.Out.(*os.File); ok && xterm.IsTerminal(int(f.Fd())) {
		text = sanitize.Text(text) + "\n"
	}
	_, err := io.WriteString(app.IO, text)
	return err
}

// spill writes a long answer into a file that only this user can read, where GSD puts them.
func spill(doc string) (string, error) {
	dir := filepath.Join(os.TempDir(), "gsd")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "gsd-*.json")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(doc)
	return f.Name(), errors.Join(err, f.Close())
}
