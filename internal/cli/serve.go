package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/project"
	"greenlight/internal/run/wrapper"
)

// ServeOptions are the options of gl serve.
type ServeOptions struct {
	Project   *project.Project
	Listen    string   // "" for where it was last
	Addresses []string // by which workers reach it; none to find out
	TokenFile string   // that gets a join token; "" for none
	NATS      string   // URL of a server elsewhere; "" for the one inside
	NATSCreds string   // file of its credentials; "" for none
	Attached  bool     // it ends with its standard input

	GL      string // path of gl, for the commands of agents
	Environ []string
	Wrapper func(*attempt.Record, executor.Executor, <-chan os.Signal) *wrapper.Wrapper
	Print   func(line string)
}

func newServe(app *cmdutil.App) *cobra.Command {
	var o ServeOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve workers on other machines",
		Long: `Open a port for workers, and run the attempts that gl slice gives them. A machine becomes a worker with gl worker and a join token,
which works once and for ten minutes: --token-file writes one, and gl workers invite makes more. gl slice runs beside gl serve as always
and places its agents by workers.where.

All that workers send goes over one TCP port with TLS. Both sides know each other's keys; a worker reads the commits of its own jobs and
pushes their results, which are checked like the work of any agent. gl serve may be ended and started at any time: agents on workers go
on, and what they have done is taken in by the next one.

Exit codes: 0 ended; 1 it failed, or another gl serve runs here; 2 wrong usage.`,
		Example: "  gl serve --token-file /tmp/token\n  gl serve --listen 192.168.1.20:7433",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return runServe(c.Context(), app, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Listen, "listen", "", "listen at `HOST:PORT` (default: as before, and at first port 7433)")
	f.StringSliceVar(&o.Addresses, "address", nil,
		"tell workers to connect to `HOST:PORT` (default: the addresses of this machine)")
	f.StringVar(&o.TokenFile, "token-file", "", "write a join token for one worker into `FILE`")
	f.StringVar(&o.NATS, "nats", "", "use the NATS server at `URL` instead of the one inside")
	f.StringVar(&o.NATSCreds, "nats-credentials", "", "use the credentials in `FILE` for --nats")
	f.BoolVar(&o.Attached, attachedFlag, false, "")
	_ = f.MarkHidden(attachedFlag)
	return c
}

func runServe(ctx context.Context, app *cmdutil.App, o ServeOptions) error {
	if o.NATSCreds != "" && o.NATS == "" {
		return cmdutil.Usage("use --nats-credentials with --nats")
	}
	if remote == nil {
		return becomeRemote(app)
	}
	var err error
	if o.Project, err = app.Project(); err != nil {
		return err
	}
	if o.GL, err = findBeside("gl"); err != nil {
		return err
	}
	o.Environ, o.Wrapper = app.Environ, RemoteWrapper(app, o.Project)
	o.Print = func(line string) { app.IO.Printf("%s\n", sanitize.Text(line)) }
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if o.Attached {
		ctx = untilClosed(ctx, app.IO.In)
	}
	return remote.Serve(ctx, o)
}
