package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"greenlight/internal/base/text/lines"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/attemptlog"
	"greenlight/internal/run/project"
	"greenlight/internal/show/workdoc"
)

func logsJSON(out *iostreams.Streams, pr *project.Project, rec *attempt.Record) error {
	doc := workdoc.NewLog(pr, rec)
	dec := agent.NewDecoder(rec.Job.Stream)
	t := attemptlog.NewTail(pr.Runs.Files.Log(rec.ID.Slice, rec.ID.N))
	defer t.Close()
	err := t.Lines(rec.Life.Phase == plan.Settled, func(p lines.Piece) {
		for _, ev := range attemptlog.Events(dec, p) {
			doc.Add(ev)
		}
	})
	if err != nil {
		return err
	}
	return out.JSON(doc)
}

// completeAttempt completes the numbers of a slice's attempts, with their outcomes.
func completeAttempt(app *cmdutil.App, _ *cobra.Command, have []string,
	_ string) ([]string, cobra.ShellCompDirective) {
	pr, err := app.Project()
	if err != nil || len(have) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	index, err := pr.Runs.Index()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for _, entry := range index[have[0]] {
		list = append(list,
			cobra.CompletionWithDesc(strconv.Itoa(entry.N), entry.Outcome.Traits().Shown.Words))
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
