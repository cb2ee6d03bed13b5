// Package specwright is the tracker for projects that keep their state by the Specwright
// protocol: one file, .specwright/state/workflow.json, with the current work, its units, its
// gates and a visible lock. The package reads every shape of that file found in practice,
// changes it as the protocol prescribes, and refuses in the protocol's words. It starts no
// agent and prints nothing.
//
//	bytes ── jsonedit.Doc ── State (typed, tolerant)      what the file says
//	Edit: one operation on Doc, seen through State        what the protocol allows
//	Store.Update: kernel lock, read, Edit, compare, replace
package specwright

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/text/jsonedit"
)

const (
	// StateFile is the path of the protocol's state, relative to the project's root.
	StateFile  = ".specwright/state/workflow.json"
	configFile = ".specwright/config.json"
)

// The protocol's statuses of a work or a unit.
const (
	None      = "(none)" // no work at all; never in a file
	Pending   = "pending"
	Planned   = "planned"
	Designing = "designing"
	Planning  = "planning"
	Building  = "building"
	Verifying = "verifying"
	Shipping  = "shipping"
	Shipped   = "shipped"
	Abandoned = "abandoned"
)

// A State is the parsed workflow.json.
type State struct {
	Version string
	Work    *Work  // nil for none
	Units   []Unit // in build order; empty for single-unit work
	Gates   []Gate // in file order
	Lock    *Lock  // nil if unlocked
	Updated string // verbatim
	Changed time.Time
	Odd     []string // descriptions of what wasn't understood
}

// A Work is the parsed currentWork.
type Work struct {
	ID, Description, Status, Dir, Unit, Task, Intensity string

	Total *int     // number of tasks; nil if unknown
	Done  []string // completed tasks
}

// A Unit is an entry of workUnits.
type Unit struct {
	ID, Description, Status, Dir string

	Order *float64
	place int // index in the list
}

// A Gate is the last verdict of one gate.
type Gate struct {
	Name     string // without the prefix gate-
	Unit     string // if the file groups gates by unit; otherwise ""
	Status   string // verbatim
	LastRun  string // verbatim
	Evidence string // as recorded

	Block, Warn, Info *int

	path []string
}

// parse parses the file. After an error, the file must not be touched.
func parse(data []byte, changed time.Time) (*jsonedit.Doc, *State, error) {
	if strings.TrimSpace(string(data)) == "" {
		return nil, nil, errors.New("it is empty")
	}
	doc, err := jsonedit.Parse(data)
	if err != nil {
		return nil, nil, err
	}
	s, err := view(doc, changed)
	return doc, s, err
}

// view reads the document. It returns an error only for what makes the whole state meaningless.
func view(doc *jsonedit.Doc, changed time.Time) (*State, error) {
	r := &reader{doc: doc}
	s := &State{Version: r.text("version"), Updated: r.text("lastUpdated"), Changed: changed}
	var err error
	if s.Work, err = r.work(s.Version); err != nil {
		return nil, err
	}
	r.units(s)
	r.gates(s)
	s.Lock = r.lock()
	s.Odd = r.odd
	return s, nil
}

// canonical returns the protocol's word for a status: agents have invented synonyms.
func canonical(status string) string {
	switch s := strings.ToLower(strings.TrimSpace(status)); s {
	case "verified":
		return Verifying
	case "backlog":
		return Pending
	default:
		return s
	}
}

// CountsAs returns the protocol's word for a unit's status if the file has a synonym of it,
// otherwise "".
func (u *Unit) CountsAs() string {
	if c := canonical(u.Status); !strings.EqualFold(c, strings.TrimSpace(u.Status)) {
		return c
	}
	return ""
}

// Status returns the protocol's word for the status of the work; "(none)" without a work.
func (s *State) Status() string {
	if s.Work == nil {
		return None
	}
	return canonical(s.Work.Status)
}

// Current returns the current unit: by unitId, or else by the work's own id; nil for
// single-unit work.
func (s *State) Current() *Unit {
	if s.Work == nil {
		return nil
	}
	if u := s.unit(s.Work.Unit); u != nil || s.Work.Unit != "" {
		return u
	}
	return s.unit(s.Work.ID)
}

func (s *State) unit(id string) *Unit {
	for i := range s.Units {
		if id != "" && s.Units[i].ID == id {
			return &s.Units[i]
		}
	}
	return nil
}

// statusOf returns the protocol's word for the unit's status. For the current unit that is
// currentWork's status, which overrides the unit's own entry.
func (s *State) statusOf(u *Unit) string {
	if cur := s.Current(); cur != nil && cur.ID == u.ID {
		return s.Status()
	}
	return canonical(u.Status)
}

// Upcoming returns the next unit: the first planned one, or else the first pending one; nil for
// none.
func (s *State) Upcoming() *Unit {
	for _, want := range []string{Planned, Pending} {
		for i := range s.Units {
			if s.statusOf(&s.Units[i]) == want {
				return &s.Units[i]
			}
		}
	}
	return nil
}

// Shipped reports whether the unit or work with that id has shipped.
func (s *State) Shipped(id string) bool {
	if id != "" && id == s.InHand() {
		return s.Status() == Shipped
	}
	u := s.unit(id)
	return u != nil && s.statusOf(u) == Shipped
}

// stray returns a unit that was begun although no work is active; nil for none. Whether it was
// built can't be told from the file: many files never record that a unit shipped.
func (s *State) stray() *Unit {
	for i := range s.Units {
		if u := &s.Units[i]; free(s.Status()) && begun(s.statusOf(u)) {
			return u
		}
	}
	return nil
}

func begun(status string) bool {
	return status == Building || status == Verifying || status == Shipping
}

// loose reports whether the current work isn't one of its units: it has none left to begin, or
// names one that workUnits lacks.
func (s *State) loose() bool {
	if s.Work == nil || len(s.Units) == 0 || free(s.Status()) || s.Current() != nil {
		return false
	}
	early := s.Status() == Designing || s.Status() == Planning
	return !early || !s.undecided() || s.firstUnit() == nil
}

// TasksDone reports whether all tasks of the work are done. If their number is unknown, they
// aren't.
func (s *State) TasksDone() bool {
	return s.Work != nil && s.Work.Total != nil && *s.Work.Total > 0 &&
		len(s.Work.Done) >= *s.Work.Total
}

// Tasks returns the progress of the work: "3/4", "3/?".
func (w *Work) Tasks() string {
	if w.Total == nil {
		return fmt.Sprintf("%d/?", len(w.Done))
	}
	return fmt.Sprintf("%d/%d", len(w.Done), *w.Total)
}

// Drift describes how the current unit's entry differs from currentWork, which takes
// precedence; "" if they agree.
func (s *State) Drift() string {
	if s.Work == nil || len(s.Units) == 0 {
		return ""
	}
	u := s.Current()
	switch {
	case u == nil && s.Work.Unit != "":
		return fmt.Sprintf("currentWork is at unit %q, which workUnits doesn't have", s.Work.Unit)
	case u == nil, canonical(u.Status) == s.Status():
		return ""
	case s.Status() == Planning || s.Status() == Designing:
		// its spec is being written, or is approved
		if st := canonical(u.Status); st == Pending || st == Planned {
			return ""
		}
	}
	words := fmt.Sprintf("unit %s says %q, currentWork says %q: currentWork counts", u.ID, u.Status,
		s.Work.Status)
	if slices.Contains(Targets(), s.Status()) {
		words += ", gl sw to " + s.Status() + " writes both"
	}
	return words
}

// readOnly returns an error that explains why the state can't be changed; nil if it can.
func (s *State) readOnly() error {
	v := s.Version
	if v == "" || old(v) || strings.HasPrefix(v, "2") {
		return nil
	}
	return fmt.Errorf("%s has version %s, which is unsupported for writing: gl only shows it, "+
		"since it writes versions 0.2 and 2; go on with Specwright's own skills in Claude Code",
		StateFile, v)
}
