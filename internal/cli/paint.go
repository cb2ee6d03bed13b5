package cli

const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
	violet = "35"
	grey   = "90"
)

// paint puts text that has passed agent.Clean into a colour, where stdout is a terminal that takes it.
func (e *env) paint(colour, text string) string {
	if e.terminal() == nil || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
