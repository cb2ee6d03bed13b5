package gsd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"greenlight/internal/base/durable"
)

// A phaseFiles is what is known of a phase by the files beside STATE.md, read under the lock.
type phaseFiles struct {
	s     *Store
	state *Doc
	road  []byte // ROADMAP.md; nil without one
	id    string // as the roadmap or, failing that, the caller writes it
	key   string
	dir   *PhaseDir // nil without a directory
	edits *roadmapText
}

// A Project is the files of a project beside its STATE.md. Its methods are GSD's verbs for them:
// each reads, changes and writes under both of GSD's locks, STATE.md last.
type Project struct{ Store *Store }

// Place returns the location of the files.
func (p *Project) Place() Place { return placeOf(p.Store) }

func placeOf(s *Store) Place { return Place{Root: s.Root, Planning: s.Planning} }

// newPhaseFiles reads the files of a phase. An error that is a *phaseError is about the phase.
func newPhaseFiles(s *Store, id string) (*phaseFiles, error) {
	p := &phaseFiles{s: s, id: id, key: PhaseKey(id), state: Parse(nil)}
	if p.key == "" {
		return nil, usagef("%q isn't a phase: expected a number such as 4 or 4.1", id)
	}
	state, err := s.load()
	switch {
	case err == nil:
		p.state = state
	case !errors.Is(err, errNoState):
		return nil, err
	}
	p.road, err = readRoadmapFile(placeOf(s).Roadmap())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p.edits = openRoadmap(string(p.road), standingOf(p.state), p.key)
	if p.edits.phase != nil {
		p.id = p.edits.phase.ID
	}
	dirs := onePerPhase(ScanPhases(placeOf(s).Phases()))
	for i := range dirs {
		if dirs[i].Key == p.key {
			p.dir = &dirs[i]
		}
	}
	if p.dir == nil {
		return nil, phaseErrorf("Phase %s not found: there is no directory for it in %s",
			id, placeOf(s).rel(placeOf(s).Phases()))
	}
	return p, nil
}

// A phaseError is the reason why a verb can't be carried out on a phase.
type phaseError struct{ reason string }

func (e *phaseError) Error() string { return e.reason }

func phaseErrorf(format string, a ...any) error { return &phaseError{fmt.Sprintf(format, a...)} }

// onPhase runs f on a phase under the locks; a *phaseError becomes GSD's document.
func onPhase(ctx context.Context, s *Store, id string,
	f func(*phaseFiles) (Result, error)) (r Result, err error) {
	err = locked(ctx, s, func() error {
		p, err := newPhaseFiles(s, id)
		if err == nil {
			r, err = f(p)
		}
		return err
	})
	var reason *phaseError
	if errors.As(err, &reason) {
		return failed("%s", reason), nil
	}
	return r, err
}

// complete reports whether the phase is carried out and verified.
func (p *phaseFiles) complete() bool {
	return p.dir.Complete() && p.dir.verified(ReadConfig(placeOf(p.s)))
}

// progress brings the phase's plans up to date in ROADMAP.md: the table, the number and the list
// of plans and, if the phase is complete, its tick. It returns GSD's word for the phase.
func (p *phaseFiles) progress() (status string) {
	done, total, date := p.dir.Summaries, p.dir.Plans, ""
	status, suffix := "Planned", " plans executed"
	switch {
	case p.complete():
		status, suffix, date = "Complete", " plans complete", localDate(p.s.Now())
		p.edits.tick(date)
	case done > 0:
		status = "In Progress"
	}
	p.edits.setRow(planCount(done, total), status, date)
	p.edits.setCount(planCount(done, total) + suffix)
	p.edits.listPlans(p.dir.files)
	return status
}

// writeRoadmap writes the edits and reports whether there were any.
func (p *phaseFiles) writeRoadmap() (bool, error) {
	text := p.edits.String()
	if p.road == nil || text == string(p.road) {
		return false, nil
	}
	return true, durable.Replace(placeOf(p.s).Roadmap(), p.road, []byte(text))
}

type planProgressDoc struct {
	Updated      bool   `json:"updated"`
	Reason       string `json:"reason,omitempty"`
	Phase        string `json:"phase"`
	PlanCount    int    `json:"plan_count"`
	SummaryCount int    `json:"summary_count"`
	Status       string `json:"status,omitempty"`
	Complete     bool   `json:"complete"`
}

// RoadmapProgress brings a phase's plans up to date in ROADMAP.md. If they are, it changes
// nothing.
func (p *Project) RoadmapProgress(ctx context.Context, id string) (Result, error) {
	s := p.Store
	return onPhase(ctx, s, id, func(p *phaseFiles) (Result, error) {
		doc := planProgressDoc{Phase: id, PlanCount: p.dir.Plans, SummaryCount: p.dir.Summaries}
		if err := p.listed(); err != nil {
			doc.Reason = err.Error()
			return refused(doc), nil
		}
		doc.Status, doc.Complete = p.progress(), p.complete()
		var err error
		if doc.Updated, err = p.writeRoadmap(); !doc.Updated {
			doc.Reason = "no changes were needed: " +
				"ROADMAP.md already has the phase's plans and status"
		}
		return result(doc, planCount(doc.SummaryCount, doc.PlanCount)+" "+doc.Status), err
	})
}

// listed returns an error if the phase has no plans, or no place in the roadmap.
func (p *phaseFiles) listed() error {
	switch {
	case p.road == nil:
		return errors.New("ROADMAP.md not found")
	case p.edits.phase == nil:
		return fmt.Errorf("ROADMAP.md doesn't have phase %s in the project's milestone", p.id)
	case p.dir.Plans == 0:
		return errors.New("no plans found")
	}
	return nil
}

type annotatedDoc struct {
	Updated     bool   `json:"updated"`
	Reason      string `json:"reason,omitempty"`
	Phase       string `json:"phase"`
	Waves       int    `json:"waves"`
	Constraints int    `json:"cross_cutting_constraints"`
}

// AnnotateRoadmap groups a phase's list of plans in ROADMAP.md by waves, and adds what more than
// one of the plans must keep. It leaves a list alone that is annotated already.
func (p *Project) AnnotateRoadmap(ctx context.Context, id string) (Result, error) {
	s := p.Store
	return onPhase(ctx, s, id, func(p *phaseFiles) (Result, error) {
		doc := annotatedDoc{Phase: id, Waves: len(p.dir.Waves)}
		if err := p.listed(); err != nil {
			doc.Reason = err.Error()
			return refused(doc), nil
		}
		shared := p.sharedTruths()
		doc.Constraints = len(shared)
		p.edits.annotate(p.dir.files, shared)
		var err error
		doc.Updated, err = p.writeRoadmap()
		raw := "skipped (already annotated or no plan list)"
		if doc.Updated {
			raw = fmt.Sprintf("annotated %d wave(s), %d constraint(s)", doc.Waves, doc.Constraints)
		}
		return result(doc, raw), err
	})
}

// sharedTruths returns what at least two plans of the phase list under must_haves, truths.
func (p *phaseFiles) sharedTruths() []string {
	var order []string
	count := map[string]int{}
	text := map[string]string{}
	for _, f := range p.dir.files {
		seen := map[string]bool{}
		for _, t := range truths(readFront(filepath.Join(p.path(), f.name))) {
			key := strings.ToLower(t)
			if seen[key] {
				continue
			}
			seen[key] = true
			if count[key]++; count[key] == 1 {
				order, text[key] = append(order, key), t
			}
		}
	}
	var shared []string
	for _, key := range order {
		if count[key] > 1 {
			shared = append(shared, text[key])
		}
	}
	return shared
}

func (p *phaseFiles) path() string { return filepath.Join(placeOf(p.s).Phases(), p.dir.Name) }

// truths returns the list truths in a plan's front matter. It is nested in must_haves, deeper
// than the front matter's reader goes.
func truths(d *Doc) []string {
	front := string(d.Src[:len(d.Src)-len(d.Body())])
	var list []string
	in := -1 // indentation of the key
	for line := range strings.Lines(front) {
		text := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		item, isItem := strings.CutPrefix(text, "- ")
		switch {
		case text == "truths:":
			in = indent
		case in >= 0 && isItem && indent >= in:
			if t := strings.Trim(strings.TrimSpace(item), `"'`); t != "" {
				list = append(list, t)
			}
		case text != "":
			in = -1
		}
	}
	return list
}

type phaseCompleteDoc struct {
	CompletedPhase      string   `json:"completed_phase"`
	PhaseName           *string  `json:"phase_name"`
	PlansExecuted       string   `json:"plans_executed"`
	NextPhase           *string  `json:"next_phase"`
	NextPhaseName       *string  `json:"next_phase_name"`
	IsLastPhase         bool     `json:"is_last_phase"`
	Date                string   `json:"date"`
	RoadmapUpdated      bool     `json:"roadmap_updated"`
	StateUpdated        bool     `json:"state_updated"`
	RequirementsUpdated bool     `json:"requirements_updated"`
	Warnings            []string `json:"warnings"`
	HasWarnings         bool     `json:"has_warnings"`
}

// FinishPhase completes a phase that is carried out and verified, in all files: the roadmap's
// list and table, the phase's requirements, and STATE.md, which moves on to the next phase if it
// is at this one. Repeating it completes what a crash has left.
func (p *Project) FinishPhase(ctx context.Context, id string) (Result, error) {
	s := p.Store
	return onPhase(ctx, s, id, func(p *phaseFiles) (Result, error) {
		if err := p.mayFinish(); err != nil {
			return Result{}, err
		}
		doc := phaseCompleteDoc{CompletedPhase: id, Date: localDate(s.Now()), Warnings: []string{},
			PlansExecuted: planCount(p.dir.Summaries, p.dir.Plans)}
		p.progress()
		var err error
		if doc.RoadmapUpdated, err = p.writeRoadmap(); err != nil {
			return Result{}, err
		}
		if err := p.finishRequirements(&doc); err != nil {
			return Result{}, err
		}
		next := p.next()
		if next != nil {
			doc.NextPhase, doc.NextPhaseName = &next.ID, &next.Name
		}
		if p.edits.phase != nil {
			doc.PhaseName = &p.edits.phase.Name
		}
		doc.IsLastPhase, doc.HasWarnings = next == nil, len(doc.Warnings) > 0
		if len(p.state.Src) > 0 {
			doc.StateUpdated, err = s.compareAndWrite(writing{also: true}, func(d *draft) error {
				if at := standingOf(p.state).phase; at == "" || at == p.key {
					p.finishState(d, next)
				}
				s.progress(d)
				return nil
			})
		}
		return reported(doc, true), err
	})
}

// mayFinish returns an error unless every plan has a summary and the phase is verified.
func (p *phaseFiles) mayFinish() error {
	var open []string
	for _, f := range p.dir.files {
		if !f.done {
			open = append(open, f.name)
		}
	}
	switch {
	case len(open) > 0:
		return phaseErrorf("Phase %s cannot be completed: %d plan(s) have no completion record "+
			"(*-SUMMARY.md): %s. Carry them out, or give a plan that was dropped the status "+
			"superseded in its front matter",
			p.id, len(open), strings.Join(open[:min(len(open), 20)], ", "))
	case !p.dir.Had:
		return phaseErrorf("Phase %s cannot be completed: it has no plans. Run %s %s first",
			p.id, Slash(p.s.Root, "plan-phase", p.s.getenv), p.id)
	case !p.complete():
		return phaseErrorf("Phase %s verification is incomplete: %s. "+
			"Run %s %s first", p.id, p.dir.openVerification(), Slash(p.s.Root, "verify-work", p.s.getenv), p.id)
	}
	return nil
}

// openVerification describes why a phase isn't verified.
func (d *PhaseDir) openVerification() string {
	switch {
	case d.UAT == "testing" || d.UAT == "partial":
		return "UAT.md has tests without a result"
	case d.UAT == "diagnosed":
		return "UAT.md has gaps"
	case d.Verification == "":
		return "there is no VERIFICATION.md"
	}
	return "VERIFICATION.md says " + d.Verification
}

// finishRequirements marks the phase's requirements as complete.
func (p *phaseFiles) finishRequirements(doc *phaseCompleteDoc) error {
	ids := p.edits.requirements()
	path := p.s.file(requirementsFile)
	old, err := durable.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || len(ids) == 0 && err == nil {
		return nil
	}
	if err != nil {
		return err
	}
	m := markRequirements(string(old), ids)
	if len(m.missing) > 0 {
		doc.Warnings = append(doc.Warnings,
			fmt.Sprintf("%s doesn't have, or has decided otherwise: %s",
				requirementsFile, strings.Join(m.missing, ", ")))
	}
	doc.RequirementsUpdated = m.text != string(old)
	return durable.Replace(path, old, []byte(m.text))
}

// next returns the phase that comes next in the milestone: the first that isn't complete. It is
// nil if all are.
func (p *phaseFiles) next() *Phase {
	road := parseRoadmap(p.edits.String())
	for _, ph := range road.of(road.current(standingOf(p.state))) {
		if ph.Key != p.key && !ph.Done && !ph.CarriedOut && !ph.Deferred {
			return ph
		}
	}
	return nil
}

// finishState moves STATE.md on to the next phase. A status that a person wrote stays in the
// body.
func (p *phaseFiles) finishState(d *draft, next *Phase) {
	status, word, mark := "Ready to plan", Planning, ""
	activity := "Phase " + p.id + " complete"
	stopped := activity
	if next == nil {
		status, word, mark = "All phases complete", Completed, "COMPLETE"
		stopped += " — all phases complete"
		next = cmp.Or(p.edits.phase, &Phase{ID: p.id})
	} else {
		activity += ", transitioned to Phase " + next.ID
		stopped += ", ready to plan Phase " + next.ID
	}
	d.inPosition("Phase", moved(next.ID, next.Name, mark))
	d.lead("Current Phase", always(next.ID))
	d.lead("Current Phase Name", always(next.Name))
	d.inPosition("Plan", always("Not started"))
	d.lead("Current Plan", always("Not started"))
	d.lead("Status", ifDefault("Status", status))
	today := localDate(p.s.Now())
	d.lead("Last Activity", dated(today+" — "+activity))
	d.inPosition("Last activity", always(today+" — "+activity))
	d.replace("Last Activity Description", activity)
	d.inSession("Stopped at", stopped)
	d.exact("status", word)
	if next.Name != "" {
		d.exact("current_phase_name", next.Name)
	}
}
