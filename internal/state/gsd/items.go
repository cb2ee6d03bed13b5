package gsd

import (
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/core/plan"
)

// The steps of a phase. Each is a GSD command, and so a separate attempt.
const (
	stepPlan    = "plan"
	stepExecute = "execute"
	stepVerify  = "verify"
	stepDone    = "complete"
)

// items returns the phases as plan items.
func (s *survey) items(claims map[string]claim) []plan.Item {
	ids := map[string]string{}
	for i := range s.phases {
		ids[s.phases[i].Key] = s.phases[i].ID
	}
	list := make([]plan.Item, 0, len(s.phases))
	for i := range s.phases {
		ph := &s.phases[i]
		it := plan.Item{
			ID: ph.ID, Name: ph.Name, Milestone: ph.Milestone, Staged: true,
			File: s.place.rel(s.place.Roadmap()),
			Wave: plan.None, Priority: i, Position: i, // by number, the order in which GSD works
			Changed: s.changed, Session: claims[s.t.claimKey(ph.ID)].Session,
			Started: claims[s.t.claimKey(ph.ID)].Started,
		}
		if it.Name == "" {
			it.Name = ph.ID
		}
		if d := s.dirs[ph.Key]; d != nil && d.Changed.After(it.Changed) {
			it.Changed = d.Changed
		}
		for _, key := range ph.Depends {
			if id, ok := ids[key]; ok {
				key = id
			}
			it.Deps = append(it.Deps, key)
		}
		s.fill(&it, ph)
		list = append(list, it)
	}
	return list
}

// fill sets the phase's status and what it waits for.
func (s *survey) fill(it *plan.Item, ph *Phase) {
	it.Step = s.step(ph)
	switch {
	case it.Step == stepDone:
		it.Status = "complete"
		return
	case it.Session != "" || s.pos.ActivePhase != "" && PhaseKey(s.pos.ActivePhase) == ph.Key:
		it.Status = "in_progress"
	default:
		it.Status = "pending"
	}
	it.WaitingFor, it.Next = s.person(ph, it.Step)
	if v, _ := s.front.Get("paused_at"); it.WaitingFor == "" && !nullish(v.Text) &&
		s.current() == ph.Key {
		it.Paused, it.Next = true, []string{s.t.slash("resume-work") + " in Claude Code"}
	}
}

// current returns the key of STATE.md's current phase.
func (s *survey) current() string {
	if key := PhaseKey(s.front.word("current_phase")); key != "" {
		return key
	}
	return PhaseKey(s.pos.PhaseNum)
}

// step returns the next step of a phase. The roadmap's tick takes precedence over the files,
// which may be archived, deleted, or missing for a phase that predates GSD.
func (s *survey) step(ph *Phase) string {
	d := s.dirs[ph.Key]
	switch {
	case ph.Done, s.behind(ph), d.CarriedOut(ph) && s.verified(d),
		ph.CarriedOut && (d == nil || !d.Had):
		return stepDone
	case d.CarriedOut(ph):
		return stepVerify
	case d == nil || !d.Had:
		return stepPlan
	}
	return stepExecute
}

// behind reports whether STATE.md is past a phase that the progress table calls complete, or at
// the end of a milestone whose phases were carried out: GSD moves on only from verified phases.
func (s *survey) behind(ph *Phase) bool {
	d, over := s.dirs[ph.Key], s.at.over && s.facts.Milestone == ph.Milestone
	if over && d != nil && d.Complete() && d.Verification+d.UAT == "" {
		return true
	}
	return ph.row.complete && !ph.row.pending && (over || s.passed(ph))
}

// passed reports whether STATE.md is at a later phase.
func (s *survey) passed(ph *Phase) bool {
	return s.road != nil && s.road.has(s.at.phase) && plan.NaturalLess(ph.Key, s.at.phase)
}

// verified reports whether nothing remains to be verified. A phase without a directory has no
// report and isn't verified.
func (s *survey) verified(d *PhaseDir) bool { return d.verified(s.cfg) }

func (d *PhaseDir) verified(cfg Config) bool {
	if d == nil {
		return false
	}
	switch d.UAT {
	case "testing", "partial", "diagnosed":
		return false
	}
	switch d.Verification {
	case "passed":
		return true
	case "":
		return d.Complete() && (cfg.NoVerifier || d.UAT == "passed")
	}
	return d.Verification == "human_needed" && d.UAT == "passed"
}

// disputed describes a contradiction between the files and the roadmap about a phase; "" for
// none. Only a person can decide which is right.
func (s *survey) disputed(ph *Phase, step string) string {
	d := s.dirs[ph.Key]
	gone := d == nil || !d.Had
	switch {
	case step == stepVerify && !d.Complete() && d.Verification != "passed":
		return fmt.Sprintf("%s says that phase %s is complete, but %s",
			s.place.rel(s.place.Roadmap()), ph.ID, missingOf(d))
	case step == stepExecute && s.at.over && s.facts.Milestone == ph.Milestone && d.Summaries > 0:
		return fmt.Sprintf("%s says that all phases are complete, but %s",
			s.place.rel(s.place.State()), missingOf(d))
	case step == stepPlan && gone && s.at.executing && s.at.phase == ph.Key:
		return fmt.Sprintf("%s says that phase %s is being executed, but it has no plans",
			s.place.rel(s.place.State()), ph.ID)
	case step == stepPlan && gone && ph.row.done > 0:
		return fmt.Sprintf("%s says that %d of %d plans of phase %s were carried out, "+
			"but their files are gone", s.place.rel(s.place.Roadmap()), ph.row.done,
			max(ph.row.plans, ph.row.items, ph.Plans, ph.row.done), ph.ID)
	case step == stepPlan && gone && ph.row.begun && !s.preparing(ph, d):
		return fmt.Sprintf("%s says that phase %s is in progress, but it has no plans",
			s.place.rel(s.place.Roadmap()), ph.ID)
	}
	return ""
}

// preparing reports whether a phase without plans is in a stage before planning.
func (s *survey) preparing(ph *Phase, d *PhaseDir) bool {
	if d != nil && (d.Context || d.Research) || s.pos.NextAction != "" {
		return true
	}
	status := normalizeStatus(s.pos.Status, "", false)
	return s.current() == ph.Key && (status == Planning || status == Discussing)
}

func missingOf(d *PhaseDir) string {
	if n := d.Plans - d.Summaries; n != 1 {
		return fmt.Sprintf("%d of its %d plans have no summary", n, d.Plans)
	}
	return fmt.Sprintf("one of its %d plans has no summary", d.Plans)
}

// person describes what a phase waits for if its next step isn't an agent's: a question that
// GSD asks, the discussion without which planning stops to ask, a manual test, a decision about
// gaps, or the next milestone.
func (s *survey) person(ph *Phase, step string) (what string, next []string) {
	d := s.dirs[ph.Key]
	command := func(name, tail string) []string {
		return []string{s.t.slash(name) + " " + ph.ID + tail + " in Claude Code"}
	}
	switch {
	case s.asked(ph):
		what := strings.TrimSuffix("an answer: "+s.waiting.Question, ": ")
		return what, []string{"gl gsd state signal-resume"}
	case !s.due(ph): // nothing to decide yet
		return "", nil
	case ph.Deferred:
		return "its time: the roadmap defers it", nil
	case s.facts.Undefined:
		return "a roadmap: " + s.facts.Milestone + " has no roadmap yet",
			[]string{s.t.slash("new-milestone") + " in Claude Code"}
	case s.later(ph):
		return "milestone " + ph.Milestone + ", STATE.md is at " + s.facts.Milestone,
			[]string{s.t.slash("complete-milestone") + " in Claude Code"}
	case s.disputed(ph, step) != "":
		return "a decision: " + s.disputed(ph, step), s.decide(ph, step)
	case step == stepPlan && s.undiscussed(ph, d):
		return "a discussion", command("discuss-phase", "")
	case step == stepVerify && (d.Verification == "gaps_found" || d.UAT == "diagnosed"):
		return "a decision about the gaps that were found", command("plan-phase", " --gaps")
	case step == stepVerify && d.Verification == "blocked":
		return "what blocks its verification", command("verify-work", "")
	case step == stepVerify &&
		(d.Verification == "human_needed" || d.UAT == "testing" || d.UAT == "partial"):
		return "a person's test", command("verify-work", "")
	}
	return "", nil
}

// decide returns the ways for a person to settle a dispute.
func (s *survey) decide(ph *Phase, step string) []string {
	redo := s.t.slash("execute-phase") + " " + ph.ID + " in Claude Code"
	if step == stepPlan {
		redo = s.t.slash("plan-phase") + " " + ph.ID + " in Claude Code"
	}
	return []string{"tick phase " + ph.ID + " off in " + s.place.rel(s.place.Roadmap()) +
		", or " + redo}
}

// due reports whether all dependencies of the phase are complete.
func (s *survey) due(ph *Phase) bool {
	for _, dep := range ph.Depends {
		i := slices.IndexFunc(s.phases, func(p Phase) bool { return p.Key == dep })
		if i >= 0 && s.step(&s.phases[i]) != stepDone || i < 0 && s.gone()[dep] == "" {
			return false
		}
	}
	return true
}

// asked reports whether GSD's question is about the phase: the question names it, or else it is
// the current phase.
func (s *survey) asked(ph *Phase) bool {
	if s.waiting.Status == "" {
		return false
	}
	key := PhaseKey(s.waiting.Phase)
	if key == "" {
		key = s.current()
	}
	return key == "" || key == ph.Key
}

// later reports whether the phase belongs to another milestone than the current one.
func (s *survey) later(ph *Phase) bool {
	return s.road != nil && !s.facts.Unbounded && s.pos.Milestone != "" &&
		s.facts.Milestone != "" && ph.milestone >= 0 &&
		ph.milestone != s.milestone
}

// undiscussed reports whether the state requires a discussion before the phase is planned:
// because of next_action, of its status as the current phase, or of a config that explicitly
// doesn't skip discussions.
func (s *survey) undiscussed(ph *Phase, d *PhaseDir) bool {
	if d != nil && d.Context || s.cfg.SkipDiscuss {
		return false
	}
	next := func(action string) bool {
		return s.pos.NextAction == action &&
			slices.ContainsFunc(s.pos.NextPhases, func(id string) bool {
				return PhaseKey(id) == ph.Key
			})
	}
	switch {
	case next("plan-phase"):
		return false
	case next("discuss-phase"), s.cfg.WantDiscuss:
		return true
	}
	return normalizeStatus(s.pos.Status, "", false) == Discussing && s.current() == ph.Key
}

// command returns the agent's prompt for the phase's step.
func (s *survey) command(ph *Phase) string {
	d := s.dirs[ph.Key]
	switch s.step(ph) {
	case stepExecute, stepDone: // of a complete one: it verifies again, and finds what fails
		return s.t.slash("execute-phase") + " " + ph.ID
	case stepVerify:
		return s.t.slash("verify-work") + " " + ph.ID
	}
	text := s.t.slash("plan-phase") + " " + ph.ID
	switch { // avoid GSD's question whether to research first
	case d != nil && d.Research:
	case s.cfg.NoResearch:
		text += " --skip-research"
	default:
		text += " --research"
	}
	return text
}
