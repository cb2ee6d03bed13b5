package board

import (
	"slices"
	"strings"

	"greenlight/internal/show/view"
)

// how is the way to run a key's command.
type how int

const (
	behind   how = iota // beside the board, showing its last line
	terminal            // it has the terminal until it ends
	reading             // in a panel: Page
)

// A key is a gl command on the selected slice. Everything the board does to a project is one of
// these.
type key struct {
	Key     string
	Command string // gl command; without it, the key doesn't exist
	Means   string // for the help
	How     how
	Page    string // name of the page that it opens
	Asks    string // prompt for a text to be entered first
	Sure    bool   // ask for confirmation first
	Slots   int    // the text is the number of slots plus this
	// arguments without gl itself; nil if the command doesn't apply to the row
	Argv func(r *view.Row, text string) []string
}

// of returns a command on a slice of any of the groups; without groups, of any.
func of(command string, groups ...view.Group) func(*view.Row, string) []string {
	return func(r *view.Row, text string) []string {
		if r == nil || len(groups) > 0 && !slices.Contains(groups, r.Group) {
			return nil
		}
		argv := []string{command, r.ID}
		if strings.HasPrefix(text, "-") { // not a flag
			argv = append(argv, "--")
		}
		if text != "" {
			argv = append(argv, text)
		}
		return argv
	}
}

// asking returns a command on a slice that needs a person for this.
func asking(command string, asks view.Ask) func(*view.Row, string) []string {
	return func(r *view.Row, text string) []string {
		if r == nil || r.Asks != asks {
			return nil
		}
		return of(command, view.NeedsYou)(r, text)
	}
}

// slots sets how many agents may run in parallel; all runs follow.
func slots(_ *view.Row, n string) []string { return []string{"settings", "set", "parallel.max", n} }

// deletes reports whether a command deletes something permanently.
func deletes(argv []string) bool { return len(argv) > 1 && argv[0] == "remove" }

// A keySet is the keys of the commands that gl has.
type keySet []key

// keys lists everything the board can do. A key whose command gl lacks doesn't exist.
var keys = []key{
	{Key: "enter", Command: "attach", Means: "attach to its pane", How: terminal,
		Argv: of("attach", view.Running)},
	{Key: "enter", Command: "why", Means: "explain its state", How: reading, Page: "why",
		Argv: of("why", view.NeedsYou, view.Merging, view.Ready, view.Blocked, view.Failed,
			view.Stopped, view.Done)},
	{Key: "l", Command: "logs", Means: "show its log", How: reading, Page: "log", Argv: of("logs")},
	{Key: "t", Command: "logs", Means: "show the output of its tests", How: reading, Page: "tests",
		Argv: of("logs")},
	{Key: "d", Command: "diff", Means: "show its diff", How: reading, Page: "diff",
		Argv: of("diff")},
	{Key: "w", Command: "why", Means: "explain its state", How: reading, Page: "why",
		Argv: of("why")},
	{Key: "a", Command: "accept", Means: "accept it", Argv: asking("accept", view.AskApproval)},
	{Key: "a", Command: "answer", Means: "answer its question", Asks: "answer",
		Argv: asking("answer", view.AskAnswer)},
	{Key: "x", Command: "reject", Means: "send it back to its agent", Asks: "why",
		Argv: of("reject", view.NeedsYou)},
	{Key: "r", Command: "retry", Means: "retry it",
		Argv: of("retry", view.Failed, view.Stopped, view.NeedsYou)},
	{Key: "s", Command: "stop", Means: "stop it, keep its work", Sure: true,
		Argv: of("stop", view.Running, view.Merging)},
	{Key: "m", Command: "say", Means: "say something to its agent", Asks: "say",
		Argv: of("say", view.Running, view.Merging, view.NeedsYou, view.Failed, view.Stopped,
			view.Ready, view.Blocked)},
	{Key: "h", Command: "hold", Means: "hold: launch nothing", Asks: "hold until (07:00, 2h)",
		Argv: func(_ *view.Row, text string) []string { return []string{"hold", "--until", text} }},
	{Key: "H", Command: "hold", Means: "lift the hold",
		Argv: func(*view.Row, string) []string { return []string{"hold", "--lift"} }},
	{Key: "u", Command: "undo", Means: "undo: revert it and open it again", Sure: true,
		Argv: of("undo", view.Done)},
	{Key: "+", Command: "settings", Means: "one agent more at a time", Slots: 1, Argv: slots},
	{Key: "-", Command: "settings", Means: "one agent less", Slots: -1, Argv: slots},
	{Key: "v", Command: "review", Means: "review what waits for you", How: terminal,
		Argv: func(*view.Row, string) []string { return []string{"review"} }},
}

// has returns the keys for the commands that gl has.
func has(commands []string) keySet {
	return slices.DeleteFunc(slices.Clone(keys), func(k key) bool {
		return !slices.Contains(commands, k.Command)
	})
}
