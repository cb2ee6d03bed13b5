package gsd

import (
	"slices"
	"strings"

	"greenlight/internal/plan"
)

// The steps of a phase: each is a command of GSD, and so an attempt, of its own.
const (
	stepPlan    = "plan"
	stepExecute = "execute"
	stepVerify  = "verify"
	stepDone    = "complete"
)

// items are the phases as the plan sees them.
func (s *survey) items(claims map[string]claim) []plan.Item {
	ids := map[string]string{}
	for i := range s.phases {
		ids[s.phases[i].Key] = s.phases[i].ID
	}
	list := make([]plan.Item, 0, len(s.phases))
	for i := range s.phases {
		ph := &s.phases[i]
		it := plan.Item{
			ID: ph.ID, Name: ph.Name, Milestone: ph.Milestone, Staged: true, File: s.place.rel(s.place.Roadmap()),
			Wave: plan.None, Priority: i, Position: i, // by number: that is the order in which GSD works
			Changed: s.changed, Session: claims[s.t.claimKey(ph.ID)].Session, Started: claims[s.t.claimKey(ph.ID)].Started,
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

// fill says where the phase stands and what it waits for.
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
	if v, _ := s.front.Get("paused_at"); it.WaitingFor == "" && !nullish(v.Text) && s.current() == ph.Key {
		it.Paused, it.Next = true, []string{s.t.slash("resume-work") + " in Claude Code"}
	}
}

// current is the key of the phase that STATE.md is at.
func (s *survey) current() string {
	if key := PhaseKey(s.front.word("current_phase")); key != "" {
		return key
	}
	return PhaseKey(s.pos.PhaseNum)
}

// step is what is to be done next. The roadmap's tick counts more than the files, which a phase from before GSD lacks, and
// which are archived or deleted.
func (s *survey) step(ph *Phase) string {
	d := s.dirs[ph.Key]
	switch {
	case !d.CarriedOut(ph):
		if d == nil || !d.Had {
			return stepPlan
		}
		return stepExecute
	case ph.Done, d == nil || !d.Had, s.verified(d):
		return stepDone
	}
	return stepVerify
}

func (s *survey) verified(d *PhaseDir) bool {
	switch d.UAT {
	case "testing", "partial", "diagnosed":
		return false
	}
	switch d.Verification {
	case "passed":
		return true
	case "":
		return s.cfg.NoVerifier || d.UAT == "complete"
	}
	return d.Verification == "human_needed" && d.UAT == "complete"
}

// person says what a phase waits for where its next step isn't an agent's: a question that GSD asks, the discussion
// without which planning stops to ask, a test that a person makes, what to do about gaps, or the next milestone.
func (s *survey) person(ph *Phase, step string) (what string, next []string) {
	d := s.dirs[ph.Key]
	command := func(name, tail string) []string {
		return []string{s.t.slash(name) + " " + ph.ID + tail + " in Claude Code"}
	}
	switch {
	case s.asked(ph):
		return strings.TrimSuffix("an answer: "+s.waiting.Question, ": "), []string{"gl gsd state signal-resume"}
	case !s.due(ph): // nobody need think of it yet
		return "", nil
	case ph.Deferred:
		return "its time: the roadmap defers it", nil
	case s.later(ph):
		return "milestone " + ph.Milestone + ", STATE.md is at " + s.facts.Milestone, []string{s.t.slash("complete-milestone") + " in Claude Code"}
	case step == stepPlan && s.undiscussed(ph, d):
		return "a discussion", command("discuss-phase", "")
	case step == stepVerify && (d.Verification == "gaps_found" || d.UAT == "diagnosed"):
		return "a decision about the gaps that were found", command("plan-phase", " --gaps")
	case step == stepVerify && d.Verification == "blocked":
		return "what blocks its verification", command("verify-work", "")
	case step == stepVerify && (d.Verification == "human_needed" || d.UAT == "testing" || d.UAT == "partial"):
		return "a person's test", command("verify-work", "")
	}
	return "", nil
}

// due says whether all that the phase depends on is complete.
func (s *survey) due(ph *Phase) bool {
	for _, dep := range ph.Depends {
		i := slices.IndexFunc(s.phases, func(p Phase) bool { return p.Key == dep })
		if i >= 0 && s.step(&s.phases[i]) != stepDone || i < 0 && s.gone()[dep] == "" {
			return false
		}
	}
	return true
}

// asked says whether GSD's question is about the phase: it names it, or the phase is where the project stands.
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

// later says whether the phase belongs to another milestone than the one that is worked on.
func (s *survey) later(ph *Phase) bool {
	return s.road != nil && !s.facts.Unbounded && s.pos.Milestone != "" && s.facts.Milestone != "" && ph.milestone >= 0 &&
		ph.milestone != s.milestone
}

// undiscussed says whether the state asks for a discussion before the phase is planned: by next_action, by its status
// while the project stands at the phase, or by a config that says outright that discussions aren't skipped.
func (s *survey) undiscussed(ph *Phase, d *PhaseDir) bool {
	if d != nil && d.Context || s.cfg.SkipDiscuss {
		return false
	}
	next := func(action string) bool {
		return s.pos.NextAction == action && slices.ContainsFunc(s.pos.NextPhases, func(id string) bool { return PhaseKey(id) == ph.Key })
	}
	switch {
	case next("plan-phase"):
		return false
	case next("discuss-phase"), s.cfg.WantDiscuss:
		return true
	}
	return NormalizeStatus(s.pos.Status, "", false) == Discussing && s.current() == ph.Key
}

// command is what an agent is told for the phase's step.
func (s *survey) command(ph *Phase) string {
	d := s.dirs[ph.Key]
	switch s.step(ph) {
	case stepExecute:
		return s.t.slash("execute-phase") + " " + ph.ID
	case stepVerify:
		return s.t.slash("verify-work") + " " + ph.ID
	}
	text := s.t.slash("plan-phase") + " " + ph.ID
	switch { // it would ask whether to look around first
	case d != nil && d.Research:
	case s.cfg.NoResearch:
		text += " --skip-research"
	default:
		text += " --research"
	}
	return text
}
