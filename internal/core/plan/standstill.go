package plan

import (
	"fmt"
	"time"

	"greenlight/internal/base/words"
)

// A Standstill is something about the project as a whole, and no single item, that only a person
// can change.
type Standstill struct {
	Subject string // "tests", "run"
	Text    string // a sentence without the subject
	Next    []string
}

// RedBase returns what is to be said of tests that fail on what was merged, nil if they pass or
// haven't run. In a checkout, the item whose work it has says it.
func RedBase(p *Plan) *Standstill {
	s := p.Tests.Ran.Suite
	if s == nil || !s.Red || s.Commit == "" {
		return nil
	}
	what := "at " + s.Commit[:min(len(s.Commit), 10)]
	if s.Failed > 0 {
		what = fmt.Sprintf("%s failing, %s", words.Thousands(s.Failed), what)
	}
	where := "on what was merged"
	if p.Done == 0 {
		where = "without any slice's work"
	}
	return &Standstill{"tests", "the tests fail " + where + " (" + what + "): fix them, or the test command",
		[]string{"gl verify" + p.Snapshot.Flags}}
}

// Standstills returns why nothing goes on that could, and tests that fail on what was merged.
// Items that fail or wait for a person are their own reasons. active is whether a run is under way.
func Standstills(p *Plan, now time.Time, active bool) (list []Standstill) {
	if red := RedBase(p); red != nil {
		list = append(list, *red)
	}
	l, flags := p.Lists, p.Snapshot.Flags
	if active || len(l.Running)+len(l.Landing) > 0 || p.Done == p.Total {
		return list
	}
	for _, text := range p.Snapshot.Blockers {
		list = append(list, Standstill{Subject: "project", Text: text, Next: []string{}})
	}
	noun, ready := words.Count(len(l.Ready), p.Snapshot.Noun), len(l.Ready)
	switch {
	case ready > 0 && p.Hold != nil:
		list = append(list, Standstill{"run", "nothing is launched " + p.Hold.about(now),
			p.Snapshot.commands(p.Hold.Lifting())})
	case ready == 1:
		list = append(list, Standstill{"run", noun + " is ready, but no run is active",
			[]string{"gl slice --watch" + flags}})
	case ready > 0:
		list = append(list, Standstill{"run", noun + " are ready, but no run is active",
			[]string{"gl slice --watch" + flags}})
	case len(l.Blocked) > 0 && len(l.Waiting)+len(l.Unknown)+len(l.TroubledIDs()) == 0:
		list = append(list, Standstill{"run", "all that is left is blocked",
			[]string{"gl why" + flags}})
	}
	return list
}
