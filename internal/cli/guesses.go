package cli

import (
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/suggest"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/sliceid"
)

// A guess is what gl makes of a word that is a command elsewhere, or could be one here.
type guess struct {
	words string // separated by spaces
	// the command that the word stands for. It only shows something, or adds a slice: what costs
	// money, ends agents or merges work is offered instead.
	runs   string
	offers []offer
}

// An offer is a command that the person may mean. "{ID}" in it stands for the person's arguments
// or, if there are none, for ID.
type offer struct{ command, why string }

// guesses returns the words, each once.
func guesses() []guess {
	return slices.Concat(guessesThatRun(), guessesToStart(), guessesToAnswer(), guessesToKeep())
}

func guessesThatRun() []guess {
	return []guess{
		{words: "add", runs: "add-slice"},
		{words: "ls list st stat ps slices tasks progress", runs: "status"},
		{words: "log tail", runs: "logs"},
		{words: "show cat view inspect", runs: "state show"},
		{words: "ui tui dashboard top", runs: "board"},
		{words: "config configure options", runs: "settings"},
		{words: "tree deps dag", runs: "graph"},
		{words: "history journal activity", runs: "events"},
		{words: "usage money tokens spend", runs: "cost"},
		{words: "limit limits", runs: "budget"},
		{words: "inbox todo next", runs: "review"},
		{words: "changes", runs: "diff"},
		{words: "summary morning", runs: "report"},
		{words: "explain", runs: "why"},
		{words: "fsck validate", runs: "doctor"},
		{words: "commands", runs: "help --all"},
	}
}

func guessesToStart() []guess {
	return []guess{
		{words: "run start build launch go work", offers: []offer{
			{"slice {--watch}", "builds slices"}, {`do "TEXT"`, "has an agent do a task"}}},
		{words: "task prompt ask parallel", offers: []offer{
			{`do {"TEXT"}`, "has an agent do a task"}}},
		{words: "continue", offers: []offer{{"slice --watch", "continues a run"},
			{"retry {ID}", "a failed slice"}, {"resume {ID}", "a paused one"}}},
		{words: "new create", offers: []offer{{`add-slice {"NAME"}`, "adds a slice"},
			{"init", "starts a project"}}},
		{words: "plan", offers: []offer{{"init", "plans a project with an agent"},
			{"slice --dry-run", "shows what would be launched"}}},
		{words: "setup", offers: []offer{{"init", "starts a project"},
			{"install --local", "installs the slash commands"}}},
		{words: "simulate try", offers: []offer{
			{"rehearse", "tries a run in a scratch copy"}, {"demo", "builds a sample project"}}},
		{words: "update upgrade", offers: []offer{
			{"version", "prints the version; to update, replace the program"},
			{"check", "compares the installed slash commands with it"}}},
		{words: "login auth", offers: []offer{
			{"doctor", "checks the agents' programs; each has a login of its own"}}},
	}
}

func guessesToAnswer() []guess {
	return []guess{
		{words: "approve ok yes", offers: []offer{{"accept {ID}", "approves a slice"}}},
		{words: "deny no refuse comment", offers: []offer{
			{`reject {ID "TEXT"}`, "sends a slice back"}}},
		{words: "reply respond", offers: []offer{
			{`answer {ID "TEXT"}`, "answers a slice's question"}}},
		{words: "tell steer message", offers: []offer{
			{`say {ID "TEXT"}`, "says something to an agent while it works"}}},
		{words: "rerun redo again restart", offers: []offer{
			{"retry {ID}", "continues a failed slice"}}},
		{words: "allow", offers: []offer{
			{"trust", "allows the commands that the project's config names"}}},
		{words: "test tests audit", offers: []offer{
			{"verify {ID}", "runs the tests on a slice's work"}}},
	}
}

func guessesToKeep() []guess {
	return []guess{
		{words: "kill cancel abort end quit", offers: []offer{
			{"stop {--all}", "ends agents and keeps their work"}}},
		{words: "wait suspend cooldown", offers: []offer{
			{"hold {30m}", "launches no agent until then"}}},
		{words: "unhold unpause lift", offers: []offer{
			{"hold --lift", "launches agents again"}, {"resume {ID}", "continues a paused slice"}}},
		{words: "queue", offers: []offer{{"board", "shows it live, among its views"},
			{"land", "merges and tests what is in it"}}},
		{words: "worktree worktrees branch branches", offers: []offer{
			{"diff {ID}", "shows what a slice changed"}, {"salvage", "lists the branches that are kept"},
			{"clean", "removes worktrees that aren't needed"}}},
		{words: "merge deliver push", offers: []offer{
			{"accept {ID}", "approves a slice, which is then merged"},
			{"land", "merges what had to wait"}}},
		{words: "revert rollback reopen", offers: []offer{
			{"undo {ID}", "takes back a merged slice"}}},
		{words: "rm delete drop", offers: []offer{{"remove {ID}", "removes a slice"}}},
		{words: "mv move", offers: []offer{{"rename {OLD NEW}", "gives a slice another id"}}},
		{words: "open", offers: []offer{{"edit {ID}", "opens a slice's file"},
			{"attach {ID}", "its agent's pane"}, {"report --open", "the report"}}},
		{words: "vi change", offers: []offer{{"edit {ID}", "edits a slice's file"}}},
		{words: "watch", offers: []offer{{"board", "shows the slices live"},
			{"attach", "shows the agents' panes"}}},
		{words: "page browser phone http", offers: []offer{
			{"web", "shows what waits for you in the browser"}}},
		{words: "tmux", offers: []offer{{"attach {ID}", "shows the agents' panes"}}},
		{words: "prune gc tidy cleanup", offers: []offer{
			{"clean", "removes worktrees whose work is contained elsewhere"}}},
		{words: "rescue restore recover snapshots unstash", offers: []offer{
			{"salvage {ID}", "lists and restores kept work"}}},
	}
}

// guessOf returns the guess for a word.
func guessOf(word string) (guess, bool) {
	word = strings.ToLower(word)
	list := guesses()
	i := slices.IndexFunc(list, func(g guess) bool {
		return slices.Contains(strings.Fields(g.words), word)
	})
	if i < 0 {
		return guess{}, false
	}
	return list[i], true
}

// commandAt returns the index of the first word that isn't a global flag or the value of one;
// len(args) if there is none.
func commandAt(args []string) int {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-C" || a == "--directory" || a == "--context" || a == "--system":
			i++ // its value
		case !strings.HasPrefix(a, "-"):
			return i
		}
	}
	return len(args)
}

// guessed replaces a word that isn't a command by the one that it stands for: gl ls by gl status,
// gl S-1 by gl why S-1. The error has what the person may mean.
func guessed(root *cobra.Command, args []string) ([]string, error) {
	at := commandAt(args)
	if at >= len(args) || hasCommand(root, args[at]) {
		return args, nil
	}
	word, rest := args[at], args[at+1:]
	if strings.ContainsFunc(word, unicode.IsSpace) {
		return nil, notACommand(word, []string{word}, []offer{
			{`do {"TEXT"}`, "has an agent do a task"}, {`add-slice {"NAME"}`, "adds a slice"}})
	}
	g, ok := guessOf(word)
	switch {
	case ok && g.runs == "":
		return nil, notACommand(word, rest, g.offers)
	case ok && g.runs == "state show" && len(rest) > 0 && attempt.IsTask(rest[0]):
		return slices.Concat(args[:at], []string{"why"}, rest), nil // a task has no state
	case ok:
		return slices.Concat(args[:at], strings.Fields(g.runs), rest), nil
	case attempt.IsTask(word):
		return slices.Concat(args[:at], []string{"why"}, args[at:]), nil
	case strings.ContainsAny(word, "0123456789") && sliceid.Valid(word) == nil:
		return slices.Concat(args[:at], []string{"why"}, args[at:]), nil
	case isTask(root, args[at:]):
		return nil, notACommand(word, []string{strings.Join(args[at:], " ")}, []offer{
			{`do {"TEXT"}`, "has an agent do a task"}})
	}
	return args, nil
}

// isTask reports whether the words read as a task without its quotes: gl fix the login.
func isTask(root *cobra.Command, args []string) bool {
	names := []string{"help"}
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	return len(args) > 2 && suggest.Match(args[0], names) == "" &&
		!slices.ContainsFunc(args, func(a string) bool {
			return a == "" || strings.HasPrefix(a, "-") || strings.ContainsAny(a, "_0123456789")
		})
}

// notACommand returns the usage error for a word, with the commands that the person may mean, for
// copying.
func notACommand(word string, rest []string, offers []offer) error {
	quoted := make([]string, len(rest))
	for i, a := range rest {
		quoted[i] = shellwords.Line(a)
	}
	var lines strings.Builder
	for _, o := range offers {
		lines.WriteString("\n  gl " + o.line(strings.Join(quoted, " ")) + "  " + o.why)
	}
	return cmdutil.Usage("unknown command %q, did you mean%s", sanitize.Text(word), lines.String())
}

// line returns the command with the person's arguments.
func (o offer) line(args string) string {
	before, rest, found := strings.Cut(o.command, "{")
	if !found {
		return o.command
	}
	usual, after, _ := strings.Cut(rest, "}")
	if args == "" {
		args = usual
	}
	return before + args + after
}
