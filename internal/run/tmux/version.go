package tmux

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Version returns the version that tmux reports: "3.3a", "next-3.5", "openbsd-7.4". It neither
// starts nor asks a server.
func Version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", "-V")
	cmd.Dir, cmd.Env, cmd.WaitDelay = "/", os.Environ(), time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "tmux "), nil
}
