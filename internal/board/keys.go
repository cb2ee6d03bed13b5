package board

import (
	"slices"
	"strings"

	"greenlight/internal/view"
)

// How a key's command runs.
type how int

const (
	behind   how = iota // beside the board; its last line is shown
	terminal            // it has the terminal until it ends
)

// A key is a gl command on the selected slice. Everything that the board does to a project is one of these.
type key struct {
	Key     string
	Command string // the command of gl: the key is there only where gl has it
	Means   string // for the help
	How     how
	Asks    string                                  // a text is asked for first: its prompt
	Sure    bool                                    // it asks for y or n first
	Slots   int                                     // the text is how many slots there are and this many
	Argv    func(r *view.Row, text string) []string // without gl itself; nil where it doesn't apply to the row
}

// of is a command on a slice of any of the groups; of none given, of each.
func of(command string, groups ...view.Group) func(*view.Row, string) []string {
	return func(r *view.Row, text string) []string {
		if r == nil || len(groups) > 0 && !slices.Contains(groups, r.Group) {
			return nil
		}
		argv := []string{command, r.ID}
		if strings.HasPrefix(text, "-") { // no flag
			argv = append(argv, "--")
		}
		if text != "" {
			argv = append(argv, text)
		}
		return argv
	}
}

// slots sets how many agents may run at a time; every drain that runs follows.
func slots(_ *view.Row, n string) []string { return []string{"settings", "set", "parallel.max", n} }

// deletes says whether a command takes something away for good.
func deletes(argv []string) bool { return len(argv) > 1 && argv[0] == "remove" }

// keys are all that the board can do. A command that gl doesn't have takes its key with it.
var keys = []key{
	{Key: "enter", Command: "attach", Means: "attach to its pane", How: terminal, Argv: of("attach", view.Running)},
	{Key: "d", Command: "diff", Means: "what it changed", How: terminal, Argv: of("diff")},
	{Key: "w", Command: "why", Means: "why it is where it is", How: terminal, Argv: of("why")},
	{Key: "l", Command: "logs", Means: "its log", How: terminal, Argv: of("logs")},
	{Key: "a", Command: "accept", Means: "accept it", Argv: func(r *view.Row, _ string) []string {
		if r == nil || !r.Review {
			return nil
		}
		return of("accept", view.NeedsYou)(r, "")
	}},
	{Key: "a", Command: "answer", Means: "answer its question", Asks: "answer", Argv: func(r *view.Row, text string) []string {
		if r == nil || !r.Question {
			return nil
		}
		return of("answer", view.NeedsYou)(r, text)
	}},
	{Key: "x", Command: "reject", Means: "send it back", Asks: "why", Argv: of("reject", view.NeedsYou)},
	{Key: "r", Command: "retry", Means: "retry it", Argv: of("retry", view.Failed, view.Stopped, view.NeedsYou)},
	{Key: "s", Command: "stop", Means: "stop it, keep its work", Sure: true, Argv: of("stop", view.Running, view.Merging)},
	{Key: "m", Command: "say", Means: "say something to its agent", Asks: "say", Argv: of("say", view.Running, view.Merging, view.NeedsYou, view.Failed, view.Stopped, view.Ready, view.Blocked)},
	{Key: "h", Command: "hold", Means: "hold: launch nothing", Asks: "hold until (07:00, 2h)", Argv: func(_ *view.Row, text string) []string {
		return []string{"hold", "--until", text}
	}},
	{Key: "H", Command: "hold", Means: "lift the hold", Argv: func(*view.Row, string) []string { return []string{"hold", "--lift"} }},
	{Key: "u", Command: "undo", Means: "undo: revert it and open it again", Sure: true, Argv: of("undo", view.Done)},
	{Key: "+", Command: "settings", Means: "a slot more", Slots: 1, Argv: slots},
	{Key: "-", Command: "settings", Means: "a slot less", Slots: -1, Argv: slots},
	{Key: "v", Command: "review", Means: "review what waits for you", How: terminal, Argv: func(*view.Row, string) []string { return []string{"review"} }},
}

// has says which of the keys there are where gl has these commands.
func has(commands []string) []key {
	return slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return !slices.Contains(commands, k.Command) })
}
