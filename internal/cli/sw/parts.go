package sw

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/suggest"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/state/specwright"
)

func newUnit(s *caller) *cobra.Command {
	c := &cobra.Command{
		Use:   "unit",
		Short: "Divide the work into units and move through them",
		Long: `The units of a work are built one after the other, in order. A new unit is pending; when its spec is approved it is
planned. It becomes the current one with gl sw unit next, or when the unit before it ships.` + exitHelp,
		Example: `  gl sw unit add form --description "The form"
  gl sw unit approve form
  gl sw unit next`,
	}
	return cmdutil.Family(c, s.changes(newUnitAdd), s.changes(newUnitApprove),
		s.changes(newUnitNext))
}

func newUnitAdd(s *caller) *cobra.Command {
	n := specwright.NewUnit{}
	order := 0
	c := &cobra.Command{
		Use:               "add ID",
		Short:             "Add a pending unit",
		Long:              "Add a unit after the others, or at --order. It is pending until its spec is approved." + exitHelp,
		Example:           "  gl sw unit add form --description \"The form\"",
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions, // the id is new
		RunE: func(c *cobra.Command, a []string) error {
			n.ID = a[0]
			if n.Description == "" {
				return cmdutil.Usage("describe unit %s with --description", n.ID)
			}
			if c.Flags().Changed("order") {
				n.Order = &order
			}
			return s.simple(c.Context(), func(e *specwright.Edit) error { return e.AddUnit(n) },
				func(*specwright.Edit) string { return "unit " + n.ID + ": pending" })
		},
	}
	f := c.Flags()
	f.StringVar(&n.Description, "description", "", "describe it with one line of `TEXT`")
	f.StringVar(&n.Dir, "work-dir", "",
		"keep its spec and evidence in `DIR` (default: units/ID under the work's)")
	f.IntVar(&order, "order", 0, "put it at position `N` (default: last)")
	return c
}

func newUnitApprove(s *caller) *cobra.Command {
	return &cobra.Command{
		Use:               "approve ID",
		Short:             "Approve a unit's spec and mark it planned",
		Long:              "Record that a unit's spec is written and approved: the unit becomes planned and waits for its turn." + exitHelp,
		Example:           "  gl sw unit approve form",
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: s.completeUnits,
		RunE: func(c *cobra.Command, a []string) error {
			err := s.simple(c.Context(), func(e *specwright.Edit) error {
				return e.ApproveUnit(a[0])
			},
				func(*specwright.Edit) string { return "unit " + a[0] + ": planned" })
			return didYouMean(err)
		},
	}
}

// didYouMean adds the unit that was probably meant.
func didYouMean(err error) error {
	var unknown *specwright.UnknownUnitError
	if errors.As(err, &unknown) {
		if id := suggest.Match(unknown.ID, unknown.All); id != "" {
			return fmt.Errorf("%w, did you mean %s?", err, id)
		}
	}
	return err
}

func (s *caller) completeUnits(_ *cobra.Command, have []string,
	_ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	if _, _, st, err := s.read(); err == nil && len(have) == 0 {
		for _, u := range st.Units {
			ids = append(ids, u.ID)
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func newUnitNext(s *caller) *cobra.Command {
	return &cobra.Command{
		Use:   "next",
		Short: "Begin the next unit",
		Long: `Make the next unit the current one: the first planned unit, which is then building, otherwise the first pending unit,
which is then in planning. Tasks and gates start over.` + exitHelp,
		Example: "  gl sw unit next",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return s.simple(c.Context(), func(e *specwright.Edit) error {
				_, err := e.NextUnit()
				return err
			}, whereItIs)
		},
	}
}

func newTask(s *caller) *cobra.Command {
	c := &cobra.Command{
		Use:   "task",
		Short: "Record the tasks of the current unit",
		Long: `Record how many tasks the current unit or work has, which one is in progress, and which are done. Tasks are worked on
while building; their number is known once planning has begun.` + exitHelp,
		Example: `  gl sw task total 4
  gl sw task start task-1
  gl sw task done task-1`,
	}
	return cmdutil.Family(c, s.changes(newTaskTotal),
		cmdutil.Changes(s.app,
			newTaskWord(s, "start", "Record the task in progress", (*specwright.Edit).StartTask)),
		cmdutil.Changes(s.app,
			newTaskWord(s, "done", "Record that a task is done", (*specwright.Edit).FinishTask)))
}

func newTaskTotal(s *caller) *cobra.Command {
	return &cobra.Command{
		Use:               "total N",
		Short:             "Set the number of tasks",
		Long:              "Set the number of tasks of the current unit or work." + exitHelp,
		Example:           "  gl sw task total 4",
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, a []string) error {
			n, err := strconv.Atoi(a[0])
			if err != nil || n < 1 || n > 100000 {
				return cmdutil.Usage("%q is not a number of tasks", a[0])
			}
			return s.simple(c.Context(),
				func(e *specwright.Edit) error { return e.SetTotal(n) }, tasks)
		},
	}
}

func newTaskWord(s *caller, word, short string,
	f func(*specwright.Edit, string) error) *cobra.Command {
	return &cobra.Command{
		Use:               word + " TASK",
		Short:             short,
		Long:              short + ". Repeating it changes nothing." + exitHelp,
		Example:           "  gl sw task " + word + " task-1",
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, a []string) error {
			return s.simple(c.Context(),
				func(e *specwright.Edit) error { return f(e, a[0]) }, tasks)
		},
	}
}

// tasks returns the progress of the tasks: "1/4 tasks done, now task-2".
func tasks(e *specwright.Edit) string {
	s := e.State.Work.Tasks() + " tasks done"
	if e.State.Work.Task != "" {
		s += ", now " + e.State.Work.Task
	}
	return s
}

func newGate(s *caller) *cobra.Command {
	r := specwright.Result{}
	run := false
	c := &cobra.Command{
		Use:   "gate NAME [VERDICT]",
		Short: "Record a gate's verdict, or run the gate",
		Long: `Record the verdict of a gate (PASS, FAIL, WARN, ERROR or SKIP) with the time and the number of findings. Gates run while
verifying. Without --evidence the recorded path stays; if there is none, gl records the gate's report in the work directory's evidence/.

With --run gl runs the gate itself and records what came of it, with a report as evidence: tests by the project's test.command (or
commands.test in .specwright/config.json), build by commands.build there. A person must have allowed the command (gl trust). If the gate
fails, gl exits with 1. An agent that gl started can't record a gate that gl can run as passed or skipped.` + exitHelp,
		Example: "  gl sw gate tests --run\n  gl sw gate security FAIL --block 2 --evidence .specwright/work/login/evidence/security.md",
		Args:    cmdutil.Args(cobra.RangeArgs(1, 2)),
		ValidArgsFunction: func(_ *cobra.Command, have []string,
			_ string) ([]string, cobra.ShellCompDirective) {
			switch len(have) {
			case 0:
				return s.enabledGates(), cobra.ShellCompDirectiveNoFileComp
			case 1:
				return specwright.Verdicts(), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, a []string) error {
			switch recorded := len(a) == 2 || r != (specwright.Result{}); {
			case run && recorded:
				return cmdutil.Usage("--run finds the verdict, its evidence and findings by itself")
			case run:
				return s.runGate(c.Context(), a[0])
			case len(a) < 2:
				return cmdutil.Usage("gl sw gate %s needs a verdict, or --run", a[0])
			}
			r.Name, r.Status = a[0], strings.ToUpper(a[1])
			if err := oneOf("verdict", r.Status, specwright.Verdicts()); err != nil {
				return err
			}
			if min(r.Block, r.Warn, r.Info) < 0 {
				return cmdutil.Usage("the number of findings can't be negative")
			}
			if err := s.mayTell(r); err != nil {
				return err
			}
			return s.simple(c.Context(), func(e *specwright.Edit) error { return e.SetGate(r) },
				func(*specwright.Edit) string {
					return "gate " + strings.TrimPrefix(r.Name, "gate-") + ": " + r.Status
				})
		},
	}
	f := c.Flags()
	f.BoolVar(&run, "run", false, "run the gate build or tests, and record its result")
	f.StringVar(&r.Evidence, "evidence", "",
		"record the evidence at `PATH`, relative to the project's root")
	f.IntVar(&r.Block, "block", 0, "record `N` blocking findings")
	f.IntVar(&r.Warn, "warn", 0, "record `N` warnings")
	f.IntVar(&r.Info, "info", 0, "record `N` informational findings")
	return c
}

func (s *caller) enabledGates() []string {
	_, root, st, err := s.read()
	if err != nil {
		return nil
	}
	return st.Enabled(specwright.ReadConfig(root))
}
