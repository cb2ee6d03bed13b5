package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/agent"
	"greenlight/internal/plan"
	"greenlight/internal/sanitize"
	"greenlight/internal/suggest"
)

func completionShells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func newCompletion(e *env, root *cobra.Command) *cobra.Command {
	var plain bool
	c := &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the script that makes bash, zsh, fish or PowerShell complete gl's words",
		Long: `Print a script that makes a shell complete commands, flags and their values, and the ids of this project's slices with
their names. SHELL is bash, zsh, fish or powershell. Bash needs its package bash-completion.

Exit codes: 0 printed; 2 there is no such shell.`,
		Example: `  gl completion bash > ~/.local/share/bash-completion/completions/gl
  gl completion zsh > "${fpath[1]}/_gl"
  gl completion fish > ~/.config/fish/completions/gl.fish
  gl completion powershell >> $PROFILE`,
		Args:              args(cobra.ExactArgs(1)),
		ValidArgsFunction: completeWords(completionShells()...),
		RunE: func(_ *cobra.Command, a []string) error {
			switch a[0] {
			case "bash":
				return root.GenBashCompletionV2(e.data, !plain)
			case "zsh":
				if plain {
					return root.GenZshCompletionNoDesc(e.data)
				}
				return root.GenZshCompletion(e.data)
			case "fish":
				return root.GenFishCompletion(e.data, !plain)
			case "powershell":
				if plain {
					return root.GenPowerShellCompletion(e.data)
				}
				return root.GenPowerShellCompletionWithDesc(e.data)
			}
			return usage("SHELL must be %s", mustBe(a[0], completionShells()))
		},
	}
	c.Flags().BoolVar(&plain, "no-descriptions", false, "complete the words alone, without what they mean")
	return c
}

// mustBe is the end of a usage error: the words that are known, the one that was given, and the one that was probably
// meant.
func mustBe(got string, known []string) string {
	s := ""
	for i, k := range known {
		switch {
		case i > 0 && i == len(known)-1:
			s += " or "
		case i > 0:
			s += ", "
		}
		s += k
	}
	s += ", not \"" + sanitize.Text(got) + "\""
	if meant := suggest.Match(got, known); meant != "" {
		s += ": did you mean " + meant + "?"
	}
	return s
}

// completeWords completes the first argument of a command from a fixed list.
func completeWords(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, have []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(have) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlag gives a flag's values to the shell. An error of cobra's would mean that the command has no such flag.
func completeFlag(c *cobra.Command, flag string, values func() []string) {
	err := c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err)
	}
}

// agents are those that --agent may name.
func (e *env) agents() []string {
	if pr, err := e.project(); err == nil {
		return agent.Names(pr.Config.Agents)
	}
	return agent.Names(nil)
}

// systems are those by which this project keeps its state.
func (e *env) systems() []string {
	pr, err := e.project()
	if err != nil {
		return nil
	}
	return pr.Keys()
}

// completeIDs completes slice ids with their names.
func (e *env) completeIDs(c *cobra.Command, have []string, word string) ([]string, cobra.ShellCompDirective) {
	return e.completeSome((*plan.Plan).IDs)(c, have, word)
}

// completeFirstID completes one slice id, and nothing after it.
func (e *env) completeFirstID(c *cobra.Command, have []string, word string) ([]string, cobra.ShellCompDirective) {
	return e.completeFirst(e.completeIDs)(c, have, word)
}

// completeFirst completes one word, and nothing after it.
func (e *env) completeFirst(words cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, have []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(have) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(c, have, word)
	}
}

// completeSome completes the ids of the slices that a command is about, with their names, each once.
func (e *env) completeSome(pick func(*plan.Plan) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, have []string, _ string) ([]string, cobra.ShellCompDirective) {
		pr, err := e.project()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		p, err := pr.Plan(time.Now(), pr.Options())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var ids []string
		for _, id := range pick(p) {
			if !slices.Contains(have, id) {
				ids = append(ids, cobra.CompletionWithDesc(id, sanitize.Line(p.State(id).Name)))
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
