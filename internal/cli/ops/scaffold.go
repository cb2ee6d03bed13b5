package ops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/run/project"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// MayBegin refuses a directory in which no project should begin. If chosen, a person named the
// directory, and it may be inside another project. Otherwise the new project would silently shadow
// the one above.
func MayBegin(dir string, chosen bool, getenv func(string) string) error {
	var foreign *project.ForeignError
	found, err := project.Find(dir, func(key string) string {
		if key == "GREENLIGHT_ROOT" { // names the place of the new project, which doesn't exist yet
			return ""
		}
		return getenv(key)
	})
	switch {
	case errors.Is(err, project.ErrNoProject), errors.As(err, &foreign) && foreign.Root != dir:
		// no other project forbids it
		return NotLinked(dir, getenv)
	case err != nil:
		return err
	}
	return mayBeginBeside(dir, found, chosen)
}

// mayBeginBeside returns an error unless a project may begin in dir if the nearest one is in found.
func mayBeginBeside(dir, found string, chosen bool) error {
	_, err := slice.Detect(found)
	switch {
	case errors.Is(err, slice.ErrNoState) && isInside(dir, found):
		return nil // a .greenlight without any state yet: only tasks have run
	case found == dir && err != nil:
		return err
	case found == dir:
		return fmt.Errorf("%s is a Greenlight project already, so gl init isn't needed: gl add-slice adds slices, gl status shows them", dir)
	case !isInside(dir, found):
		return fmt.Errorf("%s is a linked worktree of %s, which is a Greenlight project: run gl status", dir, found)
	case chosen:
		return nil
	}
	return fmt.Errorf("%s is in the Greenlight project %s: run gl status or, for a project of its own, gl init -C . --no-agent",
		dir, found)
}

// NotLinked refuses a linked worktree: state must not live on a branch, where no command would look
// for it.
func NotLinked(dir string, getenv func(string) string) error {
	main, err := project.MainPlace(dir, getenv("HOME"))
	switch {
	case err != nil:
		return err
	case main != filepath.Clean(dir):
		return fmt.Errorf("%s is a linked worktree: the state belongs into the main checkout, run gl init -C %s --no-agent", dir, main)
	}
	return nil
}

func isInside(dir, root string) bool {
	_, inside := paths.Below(root, dir)
	return inside
}

// BelowGitRoot is a note for a project that begins below the top of its git repository; "" for
// none.
func BelowGitRoot(ctx context.Context, root string) string {
	if top, err := git.Root(ctx, root); err == nil && top != root {
		return fmt.Sprintf("note: the git repository begins at %s; gl finds this project only from %s downwards", top, root)
	}
	return ""
}

// A Scaffold is the result of NewProject.
type Scaffold struct {
	Files  []string // in .greenlight
	Slices []string
	Notes  []string
	Beside []project.System // that keep state there, too
}

// NewProject creates the state of a new project in root, atomically: config.json with the defaults,
// GRAPH.json, a file for each of its slices, project-state.json and STATE.md. The graph is taken
// from the file, else from an existing GRAPH.json, else it is empty. Existing files of .greenlight
// are kept.
func NewProject(ctx context.Context, root, graph string) (*Scaffold, error) {
	s := &scaffold{root: root, home: statedir.Path(root)}
	if err := s.readGraph(graph); err != nil {
		return nil, err
	}
	if err := s.make(ctx); err != nil {
		return nil, fmt.Errorf("begin a project in %s: %w", root, err)
	}
	notes, beside := beginNotes(ctx, root)
	return &Scaffold{Files: s.files(), Slices: s.ids, Notes: notes, Beside: beside}, nil
}

// beginNotes returns notes for a person who begins a project there, and the other systems that keep
// state there.
func beginNotes(ctx context.Context, root string) (notes []string, beside []project.System) {
	if note := BelowGitRoot(ctx, root); note != "" {
		notes = append(notes, note)
	}
	pr, err := project.Open(root)
	if err != nil {
		return notes, nil
	}
	for _, other := range pr.Views()[1:] {
		s := other.System()
		beside = append(beside, s)
		notes = append(notes, fmt.Sprintf("note: %s keeps state here, too: gl works on Greenlight's slices from now on, and on %s's with --system %s",
			s.Name, s.Name, s.Key))
	}
	return notes, beside
}

// A scaffold is a project being created.
type scaffold struct {
	root   string
	home   string // its .greenlight
	graph  []byte
	ids    []string
	before map[string]bool // existing files of .greenlight
}

const emptyGraph = "{\n  \"slices\": {}\n}\n"

// readGraph reads the graph from the file, else an existing one, else returns an empty one.
func (s *scaffold) readGraph(file string) (err error) {
	if info, err := os.Stat(s.home); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is there and is not a directory", s.home)
	}
	there := filepath.Join(s.home, "GRAPH.json")
	given := file != ""
	switch s.graph, err = durable.ReadFile(there); {
	case err == nil && given:
		return fmt.Errorf("%s already exists: leave --graph out to begin with it, or move it away", there)
	case err == nil:
		file = there
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case !given:
		s.graph = []byte(emptyGraph)
		return nil
	default:
		if s.graph, err = durable.ReadNamed(file, durable.MaxFile); err != nil {
			return fmt.Errorf("--graph: %w", err)
		}
	}
	if s.ids, err = slice.CheckGraph(s.graph); err != nil {
		return fmt.Errorf("%s can't be the graph of a project: %s", file,
			strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}

// make builds everything in a temporary directory next to the target and renames it. A kill leaves
// only that directory.
func (s *scaffold) make(ctx context.Context) error {
	s.before = map[string]bool{}
	for _, f := range s.all() {
		_, err := os.Lstat(filepath.Join(s.home, f))
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
	staged := statedir.Path(stage)
	if err := durable.WriteFile(filepath.Join(staged, "config.json"), project.DefaultFile(),
		0o644); err != nil {
		return err
	}
	if err := slice.Open(stage).Refresh(ctx); err != nil { // STATE.md shows the mode
		return err
	}
	if _, err := os.Lstat(s.home); errors.Is(err, fs.ErrNotExist) {
		return durable.MoveDir(staged, s.home)
	}
	return s.join(ctx, staged)
}

// join moves the staged files into an existing .greenlight without state. The rename of the slices
// comes last: until then there is no project.
func (s *scaffold) join(ctx context.Context, staged string) error {
	for _, f := range s.all() {
		if s.before[f] || f == "slices" || f == "STATE.md" {
			continue
		}
		data, err := durable.ReadFile(filepath.Join(staged, f))
		if err != nil {
			return err
		}
		if err := durable.Replace(filepath.Join(s.home, f), nil, data); err != nil {
			return err
		}
	}
	if err := durable.MoveDir(filepath.Join(staged, "slices"),
		filepath.Join(s.home, "slices")); err != nil {
		return err
	}
	return slice.Open(s.root).Refresh(ctx)
}

func (s *scaffold) all() []string {
	return []string{"slices", "GRAPH.json", "config.json", "project-state.json",
		"STATE.md", ".gitignore"}
}

// files returns the created files.
func (s *scaffold) files() []string {
	var made []string
	for _, f := range s.all() {
		if !s.before[f] && f != "slices" {
			made = append(made, f)
		}
	}
	return made
}
