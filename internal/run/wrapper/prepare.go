package wrapper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/site"
	"greenlight/internal/workspace/worktree"
)

// A workplace is where an attempt's agent works: a worktree, or the checkout. The wrapper makes
// it ready rather than the launcher: a slow checkout holds up neither the scheduler nor the
// project's lock.
type workplace struct {
	*claimed
	root     string
	env      []string
	agentEnv []string
	limit    time.Duration // of setup
	confine  bool
	stop     <-chan os.Signal

	// of the worktree; nil without one
	site   *site.Site
	before worktree.Condition
}

// prepare makes the attempt's worktree ready. Evidence is for an attempt that ends here, because
// the worktree can't be made or the attempt was stopped.
func (p *workplace) prepare(ctx context.Context) (*attempt.Evidence, error) {
	return p.preparing(ctx, p.stop, p.makeWorktree)
}

// preparing makes a place ready beside the loop that hears what stops the attempt.
func (c *claimed) preparing(ctx context.Context, stop <-chan os.Signal,
	ready func(context.Context) error) (*attempt.Evidence, error) {
	err := c.advance(ctx, func(r *attempt.Record) { r.Life.Phase = plan.Preparing })
	if err != nil {
		return nil, err
	}
	making, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- ready(making) }()
	for {
		select {
		case <-stop:
			if c.rec.Life.Ending == "" {
				c.end(ctx, attempt.EndStop, "")
			}
			cancel()
		case err := <-done:
			switch {
			case errors.Is(err, ErrLate):
				return nil, err
			case c.rec.Life.Ending != "":
				return &attempt.Evidence{}, nil
			case err != nil:
				c.noteWorktree(err.Error())
				return &attempt.Evidence{Worktree: err.Error(), Killed: git.WasKilled(err)}, nil
			}
			return nil, nil
		}
	}
}

// close releases the worktree.
func (p *workplace) close() {
	if p.site != nil {
		p.site.Close()
	}
}

const (
	makeTries = 3
	makePause = 200 * time.Millisecond // between the first two tries; it doubles
)

// makeWorktree makes the worktree ready, if the attempt before hasn't left it so. It retries if git
// was killed, which says nothing about the slice.
func (p *workplace) makeWorktree(ctx context.Context) error {
	pause := makePause
	for try := 1; ; try++ {
		err := p.tryWorktree(ctx)
		if !git.WasKilled(err) || try == makeTries || ctx.Err() != nil {
			return err
		}
		p.noteWorktree(err.Error() + ": trying again")
		if p.site != nil {
			if err := p.site.Close(); err != nil {
				return err
			}
		}
		time.Sleep(pause)
		pause *= 2
	}
}

func (p *workplace) tryWorktree(ctx context.Context) error {
	repo, err := p.settler.Worktrees(ctx)
	if err != nil {
		return err
	}
	l, err := p.rec.LineageIn(repo)
	if err != nil {
		return err
	}
	p.site = &site.Site{
		Root: p.root, Run: executor.Commands(p.settler.Executor), Repo: repo, Lineage: l,
		Environ:  func() []string { return p.rec.Env(p.env, p.root) },
		Setup:    site.Setup{Command: p.rec.Job.Setup, Limit: p.limit},
		SetupLog: p.settler.Store.Files.SetupLog(p.rec.ID.Slice, p.rec.ID.N),
		Sandbox:  site.Sandbox{On: p.sandboxed(), Caches: p.rec.Job.Caches},
		Note:     p.noteWorktree,
		Started: func(h command.Handle) error {
			return p.advance(ctx, func(r *attempt.Record) { r.Life.Process = &h.Process })
		},
		Leftover: func(err error) {
			p.note("what git.setup left running can't be ended: " + err.Error())
		},
	}
	if err := p.site.Make(ctx); err != nil {
		return err
	}
	if err := p.noteStashes(ctx, repo.Git.Common); err != nil {
		return err
	}
	if err := p.beginMerge(ctx, repo.Layout.Worktree(l)); err != nil {
		return err
	}
	p.before, err = repo.Inspect(ctx, l)
	if err == nil {
		err = p.before.Broken
	}
	if err == nil {
		err = p.handOff(ctx, repo, l)
	}
	return err
}

// beginMerge begins a merge that the agent is to resolve, unless an attempt before has.
func (p *workplace) beginMerge(ctx context.Context, w git.Worktree) error {
	c := p.rec.Talk.Continues
	if c == nil || c.Merge == nil || w.Operation() != "" {
		return nil
	}
	head, err := git.ResolveCommit(ctx, w.Admin, "HEAD")
	if err != nil || head != c.Merge.Tip {
		return err
	}
	if changed, err := w.Changed(ctx); err != nil || len(changed) > 0 {
		return err
	}
	return p.site.Hold().BeginMerge(ctx, c.Merge.Base, p.site.Lineage.MergeText())
}

// noteStashes notes which stashes aren't the agent's. If the attempt before couldn't be saved,
// these are the ones that weren't its agent's either: what that agent stashed, and all else that
// it left, is saved now.
func (p *workplace) noteStashes(ctx context.Context, common string) (err error) {
	last, err := p.settler.Store.LastIn(p.rec, func(*attempt.Record) bool { return true })
	if err != nil {
		return err
	}
	if last == nil || last.Place.Unsaved == "" {
		p.rec.Place.Stashes, err = git.Stashes(common)
		return err
	}
	p.rec.Place.Stashes = last.Place.Stashes
	why := "gl: snapshot of " + p.rec.ID.Work() + " as attempt " + strconv.Itoa(last.ID.N) + " left it"
	o := worktree.SnapshotOptions{Last: true, Why: why, Stashes: last.Place.Stashes}
	if _, err := p.settler.Snapshot(ctx, p.rec, o); err != nil {
		p.log.Note(logfile.Worktree, "no snapshot: "+err.Error())
	}
	return nil
}

func (c *claimed) noteWorktree(line string) { c.log.Note(logfile.Worktree, line) }

// environ returns the agent's environment.
func (p *workplace) environ() []string {
	env := agent.WithEnv(agent.StreamEnv(p.rec.Job.Stream, p.rec.Env(p.env, p.root)), p.agentEnv)
	if p.site != nil {
		env = p.site.Env(env)
	}
	return env
}

// lookAround finds out whether the agent has changed anything outside of its worktree: agents
// switch branches, even where the person works.
func (p *workplace) lookAround(ctx context.Context) {
	if p.site == nil || p.site.Hold() == nil {
		return
	}
	repo, err := p.settler.Worktrees(ctx)
	if err != nil {
		return
	}
	l, err := p.rec.LineageIn(repo)
	if err != nil {
		return
	}
	after, err := repo.Inspect(ctx, l)
	if err != nil {
		p.noteWorktree(err.Error())
	}
	p.rec.Place.Strayed = strayed(p.before, after, l.Branch)
}

// strayed returns what has changed between two looks. A person may have done it rather than the
// agent.
func strayed(before, after worktree.Condition, branch string) (list []string) {
	say := func(format string, a ...any) {
		list = append(list, sanitize.Text(fmt.Sprintf(format, a...)))
	}
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
	for _, path := range after.Mended {
		say("%s wasn't made by git, and was put aside", path)
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

// sandboxed reports whether the attempt is confined. A file that an agent may have written since
// the claim can't undo that.
func (p *workplace) sandboxed() bool {
	return p.rec.Place.Lineage != 0 && (p.rec.Job.Sandbox == attempt.SandboxBwrap || p.confine)
}
