package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/run/project"
	"greenlight/internal/state/spending"
)

type costOptions struct {
	by, since string
	json      bool
}

// A costDoc is the cost of the project's agents.
type costDoc struct {
	SchemaVersion int            `json:"schema_version"`
	By            string         `json:"by"`    // what the rows are about: slice, agent, day
	Since         *time.Time     `json:"since"` // null for the whole journal
	Total         spending.Total `json:"total"`
	Rows          []spending.Row `json:"rows"`
}

func newCost(app *cmdutil.App) *cobra.Command {
	o := costOptions{}
	c := &cobra.Command{
		Use:   "cost",
		Short: "Show what agents cost, by slice, agent or day",
		Long: `Show what agents cost in dollars and tokens, failed attempts included, as they report it themselves. What an agent doesn't
report is unknown, and counted apart. The journal is the source: what it has rotated away isn't counted.

--since takes how long ago (2h, 7d), a time of day (22:30), a day (2026-03-01) or a time (2026-03-01T22:30:00Z).

Exit codes: 0 shown; 1 it failed; 2 wrong usage.`,
		Example: "  gl cost\n  gl cost --by day --since 7d\n  gl cost --by agent --json | jq .total.cost_usd",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runCost(app, o) },
	}
	f := c.Flags()
	f.StringVar(&o.by, "by", "slice", "add up by `WHAT`: slice, agent, day")
	f.StringVar(&o.since, "since", "",
		"only what ended since `WHEN`: how long ago, a time of day, a day, or a time")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	cmdutil.CompleteFlag(c, "by", spending.Ways)
	return c
}

func runCost(app *cmdutil.App, o costOptions) error {
	if !slices.Contains(spending.Ways(), o.by) {
		return cmdutil.Usage("--by %s: expected %s", sanitize.Text(o.by),
			strings.Join(spending.Ways(), ", "))
	}
	since, err := sinceFlag(o.since, time.Now())
	if err != nil {
		return err
	}
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	book, err := spending.Since(pr.Runs.Journal(), since)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	inheritCosts(pr, book)
	doc := costDoc{SchemaVersion: 1, By: o.by, Total: book.Total(), Rows: book.By(o.by)}
	if !since.IsZero() {
		utc := since.UTC()
		doc.Since = &utc
	}
	if o.json {
		return app.IO.JSON(doc)
	}
	printCost(app.IO, doc)
	return nil
}

// inheritCosts adds the earlier costs of renamed slices. If the project can't be read, the rows
// keep the journal's ids.
func inheritCosts(pr *project.Project, book *spending.Book) {
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return
	}
	for i := range p.States {
		for _, name := range p.States[i].Was {
			if p.State(name) == nil {
				book.Rename(name, p.States[i].ID)
			}
		}
	}
}

func printCost(out *iostreams.Streams, doc costDoc) {
	if doc.Total.Attempts == 0 {
		out.Printf("no agent has run\n")
		return
	}
	rows := append(slices.Clone(doc.Rows), spending.Row{Key: "total", Total: doc.Total})
	width := 0
	for i := range rows {
		rows[i].Key = cmp.Or(sanitize.Line(rows[i].Key), "unknown")
		width = max(width, term.Width(rows[i].Key))
	}
	for _, r := range rows {
		cost, notes := costText(r.Total)
		out.Printf("%s\n", term.WrapColumn(fmt.Sprintf("%s  %9s  ", term.Pad(r.Key, width), cost),
			notes, out.Width()))
	}
}

// costText returns the cost with notes: "$1.20", "2 attempts, $0.40 on attempts that failed 12,000
// in, 900 out, 0 from cache".
func costText(t spending.Total) (cost, notes string) {
	cost = "unknown"
	if t.CostUSD != nil {
		cost = fmt.Sprintf("$%.2f", *t.CostUSD)
	}
	notes = words.Count(t.Attempts, "attempt")
	if t.FailedUSD > 0 {
		notes += fmt.Sprintf(", $%.2f on attempts that failed", t.FailedUSD)
	}
	if t.UnknownCost > 0 && t.CostUSD != nil {
		notes += fmt.Sprintf(", %d of unknown cost", t.UnknownCost)
	}
	if k := t.Tokens; k != nil {
		notes += fmt.Sprintf("  %s in, %s out, %s from cache", words.Thousands(int(k.Input+
			k.CacheWrite)), words.Thousands(int(k.Output)), words.Thousands(int(k.CacheRead)))
	}
	return cost, notes
}
