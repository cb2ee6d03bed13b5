package cli

import (
	"bytes"
	"io"
	"slices"
	"strings"

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
SHELL is bash, zsh, fish or powershell. Bash needs the bash-completion package. In bash, zsh and fish it also completes greenlight,
gl's other name.

Exit codes: 0 printed; 2 there is no such shell.`,
		Example: `  gl completion bash > ~/.local/share/bash-completion/completions/gl
  gl completion zsh > "${fpath[1]}/_gl"
  gl completion fish > ~/.config/fish/completions/gl.fish
  gl completion powershell >> $PROFILE`,
		Args:              cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: cmdutil.CompleteWords(completionShells()...),
		RunE: func(c *cobra.Command, a []string) error {
			if len(a) == 0 {
				return cmdutil.Usage("which shell? gl completion %s", strings.Join(completionShells(), ", "))
			}
			if slices.Contains(completionShells(), a[0]) {
				return printCompletion(c.Root(), app.IO, a[0], !plain)
			}
			return cmdutil.Usage("SHELL must be %s", cmdutil.MustBe(a[0], completionShells()))
		},
	}
	c.Flags().BoolVar(&plain, "no-descriptions", false, "complete words without descriptions")
	return c
}

// printCompletion writes a shell's script, which completes gl under both of its names.
func printCompletion(root *cobra.Command, w io.Writer, shell string, described bool) error {
	var script bytes.Buffer
	var err error
	switch shell {
	case "bash":
		err = root.GenBashCompletionV2(&script, described)
		script.WriteString("\ncomplete -o default -F __start_gl greenlight\n")
	case "zsh":
		generate := root.GenZshCompletionNoDesc
		if described {
			generate = root.GenZshCompletion
		}
		err = generate(&script)
		// Its first line tells zsh when to load it.
		both := bytes.Replace(script.Bytes(), []byte("#compdef gl\ncompdef _gl gl\n"),
			[]byte("#compdef gl greenlight\ncompdef _gl gl greenlight\n"), 1)
		script = *bytes.NewBuffer(both)
	case "fish":
		err = root.GenFishCompletion(&script, described)
		script.WriteString("\ncomplete -c greenlight -w gl\n")
	case "powershell":
		generate := root.GenPowerShellCompletion
		if described {
			generate = root.GenPowerShellCompletionWithDesc
		}
		err = generate(&script)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(script.Bytes())
	return err
}
