package plan

import (
	"fmt"
	"time"

	"greenlight/internal/text/textline"
)

// Describe says until when nothing is launched, and why: "until 14:05 (rate limit met by S-3: come back later)". The time
// is local, with its date unless that is today's. The text is one line, but it isn't safe for a terminal: the agent's words
// are in it.
func (h *Hold) Describe(now time.Time) string {
	until, layout := h.Until.Local(), "15:04"
	if until.Format(time.DateOnly) != now.Local().Format(time.DateOnly) {
		layout = "2006-01-02 15:04"
	}
	why := h.Kind
	if h.By != "" {
		why += " met by " + h.By
	}
	if h.Reason != "" {
		why += ": " + h.Reason
	}
	return fmt.Sprintf("until %s (%s)", until.Format(layout), textline.Collapse(why))
}
