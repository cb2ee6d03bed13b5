package agent

import "path"

// table is the built-in agents, in the order in which help lists them. They do everything
// without asking. CONTRIBUTING.md lists what else a new one needs. The command lines of those besides claude and the rehearsal were compared with
// the sources of codex (2026: codex-rs/exec/src/cli.rs, codex-rs/utils/cli/src/shared_options.rs), gemini-cli 0.56
// (packages/cli/src/config/config.ts) and opencode 1.18 (packages/opencode/src/cli/cmd/run.ts), and with what is
// written about cursor-agent's flags, whose source is closed.
func table(cfg Config) []Agent {
	return []Agent{
		claude(cfg),
		// codex may write in its directory only, and not in a .git there (openai/codex#7071): its commits fail unless the
		// user's ~/.codex/config.toml makes .git a writable root, or a custom agent chooses another -s.
		prompted("codex", StreamCodex, "npm install -g @openai/codex", "codex login", func(j Job) []string {
			return []string{"exec", "--json", "-s", "workspace-write", "-C", j.Dir, j.instructions()}
		}),
		// gemini has no command that only logs in: its first start asks.
		prompted("gemini", StreamGemini, "npm install -g @google/gemini-cli", "gemini", func(j Job) []string {
			return []string{"-p", j.instructions(), "--approval-mode", "yolo", "--skip-trust", "-o", "stream-json"}
		}),
		prompted("opencode", StreamOpencode, "npm install -g opencode-ai", "opencode auth login", func(j Job) []string {
			return []string{"run", "--auto", "--format", "json", "--dir", j.Dir, j.instructions()}
		}),
		prompted("cursor-agent", StreamCursor, "curl https://cursor.com/install -fsS | bash", "cursor-agent login", func(j Job) []string {
			return []string{"-p", "--force", "--trust", "--output-format", "stream-json", j.instructions()}
		}),
		rehearsal(rehearsalName, cfg),
	}
}

// prompted is an agent that gets its instructions in words, since it has no slash commands; its program has its name.
func prompted(name, stream, install, login string, args func(Job) []string) Agent {
	return Agent{
		Name: name, Program: name, Stream: stream, Prompts: MethodText, Install: install, Login: login,
		argv: func(j Job) []string { return append([]string{name}, args(j)...) },
	}
}

// inWords finds the agent without slash commands that the program is.
func inWords(program string) (Agent, bool) {
	for _, a := range table(Config{}) {
		if a.Prompts == MethodText && a.Program == path.Base(program) {
			return a, true
		}
	}
	return Agent{}, false
}
