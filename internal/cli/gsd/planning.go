package gsd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/paths"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/state/gsd"
	"greenlight/internal/workspace/git"
)

// newPlanning returns the commands for the files beside STATE.md, with GSD's names.
func newPlanning(app *cmdutil.App) []*cobra.Command {
	return append(phaseCommands(app), projectCommands(app)...)
}

// phaseCommands returns the commands for single phases.
func phaseCommands(app *cmdutil.App) []*cobra.Command {
	return []*cobra.Command{
		group(app, "phase", "Complete a phase in all of GSD's files", verb{
			name: "complete", args: "N", example: "4", short: "Complete a phase that is verified",
			long: `Every plan must have a summary, and VERIFICATION.md must have passed. The phase is ticked in ROADMAP.md's list and table, its
requirements are marked, and STATE.md moves on to the next phase. A status that a person wrote in STATE.md stays.`,
			run: func(ctx context.Context, s *gsd.Store, a verbArgs) (gsd.Result, error) {
				return of(s).FinishPhase(ctx, phaseArg(a))
			}}),
		group(app, "phases", "Archive the phases' directories", verb{
			name: "clear", args: "--confirm [--archive-version vX.Y] [--force]",
			example: "--confirm --archive-version v1.0", flags: []string{"confirm", "archive-version", "force"},
			short: "Move the phases' directories to the archive of a milestone",
			long: `They go to .planning/milestones/VERSION-phases; the version is STATE.md's if none is given. Uncommitted changes are refused
without --force. The backlog (999) stays.`,
			run: clearPhases}),
		group(app, "roadmap", "Bring a phase's plans up to date in ROADMAP.md",
			verb{name: "update-plan-progress", args: "N", example: "4",
				short: "Bring a phase's plans up to date in ROADMAP.md",
				long:  `That is its row in the table, the number of plans, their list and, once the phase is verified, its tick.`,
				run: func(ctx context.Context, s *gsd.Store, a verbArgs) (gsd.Result, error) {
					return of(s).RoadmapProgress(ctx, phaseArg(a))
				}},
			verb{name: "annotate-dependencies", args: "N", example: "4",
				short: "Group a phase's plans in ROADMAP.md by waves",
				long:  `What several plans list under must_haves, truths, is added below them. A list that is annotated already stays.`,
				run: func(ctx context.Context, s *gsd.Store, a verbArgs) (gsd.Result, error) {
					return of(s).AnnotateRoadmap(ctx, phaseArg(a))
				}}),
	}
}

// projectCommands returns the commands for the whole project.
func projectCommands(app *cmdutil.App) []*cobra.Command {
	return []*cobra.Command{
		verbCommand(app, verb{name: "init", short: "Create an empty .planning/STATE.md",
			long: `/gsd-new-project in Claude Code writes the rest: requirements and roadmap.`,
			run: func(ctx context.Context, s *gsd.Store, _ verbArgs) (gsd.Result, error) {
				return of(s).Init(ctx)
			}}),
		group(app, "requirements", "Mark requirements as complete", verb{
			name: "mark-complete", args: "ID...", example: "AUTH-01,AUTH-02",
			short: "Mark requirements as complete in REQUIREMENTS.md",
			long:  `Their ticks are set, and the status in the traceability table if it is Pending or Gaps Found.`,
			run: func(ctx context.Context, s *gsd.Store, a verbArgs) (gsd.Result, error) {
				return of(s).MarkRequirements(ctx, a)
			}}),
		group(app, "milestone", "Complete a milestone in all of GSD's files", verb{
			name: "complete", args: "vX.Y --confirm [--name TEXT] [--force] | vX.Y --dry-run",
			example: `v1.0 --name Books --confirm`, flags: []string{"name", "confirm", "dry-run", "force"},
			short: "Archive a milestone whose phases are complete",
			long: `ROADMAP.md, REQUIREMENTS.md and the phases' directories go to .planning/milestones, MILESTONES.md gets an entry, and STATE.md
waits for the next milestone. --dry-run shows what belongs to it; --force archives it although phases are open.`,
			run: completeMilestone}),
		group(app, "todo", "Keep an idea for later", verb{
			name: "add", example: `--title "Export as CSV" --area reports`,
			args:  "--title TEXT [--area NAME] [--problem TEXT|--problem-file PATH] [--solution TEXT]",
			flags: []string{"title", "area", "problem", "problem-file", "solution"},
			short: "Write an idea into todos/pending", long: "The number of pending todos in STATE.md follows.",
			run: func(ctx context.Context, s *gsd.Store, a verbArgs) (gsd.Result, error) {
				return of(s).AddTodo(ctx, gsd.Todo{Title: a.value("title"), Area: a.value("area"),
					Problem: a.value("problem"), ProblemFile: a.value("problem-file"),
					Solution: a.value("solution")})
			}}),
	}
}

// group returns a command with these verbs.
func group(app *cmdutil.App, name, short string, verbs ...verb) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short,
		Long: short + ", under GSD's own locks and in its words." + "\n" + cmdutil.ExitHelp}
	list := make([]*cobra.Command, len(verbs))
	for i, v := range verbs {
		v.group = name
		list[i] = verbCommand(app, v)
		c.Example += "  gl gsd " + v.line() + "\n"
	}
	c.Example = strings.TrimSuffix(c.Example, "\n")
	return cmdutil.Family(c, list...)
}

// phaseArg returns the phase: the first argument, or --phase.
func phaseArg(a verbArgs) string {
	if phase := a.value("phase"); phase != "" {
		return phase
	}
	return a.at(0)
}

func completeMilestone(ctx context.Context, s *gsd.Store, a verbArgs) (gsd.Result, error) {
	if !a.has("confirm") && !a.has("dry-run") {
		return gsd.Result{}, &gsd.UsageError{Message: "milestone complete archives ROADMAP.md, REQUIREMENTS.md and the phases: " +
			"repeat it with --confirm, or with --dry-run to see what belongs to the milestone"}
	}
	return of(s).CompleteMilestone(ctx, gsd.MilestoneEnd{Version: a.at(0), Name: a.value("name"),
		Confirm: a.has("confirm") && !a.has("dry-run"), Force: a.has("force")})
}

func clearPhases(ctx context.Context, s *gsd.Store, a verbArgs) (gsd.Result, error) {
	c := gsd.PhasesClear{Confirm: a.has("confirm"), Version: a.value("archive-version")}
	if !a.has("force") {
		// outside a git repository there is nothing to lose by it
		c.Dirty, _ = git.DirtyAt(ctx, s.Root, paths.Relative(s.Root, of(s).Place().Phases()))
	}
	return of(s).ClearPhases(ctx, c)
}

// of returns the files of the store's project.
func of(s *gsd.Store) *gsd.Project { return &gsd.Project{Store: s} }
