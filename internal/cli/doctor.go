package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/attempt"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/jsondoc"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/sanitize"
	"greenlight/internal/term"
	"greenlight/internal/tracker"
	"greenlight/internal/words"
)

func newDoctor(app *cmdutil.App) *cobra.Command {
	var fix, asJSON bool
	c := &cobra.Command{
		Use:        "doctor",
		SuggestFor: []string{"fsck", "validate", "verify"},
		Short:      "Check everything, and say what to do",
		Long: `Check the project: slice files, graph, claims, attempts, leftovers of processes that died, STATE.md, project-state.json,
config.json, the tools and their versions, and what git should ignore. Each finding says where, what, and what helps. An
error keeps slices from being built, a warning is wrong but in nobody's way, a note is worth knowing. Nothing is written.

--fix does what is safe, and says what it did: temporary files of the dead are removed, attempts whose gl process is gone
settled, STATE.md regenerated, .greenlight/.gitignore written, environments of attempts that are over removed.

Exit codes: 0 no error was found; 1 there is one, or no project; 2 wrong usage.`,
		Example: "  gl doctor\n  gl doctor --fix\n  gl doctor --json | jq '.findings[] | select(.severity == \"error\")'",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return runDoctor(c.Context(), app, fix, asJSON)
		},
	}
	c.Flags().BoolVar(&fix, "fix", false, "mend what is safe to mend")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

// The severities of a finding.
const (
	isError   = "error"   // slices aren't built because of it, or gl doesn't work as configured
	isWarning = "warning" // wrong, but in nobody's way
	isNote    = "note"    // worth knowing
)

// A finding is one problem or remark of gl doctor.
type finding struct {
	Severity string  `json:"severity"`
	Check    string  `json:"check"` // which check found it
	Path     *string `json:"path"`  // relative to the root; null if no single file is to blame
	Slice    *string `json:"slice"` // null if it isn't about one slice
	Message  string  `json:"message"`
	Help     *string `json:"help"`    // a command, or what to do in words; null if there is nothing to do
	Fixable  bool    `json:"fixable"` // gl doctor --fix repairs it
}

// found makes a finding; an empty path or help is none.
func found(severity, path, message, help string) finding {
	return finding{Severity: severity, Path: jsondoc.OrNull(path), Message: message, Help: jsondoc.OrNull(help)}
}

// of says which slice the finding is about.
func (f finding) of(id string) finding {
	f.Slice = &id
	return f
}

const fixCommand = "gl doctor --fix"

// fixable makes a finding one that --fix mends.
func fixable(path, message string) finding {
	f := found(isWarning, path, message, fixCommand)
	f.Fixable = true
	return f
}

type doctorDoc struct {
	SchemaVersion int       `json:"schema_version"`
	Root          string    `json:"root"`   // absolute path of the project
	Format        string    `json:"format"` // as in gl status --json
	Findings      []finding `json:"findings"`
	Fixed         []string  `json:"fixed"` // what --fix did, in words
	Errors        int       `json:"errors" jsonschema:"minimum=0"`
	Warnings      int       `json:"warnings" jsonschema:"minimum=0"`
	Notes         int       `json:"notes" jsonschema:"minimum=0"`
}

func runDoctor(ctx context.Context, app *cmdutil.App, fix, asJSON bool) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	doc := doctorDoc{SchemaVersion: 1, Root: pr.Root, Fixed: []string{}, Findings: []finding{}}
	busy := app.IO.Progress("reading the project")
	defer busy.Done()
	if fix {
		doc.Fixed = append(doc.Fixed, fixAll(ctx, app, pr)...)
	}
	x, err := newExam(ctx, app, pr)
	if err != nil {
		return err
	}
	doc.Format = pr.Tracker.Traits().Format
	for _, c := range checks() {
		busy.Step("checking: " + c.name)
		for _, f := range c.run(x) {
			f.Check = c.name
			doc.Findings = append(doc.Findings, f)
		}
	}
	busy.Done()
	doc.Errors, doc.Warnings, doc.Notes = tally(doc.Findings)
	if asJSON {
		err = app.IO.JSON(doc)
	} else {
		tell(app, &doc, len(x.p.States))
	}
	if err == nil && doc.Errors > 0 {
		return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
	}
	return err
}

// fixAll mends what can be mended, and says what it was.
func fixAll(ctx context.Context, app *cmdutil.App, pr *project.Project) []string {
	var all []string
	for _, f := range fixes() {
		did, err := f(ctx, pr)
		for _, text := range did {
			if !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
		if err != nil { // the others are no worse for it
			app.IO.Message("warning: %v", err)
		}
	}
	return all
}

func tally(all []finding) (errs, warnings, notes int) {
	for _, f := range all {
		switch f.Severity {
		case isError:
			errs++
		case isWarning:
			warnings++
		default:
			notes++
		}
	}
	return errs, warnings, notes
}

// tell prints the findings, the worst first.
func tell(app *cmdutil.App, doc *doctorDoc, states int) {
	for _, did := range doc.Fixed {
		app.IO.Printf("fixed: %s\n", sanitize.Text(did))
	}
	mendable := 0
	for _, severity := range []string{isError, isWarning, isNote} {
		for _, f := range doc.Findings {
			if f.Severity != severity {
				continue
			}
			if f.Fixable {
				mendable++
			}
			app.IO.Printf("%s\n", term.WrapLines(sanitize.Text(f.text()), app.IO.Width()))
		}
	}
	sum := words.Count(doc.Errors, "error") + ", " + words.Count(doc.Warnings, "warning") + ", " + words.Count(doc.Notes, "note")
	switch {
	case len(doc.Findings) == 0:
		app.IO.Printf("No faults found in %s\n", words.Count(states, "slice"))
	case mendable > 0:
		app.IO.Printf("%s; %s mends %d\n", sum, fixCommand, mendable)
	default:
		app.IO.Printf("%s\n", sum)
	}
}

// text is the finding in words, with what helps on a line of its own.
func (f finding) text() string {
	s := f.Severity + ": "
	if f.Path != nil && !strings.Contains(f.Message, *f.Path) {
		s += *f.Path + ": "
	}
	s += strings.ReplaceAll(f.Message, "\n", "; ")
	if f.Help != nil {
		s += "\n    " + *f.Help
	}
	return s
}

// An exam is what the checks look at: one look at the project, for all of them.
type exam struct {
	ctx        context.Context
	app        *cmdutil.App
	pr         *project.Project
	p          *plan.Plan
	now        time.Time
	live       []*attempt.Record
	bad        []*attempt.BadRecord
	index      map[string][]attempt.Entry
	complaints []tracker.Complaint // of the tracker

	conflicts map[string]int // line of the first mark of a merge conflict, by path relative to the root
}

func newExam(ctx context.Context, app *cmdutil.App, pr *project.Project) (*exam, error) {
	x := &exam{ctx: ctx, app: app, pr: pr, now: time.Now(), complaints: pr.Tracker.Check()}
	var errs [4]error
	x.p, errs[0] = pr.Plan(x.now, pr.Options())
	x.live, x.bad, errs[1] = pr.Runs.Live()
	x.index, errs[2] = pr.Runs.Index()
	x.conflicts, errs[3] = findConflicts(pr.Root)
	return x, errors.Join(errs[:]...)
}
