package cli

import (
	"strconv"
	"strings"
	"time"

	"greenlight/internal/agent"
	"greenlight/internal/plan"
)

// thousands writes a number with separators: 1,247.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// bar is a progress bar of 20 cells, rounded down: full only when all is done.
func bar(done, total int) string {
	const cells = 20
	n := 0
	if total > 0 {
		n = done * cells / total
	}
	return "[" + strings.Repeat("#", n) + strings.Repeat(".", cells-n) + "]"
}

// briefs are items with their causes, for one line.
func briefs(p *plan.Plan, ids []string, now time.Time) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = agent.Clean(p.Why(id, now).Brief())
	}
	return strings.Join(list, ", ")
}

// progressList is the running slices with their steps: "S-2 (implementing), S-3 (security)".
func progressList(p *plan.Plan) string {
	list := make([]string, len(p.Running))
	for i, id := range p.Running {
		st := p.State(id)
		word := st.Progress()
		if st.Stale {
			word += ", stale"
		}
		list[i] = id + " (" + agent.Clean(word) + ")"
	}
	return strings.Join(list, ", ")
}

// troubleList is failed or stalled slices with the cause and, where an agent tried, the command that shows more.
func troubleList(p *plan.Plan, ids []string, now time.Time) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		var words []string
		if cause := p.Why(id, now).Cause; cause != "" {
			words = append(words, agent.Clean(cause))
		}
		if p.State(id).Attempt != nil {
			words = append(words, "gl logs "+id)
		}
		list[i] = id
		if len(words) > 0 {
			list[i] += " (" + strings.Join(words, ", ") + ")"
		}
	}
	return strings.Join(list, ", ")
}
