package doctor

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/agent"
)

// loginShellTime is how long a login shell may take to read its profile.
const loginShellTime = 5 * time.Second

// checkLoginPath checks that an agent that runs its commands in a login shell finds gl there: a
// profile may reset PATH.
func checkLoginPath(x *exam, a agent.Agent) []Finding {
	if !agent.IsCodex(a.Program) {
		return nil
	}
	shell := x.Getenv("SHELL")
	if !slices.Contains([]string{"bash", "zsh"}, filepath.Base(shell)) {
		shell = "bash"
	}
	ctx, cancel := context.WithTimeout(x.ctx, loginShellTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-lc", "command -v gl")
	cmd.WaitDelay = time.Second // background processes of a profile may hold the pipe
	out, err := cmd.Output()
	if ctx.Err() == nil && err == nil && len(out) > 0 {
		return nil
	}
	return []Finding{found(Warning, "", "gl isn't on the PATH of a login shell ("+
		filepath.Base(shell)+" -lc), in which codex runs its commands: its agents can't call gl",
		"add the directory of gl to PATH in ~/.profile (of zsh: ~/.zprofile)")}
}

// checkClientTrust reports a workspace that Claude Code doesn't trust: headless sessions ignore the
// permissions in its settings.
func checkClientTrust(x *exam, a agent.Agent) []Finding {
	if a.Stream != agent.StreamClaude || asksNothing(x.pr.Config.Flags) {
		return nil
	}
	allows := func(name string) bool {
		data, err := durable.ReadFile(filepath.Join(x.pr.Root, ".claude", name))
		var doc struct {
			Permissions struct{ Allow []string }
		}
		return err == nil && json.Unmarshal(data, &doc) == nil && len(doc.Permissions.Allow) > 0
	}
	i := slices.IndexFunc([]string{"settings.json", "settings.local.json"}, allows)
	if i < 0 || trustedByClaude(x.pr.Root, x.Getenv) {
		return nil
	}
	return []Finding{found(Warning, "", "Claude Code doesn't trust this directory, so agents that gl starts may not run what permissions.allow in .claude names",
		"run claude here once and accept, or give the rules in "+agent.FlagsSetting+
			" (--allowedTools)")}
}

// asksNothing reports whether Claude Code's arguments already decide about permissions.
func asksNothing(flags []string) bool {
	return slices.ContainsFunc(flags, func(f string) bool {
		name, _, _ := strings.Cut(f, "=")
		return slices.Contains([]string{"--dangerously-skip-permissions", "--allowedTools",
			"--allowed-tools", "--settings", "bypassPermissions"}, name)
	})
}

// trustedByClaude reports whether a person has told Claude Code that they trust the directory, or
// one above it.
func trustedByClaude(dir string, getenv func(string) string) bool {
	home := getenv("CLAUDE_CONFIG_DIR")
	if home == "" {
		home = getenv("HOME")
	}
	data, err := durable.ReadFile(filepath.Join(home, ".claude.json"))
	var doc struct {
		Projects map[string]struct {
			Trusted bool `json:"hasTrustDialogAccepted"`
		} `json:"projects"`
	}
	if err != nil || json.Unmarshal(data, &doc) != nil {
		return false
	}
	for ; ; dir = filepath.Dir(dir) {
		if doc.Projects[dir].Trusted {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
