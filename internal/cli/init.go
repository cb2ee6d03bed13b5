package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/trust"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/install"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

type initOptions struct {
	noAgent bool
	graph   string
	system  string
	json    bool
}

func newInit(app *cmdutil.App) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init",
		Short: "Start a project: plan it with an agent, or only its files",
		Long: `Start a project in a conversation with the agent: the interview, the contracts and the graph of slices (/gl:init). In an
existing project the agent learns what is already there.` + fmt.Sprintf(talkHelp, "/gl:init", "or the files can't be created") + `

--no-agent only creates the files. In the current directory, or in -C DIR, it makes .greenlight with config.json (all
defaults), GRAPH.json, a file for each slice in the graph, project-state.json and STATE.md: all of them or none. It refuses
an existing project. Where files tell how the project is tested, it proposes a test command, and sets it only if you agree. It
also proposes to import what there is to do already: issues of beads (.beads/issues.jsonl) or GitHub (issues.json, as
gh issue list --json prints it), and task lists (TODO.md, tasks.md, specs/*/tasks.md). Specwright's and GSD's own state it leaves to
--system.

--system specwright|gsd makes an empty project of that kind instead, without a conversation: /sw-init or /gsd-new-project in
Claude Code fills it in. Where one of them keeps its state already, gl init asks before it begins slices of Greenlight's own beside
it, because gl works on those from then on; without a terminal, --system greenlight is needed.

--graph takes the slices and their order from a file: {"slices": {"S-1": {"name": "…", "depends_on": []}, …}}, or an
array of objects with an id. It names unknown, duplicate and malformed ids and cycles, and refuses the file.`,
		Example: "  gl init\n  gl init --no-agent\n  gl init --no-agent --graph plan.json\n  gl init --system gsd",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return runInit(c.Context(), app, o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.noAgent, "no-agent", false, "create only the files, without an interview")
	f.StringVar(&o.graph, "graph", "", "take the slices from `FILE`; it becomes GRAPH.json")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	f.StringVar(&o.system, "system", "", "make an empty project of the system `NAME`: "+
		strings.Join(install.Systems(), ", ")+"; or greenlight, beside one of them")
	_ = c.RegisterFlagCompletionFunc("system",
		cobra.FixedCompletions(initSystems(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.MarkFlagFilename("graph", "json")
	return c
}

func runInit(ctx context.Context, app *cmdutil.App, o initOptions) error {
	other := o.system != "" && o.system != ownSystem
	switch {
	case other && (o.graph != "" || o.json):
		return cmdutil.Usage("--graph and --json aren't for --system %s", o.system)
	case other:
		return initSystem(ctx, app, o.system)
	case !o.noAgent && (o.graph != "" || o.json):
		return cmdutil.Usage("--graph and --json go with --no-agent")
	case !o.noAgent:
		return interview(ctx, app, o)
	}
	root, err := initRoot(app)
	if err != nil {
		return err
	}
	if err := agreeToJoin(app, root, o); err != nil {
		return err
	}
	app.IO.Detail("make .greenlight in %s", root)
	made, err := ops.NewProject(ctx, root, o.graph)
	if err != nil {
		return err
	}
	messages(app.IO, made.Notes)
	if o.json {
		fits, _ := testrun.Detect(root)
		language, _ := testrun.Language(root)
		return app.IO.JSON(initDoc{SchemaVersion: 1, Root: root, Files: made.Files,
			Slices: jsondoc.OrEmpty(made.Slices), TestCommand: jsondoc.OrNull(fits.Line),
			Language: jsondoc.OrNull(language), Plans: jsondoc.OrEmpty(ops.FindPlans(root))})
	}
	app.IO.Printf("%s\n", wrapped(app.IO, "", fmt.Sprintf("Made .greenlight in %s: %s, %s", root,
		words.Count(len(made.Slices), "slice"), strings.Join(made.Files, ", ")), 2))
	next := "gl slice --dry-run"
	if len(made.Slices) == 0 {
		if next, err = proposePlan(ctx, app, root); err != nil {
			return err
		}
	}
	if language, file := testrun.Language(root); language != "" {
		app.IO.Printf("The project's language is %s (%s)\n", language, file)
	}
	if err := proposeTests(ctx, app, root); err != nil {
		return err
	}
	if err := proposeCommit(ctx, app, root); err != nil {
		return err
	}
	app.IO.Printf("\nNext: %s\n", next)
	for _, s := range made.Beside {
		app.IO.Printf("Or go on with %s's work: gl slice --system %s\n", s.Name, s.Key)
	}
	return nil
}

// ownSystem is the value of --system for Greenlight's own slices.
const ownSystem = "greenlight"

// initSystems returns the values of --system.
func initSystems() []string { return append([]string{ownSystem}, install.Systems()...) }

// agreeToJoin asks a person before slices of Greenlight's own begin beside another system's state,
// because they come first from then on. It returns the refusal.
func agreeToJoin(app *cmdutil.App, root string, o initOptions) error {
	pr, err := project.Open(root)
	if err != nil || !sibling(pr) || o.system == ownSystem {
		return nil // what can't be read is reported when the project is made
	}
	s := pr.System()
	if !app.IO.Interactive() || app.Inside() {
		return fmt.Errorf("%s keeps its state in %s: gl status and gl slice work on it, and %s changes it. For slices of Greenlight's own beside it, "+
			"which gl works on from then on, and on %s's with --system %s: gl init --no-agent --system %s",
			s.Name, root, s.Command, s.Name, s.Key, ownSystem)
	}
	if !app.Confirm(fmt.Sprintf("%s keeps its state here. Begin slices of Greenlight's own beside it? gl works on them from then on, and on %s's with --system %s.",
		s.Name, s.Name, s.Key)) {
		return errors.New("nothing was made")
	}
	return nil
}

// proposePlan proposes to import lists of work that the directory has already, and returns what to
// do next. A person decides: they are imported only after a question.
func proposePlan(ctx context.Context, app *cmdutil.App, root string) (next string, err error) {
	plans := ops.FindPlans(root)
	next = `gl add-slice "what to build first"`
	for i, p := range plans {
		command := "gl import " + shellwords.Quote(p.File)
		if i == 0 {
			next = command + " --dry-run"
		}
		if !app.IO.Interactive() || app.Inside() {
			app.IO.Printf("%s has %s (%s): %s\n", sanitize.Line(p.File),
				words.Count(p.Open, "open issue"), p.Format, command)
			continue
		}
		if !app.Confirm(fmt.Sprintf("Make slices of the %s in %s (%s)?",
			words.Count(p.Open, "open issue"), sanitize.Line(p.File), p.Format)) {
			app.IO.Printf("Import them later with: %s\n", command)
			continue
		}
		pr, err := project.Open(root)
		if err != nil {
			return "", err
		}
		o := importOptions{prefix: "GH-"}
		list, err := readIssues(app, filepath.Join(root, p.File), o)
		if err == nil {
			err = importList(ctx, app, pr, list, o)
		}
		if err != nil {
			return "", err
		}
		next = "gl slice --dry-run"
	}
	return next, nil
}

// initSystem makes an empty project of another system.
func initSystem(ctx context.Context, app *cmdutil.App, system string) error {
	if !slices.Contains(install.Systems(), system) {
		return cmdutil.Usage("--system must be %s", cmdutil.MustBe(system, initSystems()))
	}
	root, err := initRoot(app)
	if err != nil {
		return err
	}
	app.IO.Detail("make a project of %s in %s", system, root)
	file, err := project.Begin(ctx, system, root)
	if err != nil {
		return err
	}
	next := "/sw-init"
	if system == "gsd" {
		next = project.GSDCommand(root, "new-project", app.Getenv)
	}
	app.IO.Printf("Made %s in %s\n", file, sanitize.Text(root))
	unknown, err := unknownCommands(app, system, root)
	if err != nil {
		return err
	}
	if unknown != "" {
		app.IO.Printf("%s\n", unknown)
	}
	app.IO.Printf("Next: %s in Claude Code\n", next)
	return nil
}

// unknownCommands says that Claude Code knows none of a system's commands in the project at root,
// and what helps; "" if it does.
func unknownCommands(app *cmdutil.App, system, root string) (string, error) {
	answer, err := install.Answers(system, root, app.Getenv)
	if err != nil || answer.Where != "" {
		return "", err
	}
	return fmt.Sprintf("Claude Code doesn't know %s's commands here: gl install --local --system %s, or the original's own installation",
		project.SystemName(system), system), nil
}

// proposeCommit prints what has to be committed before agents can begin in worktrees, or see it
// there.
func proposeCommit(ctx context.Context, app *cmdutil.App, root string) error {
	pr, err := project.Open(root)
	if err != nil || pr.ConfigErr != nil || pr.Config.Git.Isolation != project.IsolationWorktree ||
		app.Inside() {
		return nil
	}
	if err := worktree.CheckGit(ctx); err != nil {
		app.IO.Printf("%s\n", wrapped(app.IO, "", "git can't be used ("+err.Error()+"), so agents will work in this directory itself, and nothing is merged or tested on a merge", 2))
		return nil
	}
	if top, err := git.Root(ctx, root); err != nil || top == "" {
		app.IO.Printf("%s\n", wrapped(app.IO, "", "There is no git repository here, so agents will work in this directory itself: nothing is tested on a merge, "+
			"and there is no diff and no undo. To change that: "+worktree.BeginRepository, 2))
		return nil
	}
	if _, err := pr.OpenWorktrees(ctx); errors.Is(err, worktree.ErrNoCommit) {
		app.IO.Printf("%s\n", wrapped(app.IO, "", "There is no commit yet, and agents work in worktrees, which begin at one: "+worktree.ErrNoCommit.Help, 2))
		return nil
	} else if err != nil { // reported when slices are built
		return nil
	}
	if lines, err := git.DirtyAt(ctx, root, ".greenlight"); err == nil &&
		slices.ContainsFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, "??")
		}) {
		app.IO.Printf("%s\n", wrapped(app.IO, "", "Commit the plan (git add .greenlight && git commit), or keep it on this machine alone (.greenlight/ in .gitignore)", 2))
	}
	unseen, err := ops.FindUnseen(ctx, pr)
	if err != nil || len(unseen.Documents) == 0 {
		return err
	}
	app.IO.Printf("%s. Run git add and git commit\n", unseenText(unseen.Documents))
	return nil
}

// proposeTests proposes the test command that fits a project without one. A person decides: it is
// set only after a question.
func proposeTests(ctx context.Context, app *cmdutil.App, root string) error {
	pr, err := project.Open(root)
	if err != nil || pr.Config.Test.Command.IsSet() || app.Inside() {
		return nil // gl doctor proposes it, too
	}
	fits, ok := testrun.Detect(root)
	switch {
	case !ok:
		return nil
	case !app.IO.Interactive():
		app.IO.Printf("No test command yet; %s: %s\n", sanitize.Line(fits.Why), fits.Set())
		return nil
	case !app.Confirm(fmt.Sprintf("Let gl test with %q (%s)?", fits.Line, sanitize.Line(fits.Why))):
		app.IO.Printf("Set it later with: %s\n", fits.Set())
		return nil
	}
	if _, _, err := ops.SetSetting(ctx, pr, trust.Open(app.Getenv), "test.command",
		fits.Line); err != nil {
		return err
	}
	app.IO.Printf("test.command is now %s\n", fits.Line)
	return nil
}

// onlyFiles is the advice where a conversation isn't possible.
const onlyFiles = "run gl init --no-agent to create only the files"

// interview begins a conversation, in a project or where one may begin.
func interview(ctx context.Context, app *cmdutil.App, o initOptions) error {
	pr, root, err := talkProject(app)
	if err != nil {
		return err
	}
	if sibling(pr) && !app.Inside() {
		if err := agreeToJoin(app, root, o); err != nil {
			return err
		}
	}
	if pr == nil && !app.Inside() {
		if err := ops.NotLinked(root, app.Getenv); err != nil {
			return err
		}
		if note := ops.BelowGitRoot(ctx, root); note != "" {
			app.IO.Message("%s", note)
		}
	}
	if !app.Inside() && !app.IO.Interactive() {
		return errors.New("gl init is a conversation and needs a terminal on its standard input and output: " + onlyFiles)
	}
	if err := startTalk(ctx, app, talk{command: "gl init", name: "init", prompt: "/gl:init",
		root: root, pr: pr}); err != nil {
		var missing *cmdutil.ExitError
		if pr == nil && errors.As(err, &missing) && missing.Code == cmdutil.ExitMissing {
			missing.Err = fmt.Errorf("%w, or %s", missing.Err, onlyFiles)
		}
		return err
	}
	if err := proposeTests(ctx, app, root); err != nil {
		return err
	}
	return proposeCommit(ctx, app, root)
}

type initDoc struct {
	SchemaVersion int      `json:"schema_version"`
	Root          string   `json:"root"`   // absolute path of the project
	Files         []string `json:"files"`  // in .greenlight
	Slices        []string `json:"slices"` // ids
	// one that fits the project, which isn't set; null if unknown
	TestCommand *string `json:"test_command"`
	Language    *string `json:"language"` // such as Go; null if unknown
	// lists of work in the directory that gl import can read; none was imported
	Plans []ops.FoundPlan `json:"plans"`
}

// initRoot returns the directory for the new project.
func initRoot(app *cmdutil.App) (string, error) {
	dir, err := app.Dir()
	chosen := app.DirFlag != ""
	if root := app.Getenv("GREENLIGHT_ROOT"); root != "" {
		dir, err = filepath.Abs(root)
		chosen = true
	}
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	return dir, ops.MayBegin(dir, chosen, app.Getenv)
}
