package specwright

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Line returns the state in one line, for a status line: "shop/cart verifying 2/3 · tests
// FAIL". It names the gates that prevent shipping, or else counts the enabled ones that have
// passed. Compact omits the work's id if it has a unit, and gates that have passed.
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
