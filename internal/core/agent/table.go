package agent

import "path"

// table returns the built-in agents, in the order of the help. They act without asking.
// CONTRIBUTING.md lists what else a new one needs. The command lines other than those of claude
// and the rehearsal were compared with the sources of codex (2026: codex-rs/exec/src/cli.rs and
// lib.rs, codex-rs/utils/cli/src/shared_options.rs), gemini-cli 0.56
// (packages/cli/src/config/config.ts and gemini.tsx) and opencode 1.18
// (packages/opencode/src/cli/cmd/run.ts), and with the documentation of cursor-agent's flags,
// whose source is closed. Claude's were tested with the real client; resuming a conversation
// wasn't tested with any of the others.
func table(cfg Config) []Agent {
	return []Agent{
		claude(cfg),
		// Before gl starts codex in a worktree, it replaces -s by a profile: see CodexSandbox.
		// Options of exec also apply to resume and must precede it: after resume, -s and -C are
		// rejected (openai/codex#40149).
		prompted(textAgent{
			name: "codex", stream: StreamCodex, install: "npm install -g @openai/codex",
			login: "codex login", homes: []Home{{
				Dir: ".codex", Variable: "CODEX_HOME",
				Fixed: []string{"config.toml", "AGENTS.md", "hooks.json", "hooks/", "prompts/",
					"rules/", "skills/", "plugins/"},
			}},
			args: func(j Job, prompt string) []string {
				args := withModel([]string{"exec", "--json", "-s", "workspace-write", "-C", j.Dir},
					j)
				if j.Conversation != "" {
					args = append(args, "resume", j.Conversation)
				}
				return append(args, prompt)
			},
		}),
		// gemini has no command that only logs in: its first start asks. It exits with 42 if it
		// doesn't find the conversation.
		prompted(textAgent{
			name: "gemini", stream: StreamGemini, install: "npm install -g @google/gemini-cli",
			login: "gemini", homes: []Home{{
				Dir: ".gemini", Variable: "GEMINI_CLI_HOME", Below: ".gemini",
				Fixed: []string{"settings.json", "GEMINI.md", "trustedFolders.json", ".env",
					"commands/", "extensions/", "hooks/", "policies/", "skills/"},
			}},
			args: func(j Job, prompt string) []string {
				args := []string{"-p", prompt, "--approval-mode", "yolo", "--skip-trust", "-o",
					"stream-json"}
				args = withModel(args, j)
				if j.Conversation != "" {
					args = append(args, "--resume", j.Conversation)
				}
				return args
			},
		}),
		// If opencode doesn't find the conversation, it exits with 0 and prints nothing to
		// stdout (anomalyco/opencode#27559).
		prompted(textAgent{
			name: "opencode", stream: StreamOpencode, install: "npm install -g opencode-ai",
			login: "opencode auth login", homes: []Home{
				{Dir: ".local/share/opencode", Variable: "XDG_DATA_HOME", Below: "opencode",
					Fixed: []string{"bin/"}}, {Dir: ".local/state/opencode"},
				{Dir: ".config/opencode", Variable: "XDG_CONFIG_HOME", Below: "opencode",
					Needs: []string{".gitignore"}},
			},
			args: func(j Job, prompt string) []string {
				args := withModel([]string{"run", "--auto", "--format", "json", "--dir", j.Dir}, j)
				if j.Conversation != "" {
					args = append(args, "--session", j.Conversation)
				}
				return append(args, prompt)
			},
		}),
		// If cursor-agent doesn't find the conversation to resume, it silently begins a new one
		// (nexu-io/open-design#4790), so it gets the whole prompt again.
		prompted(textAgent{
			name: "cursor-agent", stream: StreamCursor, install: "curl https://cursor.com/install -fsS | bash", login: "cursor-agent login", forgets: true, homes: []Home{
				{Dir: ".cursor", Fixed: []string{"mcp.json", "hooks.json", "hooks/", "commands/",
					"rules/", "skills/", "extensions/"}}, {Dir: ".config/cursor"},
			},
			args: func(j Job, prompt string) []string {
				args := []string{"-p", "--force", "--trust", "--output-format", "stream-json"}
				args = withModel(args, j)
				if j.Conversation != "" {
					args = append(args, "--resume", j.Conversation)
				}
				return append(args, prompt)
			},
		}),
		rehearsal(rehearsalName, cfg),
	}
}

// withModel adds the model. codex, gemini, opencode and cursor-agent use the same option.
func withModel(args []string, j Job) []string {
	if j.Model != "" {
		args = append(args, "--model", j.Model)
	}
	return args
}

// A textAgent gets its instructions as text because it has no slash commands; its program has
// its name.
type textAgent struct {
	name, stream, install, login string
	homes                        []Home
	forgets                      bool // it may silently resume with an empty conversation
	args                         func(j Job, prompt string) []string
}

func prompted(w textAgent) Agent {
	return Agent{
		Name: w.name, Program: w.name, Stream: w.stream, Prompts: MethodText, Install: w.install,
		Login: w.login, Homes: w.homes, models: true,
		argv: func(j Job) []string {
			j.Conversation = ""
			return append([]string{w.name}, w.args(j, j.instructions())...)
		},
		resumed: func(j Job) []string {
			prompt := j.note()
			if w.forgets {
				prompt = j.instructions()
			}
			return append([]string{w.name}, w.args(j, prompt)...)
		},
	}
}

// inWords returns the agent without slash commands that has that program.
func inWords(program string) (Agent, bool) {
	for _, a := range table(Config{}) {
		if a.Prompts == MethodText && a.Program == path.Base(program) {
			return a, true
		}
	}
	return Agent{}, false
}
