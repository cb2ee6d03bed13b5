package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/roster"
	"greenlight/internal/run/ssh"
	"greenlight/internal/run/workers"
)

// startWorkerAt starts a worker for this project on another machine.
func startWorkerAt(c *cobra.Command, app *cmdutil.App, f workerFlags) error {
	if f.tokenFile != "" {
		return cmdutil.Usage("--ssh makes a join token of its own: leave --token-file out")
	}
	host := ssh.Host(f.ssh)
	if err := host.Check(); err != nil {
		return cmdutil.Usage("--ssh: %v", err)
	}
	pr, err := app.Project()
	if err != nil {
		return err
	}
	var programs []string
	for _, name := range []string{"gl", remoteProgram} {
		path, err := findBeside(name)
		if err != nil {
			return err
		}
		programs = append(programs, path)
	}
	if err := host.Install(c.Context(), programs...); err != nil {
		return err
	}
	// the token lives for minutes, so it is made last
	t, err := roster.Open(workers.Dir(pr.Runs.Files.Dir())).Invite(c.Context())
	if err != nil {
		return err
	}
	said, err := host.Work(c.Context(), t.String(), passedOn(c))
	if err == nil {
		app.IO.Printf("%s", sanitize.Text(said))
	}
	return err
}

// passedOn returns the flags that are for the worker itself.
func passedOn(c *cobra.Command) (args []string) {
	own := c.LocalFlags()
	c.Flags().Visit(func(f *pflag.Flag) { // own doesn't know which are set
		if f.Name == "ssh" || own.Lookup(f.Name) == nil {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			args = append(args, "--"+f.Name+"="+v)
		}
	})
	return args
}
