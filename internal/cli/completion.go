package cli

import (
	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
)

func completionShells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func newCompletion(app *cmdutil.App) *cobra.Command {
	var plain bool
	c := &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for bash, zsh, fish, PowerShell",
		Long: `Print a script that completes commands, flags and their values, and the ids of this project's slices with their names.
SHELL is bash, zsh, fish or powershell. Bash needs the bash-completion package.

Exit codes: 0 printed; 2 there is no such shell.`,
		Example: `  gl completion bash > ~/.local/share/bash-completion/completions/gl
  gl completion zsh > "${fpath[1]}/_gl"
  gl completion fish > ~/.config/fish/completions/gl.fish
  gl completion powershell >> $PROFILE`,
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: cmdutil.CompleteWords(completionShells()...),
		RunE: func(c *cobra.Command, a []string) error {
			root := c.Root()
			switch a[0] {
			case "bash":
				return root.GenBashCompletionV2(app.IO, !plain)
			case "zsh":
				if plain {
					return root.GenZshCompletionNoDesc(app.IO)
				}
				return root.GenZshCompletion(app.IO)
			case "fish":
				return root.GenFishCompletion(app.IO, !plain)
			case "powershell":
				if plain {
					return root.GenPowerShellCompletion(app.IO)
				}
				return root.GenPowerShellCompletionWithDesc(app.IO)
			}
			return cmdutil.Usage("SHELL must be %s", cmdutil.MustBe(a[0], completionShells()))
		},
	}
	c.Flags().BoolVar(&plain, "no-descriptions", false, "complete words without descriptions")
	return c
}
