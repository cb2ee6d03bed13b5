package cli

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"greenlight/internal/run/drain"
)

// Who launches slices works the merge queue until what it launched is merged. gl slice on a terminal gives that to tmux, and a person may
// detach or close it at any time: so another gl, in the background, attends to what was launched. It is the same gl slice with --attend
// NAMES: it launches nothing but what the merge queue sends back to its agent, merges what ends, and ends with the last of it.

const attendFlag = "attend"

// orphans are the attempts in the merge queue that no process works: whoever starts a run takes them over.
func (j *job) orphans() (names []string, err error) {
	if leader, err := j.pr.Runs.Control.Leader(); err != nil || leader != "" {
		return nil, err
	}
	queue, err := j.pr.Runs.Queue()
	for _, r := range queue {
		if j.pr.Has(r) && !r.Life.LauncherLives() {
			names = append(names, r.ID.Name())
		}
	}
	return names, err
}

// leaveTo starts a gl in the background that answers for what was launched. Where it can't be started, the person is told what does the
// same.
func (j *job) leaveTo(cfg drain.Config, res *drain.Result) {
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
		j.app.IO.Message("nothing merges what these agents build: %v. Run gl land%s when they have ended", err, j.pr.Flags())
		return
	}
	go func() { _ = cmd.Wait() }() // where it ends first
}

// attendArgs is its command line.
func (j *job) attendArgs(names []string) []string {
	args := []string{"-C", j.pr.Root, "--context", "shell"}
	if j.app.SystemFlag != "" {
		args = append(args, "--system", j.app.SystemFlag)
	}
	args = append(args, "slice", "--"+attendFlag, strings.Join(names, ","), "--runner", j.runner(), "--isolation", "worktree")
	if j.o.agent != "" {
		args = append(args, "--agent", j.o.agent)
	}
	if j.o.max > 0 {
		args = append(args, "--max", strconv.Itoa(j.o.max))
	}
	return args
}
