package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/suggest"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/plugin"
)

func newRef(app *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "ref [NAME]",
		Short: "Print a reference for agents, as it ships with gl",
		Long: `Print one of the documents that ship with gl, unchanged. References have plain names, others include their directory
(agents/gl-verifier, commands/slice, templates/config.json). CLAUDE is the engineering standards, and isolation is the
table of what each agent may read and write. Without NAME, list them. Slash commands and agents read the rules this way,
so the rules always match the gl that is running.

Exit codes: 0 printed; 2 no such document.`,
		Example: "  gl ref\n  gl ref deviation-rules\n  gl ref agents/gl-implementer",
		Args:    cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: func(_ *cobra.Command, have []string,
			_ string) ([]string, cobra.ShellCompDirective) {
			if len(have) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return plugin.DocumentNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, a []string) error { return runRef(app.IO, a) },
	}
}

func runRef(out *iostreams.Streams, a []string) error {
	if len(a) == 0 {
		for _, name := range plugin.DocumentNames() {
			out.Printf("%s\n", name)
		}
		return nil
	}
	name := strings.TrimPrefix(strings.TrimSuffix(a[0], ".md"), "references/")
	text, ok := plugin.Documents()[name]
	if !ok {
		hint := ""
		if meant := suggest.Match(name, plugin.DocumentNames()); meant != "" {
			hint = ", did you mean " + meant + "?"
		}
		return cmdutil.Usage("unknown document %q%s (gl ref lists them all)", a[0], hint)
	}
	_, err := io.WriteString(out.Out, text)
	return err
}
