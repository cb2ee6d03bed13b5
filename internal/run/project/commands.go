package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/trust"
	"greenlight/internal/core/agent"
	"greenlight/internal/state/specwright"
	"greenlight/internal/workspace/git"
)

// testKey is the setting with the test command.
const testKey = "test.command"

// removableKey is the setting with the paths where tests may be removed without asking. It runs
// nothing, but decides what a person sees, so a person must have allowed it.
const removableKey = "test.removable"

// A MustAllow lists the commands that a person must have allowed before gl runs them.
type MustAllow struct {
	root       string
	config     Config
	superseded map[string]bool // see inForce
}

// MustAllow returns the project's lists.
func (p *Project) MustAllow() MustAllow {
	return MustAllow{p.Root, p.Config, p.superseded}
}

// ForAgents returns the configured commands that a person must have allowed (package trust):
// those that start the agents, prepare their worktrees, and run the tests on the result. There
// are none for an agent whose command line gl builds itself, without a worktree.
func (m MustAllow) ForAgents(ctx context.Context, agents ...agent.Agent) ([]trust.Command, error) {
	var keys []string
	for _, a := range agents {
		keys = append(keys, a.Keys...)
	}
	list := slices.DeleteFunc(m.config.commands(), func(c trust.Command) bool {
		inTree := strings.HasPrefix(c.Key, "git.") ||
			c.Key == cachesKey && m.config.Sandbox == SandboxBwrap
		return !slices.Contains(keys, c.Key) && c.Key != testKey && !strings.HasPrefix(c.Key, "notify.") && c.Key != webURLKey &&
			!(inTree && m.config.Git.Isolation == IsolationWorktree)
	})
	list = inForce(append(list, m.config.SandboxChoice()), m.superseded)
	if m.config.Git.Isolation != IsolationWorktree {
		return list, nil
	}
	filters, err := m.Filters(ctx)
	return append(list, filters...), err
}

// ForAgent returns those of ForAgents that start the agent.
func (m MustAllow) ForAgent(a agent.Agent) []trust.Command {
	list := slices.DeleteFunc(m.config.commands(), func(c trust.Command) bool {
		return !slices.Contains(a.Keys, c.Key)
	})
	return inForce(list, m.superseded)
}

// ForClean returns the commands run when worktrees are removed: filters, which git uses to
// look for changes, and git.teardown; plus the directory of the worktrees.
func (m MustAllow) ForClean(ctx context.Context) ([]trust.Command, error) {
	list := slices.DeleteFunc(m.config.commands(), func(c trust.Command) bool {
		return c.Key != "git.teardown" && c.Key != "git.worktrees"
	})
	filters, err := m.Filters(ctx)
	return append(list, filters...), err
}

// ForQueue returns the commands that the merge queue runs: git.setup, the tests,
// git.teardown, and filters; plus the directory of the worktrees.
func (m MustAllow) ForQueue(ctx context.Context) ([]trust.Command, error) {
	list := slices.DeleteFunc(m.config.commands(), func(c trust.Command) bool {
		return !strings.HasPrefix(c.Key, "git.") && c.Key != testKey && c.Key != removableKey
	})
	list = inForce(list, m.superseded)
	filters, err := m.Filters(ctx)
	return append(list, filters...), err
}

// All returns every command that the project's and its repository's configuration name.
func (m MustAllow) All(ctx context.Context) ([]trust.Command, error) {
	filters, err := m.Filters(ctx)
	return append(inForce(m.config.commands(), m.superseded), filters...), err
}

// Filters returns the commands in the repository's own configuration that git runs when it
// fills a worktree and, if pull requests are used, when it pushes; plus the push destination.
func (m MustAllow) Filters(ctx context.Context) ([]trust.Command, error) {
	filters, err := git.Filters(ctx, m.root)
	// then there are no worktrees either
	if errors.Is(err, git.ErrNone) || errors.Is(err, git.ErrMissing) {
		return nil, nil
	}
	if err == nil && m.config.Git.Deliver == DeliverPR {
		var push []git.Setting
		push, err = git.PushSettings(ctx, m.root)
		filters = append(filters, push...)
	}
	return asCommands(filters), err
}

// ForGates returns the commands of Specwright's mechanical gates.
func (m MustAllow) ForGates() []trust.Command { return specwright.ReadConfig(m.root).Trusted() }

func asCommands(filters []git.Setting) []trust.Command {
	var list []trust.Command
	for _, f := range filters {
		list = append(list, trust.Command{Key: f.Key, Line: f.Value})
	}
	return list
}

// commands returns everything configured about starting agents, preparing their worktrees and
// testing. Claude's default flags add nothing. The directory of the worktrees is included,
// because gl writes and removes directories there.
func (c Config) commands() []trust.Command {
	var list []trust.Command
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a := c.Agents[name]
		if a.Extends != "" {
			list = append(list, trust.Command{Key: agent.ExtendsSetting(name), Line: a.Extends})
		} else {
			list = append(list,
				trust.Command{Key: agent.CustomSetting(name), Line: shellwords.Join(a.Command)})
		}
		if len(a.Env) > 0 {
			list = append(list,
				trust.Command{Key: agent.EnvSetting(name), Line: environment(a.Env)})
		}
		if resume := c.Agents[name].Resume; len(resume) > 0 {
			list = append(list,
				trust.Command{Key: agent.ResumeSetting(name), Line: shellwords.Join(resume)})
		}
	}
	if len(c.Flags) > 0 && !slices.Equal(c.Flags, DefaultConfig().Flags) {
		list = append(list, trust.Command{Key: agent.FlagsSetting, Line: shellwords.Join(c.Flags)})
	}
	for key, words := range map[string][]string{"git.setup": c.Git.Setup,
		"git.teardown": c.Git.Teardown} {
		if len(words) > 0 {
			list = append(list, trust.Command{Key: key, Line: shellwords.Join(words)})
		}
	}
	if c.Test.Command.IsSet() {
		list = append(list, trust.Command{Key: testKey, Line: c.Test.Command.Line})
	}
	if len(c.Test.Removable) > 0 {
		list = append(list,
			trust.Command{Key: removableKey, Line: strings.Join(c.Test.Removable, " ")})
	}
	if c.Git.Worktrees != "" {
		list = append(list, trust.Command{Key: "git.worktrees", Line: c.Git.Worktrees})
	}
	if c.Git.Deliver == DeliverPR { // others see what is pushed
		list = append(list, trust.Command{Key: "git.deliver", Line: c.Git.Deliver})
	}
	list = append(list, c.Notify.commands()...)
	if c.WebURL != "" {
		list = append(list, trust.Command{Key: webURLKey, Line: c.WebURL})
	}
	if len(c.Caches) > 0 {
		list = append(list, trust.Command{Key: cachesKey, Line: shellwords.Join(c.Caches)})
	}
	slices.SortFunc(list, func(a, b trust.Command) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// environment formats variables for a person's approval. A value that may be a key is replaced
// by its hash, which shows whether it has changed.
func environment(env map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		words = append(words, name+"="+shownVariable(name, env[name]))
	}
	return strings.Join(words, " ")
}

// runsCode are variables whose value names code that programs run, or where they find it. They
// are shown when a person is asked.
var runsCode = []string{
	"NODE_OPTIONS", "NODE_PATH", "BASH_ENV", "ENV", "PROMPT_COMMAND", "SHELLOPTS", "PERL5OPT",
	"PERL5LIB", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "RUBYOPT",
	"RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "LD_PRELOAD",
	"LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "PATH", "EDITOR",
	"VISUAL", "PAGER", "BROWSER", "SHELL", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF",
	"GIT_EDITOR", "GIT_PAGER", "GIT_ASKPASS", "GIT_CONFIG_PARAMETERS",
	"GIT_CONFIG_GLOBAL", "GIT_EXEC_PATH", "SSH_ASKPASS", "GOFLAGS", "RUSTC_WRAPPER",
	"CARGO_BUILD_RUSTC_WRAPPER", "MAKEFLAGS", "LESSOPEN", "LESSCLOSE",
	"PS4", "DOTNET_STARTUP_HOOKS", "CLAUDE_CODE_SHELL_PREFIX",
}

// shownVariable returns the value as people may see it: a path, a reference to a variable, or
// code to run.
func shownVariable(name, value string) string {
	npm := strings.HasPrefix(strings.ToLower(name), "npm_config_") && !isSecret(name)
	if slices.Contains(runsCode, name) || strings.HasPrefix(name, "GIT_CONFIG_VALUE_") || npm {
		return value
	}
	refers := strings.HasPrefix(value, "${") && strings.HasSuffix(value, "}")
	if refers ||
		!isSecret(name) && (strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~/")) {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	hidden := "(hidden: " + hex.EncodeToString(sum[:])[:12] + ")"
	// Where an agent sends what it knows is seen. The rest of an address may have a key.
	if u, err := url.Parse(value); err == nil && u.Scheme != "" && u.Host != "" && !isSecret(name) {
		return u.Scheme + "://" + u.Host + " " + hidden
	}
	return hidden
}

// isSecret reports whether a variable with that name contains a secret, whatever its value
// looks like.
func isSecret(name string) bool {
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CRED"},
		func(part string) bool {
			return strings.Contains(strings.ToUpper(name), part)
		})
}

const (
	sandboxKey = "sandbox"
	cachesKey  = "sandbox_caches"
)

// SandboxChoice returns the sandbox as a person's choice: changing it needs their approval.
func (c Config) SandboxChoice() trust.Command {
	return trust.Command{Key: sandboxKey, Line: c.Sandbox, Free: true}
}

// Commands returns all commands in the settings. The error is about the file's values.
func (s *Settings) Commands() ([]trust.Command, error) {
	c, err := parseConfig(s.doc.Bytes())
	return append(c.commands(), c.SandboxChoice()), err
}

// Test returns the test settings, and the test command to be allowed, if any.
func (s *Settings) Test() (Test, []trust.Command) {
	c, _ := parseConfig(s.doc.Bytes()) // an unreadable setting isn't run
	return c.Test, slices.DeleteFunc(c.commands(), func(c trust.Command) bool {
		return c.Key != testKey
	})
}

// Agent returns the names of the selected agents, separated by commas.
func (s *Settings) Agent() string {
	c, _ := parseConfig(s.doc.Bytes()) // the default if the file is invalid
	return strings.Join(c.Agent, ",")
}

// Isolation returns where the settings have slices built.
func (s *Settings) Isolation() string {
	c, _ := parseConfig(s.doc.Bytes()) // the default if the file is invalid
	return c.Git.Isolation
}
