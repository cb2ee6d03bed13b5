package agent

// Talk is the command line of a conversation with Claude Code on the user's own terminal, beginning with the slash
// command prompt; context is told to the model beside it. It has none of the flags of headless runs, whatever the config
// says: somebody is there who can be asked, so nothing may skip the asking. pluginDir may be "".
func Talk(prompt, context, pluginDir string) (Agent, []string) {
	argv := []string{claudeName, prompt, "--append-system-prompt", context}
	if pluginDir != "" {
		argv = append(argv, "--plugin-dir", pluginDir)
	}
	return claude(Config{}), argv
}
