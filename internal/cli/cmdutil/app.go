// Package cmdutil holds what gl's commands share: the App they run in, exit codes, argument checks
// and completion.
package cmdutil

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/environ"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/statedir"
)

// An App is one command line: its streams, its environment and its global flags. Commands are built
// from it; the packages below get only the streams and values they need.
type App struct {
	IO      *iostreams.Streams
	Environ environ.Environ
	Args    []string // of the whole command line

	DirFlag     string // -C
	ContextFlag string // --context
	SystemFlag  string // --system

	changes  *changes // nil unless a ChangeDoc is asked for
	caller   func() *attempt.Caller
	noPerson bool
}

// NewApp returns an App whose flags aren't parsed yet.
func NewApp(in io.Reader, out, err io.Writer, env []string) *App {
	app := &App{IO: iostreams.New(in, out, err, env), Environ: env}
	app.caller = sync.OnceValue(app.findCaller)
	statedir.FollowNamed(app.Getenv)
	return app
}

// Contexts returns the values of --context.
func Contexts() []string { return []string{"shell", "claude"} }

// CheckGlobals checks the values of the global flags.
func (app *App) CheckGlobals() error {
	if app.ContextFlag != "" && !slices.Contains(Contexts(), app.ContextFlag) {
		return Usage("--context must be %s", MustBe(app.ContextFlag, Contexts()))
	}
	if app.DirFlag != "" {
		if info, err := os.Stat(app.DirFlag); err != nil || !info.IsDir() {
			return Usage("-C %s: no such directory", app.DirFlag)
		}
	}
	return nil
}

// Getenv returns a variable of the environment, "" if it is unset.
func (app *App) Getenv(key string) string { return app.Environ.Get(key) }

// Dir returns the directory to work from.
func (app *App) Dir() (string, error) {
	if app.DirFlag != "" {
		return filepath.Abs(app.DirFlag)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("%w: change to an existing directory, or use -C DIR (%w)", ErrGone,
			err)
	}
	return dir, nil
}

// ErrGone means that the current directory has been removed.
var ErrGone = errors.New("the current directory is gone")

// agentMarks are the variables that agents set for their child processes: Claude Code, codex,
// Gemini CLI, opencode, and gl itself. If gl slice took such a session for a shell, it would start
// an agent and wait for it inside the session's own call.
func agentMarks() []string {
	return []string{"CLAUDECODE", "CLAUDE_CODE", "CODEX_THREAD_ID", "GEMINI_CLI",
		"OPENCODE", "GL_SESSION"}
}

// Caller returns gl's caller, or nil if that is a person or an agent that a person talks to.
func (app *App) Caller() *attempt.Caller { return app.caller() }

func (app *App) findCaller() *attempt.Caller {
	dir, err := app.Dir()
	if err == nil {
		dir, err = project.Find(dir, app.Getenv)
	}
	if err != nil { // not started by a project
		return attempt.Bearer(app.Environ)
	}
	return attempt.CallerOf(attempt.OpenStore(statedir.Path(dir, "runs")), app.Environ)
}

// Claimant returns the caller as a claimant of slices.
func (app *App) Claimant(slice string) attempt.Claimant {
	if c := app.Caller(); c != nil && c.ID == slice && c.Token != "" {
		return attempt.Claimant{Token: c.Token}
	}
	return attempt.NewClaimant(app.Getenv, slice)
}

// NoPerson makes gl behave as inside an agent, regardless of --context and the environment.
func (app *App) NoPerson() { app.noPerson = true }

// Inside reports whether an agent called gl.
func (app *App) Inside() bool {
	if app.noPerson {
		return true
	}
	switch app.ContextFlag {
	case "shell":
		return false
	case "claude":
		return true
	}
	return slices.ContainsFunc(agentMarks(), func(name string) bool {
		return app.Getenv(name) != ""
	})
}

// Confirm asks a person a yes-or-no question; the answer is no inside an agent or without a
// terminal.
func (app *App) Confirm(question string) bool { return !app.Inside() && app.IO.Confirm(question) }

// Page shows f's output in a pager if it is longer than the screen; never inside an agent, which
// can't quit it.
func (app *App) Page(f func() error) error {
	if app.Inside() {
		return f()
	}
	return app.IO.Page(f)
}

// Project opens the project of the working directory.
func (app *App) Project() (*project.Project, error) { return app.open(project.Open) }

// AnyProject is Project for commands that also work without state, where only tasks have run.
func (app *App) AnyProject() (*project.Project, error) { return app.open(project.OpenRuns) }

func (app *App) open(open func(root string) (*project.Project, error)) (*project.Project, error) {
	dir, err := app.Dir()
	if err != nil {
		return nil, err
	}
	root, err := project.Find(dir, app.Getenv)
	if err != nil {
		return nil, err
	}
	pr, err := open(root)
	if err != nil || app.SystemFlag == "" {
		return pr, err
	}
	if !slices.Contains(pr.Keys(), app.SystemFlag) {
		return nil, Usage("--system must be one that %s uses: %s", root,
			MustBe(app.SystemFlag, pr.Keys()))
	}
	return pr.View(app.SystemFlag), nil
}

// Greenlight opens the project for a command that is only about Greenlight's own slices.
func (app *App) Greenlight() (*project.Project, error) {
	pr, err := app.Project()
	if err == nil {
		err = pr.RequireGreenlight()
	}
	if err != nil {
		return nil, err
	}
	return pr, nil
}

// Instead names what serves instead of a command where err says that another system keeps the
// project's state.
func Instead(err error, what string) error {
	if other := new(project.OtherSystem); errors.As(err, &other) {
		other.Instead = what
	}
	return err
}

// Slice opens a Greenlight project and finds the slice that id means.
func (app *App) Slice(id string) (*project.Project, string, error) {
	pr, err := app.Greenlight()
	if err != nil {
		return nil, "", err
	}
	if app.changes == nil && pr.Exactly(id) != nil { // a ChangeDoc needs the plan
		return pr, id, nil
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil, "", err
	}
	if id, err = app.Resolve(p, id); err == nil {
		app.About(pr, p, id)
	}
	return pr, id, err
}

// Work opens the project of a slice or a task that id means, and returns what its work is called:
// the slice's id, or the name of the task's first attempt. "@quick" is the last such task.
func (app *App) Work(id string) (*project.Project, string, error) {
	if !attempt.IsTask(id) {
		return app.Slice(id)
	}
	pr, err := app.AnyProject()
	if err != nil {
		return nil, "", err
	}
	rec, err := project.Task(pr.Runs, id)
	if err != nil {
		return nil, "", err
	}
	return pr, rec.ID.Work(), nil
}

// Resolve finds the item that id means, and prints a note if its spelling differs.
func (app *App) Resolve(p *plan.Plan, id string) (string, error) {
	match, note, err := project.Resolve(p, id)
	if note != "" {
		app.IO.Message("%s", note)
	}
	return match, err
}

// Warn prints the warnings of a plan to stderr, one line each.
func (app *App) Warn(p *plan.Plan) {
	for _, w := range p.Warnings[:min(shownWarnings, len(p.Warnings))] {
		app.IO.Message("warning: %s", WarningText(w))
	}
	if more := words.More(len(p.Warnings) - shownWarnings); more != "" {
		app.IO.Message("warning:%s: run gl doctor%s", more, p.Snapshot.Flags)
	}
}

// shownWarnings limits the warnings shown next to the requested output.
const shownWarnings = 20

// WarningText returns a warning with its path, unless the message has it.
func WarningText(w plan.Warning) string {
	if w.Path == "" || strings.Contains(w.Message, w.Path) {
		return w.Message
	}
	return w.Path + ": " + w.Message
}

// Self returns the path of this program, for starting wrappers and agents. On Linux it names the
// running file itself, which stays right if gl is replaced during a run.
func Self() (string, error) {
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		return "/proc/self/exe", nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", errors.Join(errors.New("gl can't find its own program"), err)
	}
	return path, nil
}
