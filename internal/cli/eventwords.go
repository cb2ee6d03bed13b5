package cli

import (
	"strings"

	"greenlight/internal/agent"
)

// eventText is an agent's event as lines for a person, without the last line end. The first character tells what kind
// it is; later lines are indented, so that they can't be taken for events. The text has passed sanitize.Text already.
func eventText(ev agent.Event) string {
	return eventMark(ev.Kind) + strings.ReplaceAll(ev.Text, "\n", "\n  ")
}

func eventMark(k agent.Kind) string {
	switch k {
	case agent.KindInit:
		return "- "
	case agent.KindTool:
		return "> "
	case agent.KindToolError:
		return "! "
	case agent.KindRetry, agent.KindLimit:
		return "~ "
	case agent.KindResult:
		return "= "
	}
	return ""
}
