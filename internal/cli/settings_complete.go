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
		s, err := settings(app)
		if err != nil || len(have) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(s), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeSetting completes a key, and then its values if they are known.
func completeSetting(app *cmdutil.App, c *cobra.Command, have []string,
	word string) ([]string, cobra.ShellCompDirective) {
	if len(have) != 1 {
		return completeSettings(app, settingKeys)(c, have, word)
	}
	about, _, _ := project.AboutSetting(have[0])
	switch key := have[0]; {
	case key == "git.worktrees":
		return nil, cobra.ShellCompDirectiveFilterDirs
	case key == "git.target":
		return app.CompleteBranches(c, nil, word)
	case key == "model_profile":
		return completeSettings(app, (*project.Settings).Profiles)(c, nil, word)
	case key == "parallel.agent":
		return app.Agents(), cobra.ShellCompDirectiveNoFileComp
	case len(about.Values) > 0:
		return about.Values, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}
