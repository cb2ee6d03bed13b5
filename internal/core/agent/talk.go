package agent

// Talk returns the command line of a conversation with Claude Code on the user's own terminal,
// beginning with the slash command prompt; context is added to the system prompt. It has none
// of the flags of headless runs, in any configuration: a person is present, so nothing may skip
// the permission prompts. pluginDir may be "".
func Talk(prompt, context, pluginDir string) (Agent, []string) {
	argv := []string{claudeName, prompt, "--append-system-prompt", context}
	if pluginDir != "" {
		argv = append(argv, "--plugin-dir", pluginDir)
	}
	return claude(Config{}), argv
}
