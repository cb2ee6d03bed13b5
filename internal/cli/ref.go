package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/content"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/suggest"
)

func newRef(app *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "ref [NAME]",
		Short: "Print a reference for agents, as it ships with gl",
		Long: `Print one of the documents that ship with gl, byte for byte: the references by their names, the others with their
directory (agents/gl-verifier, commands/slice, templates/config.json), the engineering standards as CLAUDE, and what each
agent may read and write as isolation. Without NAME it lists them. Slash commands and agents read the rules by this, so that
they are those of the gl that runs.

Exit codes: 0 printed; 2 there is no such document.`,
		Example: "  gl ref\n  gl ref deviation-rules\n  gl ref agents/gl-implementer",
		Args:    cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: func(_ *cobra.Command, have []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(have) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return refNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, a []string) error { return runRef(app, a) },
	}
}

func runRef(app *cmdutil.App, a []string) error {
	if len(a) == 0 {
		for _, name := range refNames() {
			app.IO.Printf("%s\n", name)
		}
		return nil
	}
	name := strings.TrimPrefix(strings.TrimSuffix(a[0], ".md"), "references/")
	text, ok := refTexts()[name]
	if !ok {
		hint := ""
		if meant := suggest.Match(name, refNames()); meant != "" {
			hint = ", did you mean " + meant + "?"
		}
		return cmdutil.Usage("no document is called %q%s (gl ref lists them all)", a[0], hint)
	}
	_, err := io.WriteString(app.IO.Out, text)
	return err
}

// refTexts are the documents by the names that gl ref has for them.
func refTexts() map[string]string {
	isolation, _ := content.Plugin.ReadFile("plugin/isolation.json") // what is embedded can't fail to be read
	texts := map[string]string{"CLAUDE": content.Standards, "isolation": string(isolation)}
	for _, dir := range []string{"references", "templates", "agents", "commands"} {
		entries, _ := content.Plugin.ReadDir("plugin/" + dir)
		for _, entry := range entries {
			data, _ := content.Plugin.ReadFile("plugin/" + dir + "/" + entry.Name())
			name := dir + "/" + strings.TrimSuffix(entry.Name(), ".md")
			texts[strings.TrimPrefix(name, "references/")] = string(data)
		}
	}
	return texts
}

// refNames lists the references first, then what has a directory.
func refNames() []string {
	var names []string
	for name := range refTexts() {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}
