package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/command"
	"greenlight/internal/environ"
	"greenlight/internal/git"
	"greenlight/internal/include"
	"greenlight/internal/isolation"
	"greenlight/internal/logfile"
	"greenlight/internal/paths"
	"greenlight/internal/plan"
	"greenlight/internal/ports"
	"greenlight/internal/proc"
	"greenlight/internal/sanitize"
	"greenlight/internal/shellwords"
	"greenlight/internal/words"
	"greenlight/internal/worktree"
)

// Setup is how a new worktree becomes one that the project can be built in.
type Setup struct {
	Command []string // nil for none
	Limit   time.Duration
}

// prepare makes the attempt's worktree ready, where it has one. The wrapper does it and not the launcher: a slow checkout
// holds up neither the drain nor the project's lock. Evidence is for an attempt that ends here, because the worktree can't
// be made or somebody has stopped it.
func (w *Wrapper) prepare(ctx context.Context) (*Evidence, error) {
	if w.rec.Lineage == 0 {
		return nil, nil
	}
	if err := w.advance(ctx, func(r *Record) { r.Phase = plan.Preparing }); err != nil {
		return nil, err
	}
	making, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- w.makeWorktree(making) }()
	for {
		select {
		case <-w.Stop:
			if w.rec.Ending == "" {
				w.rec.Ending = EndStop
				if err := w.Store.MarkEnding(ctx, w.Tracker, w.rec, EndStop, ""); err != nil {
					w.log.note(logfile.Gl, giveUpNote+err.Error())
				}
			}
			cancel()
		case err := <-done:
			switch {
			case errors.Is(err, ErrLate):
				return nil, err
			case w.rec.Ending != "":
				return &Evidence{}, nil
			case err != nil:
				w.log.note(logfile.Worktree, err.Error())
				return &Evidence{Worktree: err.Error()}, nil
			}
			return nil, nil
		}
	}
}

// makeWorktree makes the worktree ready, or finds it so from the attempt before.
func (w *Wrapper) makeWorktree(ctx context.Context) error {
	repo, err := w.Worktrees(ctx)
	if err != nil {
		return err
	}
	l, err := w.rec.lineage(repo)
	if err != nil {
		return err
	}
	if err := w.isolate(ctx, repo, l); err != nil {
		return err
	}
	w.repo, w.line = repo, l
	if err := w.checkSandbox(ctx); err != nil {
		return err
	}
	making := worktree.Making{Log: w.noteWorktree, Include: w.include(repo)}
	if len(w.Setup.Command) > 0 {
		making.Command, making.Setup = shellwords.Join(w.Setup.Command), w.runSetup
	}
	if w.hold, err = repo.Make(ctx, l, making); err != nil {
		return err
	}
	if w.rec.Stashes, err = git.Stashes(repo.Common); err != nil {
		return err
	}
	w.before, err = repo.Inspect(ctx, l)
	if err == nil {
		err = w.before.Broken
	}
	if err == nil {
		err = w.handOff(ctx, repo, l)
	}
	return err
}

// isolate makes the environment of what works in the worktree: ports and a directory for temporary files of its own.
func (w *Wrapper) isolate(ctx context.Context, repo *worktree.Repo, l *worktree.Lineage) error {
	env := environ.Environ(w.Env)
	dir, err := ports.Dir(env.Get)
	if err == nil {
		w.ports, err = ports.Allocate(dir, l.Ports)
	}
	if err != nil {
		w.noteWorktree("no ports: " + err.Error())
	} else if l.Ports != w.ports.First {
		l.Ports = w.ports.First
		if err := repo.Save(l); err != nil {
			return err
		}
	}
	name, err := git.Config(ctx, w.Root, "user.name")
	if err != nil {
		return err
	}
	email, err := git.Config(ctx, w.Root, "user.email")
	if err != nil {
		return err
	}
	own := isolation.Worktree{
		Confined: w.sandboxed(),
		Root:     w.Root, Project: filepath.Base(w.Root), System: l.System, Slice: l.Slice, N: l.N, Ports: l.Ports,
		Known: isolation.Identity{Name: name, Email: email}, Fallback: isolation.Identity{Name: "Greenlight", Email: "greenlight@localhost"},
	}
	if own.Temp, err = own.MakeTemp(cmp.Or(env.Get("TMPDIR"), os.TempDir())); err != nil {
		return err
	}
	w.own = &own
	return nil
}

// include brings ignored files along that a build needs, and what agents know their commands by.
func (w *Wrapper) include(repo *worktree.Repo) func(ctx context.Context, from, to string) error {
	return func(ctx context.Context, from, to string) error {
		report, err := include.Copy(ctx, include.Options{From: from, To: to, Place: repo.Prefix})
		if err != nil {
			return err
		}
		if report.Files > 0 {
			w.noteWorktree(words.Count(report.Files, "file") + " brought along that git doesn't have")
		}
		for _, left := range report.Left {
			w.noteWorktree("not brought along: " + left.Path + ": " + left.Why)
		}
		return nil
	}
}

func (w *Wrapper) noteWorktree(line string) { w.log.note(logfile.Worktree, line) }

// environ is what the agent and the setup command run in.
func (w *Wrapper) environ() []string {
	env := w.rec.Env(w.Env, w.Root)
	if w.own != nil {
		env = w.own.Env(env)
	}
	return env
}

// lookAround finds out whether the agent has changed what isn't its worktree's: agents switch branches, also where the person
// works.
func (w *Wrapper) lookAround(ctx context.Context) {
	if w.hold == nil {
		return
	}
	repo, err := w.Worktrees(ctx)
	if err != nil {
		return
	}
	l, err := w.rec.lineage(repo)
	if err != nil {
		return
	}
	after, err := repo.Inspect(ctx, l)
	if err != nil {
		w.noteWorktree(err.Error())
	}
	w.rec.Strayed = strayed(w.before, after, l.Branch)
}

// strayed says what has changed between two looks. A person may have done it as well as the agent.
func strayed(before, after worktree.Condition, branch string) (list []string) {
	say := func(format string, a ...any) { list = append(list, sanitize.Text(fmt.Sprintf(format, a...))) }
	short := func(ref string) string {
		if ref == "" {
			return "a detached HEAD"
		}
		return strings.TrimPrefix(ref, "refs/heads/")
	}
	if after.Broken != nil {
		say("the worktree is broken: %v", after.Broken)
	} else if after.Branch != branch {
		say("the worktree is on %s, not on %s", short(after.Branch), short(branch))
	}
	if after.Operation != "" {
		say("a %s isn't finished in the worktree", after.Operation)
	}
	if after.MainBranch != before.MainBranch {
		say("the checkout was switched from %s to %s", short(before.MainBranch), short(after.MainBranch))
	}
	if after.Config != before.Config {
		say("the repository's configuration, hooks or excludes have changed")
	}
	return list
}

// lineage is the one that the attempt was claimed for.
func (r *Record) lineage(repo *worktree.Repo) (*worktree.Lineage, error) {
	l, err := repo.Get(r.System, r.Slice)
	if err == nil && l.N != r.Lineage {
		err = fmt.Errorf("lineage %d of %s has taken the place of %d", l.N, r.Slice, r.Lineage)
	}
	return l, err
}

// runSetup runs the project's setup command in the worktree, its output in a log of its own. It is the same command line for
// every worktree, so it doesn't hear of the claim.
func (w *Wrapper) runSetup(ctx context.Context, dir string, inherit []*os.File) error {
	path := w.Store.SetupLogPath(w.rec.Slice, w.rec.N)
	log, err := logfile.Create(path)
	if err != nil {
		return err
	}
	defer log.Close()
	if w.ports != nil {
		inherit = append(slices.Clone(inherit), w.ports.File)
	}
	res, err := command.Run(ctx, command.Spec{
		Self: w.Self, Argv: w.Setup.Command, Dir: dir, Env: environ.WithoutClaim(w.environ()), Files: inherit, Limit: w.Setup.Limit,
		Box: func(p command.Program) (*command.Box, error) { return w.box(p, nil) },
		Log: log, Started: func(id proc.ID) error { return w.advance(ctx, func(r *Record) { r.Process = &id }) },
	})
	if res.Leftover != nil {
		w.log.note(logfile.Gl, "what git.setup left running can't be ended: "+res.Leftover.Error())
	}
	switch {
	case errors.Is(err, ErrLate):
		return err
	case err != nil:
		return fmt.Errorf("git.setup: %w", err)
	case res.OK():
		return nil
	}
	return fmt.Errorf("git.setup failed: %s (%s)", res.How(plan.Age(w.Setup.Limit)), paths.Relative(w.Root, path))
}
