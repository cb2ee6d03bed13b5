package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/project"
	"greenlight/internal/run/roster"
	"greenlight/internal/run/workers"
)

func newWorkers(app *cmdutil.App) *cobra.Command {
	c := workersCommand(app, &cobra.Command{
		Use:   "workers",
		Short: "List the workers, invite one, or revoke its key",
		Long: `List the workers that have joined gl serve of this project. A machine joins with gl worker and a join token, which gl workers invite
makes: it works once and for ten minutes.

gl workers drain gives a worker no new jobs: it finishes those it has. gl workers revoke takes away its connection and the right to push
at once; what it has pushed before is kept, and its jobs are given to others. It can join again only with a new token.

Exit codes: 0 done; 1 it failed, or there is no such worker; 2 wrong usage.`,
		Example: "  gl workers\n  gl workers invite --token-file token\n  gl workers drain build-2\n  gl workers revoke build-2",
		Args:    cmdutil.Args(cobra.NoArgs),
	}, nil)
	c.AddCommand(newWorkersInvite(app), newWorkersDrain(app), newWorkersRevoke(app))
	return c
}

// A workersDoc is the workers after the command.
type workersDoc struct {
	SchemaVersion int         `json:"schema_version"`
	Serving       bool        `json:"serving"`   // whether gl serve runs
	Addresses     []string    `json:"addresses"` // where workers reach it, or reached it last
	Workers       []workerDoc `json:"workers"`
}

type workerDoc struct {
	Name string `json:"name"`
	// connected, silent, draining, refused or revoked
	State  string    `json:"state" jsonschema:"enum=connected,enum=silent,enum=draining,enum=refused,enum=revoked"`
	Why    *string   `json:"why"` // why it gets no work; null for none
	Since  time.Time `json:"since"`
	Seen   time.Time `json:"seen,omitzero"` // the last contact
	Host   string    `json:"host"`
	OS     string    `json:"os"`
	Arch   string    `json:"arch"`
	Slots  int       `json:"slots"`
	Busy   int       `json:"busy"`
	Agents []string  `json:"agents"`
	Labels []string  `json:"labels"`
	Lacks  []string  `json:"lacks"` // what is missing there
}

// workersCommand completes a command that changes the list of workers, if change isn't nil, and
// then shows it.
func workersCommand(app *cmdutil.App, c *cobra.Command,
	change func(context.Context, *roster.Roster, []string) (told string, err error)) *cobra.Command {
	asJSON := false
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	c.RunE = func(c *cobra.Command, args []string) error {
		pr, err := app.Project()
		if err != nil {
			return err
		}
		r := roster.Open(workers.Dir(pr.Runs.Files.Dir()))
		told := ""
		if change != nil {
			if told, err = change(c.Context(), r, args); err != nil {
				return err
			}
		}
		if change != nil && !asJSON {
			app.IO.Printf("%s\n", told)
			return nil
		}
		doc, err := listWorkers(pr, r)
		if err != nil {
			return err
		}
		if asJSON {
			return app.IO.JSON(doc)
		}
		printWorkers(app, doc)
		return nil
	}
	return c
}

// listWorkers joins who may connect with what gl serve knows of them.
func listWorkers(pr *project.Project, r *roster.Roster) (*workersDoc, error) {
	members, err := r.Members()
	if err != nil {
		return nil, err
	}
	known, err := workers.Read(pr.Runs.Files.Dir())
	if err != nil {
		return nil, err
	}
	server, err := r.Server()
	if err != nil && !errors.Is(err, roster.ErrNeverServed) {
		return nil, err
	}
	live, _, err := pr.Runs.Live()
	if err != nil {
		return nil, err
	}
	busy := workers.Busy(pr.Runs.Files.Dir(), live)
	doc := &workersDoc{SchemaVersion: 1, Serving: known.Serving(),
		Addresses: jsondoc.OrEmpty(server.Addresses), Workers: []workerDoc{}}
	for _, m := range members {
		w := known.Find(m.Name)
		if w == nil {
			w = &workers.Worker{Silent: true}
		}
		d := workerDoc{Name: m.Name, Since: m.Since, Seen: w.Seen, Host: string(w.Hello.Host),
			OS: w.Hello.OS, Arch: w.Hello.Arch, Slots: w.Hello.Slots, Busy: busy[m.Name],
			Agents: jsondoc.OrEmpty(w.Hello.Agents), Labels: jsondoc.OrEmpty(w.Hello.Labels),
			Lacks: []string{}}
		for _, l := range w.Hello.Lacks {
			d.Lacks = append(d.Lacks, string(l))
		}
		var why string
		d.State, why = stateOf(m, w, doc.Serving)
		d.Why = jsondoc.OrNull(why)
		doc.Workers = append(doc.Workers, d)
	}
	return doc, nil
}

// stateOf returns a worker's state, and why it gets no work.
func stateOf(m roster.Member, w *workers.Worker, serving bool) (state, why string) {
	now := *w
	now.Name, now.Revoked, now.Draining = m.Name, m.Revoked, m.Draining // gl serve learns it later
	why = now.Barred()
	switch {
	case m.Revoked:
		return "revoked", why
	case !serving:
		return "silent", "gl serve isn't running"
	case w.Refused != "":
		return "refused", why
	case w.Silent:
		return "silent", why
	case m.Draining, w.Hello.Draining:
		return "draining", why
	}
	return "connected", why
}

func printWorkers(app *cmdutil.App, doc *workersDoc) {
	if !doc.Serving {
		app.IO.Printf("gl serve isn't running.\n")
	}
	if len(doc.Workers) == 0 {
		app.IO.Printf("No worker has joined. gl serve makes a join token, and gl worker uses it.\n")
		return
	}
	name, state := 0, 0
	for _, w := range doc.Workers {
		name, state = max(name, term.Width(w.Name)), max(state, len(w.State))
	}
	for _, w := range doc.Workers {
		app.IO.Printf("%s\n", term.WrapColumn(term.Pad(w.Name, name)+"  "+term.Pad(w.State, state)+"  ",
			sanitize.Line(workerNotes(w)), app.IO.Width()))
	}
}

// workerNotes tells what people want to know of a worker: "2 of 4 slots, box (linux/amd64),
// claude; no bwrap".
func workerNotes(w workerDoc) string {
	if w.State == "revoked" {
		return "since " + w.Since.Local().Format(time.DateOnly)
	}
	var notes []string
	if w.Host != "" {
		notes = append(notes, words.Count(w.Slots, "slot")+", "+words.Count(w.Busy, "job"),
			w.Host+" ("+w.OS+"/"+w.Arch+")")
	}
	notes = append(notes, w.Agents...)
	notes = append(notes, w.Labels...)
	text := strings.Join(notes, ", ")
	if w.Why != nil {
		text = strings.TrimPrefix(text+"; "+*w.Why, "; ")
	}
	return strings.Join(append([]string{text}, w.Lacks...), "; ")
}

func newWorkersInvite(app *cmdutil.App) *cobra.Command {
	file := ""
	c := &cobra.Command{
		Use:   "invite",
		Short: "Make a join token for one worker",
		Long: `Print a token with which one machine may join within ten minutes, or write it into a file. It says where gl serve is and which key it
has, so the worker can't be led to another server. Keep it out of command lines: gl worker reads it from a file, standard input or
GL_WORKER_TOKEN.

Exit codes: 0 done; 1 it failed, or gl serve has never run here; 2 wrong usage.`,
		Example: "  gl workers invite --token-file token\n  gl workers invite | ssh build-2 gl worker --token-file -",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			pr, err := app.Project()
			if err != nil {
				return err
			}
			t, err := roster.Open(workers.Dir(pr.Runs.Files.Dir())).Invite(c.Context())
			if err != nil {
				return err
			}
			if file == "" {
				app.IO.Printf("%s\n", t)
				return nil
			}
			return t.Write(file)
		},
	}
	c.Flags().StringVar(&file, "token-file", "", "write it into `FILE`, which only you may read")
	return c
}

func newWorkersDrain(app *cmdutil.App) *cobra.Command {
	off := false
	c := workersCommand(app, &cobra.Command{
		Use:   "drain NAME",
		Short: "Give a worker no more jobs",
		Long: `Give a worker no more jobs; it finishes those it has. --off gives it jobs again.

Exit codes: 0 done; 1 it failed, or there is no such worker; 2 wrong usage.`,
		Example: "  gl workers drain build-2\n  gl workers drain --off build-2",
		Args:    cmdutil.Args(cobra.ExactArgs(1)),
	}, func(ctx context.Context, r *roster.Roster, args []string) (string, error) {
		told := args[0] + " gets no more jobs, and finishes those it has."
		if off {
			told = args[0] + " gets jobs again."
		}
		return told, r.Drain(ctx, args[0], !off)
	})
	c.Flags().BoolVar(&off, "off", false, "give it jobs again")
	return c
}

func newWorkersRevoke(app *cmdutil.App) *cobra.Command {
	forget := false
	c := workersCommand(app, &cobra.Command{
		Use:   "revoke NAME",
		Short: "Refuse a worker from now on",
		Long: `Refuse a worker's keys: gl serve cuts its connections at once, it can push nothing more, and its jobs are given to other workers. Its
agents run on where they are; what they do doesn't count. It can join again with a new token.

Exit codes: 0 done; 1 it failed, or there is no such worker; 2 wrong usage.`,
		Example: "  gl workers revoke build-2\n  gl workers revoke --forget build-2",
		Args:    cmdutil.Args(cobra.ExactArgs(1)),
	}, func(ctx context.Context, r *roster.Roster, args []string) (string, error) {
		return args[0] + " is revoked.", r.Revoke(ctx, args[0], forget)
	})
	c.Flags().BoolVar(&forget, "forget", false, "also take it off the list")
	return c
}
