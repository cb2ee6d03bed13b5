package cli

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/show/report"
)

type reportOptions struct {
	open   bool
	since  string
	format string
	json   bool
}

func reportFormats() []string { return []string{"html", "md", "json"} }

func newReport(app *cmdutil.App) *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use:   "report",
		Short: "Report on the last run: what was merged, failed, and cost",
		Long: `Report on the last run of gl slice: what you have to do, what was merged, what was taken back, what failed and why, what it cost, the
timeline, and what is next. Runs that began less than an hour after the previous one are reported together.

Without --format, the report is one HTML file, .greenlight/runs/report.html, that needs no network; its verdict, what you have to do,
a line for each slice, what is next, and its path are printed. With --format html, md or json it is printed.

Links lead to the records, in Markdown by their paths from the project's root.

--since takes how long ago (2h, 7d), a time of day (22:30), a day (2026-03-01) or a time (2026-03-01T22:30:00Z). What looks
like a password or a key is taken out of the lines it quotes.

Exit codes: 0 reported; 1 it failed, or there is no project; 2 wrong usage.`,
		Example: `  gl report --open
  gl report --since 22:30 --format md
  gl report --format json | jq -r '.failed[].id'`,
		Args: cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if o.json {
				if o.format != "" && o.format != "json" {
					return cmdutil.Usage("use --json or --format %s, not both", o.format)
				}
				o.format = "json"
			}
			return runReport(c.Context(), app, o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.open, "open", false, "open the HTML file in the browser")
	f.StringVar(&o.since, "since", "",
		"report on everything since `WHEN`: how long ago, a time of day, a day, or a time")
	f.StringVar(&o.format, "format", "", "print `FORMAT`: html, md or json")
	f.BoolVar(&o.json, "json", false, "the same as --format json")
	cmdutil.CompleteFlag(c, "format", reportFormats)
	return c
}

func runReport(ctx context.Context, app *cmdutil.App, o reportOptions) error {
	now := time.Now()
	switch {
	case o.format != "" && !slices.Contains(reportFormats(), o.format):
		return cmdutil.Usage("--format must be %s", cmdutil.MustBe(o.format, reportFormats()))
	case o.open && o.format != "":
		return cmdutil.Usage("use --open without --format: it opens the HTML file")
	}
	since, err := sinceFlag(o.since, now)
	if err != nil {
		return err
	}
	pr, err := app.Project()
	if err != nil {
		return err
	}
	p, err := shownPlan(pr, now, "")
	if err != nil {
		return err
	}
	d, err := report.Gather(ctx, pr, p, since, now)
	if err != nil {
		return err
	}
	switch o.format {
	case "json":
		return app.IO.JSON(d)
	case "md":
		base, err := filepath.Rel(pr.Root, pr.Runs.Files.Dir())
		if err != nil {
			return err
		}
		return d.Markdown(app.IO, filepath.ToSlash(base))
	case "html":
		return d.HTML(app.IO, pr.Runs.Files.Dir())
	}
	path, err := d.Save(pr.Runs)
	if err != nil {
		return err
	}
	app.IO.Printf("%s\n", term.Wrap(sanitize.Text(d.Verdict), app.IO.Width(), 2))
	printBrief(app.IO, d)
	app.IO.Printf("\n%s\n", sanitize.Text(path))
	if o.open {
		return openInBrowser(ctx, app, path)
	}
	return nil
}

// mostBrief is how many lines of a section are printed; the report has all of them.
const mostBrief = 10

// printBrief prints the report in short: what a person has to do, a line for each slice, and what
// is next.
func printBrief(out *iostreams.Streams, d *report.Document) {
	for _, s := range d.Brief() {
		if s.Title != "" {
			out.Printf("\n%s\n", out.Paint(term.Bold, s.Title))
		} else {
			out.Printf("\n")
		}
		for _, l := range s.Lines[:min(len(s.Lines), mostBrief)] {
			head := ""
			if s.Title != "" {
				head = "  "
			}
			if l.ID != "" {
				head += sanitize.Line(l.ID) + "  "
			}
			out.Printf("%s\n", term.WrapColumn(head, sanitize.Line(l.Text), out.Width()))
		}
		if n := len(s.Lines) - mostBrief; n > 0 {
			out.Printf("  and %d more in the report\n", n)
		}
	}
}

const onDarwin = runtime.GOOS == "darwin"

// openInBrowser opens a file with $BROWSER, or with the desktop's opener.
func openInBrowser(ctx context.Context, app *cmdutil.App, path string) error {
	openers := []string{"xdg-open", "wslview"}
	if onDarwin {
		openers = []string{"open"}
	}
	if browser := app.Getenv("BROWSER"); browser != "" {
		openers = []string{browser}
	}
	for _, name := range openers {
		argv, err := shellwords.Split(name)
		if err != nil || len(argv) == 0 {
			return fmt.Errorf("BROWSER is %q, which is no command", name)
		}
		program, err := exec.LookPath(argv[0])
		if err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, program, append(argv[1:], path)...)
		cmd.Env, cmd.Stdout, cmd.Stderr = app.Environ, app.IO.Err, app.IO.Err
		var said bytes.Buffer
		if app.Getenv("BROWSER") == "" { // a desktop's opener names each browser that it hasn't found
			cmd.Stderr = &said
		}
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s opened no browser (%w): open %s yourself, or set BROWSER", name, err, path)
		}
		_, _ = app.IO.Err.Write(said.Bytes())
		return nil
	}
	return fmt.Errorf("no browser: %s is not on PATH; open %s yourself, or set BROWSER",
		strings.Join(openers, " or "), path)
}
