package agent

import "path"

// A Home is a directory of a person's HOME that belongs to an agent's program: it must be able to write there, since its login may
// be renewed. What other sessions of it obey or run (settings, hooks, commands) it needn't write.
type Home struct {
	Dir      string   // below HOME
	Variable string   // names another directory, or one above it; "" for none
	Below    string   // the directory's place below what the variable names
	Fixed    []string // what stays as it is, below the directory; a directory's ends in a slash
	Needs    []string // files that the program makes where they are missing, in a directory that it needn't write otherwise
	Copies   []string // files that the program rewrites all the time, and that name commands: below HOME or, where Variable is set, below that
}

var claudeHomes = []Home{{
	Dir: ".claude", Variable: "CLAUDE_CONFIG_DIR",
	Fixed: []string{"settings.json", "settings.local.json", "CLAUDE.md", "hooks/", "commands/", "agents/", "skills/", "plugins/", "output-styles/", "rules/", "local/"},
	// Its list of MCP servers is there, beside counters.
	Copies: []string{".claude.json"},
}}

// HomesOf are the directories of the agent that the program is, whatever a custom agent calls it.
func HomesOf(program string) []Home {
	for _, a := range table(Config{}) {
		if a.Program != "" && a.Program == path.Base(program) {
			return a.Homes
		}
	}
	return nil
}
