package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/text/lines"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/attemptlog"
	"greenlight/internal/run/project"
)

// A logsDoc is an attempt and its log so far, as gl logs --json prints it.
type logsDoc struct {
	SchemaVersion int          `json:"schema_version"`
	Slice         string       `json:"slice"` // or the id of a task
	Attempt       attempt.Info `json:"attempt"`
	File          string       `json:"file"`   // the log, relative to the root; it may be gone
	Events        []logEvent   `json:"events"` // so far, if the attempt is running
}

type logEvent struct {
	Kind agent.Kind `json:"kind"`
	Text string     `json:"text"` // control characters are escaped
	By   *string    `json:"by"`   // the sub-agent; null for the agent itself
}

func logsJSON(out *iostreams.Streams, pr *project.Project, rec *attempt.Record) error {
	path := pr.Runs.Files.Log(rec.ID.Slice, rec.ID.N)
	doc := logsDoc{1, rec.ID.Slice, rec.Info(), paths.Relative(pr.Root, path), []logEvent{}}
	dec := agent.NewDecoder(rec.Job.Stream)
	t := attemptlog.NewTail(path)
	defer t.Close()
	err := t.Lines(rec.Life.Phase == plan.Settled, func(p lines.Piece) {
		for _, ev := range attemptlog.Events(dec, p) {
			doc.Events = append(doc.Events, logEvent{ev.Kind, ev.Text, jsondoc.OrNull(ev.By)})
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
