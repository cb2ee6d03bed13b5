package attempt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"greenlight/internal/base/logfile"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/site"
	"greenlight/internal/workspace/worktree"
)

// prepare makes the attempt's worktree ready, where it has one. The wrapper does it and not the launcher: a slow checkout
// holds up neither the drain nor the project's lock. Evidence is for an attempt that ends here, because the worktree can't
// be made or somebody has stopped it.
func (w *Wrapper) prepare(ctx context.Context) (*Evidence, error) {
	if w.rec.Place.Lineage == 0 {
		w.handOffHere()
		w.noteBaseline(ctx)
		return nil, nil
	}
	if err := w.advance(ctx, func(r *Record) { r.Life.Phase = plan.Preparing }); err != nil {
		return nil, err
	}
	making, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- w.makeWorktree(making) }()
	for {
		select {
		case <-w.Stop:
			if w.rec.Life.Ending == "" {
				w.rec.Life.Ending = EndStop
				if err := w.Store.MarkEnding(ctx, w.Tracker, w.rec, EndStop, ""); err != nil {
					w.log.note(logfile.Gl, giveUpNote+err.Error())
				}
			}
			cancel()
		case err := <-done:
			switch {
			case errors.Is(err, ErrLate):
				return nil, err
			case w.rec.Life.Ending != "":
				return &Evidence{}, nil
			case err != nil:
				w.log.note(logfile.Worktree, err.Error())
				return &Evidence{Worktree: err.Error(), Killed: git.WasKilled(err)}, nil
			}
			return nil, nil
		}
	}
}

const (
	makeTries = 3
	makePause = 200 * time.Millisecond // between the first two tries; it doubles
)

// makeWorktree makes the worktree ready, or finds it so from the attempt before. A git that is killed there has said nothing about the
// slice.
func (w *Wrapper) makeWorktree(ctx context.Context) error {
	pause := makePause
	for try := 1; ; try++ {
		err := w.tryWorktree(ctx)
		if !git.WasKilled(err) || try == makeTries || ctx.Err() != nil {
			return err
		}
		w.noteWorktree(err.Error() + ": trying again")
		if w.site != nil {
			if err := w.site.Close(); err != nil {
				return err
			}
		}
		time.Sleep(pause)
		pause *= 2
	}
}

func (w *Wrapper) tryWorktree(ctx context.Context) error {
	repo, err := w.Worktrees(ctx)
	if err != nil {
		return err
	}
	l, err := lineageOf(w.rec, repo)
	if err != nil {
		return err
	}
	w.site = &site.Site{
		Root: w.Root, Self: w.Self, Environ: func() []string { return w.rec.Env(w.Env, w.Root) }, Setup: site.Setup{Command: w.rec.Job.Setup, Limit: w.SetupLimit},
		SetupLog: w.Store.Files.SetupLog(w.rec.ID.Slice, w.rec.ID.N), Sandbox: site.Sandbox{On: w.sandboxed(), Caches: w.rec.Job.Caches}, Note: w.noteWorktree,
		Started:  func(id proc.ID) error { return w.advance(ctx, func(r *Record) { r.Life.Process = &id }) },
		Leftover: func(err error) { w.log.note(logfile.Gl, "what git.setup left running can't be ended: "+err.Error()) },
		Repo:     repo, Lineage: l,
	}
	if err := w.site.Make(ctx); err != nil {
		return err
	}
	if err := w.noteStashes(ctx, repo.Common); err != nil {
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

// noteStashes notes which stashes aren't the agent's. Where the attempt before couldn't be saved they are those that weren't its agent's: what
// it has stashed is to be saved still, and is so at once, as all else that it left.
func (w *Wrapper) noteStashes(ctx context.Context, common string) (err error) {
	last, err := w.Store.lastIn(w.rec, func(*Record) bool { return true })
	if err != nil {
		return err
	}
	if last == nil || last.Place.Unsaved == "" {
		w.rec.Place.Stashes, err = git.Stashes(common)
		return err
	}
	w.rec.Place.Stashes = last.Place.Stashes
	why := "gl: snapshot of " + w.rec.ID.Work() + " as attempt " + itoa(last.ID.N) + " left it"
	if _, err := w.snapshot(ctx, w.rec, worktree.SnapshotOptions{Last: true, Why: why, Stashes: last.Place.Stashes}); err != nil {
		w.log.note(logfile.Worktree, "no snapshot: "+err.Error())
	}
	return nil
}

func (w *Wrapper) noteWorktree(line string) { w.log.note(logfile.Worktree, line) }

// environ is what the agent runs in.
func (w *Wrapper) environ() []string {
	env := agent.WithEnv(agent.StreamEnv(w.rec.Job.Stream, w.rec.Env(w.Env, w.Root)), w.AgentEnv)
	if w.site != nil {
		env = w.site.Env(env)
	}
	return env
}

// lookAround finds out whether the agent has changed what isn't its worktree's: agents switch branches, also where the person
// works.
func (w *Wrapper) lookAround(ctx context.Context) {
	if w.site == nil || w.site.Hold() == nil {
		return
	}
	repo, err := w.Worktrees(ctx)
	if err != nil {
		return
	}
	l, err := lineageOf(w.rec, repo)
	if err != nil {
		return
	}
	after, err := repo.Inspect(ctx, l)
	if err != nil {
		w.noteWorktree(err.Error())
	}
	w.rec.Place.Strayed = strayed(w.before, after, l.Branch)
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
	for _, path := range after.Mended {
		say("%s was no file of git's, and was put aside", path)
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

// lineageOf is the one that the attempt was claimed for.
func lineageOf(r *Record, repo *worktree.Repo) (*worktree.Lineage, error) {
	l, err := repo.Get(r.ID.System, r.ID.Work())
	if err == nil && l.N != r.Place.Lineage {
		err = fmt.Errorf("lineage %d of %s has taken the place of %d", l.N, r.ID.Work(), r.Place.Lineage)
	}
	return l, err
}

// SandboxBwrap is the sandbox that bubblewrap makes, as records and settings name it.
const SandboxBwrap = "bwrap"

// Confined reports whether the attempt's agent may be unable to write the records: in gl's sandbox, or in codex's own.
func (j *Job) Confined() bool { return j.Sandbox != "" || agent.IsCodex(j.Program) }

// sandboxed says whether the attempt is confined. What was decided when it was claimed isn't taken back by a file that an agent may have
// written since.
func (w *Wrapper) sandboxed() bool {
	return w.rec.Place.Lineage != 0 && (w.rec.Job.Sandbox == SandboxBwrap || w.Confine)
}
