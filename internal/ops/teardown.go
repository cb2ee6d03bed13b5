package ops

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/isolation"
	"greenlight/internal/paths"
	"greenlight/internal/plan"
	"greenlight/internal/proc"
	"greenlight/internal/project"
	"greenlight/internal/sanitize"
	"greenlight/internal/worktree"
)

// lastOutput is how much of a teardown's output is kept, for its last line.
const lastOutput = 4 << 10

// tearDown runs git.teardown in a worktree that is about to be removed: it stops what git.setup has started. It has as long as
// setup has.
func tearDown(ctx context.Context, pr *project.Project, repo *worktree.Repo, l *worktree.Lineage, environ []string) error {
	argv, limit := pr.Config.Git.Teardown, pr.Config.Git.SetupLimit
	if len(argv) == 0 {
		return nil
	}
	program, err := paths.Program(argv[0], repo.Dir(l))
	if err != nil {
		return fmt.Errorf("git.teardown: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	own := isolation.Worktree{Root: pr.Root, Project: filepath.Base(pr.Root), System: l.System, Slice: l.Slice, N: l.N, Ports: l.Ports}
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Args[0], cmd.Dir, cmd.Env = argv[0], repo.Dir(l), own.Env(append(environ, "GREENLIGHT_ROOT="+pr.Root))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error {
		id, err := proc.Of(cmd.Process.Pid)
		if err == nil {
			err = proc.EndGroup(id, time.Second)
		}
		return err
	}
	cmd.WaitDelay = time.Second // what it leaves running may hold the pipe
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = errors.New("not done after " + plan.Age(limit))
	}
	if last := out.line(); last != "" {
		err = fmt.Errorf("%w: %s", err, last)
	}
	return fmt.Errorf("git.teardown failed: %w", err)
}

// A tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p[max(0, len(p)-lastOutput):]...)
	t.text = t.text[max(0, len(t.text)-lastOutput):]
	return len(p), nil
}

// line is the last line with something on it.
func (t *tail) line() string {
	text := strings.TrimSpace(string(t.text))
	return sanitize.Text(text[strings.LastIndexByte(text, '\n')+1:])
}
