package board

import (
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/term"
	"greenlight/internal/show/view"
)

// A help is the list of all keys, over the list.
type help struct {
	open bool
	top  int // first line shown
}

// press handles a key: any key that doesn't scroll closes the help.
func (h *help) press(name string, height int) {
	if name == "space" {
		name = "pgdown"
	}
	by, ok := scrolled(name, height-4, 1000)
	h.open, h.top = ok, h.top+by
}

// keysOfList are the board's own keys, keysOfPanel those of a panel.
var (
	keysOfList = [][2]string{
		{"j k ↓ ↑", "select"}, {"g G", "the first, the last"},
		{"^D ^U", "half a page; ^F ^B a page"}, {"→ ←", "the next group, the last one"},
		{"tab 1-5", "another view"}, {"space", "its log or its facts"}, {"/", "filter"},
		{"n", "start what is ready"}, {":", "any gl command; tab completes"},
		{"esc", "close; no filter"}, {"q", "quit: nothing stops"},
	}
	keysOfPanel = [][2]string{
		{"q esc", "back to the list"}, {"j k g G", "scroll; also ^D ^U ^F ^B space"},
		{"/ n N", "search, next, previous"}, {"f", "follow what grows"},
		{"J K", "the same of the next slice"},
	}
)

// text returns all keys, in two columns if they fit, from the line to which the person has
// scrolled.
func (h *help) text(keys keySet, width, room int, paint func(term.Color, string) string) []string {
	const column = 46
	entry := func(k, means string) string {
		return term.Truncate(fmt.Sprintf("  %-8s %s", k, means), width)
	}
	lines := []string{paint(term.Bold, "The list")}
	for _, l := range keysOfList {
		lines = append(lines, entry(l[0], l[1]))
	}
	lines = append(lines, "", paint(term.Bold, "A panel"))
	for _, l := range keysOfPanel {
		lines = append(lines, entry(l[0], l[1]))
	}
	right := []string{paint(term.Bold, "The selected slice")}
	for _, k := range keys {
		right = append(right, entry(k.Key, fmt.Sprintf("%-12s %s", "gl "+k.Command, k.Means)))
	}
	if width >= 2*column {
		for len(lines) < len(right) {
			lines = append(lines, "")
		}
		for i, r := range right {
			lines[i] = term.Pad(term.Truncate(lines[i], column-1), column) + r
		}
	} else { // the slice's keys come first
		lines = append(append(right, ""), lines...)
	}
	h.top = max(min(h.top, len(lines)-room), 0)
	return lines[h.top:]
}

// keysLine returns as many of the keys that apply as fit, and an ellipsis for the rest: those of
// the slice, and the general ones. The way out and the way to the others are always there.
func (b *board) keysLine() string {
	row := b.list.row()
	kept := [][2]string{{"?", "help"}, {"q", "quit"}}
	if p := b.panel; p != nil {
		hints := append([][2]string{{"j k", "scroll"}, {"/", "search"}}, b.keys.hints(row)...)
		if p.page.grows {
			hints = append(hints, [2]string{"f", "follow"})
		}
		kept[1][1] = "back"
		return hintLine(hints, kept, b.width, b.cfg.Paint)
	}
	var hints [][2]string
	if m := b.list.model; m != nil && m.Counts.Ready > 0 && b.list.leader == "" {
		hints = append(hints, [2]string{"n", "start"})
	}
	hints = append(hints, b.keys.hints(row)...)
	hints = append(hints, [][2]string{{":", "gl"}, {"/", "filter"}, {"tab", "view"},
		{"space", "log"}}...)
	return hintLine(hints, kept, b.width, b.cfg.Paint)
}

// hints returns the keys that apply to a slice, those that change something first.
func (s keySet) hints(row *view.Row) (hints [][2]string) {
	if row == nil {
		return nil
	}
	var reads [][2]string
	for _, k := range s {
		switch hint := [2]string{k.Key, k.Command}; {
		case k.Slots != 0, k.Command == "hold", k.Argv(row, "x") == nil:
		case k.How == reading && k.Key == "enter",
			k.Command == "review" && row.Group != view.NeedsYou:
		case k.How == reading:
			hint[1] = k.Page
			reads = append(reads, hint)
		default:
			hints = append(hints, hint)
		}
	}
	return append(hints, reads...)
}

// hintLine returns as many hints as fit before the kept ones.
func hintLine(hints, kept [][2]string, width int, paint func(term.Color, string) string) string {
	for n := len(hints); n >= 0; n-- {
		shown := slices.Clone(hints[:n])
		if n < len(hints) {
			shown = append(shown, [2]string{"…"})
		}
		var plain, painted []string
		for _, h := range append(shown, kept...) {
			plain = append(plain, strings.TrimSpace(h[0]+" "+h[1]))
			painted = append(painted,
				strings.TrimSpace(paint(term.Bold, h[0])+" "+paint(term.Dim, h[1])))
		}
		if n == 0 || term.Width(strings.Join(plain, "  ")) <= width {
			return strings.Join(painted, "  ")
		}
	}
	return ""
}
