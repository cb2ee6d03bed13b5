package gsd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/text/frontmatter"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/core/plan"
)

// A BeginPhase marks a phase as being carried out.
type BeginPhase struct {
	Phase, Name string
	Plans       int // 0 if unknown
}

type phaseDoc struct {
	Updated   []string `json:"updated"`
	Phase     string   `json:"phase"`
	PhaseName *string  `json:"phase_name"`
	PlanCount *int     `json:"plan_count"`
	Reason    string   `json:"reason,omitempty"`
}

// movedRecently is how long the session that began another phase is presumed to be working on
// it.
const movedRecently = 4 * time.Hour

// BeginPhase records that a phase is being carried out. If it already is, only the dates
// change: the next wave of its plans begins.
func (s *Store) BeginPhase(ctx context.Context, b BeginPhase) (Result, error) {
	if r, err := checkPhase(b.Phase, b.Name); err != nil || r != nil {
		return deref(r), err
	}
	var updated updates
	return s.verb(ctx, writing{}, func(d *draft) error {
		updated = updates{}
		s.warnOther(d, b.Phase)
		b.apply(d, &updated, localDate(s.Now()))
		return nil
	}, func(bool) Result {
		doc := phaseDoc{Updated: updated.names(), Phase: b.Phase, PhaseName: orNull(b.Name)}
		if b.Plans > 0 {
			doc.PlanCount = &b.Plans
		}
		if len(updated) == 0 {
			doc.Reason = noFields("Status, Last Activity, Current Phase, Current Plan")
			return refused(doc)
		}
		return reported(doc, true)
	})
}

// noFields explains why a verb changed nothing: the file has none of the fields that it sets.
func noFields(names string) string {
	return "STATE.md has none of the fields that this sets (" + names +
		") and no section Current Position: nothing was changed"
}

// checkPhase rejects an invalid phase id, which would appear in headings, tables and file
// names.
func checkPhase(phase, name string) (*Result, error) {
	if phase == "" {
		r := failed("phase required (--phase N)")
		return &r, nil
	}
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`).MatchString(phase) {
		return nil, usagef("%q isn't a phase: expected letters, digits, . _ -, at most 64 of them",
			phase)
	}
	return nil, checkText("--name", name)
}

// warnOther warns about another phase in progress: two sessions that carry out two phases in
// one tree overwrite each other's position.
func (s *Store) warnOther(d *draft, phase string) {
	other := executingPhase(d.get("Status"))
	info, err := os.Stat(s.Path())
	if other == "" || samePhase(other, phase) || err != nil {
		return
	}
	age := s.Now().Sub(info.ModTime())
	if age >= movedRecently {
		return
	}
	s.Warn(fmt.Sprintf("warning: STATE.md says that phase %s is being executed, written %s ago: "+
		"if another session works on it, its position is overwritten now",
		other, age.Round(time.Minute)))
}

// executingPhase returns the id in `Executing Phase 4.5`.
func executingPhase(status string) string {
	const verb = "executing phase "
	at := strings.Index(strings.ToLower(status), verb)
	if at < 0 {
		return ""
	}
	return strings.TrimRight(firstWord(status[at+len(verb):]), ".,;:")
}

func firstWord(s string) string {
	if words := strings.Fields(s); len(words) > 0 {
		return words[0]
	}
	return ""
}

// updates are the names of the fields that a command has set.
type updates []string

func (u *updates) add(name string, done bool) {
	if done {
		*u = append(*u, name)
	}
}

func (u updates) names() []string {
	if u == nil {
		return []string{}
	}
	return u
}

func (b BeginPhase) apply(d *draft, up *updates, today string) {
	resumed := samePhase(executingPhase(d.get("Status")), b.Phase)
	activity := today + " — Phase " + b.Phase + " execution started"
	if resumed {
		activity = today + " — Phase " + b.Phase + " execution resumed (wave continue)"
	}
	up.add("Status", d.lead("Status", always("Executing Phase "+b.Phase)))
	up.add("Last Activity", d.lead("Last Activity", dated(activity)))
	if resumed {
		up.add("Last activity (resume)", d.inPosition("Last activity", always(activity)))
		return
	}
	up.add("Last Activity Description", d.replace("Last Activity Description",
		"Phase "+b.Phase+" execution started"))
	up.add("Current Phase", d.lead("Current Phase", func(old string) (string, bool) {
		return b.current(old), true
	}))
	if b.Name != "" {
		up.add("Current Phase Name", d.lead("Current Phase Name", always(b.Name)))
	}
	up.add("Current Plan", d.lead("Current Plan", always("1")))
	if b.Plans > 0 {
		up.add("Total Plans in Phase",
			d.lead("Total Plans in Phase", always(strconv.Itoa(b.Plans))))
	}
	focus := "Phase " + b.Phase
	if b.Name != "" {
		focus += " — " + b.Name
	}
	up.add("Current focus", d.replaceBold("Current focus", focus))
	b.position(d, up, activity)
	if b.Name != "" && len(*up) > 0 {
		d.exact("current_phase_name", b.Name)
	}
}

// dated sets a Last Activity: the date alone, or with text if the old value had text.
func dated(activity string) func(string) (string, bool) {
	return func(old string) (string, bool) {
		date, _, _ := strings.Cut(activity, " — ")
		if _, text := readActivity(old); text == "" {
			return date, true
		}
		return activity, true
	}
}

// current returns the value of Current Phase: the id, with the existing total.
func (b BeginPhase) current(old string) string {
	if p := readPhase(old); p.of != "" {
		text := b.Phase + " of " + p.of
		if b.Name != "" {
			text += " (" + b.Name + ")"
		}
		return text
	}
	return b.Phase
}

func (b BeginPhase) position(d *draft, up *updates, activity string) {
	if _, ok := d.position(); !ok {
		return
	}
	plans := "?"
	if b.Plans > 0 {
		plans = strconv.Itoa(b.Plans)
	}
	phase := d.inPosition("Phase", moved(b.Phase, b.Name, "EXECUTING"))
	plan := d.inPosition("Plan", always("1 of "+plans))
	last := d.inPosition("Last activity", always(activity))
	up.add("Current Position", phase || plan || last)
}

// movePhase returns the new phase of a field: the total stays, and so does the name if the
// phase is the same.
func movePhase(old, id, name string) prosePhase {
	p := readPhase(old)
	if name == "" && samePhase(p.id, id) {
		name = p.name
	}
	return prosePhase{id: id, of: p.of, name: name}
}

// moved sets a field to the phase with a mark.
func moved(id, name, mark string) func(string) (string, bool) {
	return func(old string) (string, bool) { return movePhase(old, id, name).label(mark), true }
}

// exact sets a front matter key that the command knows more precisely than the body does.
func (d *draft) exact(key, text string) {
	d.hold = append(d.hold, key)
	v, _ := d.doc.Get(key)
	if v.Kind == frontmatter.Scalar && v.Text == text {
		return
	}
	raw := ""
	if v.Kind == frontmatter.Scalar {
		raw = string(d.doc.Src[v.Start:v.End])
	}
	d.set = append(d.set, change{key, yaml(textline.Join(text), raw)})
}

// replaceBold sets a field that is recognized only in bold.
func (d *draft) replaceBold(name, value string) bool {
	for _, l := range scan(d.body) {
		if f, ok := boldField(d.body, l, name); ok && !l.fenced {
			d.fill(f, value)
			return true
		}
	}
	return false
}

type advanceDoc struct {
	Advanced     bool   `json:"advanced"`
	Reason       string `json:"reason,omitempty"`
	PreviousPlan *int   `json:"previous_plan,omitempty"`
	CurrentPlan  int    `json:"current_plan"`
	TotalPlans   int    `json:"total_plans"`
	Status       string `json:"status,omitempty"`
}

// AdvancePlan advances to the next plan of the phase; after the last one, the phase is ready
// for verification.
func (s *Store) AdvancePlan(ctx context.Context) (Result, error) {
	var doc advanceDoc
	parsed := false
	return s.verb(ctx, writing{}, func(d *draft) error {
		plan, total, compound, ok := planOf(d)
		if parsed = ok; !ok {
			return nil
		}
		today := localDate(s.Now())
		if plan >= total {
			doc = advanceDoc{Reason: "last_plan", CurrentPlan: plan, TotalPlans: total,
				Status: "ready_for_verification"}
			d.moveStatus("Phase complete — ready for verification", today)
			return nil
		}
		doc = advanceDoc{Advanced: true, PreviousPlan: &plan, CurrentPlan: plan + 1,
			TotalPlans: total}
		next := strconv.Itoa(plan + 1)
		if !compound {
			d.lead("Current Plan", func(old string) (string, bool) {
				return next + old[len(digits(old)):], true
			})
		}
		// in `1 of 3 in current phase`, only the number changes
		d.lead("Plan", func(old string) (string, bool) {
			if n := len(digits(old)); n > 0 && (compound || strings.Contains(old, " of ")) {
				return next + old[n:], true
			}
			return fmt.Sprintf("%s of %d", next, total), !compound
		})
		d.moveStatus("Ready to execute", today)
		return nil
	}, func(bool) Result {
		if !parsed {
			return failed("Cannot parse Current Plan or Total Plans in Phase from STATE.md")
		}
		return reported(doc, doc.Advanced)
	})
}

// planOf reads the current plan: from `Current Plan` with `Total Plans in Phase`, or else
// `Plan: A of B`.
func planOf(d *draft) (plan, total int, compound, ok bool) {
	current, all := d.get("Current Plan"), d.get("Total Plans in Phase")
	if current != "" && all != "" {
		if digits(current) == "" || digits(all) == "" {
			return 0, 0, false, false
		}
		return atoi(current), atoi(all), false, true
	}
	text := d.get("Plan")
	of := readPhase(text).of
	if digits(text) == "" || of == "" {
		return 0, 0, false, false
	}
	return atoi(text), atoi(of), true, true
}

// moveStatus sets Status and Last Activity, unless a person wrote them.
func (d *draft) moveStatus(status, activity string) {
	d.lead("Status", ifDefault("Status", status))
	d.lead("Last Activity", ifDefault("Last Activity", activity))
}

// A PlannedPhase is a phase whose plans are written.
type PlannedPhase struct {
	Phase, Name string
	Plans       *int // nil if not given
}

type plannedDoc struct {
	Updated   []string `json:"updated"`
	Phase     string   `json:"phase"`
	PlanCount *int     `json:"plan_count"`
	Warning   string   `json:"warning,omitempty"`
}

// PlannedPhase records that a phase is ready to be carried out.
func (s *Store) PlannedPhase(ctx context.Context, p PlannedPhase) (Result, error) {
	if r, err := checkPhase(p.Phase, p.Name); err != nil || r != nil {
		return deref(r), err
	}
	var updated updates
	return s.verb(ctx, writing{}, func(d *draft) error {
		updated = updates{}
		d.keepCounts, d.planned = true, new(int)
		if p.Plans != nil {
			d.planned = p.Plans
		}
		p.apply(d, &updated, localDate(s.Now()))
		return nil
	}, func(bool) Result {
		doc := plannedDoc{Updated: updated.names(), Phase: p.Phase, PlanCount: p.Plans}
		if len(updated) == 0 {
			doc.Warning = "STATE.md has none of the fields that this sets (Status:, " +
				"Total Plans in Phase:, Last activity:), or they hold what a person wrote: " +
				"nothing was changed"
			return refused(doc)
		}
		return reported(doc, true)
	})
}

func (p PlannedPhase) apply(d *draft, up *updates, today string) {
	changed := func(set func() bool) bool {
		before := string(d.body)
		return set() && string(d.body) != before
	}
	plans := "?"
	if p.Plans != nil {
		plans = strconv.Itoa(*p.Plans)
	}
	up.add("Status", changed(func() bool {
		return d.lead("Status", ifDefault("Status", "Ready to execute"))
	}))
	if p.Plans != nil {
		up.add("Total Plans in Phase", d.replace("Total Plans in Phase", plans))
	}
	up.add("Last Activity Description", d.replace("Last Activity Description",
		fmt.Sprintf("Phase %s planning complete — %s plans ready", p.Phase, plans)))
	activity := ifDefault("Last Activity", today+" — Phase "+p.Phase+" planning complete")
	up.add("Current Position", changed(func() bool {
		return d.inPosition("Last activity", activity)
	}))
	up.add("Last Activity", changed(func() bool {
		return d.lead("Last Activity", ifDefault("Last Activity", today))
	}))
}

type completeDoc struct {
	Updated    []string `json:"updated"`
	Phase      string   `json:"phase"`
	Idempotent bool     `json:"idempotent,omitempty"`
	Note       string   `json:"note,omitempty"`
	Reason     string   `json:"reason,omitempty"`
}

// CompletePhase records that a phase is complete: the given one, or else the current one. A
// phase that the file has passed is already complete; one that it hasn't reached must be begun
// first.
func (s *Store) CompletePhase(ctx context.Context, given string) (Result, error) {
	if given != "" {
		if r, err := checkPhase(given, ""); err != nil || r != nil {
			return deref(r), err
		}
	}
	var updated updates
	phase, current, superseded := "", "", false
	return s.verb(ctx, writing{}, func(d *draft) error {
		updated = updates{}
		current = readPhase(cmp.Or(derive(d.body).phase, d.doc.stored("current_phase"))).id
		phase = readPhase(given).id
		if phase == "" && given != "" {
			phase = given
		}
		if given == "" {
			phase = current
		}
		if superseded = current != "" && !samePhase(current, phase); !superseded && phase != "" {
			completePhase(d, &updated, phase, localDate(s.Now()))
		}
		return nil
	}, func(bool) Result {
		switch {
		case phase == "":
			return failed("Unable to resolve current phase. Pass an explicit phase: " +
				"state complete-phase --phase <N>")
		case superseded && !plan.NaturalLess(PhaseKey(phase), PhaseKey(current)):
			return refused(completeDoc{Updated: []string{}, Phase: phase,
				Reason: fmt.Sprintf("STATE.md is at phase %s: begin phase %s first "+
					"(gl gsd state begin-phase --phase %s)", current, phase, phase)})
		case superseded:
			return reported(completeDoc{Updated: []string{}, Phase: phase, Idempotent: true,
				Note: "phase already superseded; no-op"}, false)
		case len(updated) == 0:
			return refused(completeDoc{Updated: []string{}, Phase: phase,
				Reason: noFields("Status, Last Activity")})
		}
		return reported(completeDoc{Updated: updated.names(), Phase: phase}, true)
	})
}

func completePhase(d *draft, up *updates, phase, today string) {
	done := "Phase " + phase + " marked complete"
	up.add("Status", d.lead("Status", always("Phase "+phase+" complete")))
	up.add("Last Activity", d.lead("Last Activity", dated(today+" — "+done)))
	up.add("Last Activity Description", d.replace("Last Activity Description", done))
	if _, ok := d.position(); ok {
		d.inPosition("Phase", moved(phase, "", "COMPLETE"))
		d.inPosition("Last activity", always(today+" — "+done))
		up.add("Current Position", true)
	}
}
