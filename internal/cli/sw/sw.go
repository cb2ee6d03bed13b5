// Package sw implements gl sw: the commands that read and change a Specwright project's
// workflow.json. Package specwright decides what the protocol allows.
package sw

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/specwright"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

const exitHelp = `

Exit codes: 0 done; 1 the protocol doesn't allow it, or the state can't be read or written; 2 wrong usage; 3 another
session has the lock, or an agent is working.`

// A caller holds the flags of all commands of gl sw, which identify the caller.
type caller struct {
	app   *cmdutil.App
	token string
	force bool
}

// New returns the command gl sw.
func New(app *cmdutil.App) *cobra.Command {
	s := &caller{app: app}
	c := &cobra.Command{
		Use:   "sw",
		Short: "Read and change a Specwright project's state by its protocol",
		Long: `Read and change .specwright/state/workflow.json by the Specwright protocol. Transitions that the protocol doesn't allow
are refused, with the right skill to use. Each change is one durable write of the whole file, so concurrent changes aren't
lost, and everything else is kept: unknown fields, their order, the notation of numbers.

The lock in the file keeps its meaning for agents that only read it: it is valid for 30 minutes after the last change.
Under another session's lock nothing is changed. A lock is yours if you have its token: GL_SESSION, else
CLAUDE_CODE_SESSION_ID, else --token with the token that gl sw lock printed.` + exitHelp,
		Example: `  gl sw status
  gl sw to verifying
  gl sw gate tests PASS --evidence .specwright/work/login/evidence/tests.md`,
	}
	f := c.PersistentFlags()
	f.StringVar(&s.token, "token", "", "the `TOKEN` that gl sw lock printed")
	f.BoolVar(&s.force, "force", false, "ignore another session's lock")
	return cmdutil.Family(c, cmdutil.Paged(app, newStatus(s)), s.changes(newInit),
		s.changes(newStart), s.changes(newTo), newUnit(s), newTask(s), s.changes(newGate),
		s.changes(newShip), s.changes(newReset), cmdutil.Documented(app, newLock(s)),
		s.changes(newUnlock))
}

// changes applies cmdutil.Changes to a command.
func (s *caller) changes(f func(*caller) *cobra.Command) *cobra.Command {
	return cmdutil.Changes(s.app, f(s))
}

// open finds the project and its store.
func (s *caller) open() (*specwright.Store, string, error) {
	dir, err := s.app.Dir()
	if err != nil {
		return nil, "", err
	}
	root, err := project.Find(dir, s.app.Getenv)
	if errors.Is(err, project.ErrNoProject) {
		err = fmt.Errorf("%s: %w", dir, specwright.ErrNotInitialized)
	}
	if err != nil {
		return nil, "", err
	}
	return specwright.Open(root), root, nil
}

// caller returns the caller's identity.
func (s *caller) caller(root string) specwright.Caller {
	token := s.token
	for _, key := range []string{"GL_SESSION", "CLAUDE_CODE_SESSION_ID"} {
		if token == "" {
			token = s.app.Getenv(key)
		}
	}
	who := specwright.Caller{Token: token, Force: s.force, Live: func(token string) bool {
		return attemptOf(root, func(r *attempt.Record) bool { return r.ID.Token == token }) != nil
	}}
	if token == "" {
		return who
	}
	if r := attemptOf(root, func(r *attempt.Record) bool {
		return r.ID.System == "specwright" && r.ID.Token == token
	}); r != nil {
		who.Unit = r.ID.Slice
	}
	return who
}

// attemptOf returns a running attempt of the project; nil for none.
func attemptOf(root string, is func(*attempt.Record) bool) *attempt.Record {
	// unreadable records don't count
	live, _, _ := attempt.OpenStore(statedir.Path(root, "runs")).Live()
	for _, r := range live {
		if is(r) && !r.Life.Dead() {
			return r
		}
	}
	return nil
}

// read opens the state and reads it.
func (s *caller) read() (*specwright.Store, string, *specwright.State, error) {
	store, root, err := s.open()
	if err != nil {
		return nil, "", nil, err
	}
	st, err := store.Read()
	return store, root, st, err
}

// change makes one change, and prints its warnings.
func (s *caller) change(ctx context.Context,
	f func(*specwright.Edit) error) (*specwright.Edit, error) {
	store, root, err := s.open()
	if err != nil {
		return nil, err
	}
	return s.update(ctx, store, s.caller(root), f)
}

func (s *caller) update(ctx context.Context, store *specwright.Store, who specwright.Caller,
	f func(*specwright.Edit) error) (*specwright.Edit, error) {
	edit, err := store.Update(ctx, who, f)
	var locked *specwright.LockedError
	if errors.As(err, &locked) {
		return nil, cmdutil.Taken("%w", err)
	}
	if err != nil {
		return nil, err
	}
	for _, w := range edit.Warnings {
		s.app.IO.Message("warning: %s", w)
	}
	return edit, nil
}

// simple makes one change and prints its result.
func (s *caller) simple(ctx context.Context, f func(*specwright.Edit) error,
	say func(*specwright.Edit) string) error {
	edit, err := s.change(ctx, f)
	if err != nil {
		return err
	}
	s.app.IO.Printf("%s\n", sanitize.Text(say(edit)))
	return nil
}

// whereItIs describes the work in a few words: "login, unit form: building (1/3 tasks)".
func whereItIs(e *specwright.Edit) string {
	if e.State.Work == nil {
		return "no work is active"
	}
	s := e.State.Work.ID
	if u := e.State.Current(); u != nil && u.ID != e.State.Work.ID {
		s += ", unit " + u.ID
	}
	s += ": " + e.State.Work.Status
	if e.State.Status() == specwright.Building {
		s += " (" + e.State.Work.Tasks() + " tasks)"
	}
	return s
}

// inHand names the current unit, or else the work.
func inHand(st *specwright.State) string {
	if id := st.InHand(); id != "" || st.Work == nil {
		return sanitize.Text(id)
	}
	return sanitize.Text(st.Work.ID)
}

func newInit(s *caller) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Create the empty state file",
		Long: `Create .specwright/state/workflow.json without any work, at the root of the git repository, or here if there is none.
/sw-init creates the rest of what Specwright needs (charter, config).` + exitHelp,
		Example: "  gl sw init",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			root, err := s.initRoot(c.Context())
			if err != nil {
				return err
			}
			if err := specwright.Open(root).Init(c.Context()); err != nil {
				return err
			}
			s.app.IO.Printf("created %s in %s\n", specwright.StateFile, sanitize.Text(root))
			return nil
		},
	}
}

func (s *caller) initRoot(ctx context.Context) (string, error) {
	dir, err := s.app.Dir()
	if err != nil {
		return "", err
	}
	root, err := project.Find(dir, s.app.Getenv)
	if !errors.Is(err, project.ErrNoProject) {
		return root, err
	}
	if top, err := git.Root(ctx, dir); err == nil {
		dir = top
	}
	return project.MainPlace(dir, s.app.Getenv("HOME")) // state must not live on branches
}

func newStart(s *caller) *cobra.Command {
	n := specwright.NewWork{}
	c := &cobra.Command{
		Use:   "start ID",
		Short: "Begin a new work, in status designing",
		Long:  `Begin a new work, as /sw-design does. The previous work must be shipped or abandoned. --force drops its remaining units.` + exitHelp,
		Example: `  gl sw start user-login --description "Log in by mail"
  gl sw start typo --description "A typo in the footer" --intensity quick`,
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions, // the id is new
		RunE: func(c *cobra.Command, a []string) error {
			n.ID = a[0]
			switch n.Intensity {
			case "full", "lite", "quick":
			default:
				return cmdutil.Usage("--intensity must be full, lite or quick, not %q", n.Intensity)
			}
			if n.Description == "" {
				return cmdutil.Usage("describe %s with --description", n.ID)
			}
			return s.simple(c.Context(),
				func(e *specwright.Edit) error { return e.Start(n) }, whereItIs)
		},
	}
	c.Flags().StringVar(&n.Description, "description", "", "describe it with one line of `TEXT`")
	c.Flags().StringVar(&n.Intensity, "intensity", "full", "work at `LEVEL` full, lite or quick")
	return c
}

func newTo(s *caller) *cobra.Command {
	return &cobra.Command{
		Use:   "to STATUS",
		Short: "Move the current work to a status",
		Long: `Move the current work, and its unit in the same write, to designing, planning, building, verifying, shipping or shipped.
Transitions that the protocol doesn't allow are refused. Staying in the same status is allowed, because a skill may run
again.` + exitHelp,
		Example:   "  gl sw to building",
		Args:      cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgs: specwright.Targets(),
		RunE: func(c *cobra.Command, a []string) error {
			if err := oneOf("status", a[0], specwright.Targets()); err != nil {
				return err
			}
			return s.simple(c.Context(),
				func(e *specwright.Edit) error { return e.To(a[0]) }, whereItIs)
		},
	}
}

func newShip(s *caller) *cobra.Command {
	return &cobra.Command{
		Use:   "ship",
		Short: "Mark the work shipped if its gates passed, and begin the next unit",
		Long: `Mark the current unit or work shipped. Every enabled gate must be PASS, WARN or SKIP; a gate that ran more than 30
minutes ago is a warning. The next unit begins in the same write: building if its spec is approved, otherwise planning.` + exitHelp,
		Example: "  gl sw ship",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			shipped, next := "", ""
			return s.simple(c.Context(), func(e *specwright.Edit) (err error) {
				shipped = inHand(e.State)
				next, err = e.Ship()
				return err
			}, func(e *specwright.Edit) string {
				switch {
				case next != "":
					return shipped + ": shipped\n" + whereItIs(e)
				case len(e.State.Units) > 0:
					return shipped + ": shipped\nAll work units complete."
				}
				return shipped + ": shipped"
			})
		},
	}
}

func newReset(s *caller) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "reset",
		Short: "Abandon the current work",
		Long: `Abandon the current work, whatever its status and whichever session has the lock: the lock is released and the gates are cleared;
other units stay as they are. On a terminal gl asks first; otherwise --yes is required.` + exitHelp,
		Example: "  gl sw reset\n  gl sw reset --yes",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return s.reset(c.Context(), yes) },
	}
	c.Flags().BoolVar(&yes, "yes", false, "don't ask")
	return c
}

func (s *caller) reset(ctx context.Context, yes bool) error {
	_, root, st, err := s.read()
	if err != nil {
		return err
	}
	if st.Work != nil && !yes &&
		!s.app.Confirm(fmt.Sprintf("Abandon %s (%s)?", inHand(st), sanitize.Text(st.Work.Status))) {
		return fmt.Errorf("%s was not abandoned: gl sw reset --yes does it without asking",
			inHand(st))
	}
	id := st.InHand()
	if r := attemptOf(root, func(r *attempt.Record) bool {
		return r.ID.System == "specwright" && r.ID.Slice == id
	}); r != nil {
		return cmdutil.Taken("%s is being worked on by attempt %d (%s): run gl stop %s", id, r.ID.N,
			r.Job.Agent, id)
	}
	return s.simple(ctx, func(e *specwright.Edit) error {
		if e.State.InHand() != id {
			return fmt.Errorf("%s is no longer the current work: run gl sw status", id)
		}
		return e.Reset()
	}, whereItIs)
}

func newLock(s *caller) *cobra.Command {
	return &cobra.Command{
		Use:   "lock SKILL",
		Short: "Take the visible lock and print its token",
		Long: `Take the lock that agents see in the file, for a skill such as sw-build. The token that is printed is the session's, or a
new one: who presents it is the holder, and two sessions of one skill exclude each other. The lock counts for 30 minutes
after the holder's last change, and is released by gl sw unlock.` + exitHelp,
		Example: "  TOKEN=$(gl sw lock sw-build) || exit\n  gl sw task done task-1 --token \"$TOKEN\"",
		Args:    cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: cmdutil.CompleteWords("sw-design", "sw-plan", "sw-build",
			"sw-verify", "sw-ship"),
		RunE: func(c *cobra.Command, a []string) error {
			skill := strings.TrimPrefix(a[0], "/")
			if err := specwright.CheckID(skill); err != nil {
				return cmdutil.Usage("%q is not the name of a skill; an example is sw-build", a[0])
			}
			store, root, err := s.open()
			if err != nil {
				return err
			}
			who := s.caller(root)
			if who.Token == "" {
				who.Token = attempt.NewToken(time.Now())
			}
			if _, err := s.update(c.Context(), store, who, func(e *specwright.Edit) error {
				return e.TakeLock(skill)
			}); err != nil {
				return err
			}
			s.app.IO.Printf("%s\n", sanitize.Text(who.Token))
			return nil
		},
	}
}

func newUnlock(s *caller) *cobra.Command {
	return &cobra.Command{
		Use:   "unlock",
		Short: "Release the visible lock",
		Long: `Release the lock if it is yours or stale. --force releases another session's lock; use it when you know that session is
gone.` + exitHelp,
		Example: "  gl sw unlock\n  gl sw unlock --force",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			had := false
			_, err := s.change(c.Context(), func(e *specwright.Edit) (err error) {
				had, err = e.ReleaseLock()
				return err
			})
			if err == nil && !had {
				s.app.IO.Message("not locked")
			}
			return err
		},
	}
}

// oneOf returns a usage error unless the list contains the word.
func oneOf(what, word string, list []string) error {
	if slices.Contains(list, word) {
		return nil
	}
	return cmdutil.Usage("%s must be %s", what, cmdutil.MustBe(word, list))
}
