package specwright

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Line is the state in one line, for a status line: "shop/cart verifying 2/3 · tests FAIL". Of gates those that keep it
// from being shipped are named, else it says how many of the enabled ones have passed. Compact leaves out the work's id
// where a unit has one, and gates that have passed.
func (s *State) Line(root string, c Config, now time.Time, compact bool) string {
	if s.Work == nil {
		return "no work"
	}
	name, unit := s.Work.ID, s.Work.Unit
	if u := s.Current(); u != nil {
		unit = u.ID
	}
	switch {
	case unit == "" || unit == name:
	case compact:
		name = unit
	default:
		name += "/" + unit
	}
	line := cmp.Or(name, "?") + " " + cmp.Or(s.Work.Status, "?") + " " + s.Work.Tasks()
	if gates := s.gatesInShort(s.Verdict(root, c, now), len(s.Enabled(c)), compact); gates != "" {
		line += " · " + gates
	}
	return line
}

func (s *State) gatesInShort(v Verdict, enabled int, compact bool) string {
	switch passed := enabled - len(v.Bad); {
	case v.Failing():
		return strings.Join(v.Failed, ", ")
	case passed == 0 || compact:
		return ""
	default:
		return fmt.Sprintf("%d/%d gates", passed, enabled)
	}
}
