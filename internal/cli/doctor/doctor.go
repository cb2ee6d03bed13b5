// Package doctor checks a project and fixes what is safe to fix. It returns findings and what it
// did; it prints nothing.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/cli/install"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/tracker"
)

// A check examines one aspect of the project. The tracker's complaints filed under its name come
// first, then the findings of run, if any.
type check struct {
	name string
	run  func(*exam) []Finding
}

// checks returns all checks in the order of the report.
func checks() []check {
	return []check{
		{"format", nil},
		{"systems", checkSystems},
		{"conflicts", checkConflicts},
		{"slices", checkSlices},
		{"reverted", checkReverted},
		{"graph", checkGraph},
		{"files", checkFiles},
		{"links", checkLinks},
		{"claims", checkClaims},
		{"attempts", checkAttempts},
		{"records", checkRecords},
		{"leftovers", checkLeftovers},
		{"messages", checkMessages},
		{"state-md", nil},
		{"project-state", nil},
		{"config", checkConfig},
		{"trust", checkTrust},
		{"tests", checkTests},
		{"agent", checkAgent},
		{"installed", checkInstalled},
		{"tools", checkTools},
		{"alias", checkAlias},
		{"git", checkGit},
		{"locks", checkLocks},
		{"objects", checkObjects},
		{"merges", checkMerges},
		{"worktrees", checkWorktrees},
		{"sandbox", checkSandbox},
	}
}

// ofMachine are the checks that need no project.
var ofMachine = []string{"agent", "tools", "alias"}

// A fix fixes one kind of problem. It returns what it did, one line each.
type fix struct {
	name string
	run  func(context.Context, *project.Project) ([]string, error)
}

// fixes returns all fixes in the order in which they run. Temporary files come first, because
// taking the project's lock removes them silently. The tracker's own files come last again, because
// settling attempts changes them.
func fixes() []fix {
	return []fix{
		{"temporary files", fixTemps},
		{"locks", fixLocks},
		{"objects", fixObjects},
		{"refs", fixRefs},
		{"gitignore", fixIgnores},
		{"state", fixState},
		{"records", fixRecords},
		{"leftovers", fixLeftovers},
		{"attempts", fixAttempts},
		{"reverted", fixReverted},
		{"environments", fixEnvs},
		{"messages", fixMessages},
		{"state", fixState},
	}
}

// A Severity is how much a finding matters.
type Severity string

const (
	// it keeps slices from being built, or gl from working as configured
	Error   Severity = "error"
	Warning Severity = "warning" // wrong, but harmless so far
	Note    Severity = "note"    // worth knowing
)

// A Group says what a person is to do with a finding. Its order is that of the screen.
type Group string

// The groups.
const (
	Must       Group = "must"
	Should     Group = "should"
	GoodToKnow Group = "good to know"
)

// Groups returns all groups, the most urgent first.
func Groups() []Group { return []Group{Must, Should, GoodToKnow} }

// Group returns the group of the findings that matter this much.
func (s Severity) Group() Group {
	switch s {
	case Error:
		return Must
	case Warning:
		return Should
	}
	return GoodToKnow
}

// A Finding is one problem or remark.
type Finding struct {
	Group    Group    `json:"group" jsonschema:"enum=must,enum=should,enum=good to know"`
	Severity Severity `json:"severity"`
	Check    string   `json:"check"` // name of the check
	Path     *string  `json:"path"`  // relative to the root; null if no single file is to blame
	Slice    *string  `json:"slice"` // null unless it is about one slice
	Message  string   `json:"message"`
	// a command, or what to do; null if there is nothing to do
	Help    *string `json:"help"`
	Fixable bool    `json:"fixable"` // gl doctor --fix repairs it
}

// found returns a finding; path and help may be "".
func found(severity Severity, path, message, help string) Finding {
	return Finding{Severity: severity, Path: jsondoc.OrNull(path), Message: message,
		Help: jsondoc.OrNull(help)}
}

// of sets the slice that the finding is about.
func (f Finding) of(id string) Finding {
	f.Slice = &id
	return f
}

// FixCommand is the command that fixes what is fixable.
const FixCommand = "gl doctor --fix"

// fixable returns a finding that one of the fixes repairs.
func fixable(path, message string) Finding {
	f := found(Warning, path, message, FixCommand)
	f.Fixable = true
	return f
}

// A Report is the result of all checks.
type Report struct {
	SchemaVersion int       `json:"schema_version"`
	Root          string    `json:"root"`   // absolute path of the project
	Format        string    `json:"format"` // as in gl status --json
	Findings      []Finding `json:"findings"`
	Fixed         []string  `json:"fixed"` // what --fix did, in words
	Errors        int       `json:"errors" jsonschema:"minimum=0"`
	Warnings      int       `json:"warnings" jsonschema:"minimum=0"`
	Notes         int       `json:"notes" jsonschema:"minimum=0"`

	Slices int    `json:"-"` // how many were checked
	Noun   string `json:"-"` // what they are called
}

func (r *Report) add(f Finding) {
	f.Group = f.Severity.Group()
	r.Findings = append(r.Findings, f)
	switch f.Severity {
	case Error:
		r.Errors++
	case Warning:
		r.Warnings++
	default:
		r.Notes++
	}
}

// Options describe the gl that runs the checks.
type Options struct {
	Version string                 // of this gl
	Content install.Content        // installed by this gl
	Self    func() (string, error) // path of this program
	Getenv  func(string) string
	Dir     string // the user's working directory, to shorten paths; "" for unknown
	Now     time.Time
	Begin   func(check string) // called before each check
}

// Check runs all checks; without a project's state, those of the machine. It changes nothing.
func Check(ctx context.Context, pr *project.Project, o Options) (*Report, error) {
	x, err := newExam(ctx, pr, o)
	if err != nil {
		return nil, err
	}
	r := &Report{SchemaVersion: 1, Root: pr.Root, Format: pr.Tracker.Traits().Format,
		Findings: []Finding{}, Fixed: []string{}, Slices: len(x.p.States),
		Noun: cmp.Or(x.p.Snapshot.Noun, plan.Slice)}
	for _, c := range checks() {
		if pr.Stateless() && !slices.Contains(ofMachine, c.name) {
			continue
		}
		o.Begin(c.name)
		findings := x.reported(c.name)
		if c.run != nil {
			findings = append(findings, c.run(x)...)
		}
		for _, f := range findings {
			f.Check = c.name
			r.add(f)
		}
	}
	return r, nil
}

// A Fixed is the result of a fix.
type Fixed struct {
	Fix string
	Did []string // one line each
	Err error
}

// Fix runs all fixes. It returns those that did something or failed; a fix that fails doesn't keep
// the others from running.
func Fix(ctx context.Context, pr *project.Project) []Fixed {
	var all []Fixed
	seen := map[string]bool{} // a fix that runs twice may report the same again
	for _, f := range fixes() {
		did, err := f.run(ctx, pr)
		did = slices.DeleteFunc(did, func(line string) bool { return seen[line] })
		for _, line := range did {
			seen[line] = true
		}
		if len(did) > 0 || err != nil {
			all = append(all, Fixed{f.name, did, err})
		}
	}
	return all
}

// An exam is the input of all checks: the project is read only once.
type exam struct {
	Options

	ctx        context.Context
	pr         *project.Project
	p          *plan.Plan
	live       []*attempt.Record
	bad        []*attempt.BadRecord
	index      map[string][]attempt.Entry
	complaints []tracker.Complaint // by the project's tracker

	// line of the first mark of a merge conflict, by path relative to the root
	conflicts map[string]int
}

func newExam(ctx context.Context, pr *project.Project, o Options) (*exam, error) {
	x := &exam{Options: o, ctx: ctx, pr: pr, complaints: pr.Tracker.Check()}
	var errs [4]error
	var err error
	if x.p, err = pr.Plan(o.Now, pr.Options()); err != nil {
		// the other checks still run
		x.p = plan.New(&plan.Snapshot{Root: pr.Root}, o.Now, pr.Options())
		x.complaints = append(x.complaints, tracker.Complaint{Check: "slices",
			Severity: tracker.Broken, Warning: plan.Warning{Message: err.Error()}})
	}
	x.live, _, errs[0] = pr.Runs.Live()
	x.bad, errs[1] = (attempt.Quarantine{Store: pr.Runs}).Bad()
	x.index, errs[2] = pr.Runs.Index()
	x.conflicts, errs[3] = findConflicts(pr.Root)
	return x, errors.Join(errs[:]...)
}
