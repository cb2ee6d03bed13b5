package term

// A Color is the SGR parameter of a color or style. The empty Color changes nothing.
type Color string

// The colors and styles that gl uses.
const (
	Bold   Color = "1"
	Dim    Color = "2"
	Invert Color = "7"
	Red    Color = "31"
	Green  Color = "32"
	Yellow Color = "33"
	Blue   Color = "34"
	Violet Color = "35"
	Cyan   Color = "36"
	Gray   Color = "90"
	Orange Color = "38;5;208"
)

// Paint colors sanitized text.
func (c Color) Paint(text string) string {
	if text == "" || c == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// ColorWanted reports whether text may be colored: NO_COLOR and TERM=dumb forbid it, then
// CLICOLOR_FORCE demands it, then CLICOLOR=0 forbids it; otherwise it depends on whether the
// output is a terminal.
func ColorWanted(getenv func(string) string, terminal bool) bool {
	switch force := getenv("CLICOLOR_FORCE"); {
	case getenv("NO_COLOR") != "", getenv("TERM") == "dumb":
		return false
	case force != "" && force != "0":
		return true
	case getenv("CLICOLOR") == "0":
		return false
	}
	return terminal
}
