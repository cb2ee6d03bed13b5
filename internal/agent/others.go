package agent

import "path"

// others are the agents besides claude and the rehearsal, told to do everything without asking. Their command lines
// were compared with the sources of codex (2026: codex-rs/exec/src/cli.rs, codex-rs/utils/cli/src/shared_options.rs),
// gemini-cli 0.56 (packages/cli/src/config/config.ts) and opencode 1.18 (packages/opencode/src/cli/cmd/run.ts), and
// with what is written about cursor-agent's flags, whose source is closed.
func others() []Agent {
	return []Agent{codex(), gemini(), opencode(), cursor()}
}

// other finds one of the others by its program, which is also its name.
func other(program string) (Agent, bool) {
	for _, a := range others() {
		if a.Program == path.Base(program) {
			return a, true
		}
	}
	return Agent{}, false
}

// codex may write in its directory only, and not in a .git there (openai/codex#7071): its commits fail unless the user's
// ~/.codex/config.toml makes .git a writable root, or a custom agent chooses another -s.
func codex() Agent {
	return Agent{
		Name: "codex", Program: "codex", Stream: StreamCodex, Prompts: MethodText,
		Install: "npm install -g @openai/codex",
		Login:   "codex login",
		argv: func(j Job) []string {
			return []string{"codex", "exec", "--json", "-s", "workspace-write", "-C", j.Dir, j.instructions()}
		},
	}
}

// gemini has no command that only logs in: its first start asks.
func gemini() Agent {
	return Agent{
		Name: "gemini", Program: "gemini", Stream: StreamGemini, Prompts: MethodText,
		Install: "npm install -g @google/gemini-cli",
		Login:   "gemini",
		argv: func(j Job) []string {
			return []string{"gemini", "-p", j.instructions(), "--approval-mode", "yolo", "--skip-trust",
				"-o", "stream-json"}
		},
	}
}

func opencode() Agent {
	return Agent{
		Name: "opencode", Program: "opencode", Stream: StreamOpencode, Prompts: MethodText,
		Install: "npm install -g opencode-ai",
		Login:   "opencode auth login",
		argv: func(j Job) []string {
			return []string{"opencode", "run", "--auto", "--format", "json", "--dir", j.Dir, j.instructions()}
		},
	}
}

func cursor() Agent {
	return Agent{
		Name: "cursor-agent", Program: "cursor-agent", Stream: StreamCursor, Prompts: MethodText,
		Install: "curl https://cursor.com/install -fsS | bash",
		Login:   "cursor-agent login",
		argv: func(j Job) []string {
			return []string{"cursor-agent", "-p", "--force", "--trust", "--output-format", "stream-json",
				j.instructions()}
		},
	}
}
