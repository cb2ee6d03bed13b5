package agent

import "path"

// A Home is a directory in a person's HOME that belongs to an agent's program, which must be
// able to write there because its login may be renewed. It needn't write what its other
// sessions obey or run (settings, hooks, commands).
type Home struct {
	Dir      string   // relative to HOME
	Variable string   // variable that names another directory, or a parent of it; "" for none
	Below    string   // path of the directory relative to the variable's value
	Fixed    []string // read-only paths, relative to the directory; directories end in a slash
	// files that the program creates if missing, in a directory it otherwise needn't write
	Needs []string
	// files that the program rewrites all the time and that name commands; relative to HOME or,
	// if Variable is set, to its value
	Copies []string
}

var claudeHomes = []Home{{
	Dir: ".claude", Variable: "CLAUDE_CONFIG_DIR",
	Fixed: []string{"settings.json", "settings.local.json", "CLAUDE.md", "hooks/", "commands/",
		"agents/", "skills/", "plugins/", "output-styles/", "rules/", "local/"},
	// Contains its list of MCP servers, along with counters.
	Copies: []string{".claude.json"},
}}

// HomesOf returns the directories of the agent with that program, even for a custom agent.
func HomesOf(program string) []Home {
	for _, a := range table(Config{}) {
		if a.Program != "" && a.Program == path.Base(program) {
			return a.Homes
		}
	}
	return nil
}
