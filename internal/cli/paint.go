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

// paint puts text that has passed sanitize.Text into a colour, where text may be coloured.
func (e *env) paint(colour, text string) string {
	if text == "" || !e.colours() {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// colours says whether text may be coloured: the words that forbid it come first, then the one that demands it, and
// with none of them it is a matter of the terminal. Documents for programs are never painted.
func (e *env) colours() bool { return e.coloursOn(isTerminal(e.out)) }

// coloursOn is colours where something else than a terminal may take them.
func (e *env) coloursOn(takes bool) bool {
	switch force := e.getenv("CLICOLOR_FORCE"); {
	case e.noColor, e.getenv("NO_COLOR") != "", e.getenv("TERM") == "dumb":
		return false
	case force != "" && force != "0":
		return true
	case e.getenv("CLICOLOR") == "0":
		return false
	}
	return takes
}
