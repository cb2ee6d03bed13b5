package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/durable"
	"greenlight/internal/git"
	"greenlight/internal/jsondoc"
	"greenlight/internal/project"
	"greenlight/internal/slice"
	"greenlight/internal/words"
)

type initOptions struct {
	noAgent bool
	graph   string
	json    bool
}

func newInit(app *cmdutil.App) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init",
		Short: "Begin a project, in a conversation with the agent; or only its skeleton",
		Long: `Begin a project in a conversation with the agent: the interview, the contracts and the graph of slices: /gl:init. In a
project that is there already it is told what there is.` + fmt.Sprintf(talkHelp, "/gl:init", "or the skeleton can't be made") + `

--no-agent begins it without: in the current directory, or in -C DIR, .greenlight with config.json (the defaults, spelt out),
GRAPH.json, a file for each slice of it, project-state.json and STATE.md. It is made whole or not at all; a project
that is there already is refused.

--graph takes the slices and their order from a file: {"slices": {"S-1": {"name": "…", "depends_on": []}, …}}, or an
array of objects with an id. Ids that are unknown, doubled or malformed, and cycles, are refused by name.`,
		Example: "  gl init\n  gl init --no-agent\n  gl init --no-agent --graph plan.json",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return runInit(c.Context(), app, o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.noAgent, "no-agent", false, "only the skeleton, without an interview")
	f.StringVar(&o.graph, "graph", "", "take the slices from `FILE`, which becomes GRAPH.json")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	_ = c.MarkFlagFilename("graph", "json")
	return c
}

func runInit(ctx context.Context, app *cmdutil.App, o initOptions) error {
	switch {
	case !o.noAgent && (o.graph != "" || o.json):
		return cmdutil.Usage("--graph and --json go with --no-agent")
	case !o.noAgent:
		return interview(ctx, app)
	}
	root, err := initRoot(ctx, app)
	if err != nil {
		return err
	}
	s := &skeleton{root: root}
	if err := s.readGraph(o.graph); err != nil {
		return err
	}
	app.IO.Detail("make .greenlight in %s", root)
	if err := s.make(ctx); err != nil {
		return fmt.Errorf("begin a project in %s: %w", root, err)
	}
	noteGitRoot(ctx, app, root)
	noteSystems(app, root)
	if o.json {
		return app.IO.JSON(initDoc{SchemaVersion: 1, Root: root, Files: s.files(), Slices: jsondoc.OrEmpty(s.ids)})
	}
	app.IO.Printf("Made .greenlight in %s: %s, %s\n", root, words.Count(len(s.ids), "slice"), strings.Join(s.files(), ", "))
	app.IO.Printf("Next: %s\n", s.next())
	return nil
}

// interview begins the conversation, in a project or where one may begin.
func interview(ctx context.Context, app *cmdutil.App) error {
	pr, root, err := talkProject(app)
	if err != nil {
		return err
	}
	if pr == nil && !app.Inside() {
		if err := notLinked(ctx, root); err != nil {
			return err
		}
		noteGitRoot(ctx, app, root)
	}
	if !app.Inside() && !app.IO.Interactive() {
		return errors.New("gl init is a conversation, and needs a terminal on its standard input and output: run gl init --no-agent " +
			"for the skeleton alone")
	}
	return startTalk(ctx, app, talk{command: "gl init", name: "init", prompt: "/gl:init", root: root, pr: pr})
}

type initDoc struct {
	SchemaVersion int      `json:"schema_version"`
	Root          string   `json:"root"`   // absolute path of the project
	Files         []string `json:"files"`  // in .greenlight
	Slices        []string `json:"slices"` // ids
}

// initRoot is the directory for the new project. Directories above it are looked at as every command does: a project
// there would be left for this one without anybody noticing, unless the directory was chosen by name.
func initRoot(ctx context.Context, app *cmdutil.App) (string, error) {
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
	found, err := project.Find(dir, func(key string) string {
		if key == "GREENLIGHT_ROOT" {
			return ""
		}
		return app.Getenv(key)
	})
	if errors.Is(err, project.ErrNoProject) {
		return dir, notLinked(ctx, dir)
	}
	if err != nil {
		return "", err
	}
	return dir, mayBegin(dir, found, chosen)
}

// mayBegin says whether a project may begin in dir, where the project of found is the nearest.
func mayBegin(dir, found string, chosen bool) error {
	_, err := slice.Detect(found)
	switch {
	case errors.Is(err, slice.ErrNoState) && isInside(dir, found):
		return nil // a .greenlight without any state yet: only tasks have run
	case found == dir && err != nil:
		return err
	case found == dir:
		return fmt.Errorf("%s is a Greenlight project already: run gl status", dir)
	case !isInside(dir, found):
		return fmt.Errorf("%s is a linked worktree of %s, which is a Greenlight project: run gl status", dir, found)
	case chosen:
		return nil
	}
	return fmt.Errorf("%s is in the Greenlight project %s: run gl status or, for a project of its own, gl init -C . --no-agent",
		dir, found)
}

// notLinked refuses a linked worktree: state must not live on a branch, and no command would look for it there.
func notLinked(ctx context.Context, dir string) error {
	if main, linked := git.Linked(ctx, dir); linked {
		return fmt.Errorf("%s is a linked worktree: the state belongs into the main checkout, run gl init -C %s --no-agent", dir, main)
	}
	return nil
}

func isInside(dir, root string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// noteGitRoot tells who begins a project below the top of a repository that it is found from there downwards only.
func noteGitRoot(ctx context.Context, app *cmdutil.App, root string) {
	if top, err := git.Root(ctx, root); err == nil && top != root {
		app.IO.Message("note: the git repository begins at %s; gl finds this project only from %s downwards", top, root)
	}
}

// noteSystems tells who begins a project where another system keeps state that gl slice now works on this one.
func noteSystems(app *cmdutil.App, root string) {
	pr, err := project.Open(root)
	if err != nil {
		return
	}
	for _, other := range pr.Views()[1:] {
		s := other.System()
		app.IO.Message("note: %s keeps state here, too: gl works on Greenlight's slices from now on, and on %s's with --system %s",
			s.Name, s.Name, s.Key)
	}
}

// A skeleton is a project that is being made.
type skeleton struct {
	root   string
	graph  []byte
	given  bool // by --graph
	ids    []string
	before map[string]bool // files of .greenlight that were there
}

const emptyGraph = "{\n  \"slices\": {}\n}\n"

// readGraph takes the graph from the file, else from what is there, else an empty one.
func (s *skeleton) readGraph(file string) (err error) {
	home := filepath.Join(s.root, ".greenlight")
	if info, err := os.Stat(home); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is there and is not a directory", home)
	}
	there := filepath.Join(home, "GRAPH.json")
	s.given = file != ""
	switch s.graph, err = os.ReadFile(there); {
	case err == nil && s.given:
		return fmt.Errorf("%s is there already: leave --graph out to begin with it, or move it away", there)
	case err == nil:
		file = there
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case !s.given:
		s.graph = []byte(emptyGraph)
		return nil
	default:
		if s.graph, err = os.ReadFile(file); err != nil {
			return fmt.Errorf("--graph: %w", err)
		}
	}
	if s.ids, err = slice.CheckGraph(s.graph); err != nil {
		return fmt.Errorf("%s can't be the graph of a project: %w", file, oneLineError(err))
	}
	return nil
}

// oneLineError joins the lines of a list of errors with semicolons.
func oneLineError(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// make builds everything in a directory beside the place, and moves it there. What a kill leaves is that directory.
func (s *skeleton) make(ctx context.Context) error {
	home := filepath.Join(s.root, ".greenlight")
	s.before = map[string]bool{}
	for _, f := range s.all() {
		_, err := os.Lstat(filepath.Join(home, f))
		s.before[f] = err == nil
	}
	stage, err := os.MkdirTemp(s.root, ".greenlight-init-*.tmp")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	if _, err := slice.Create(ctx, stage, s.graph); err != nil {
		return err
	}
	staged := filepath.Join(stage, ".greenlight")
	if err := durable.WriteFile(filepath.Join(staged, "config.json"), project.DefaultFile(), 0o644); err != nil {
		return err
	}
	if err := slice.Open(stage).Refresh(ctx); err != nil { // STATE.md shows the mode
		return err
	}
	if _, err := os.Lstat(home); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(staged, home); err != nil {
			return err
		}
		return syncDir(s.root)
	}
	return s.join(ctx, staged, home)
}

// join moves the skeleton into a .greenlight that has no state yet, around what is there. The rename of the slices
// comes last: until then there is no project.
func (s *skeleton) join(ctx context.Context, staged, home string) error {
	for _, f := range s.all() {
		if s.before[f] || f == "slices" || f == "STATE.md" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(staged, f))
		if err != nil {
			return err
		}
		if err := durable.Replace(filepath.Join(home, f), nil, data); err != nil {
			return err
		}
	}
	if err := os.Rename(filepath.Join(staged, "slices"), filepath.Join(home, "slices")); err != nil {
		return err
	}
	return slice.Open(s.root).Refresh(ctx)
}

// syncDir makes a rename in the directory outlive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (s *skeleton) all() []string {
	return []string{"slices", "GRAPH.json", "config.json", "project-state.json", "STATE.md", ".gitignore"}
}

// files are those that were made.
func (s *skeleton) files() []string {
	var made []string
	for _, f := range s.all() {
		if !s.before[f] && f != "slices" {
			made = append(made, f)
		}
	}
	return made
}

// next is the command that goes on from here.
func (s *skeleton) next() string {
	if len(s.ids) == 0 {
		return `gl add-slice "what to build first"`
	}
	return "gl slice --dry-run"
}
