package cli

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/base/term"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/run/project"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/show/facts"
	"greenlight/internal/show/view"
)

// The gl that launches slices works on the merge queue until they are merged. But gl slice on a
// terminal becomes tmux, which a person may detach from or close at any time, so another gl in the
// background attends to the launched slices: gl slice --attend NAMES. It launches only what the
// merge queue sends back to its agent, merges what ends, and exits with the last of them.

const attendFlag = "attend"

// orphans returns the attempts in the merge queue without a process; the next run takes them over.
func orphans(pr *project.Project) (names []string, err error) {
	if leader, err := pr.Runs.Control.Leader(); err != nil || leader != "" {
		return nil, err
	}
	queue, err := pr.Runs.Queue()
	for _, r := range queue {
		if pr.Has(r) && !r.Life.LauncherLives() {
			names = append(names, r.ID.Name())
		}
	}
	return names, err
}

// leaveTo starts a gl in the background that attends to what was launched, and reports whether it
// did. If that fails, it prints the command that does the same.
func (j *job) leaveTo(cfg scheduler.Config, res *scheduler.Result) bool {
	if cfg.Tools.Lane == nil {
		return false
	}
	names := make([]string, len(res.Open))
	for i, r := range res.Open {
		names[i] = r.ID.Name()
	}
	cmd := exec.Command(j.parent, j.attendArgs(names)...)
	cmd.Args[0] = "gl"
	cmd.Dir, cmd.Env = j.pr.Root, j.app.Environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives the terminal
	if err := cmd.Start(); err != nil {
		j.app.IO.Message("the work of these agents isn't merged: %v. Run gl land%s when they have ended", err, j.pr.Flags())
		return false
	}
	go func() { _ = cmd.Wait() }() // in case it ends first
	return true
}

// tellDetached tells a person who is back from tmux how far everything is, what goes on, and how to
// follow or end it: nothing more is printed here.
func tellDetached(out *iostreams.Streams, pr *project.Project, attended bool) error {
	now, flags := time.Now(), pr.Flags()
	p, err := shownPlan(pr, now, "")
	if err != nil {
		return err
	}
	head := summary(pr, p, view.Count(p, facts.Lane(pr, p)))
	out.Printf("%s\n", out.Paint(term.Bold, term.Wrap(head, out.Width(), 2)))
	for _, l := range urgent(p, now) {
		out.Printf("%s\n", term.Wrap("  "+l, out.Width(), 4))
	}
	if len(p.Lists.Running)+len(p.Lists.Landing) == 0 {
		return nil
	}
	if attended {
		out.Printf("%s\n", term.Wrap("It goes on in the background: what an agent calls complete is tested and merged.", out.Width(), 0))
	} else {
		out.Printf("The agents go on in the background.\n")
	}
	text := "gl board" + flags + " shows how far they are, gl attach" + flags + " leads back, gl stop --all" + flags + " ends them."
	out.Printf("%s\n", term.Wrap(text, out.Width(), 0))
	return nil
}

// attendArgs returns its command line.
func (j *job) attendArgs(names []string) []string {
	args := []string{"-C", j.pr.Root, "--context", "shell"}
	if j.app.SystemFlag != "" {
		args = append(args, "--system", j.app.SystemFlag)
	}
	args = append(args, "slice", "--"+attendFlag, strings.Join(names, ","), "--runner", j.runner(),
		"--isolation", "worktree")
	if j.o.agent != "" {
		args = append(args, "--agent", j.o.agent)
	}
	if j.o.max > 0 {
		args = append(args, "--max", strconv.Itoa(j.o.max))
	}
	return args
}
