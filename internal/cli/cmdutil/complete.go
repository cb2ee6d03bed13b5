package cmdutil

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
)

// CompleteWords completes the first argument of a command from a fixed list.
func CompleteWords(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, have []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(have) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteFlag completes a flag's values. It panics if the command has no such flag.
func CompleteFlag(c *cobra.Command, flag string, values func() []string) {
	err := c.RegisterFlagCompletionFunc(flag,
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return values(), cobra.ShellCompDirectiveNoFileComp
		})
	if err != nil {
		panic(err)
	}
}

// CompleteFirst completes only the first word.
func CompleteFirst(words cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, have []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(have) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(c, have, word)
	}
}

// CompleteIDs completes the ids of items, with their names.
func (app *App) CompleteIDs(c *cobra.Command, have []string,
	word string) ([]string, cobra.ShellCompDirective) {
	return app.CompleteSome((*plan.Plan).IDs)(c, have, word)
}

// CompleteFirstID completes one id, as the first word.
func (app *App) CompleteFirstID(c *cobra.Command, have []string,
	word string) ([]string, cobra.ShellCompDirective) {
	return CompleteFirst(app.CompleteIDs)(c, have, word)
}

// CompleteSome completes the ids that pick selects, with their names, each once.
func (app *App) CompleteSome(pick func(*plan.Plan) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, have []string, _ string) ([]string, cobra.ShellCompDirective) {
		p := app.planToComplete()
		if p == nil {
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

// planToComplete returns the project's plan, nil if there is none: completion reports no errors.
func (app *App) planToComplete() *plan.Plan {
	pr, err := app.Project()
	if err != nil {
		return nil
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil
	}
	return p
}

// Complete adapts a function that needs the App for completion.
func (app *App) Complete(f func(*App, *cobra.Command, []string,
	string) ([]string, cobra.ShellCompDirective)) cobra.CompletionFunc {
	return func(c *cobra.Command, have []string, word string) ([]string, cobra.ShellCompDirective) {
		return f(app, c, have, word)
	}
}

// CompleteBranches completes the repository's branches except gl's.
func (app *App) CompleteBranches(c *cobra.Command, have []string,
	_ string) ([]string, cobra.ShellCompDirective) {
	pr, err := app.Project()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	repo, err := pr.Worktrees(c.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, name := range repo.Branches(c.Context()) {
		if !slices.Contains(have, name) {
			names = append(names, sanitize.Line(name))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// Agents completes --agent.
func (app *App) Agents() []string {
	if pr, err := app.Project(); err == nil {
		return agent.Names(pr.Config.Agents)
	}
	return agent.Names(nil)
}

// Systems completes --system with the systems that this project uses.
func (app *App) Systems() []string {
	pr, err := app.Project()
	if err != nil {
		return nil
	}
	return pr.Keys()
}

// Milestones completes --milestone.
func (app *App) Milestones() []string {
	p := app.planToComplete()
	if p == nil {
		return nil
	}
	list := p.Milestones()
	for i, m := range list {
		list[i] = sanitize.Text(m)
	}
	return list
}
