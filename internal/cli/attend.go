package cli

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"greenlight/internal/run/project"
	"greenlight/internal/run/scheduler"
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

// leaveTo starts a gl in the background that attends to what was launched. If that fails, it prints
// the command that does the same.
func (j *job) leaveTo(cfg scheduler.Config, res *scheduler.Result) {
	if cfg.Tools.Lane == nil {
		return
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
		return
	}
	go func() { _ = cmd.Wait() }() // in case it ends first
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
