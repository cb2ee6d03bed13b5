package cli

import (
	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/project"
)

// completeSettings completes the first word after a command, from what the project's settings know.
func completeSettings(app *cmdutil.App,
	words func(*project.Settings) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, have []string, _ string) ([]string, cobra.ShellCompDirective) {
		pr, err := app.Project()
		if err != nil || len(have) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, _ := pr.Settings() // without a file, the defaults
		return words(s), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeSetting completes a key, and then its values if they are known.
func completeSetting(app *cmdutil.App, c *cobra.Command, have []string,
	word string) ([]string, cobra.ShellCompDirective) {
	if len(have) != 1 {
		return completeSettings(app, settingKeys)(c, have, word)
	}
	switch key := have[0]; {
	case key == "mode":
		return project.Modes(), cobra.ShellCompDirectiveNoFileComp
	case key == "git.isolation":
		return project.Isolations(), cobra.ShellCompDirectiveNoFileComp
	case key == "sandbox":
		return project.Sandboxes(), cobra.ShellCompDirectiveNoFileComp
	case key == "git.worktrees":
		return nil, cobra.ShellCompDirectiveFilterDirs
	case key == "model_profile":
		return completeSettings(app, (*project.Settings).Profiles)(c, nil, word)
	case key == "parallel.agent":
		return app.Agents(), cobra.ShellCompDirectiveNoFileComp
	case project.IsSwitch(key):
		return []string{"true", "false"}, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}
