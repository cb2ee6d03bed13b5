package network

import (
	"context"

	"greenlight/internal/cli"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/away"
	"greenlight/internal/run/hub"
	"greenlight/internal/run/workers"
)

// serve opens the port and serves the project's workers until ctx ends.
func serve(ctx context.Context, o cli.ServeOptions) error {
	repo, err := o.Project.Worktrees(ctx)
	if err != nil {
		return err
	}
	h, err := hub.Open(ctx, hub.Options{
		Dir: workers.Dir(o.Project.Runs.Files.Dir()), Project: repo.Git.Common, Listen: o.Listen,
		Addresses: o.Addresses, NATS: hub.Elsewhere{URL: o.NATS, Credentials: o.NATSCreds},
	})
	if err != nil {
		return err
	}
	defer h.Close()
	o.Print(cli.ServingAt + h.Server.Listen)
	if o.TokenFile != "" {
		t, err := h.Roster.Invite(ctx)
		if err != nil {
			return err
		}
		if err := t.Write(o.TokenFile); err != nil {
			return err
		}
		o.Print("join token for one worker, for ten minutes: " + o.TokenFile)
	} else if list, err := h.Roster.Members(); err == nil && len(list) == 0 {
		o.Print("no worker has joined yet: gl workers invite makes a join token, and gl worker uses it")
	}
	policy := remote.DefaultPolicy
	policy.Lost = o.Project.Config.Workers.Lost
	return away.Serve(ctx, away.Config{
		Project: o.Project, Hub: h, Policy: policy, Self: o.GL, Environ: o.Environ,
		Members: h.Roster.Members, Wrapper: o.Wrapper, Tell: o.Print,
	})
}
