package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/iostreams"
	"greenlight/internal/project"
	"greenlight/internal/term"
)

// statuslineName is the command that Claude Code runs for every prompt, so it goes past the command tree.
const statuslineName = "statusline"

func newStatusline(app *cmdutil.App) *cobra.Command {
	compact := false
	c := &cobra.Command{
		Use:   statuslineName,
		Short: "One line for Claude Code's status line",
		Long: `Print one line for Claude Code: the model, what this session works on (the step in hand of its to-do list, else where the
project stands), the directory and how full the context is. gl install --statusline puts it into Claude's settings; Claude
gives its JSON on stdin, and without it the line is about the directory here.

A GSD project shows its milestone and phase, shortly with --compact or "statusline.state_format": "compact" in
.planning/config.json; a Specwright project its work, unit, status, tasks and gates ("shop/cart verifying 2/2 · tests FAIL");
any other "18/36 done | 4 running | 1 needs you". Of several systems each has its part. What takes longer than a
blink is left out.

It writes nothing and doesn't fail. NO_COLOR takes the colours away.

Exit codes: 0 printed; 2 wrong usage.`,
		Example:           "  gl statusline\n  echo '{\"model\":{\"display_name\":\"Opus\"}}' | gl statusline",
		Args:              cmdutil.Args(cobra.NoArgs),
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // nothing here is a reason to fail
		RunE: func(*cobra.Command, []string) error {
			printStatusline(app, compact)
			return nil
		},
	}
	c.Flags().BoolVar(&compact, "compact", false, "the project's state in few columns")
	return c
}

// statuslineArgs takes the command line as Claude Code gives it; anything else is for the command tree.
func statuslineArgs(args []string) (compact, ok bool) {
	switch {
	case len(args) == 0 || args[0] != statuslineName || len(args) > 2:
		return false, false
	case len(args) == 2:
		return true, args[1] == "--compact"
	}
	return false, true
}

// printStatusline prints the line, whatever is the matter.
func printStatusline(app *cmdutil.App, compact bool) {
	defer func() {
		_ = recover() // a prompt must not show a trace: no line is better
	}()
	client := readClient(app.IO.In)
	dir := client.text("workspace", "current_dir")
	if dir == "" {
		dir = client.text("cwd")
	}
	if app.DirFlag != "" || !filepath.IsAbs(dir) {
		dir, _ = app.Dir()
	}
	line := statusBar{model: client.text("model", "display_name"), dir: baseName(dir), context: client.used(),
		color: app.IO.ColorsOn(client != nil || iostreams.IsTerminal(app.IO.Out))} // Claude Code reads through a pipe and takes colours
	if line.model == "" {
		line.model = client.text("model")
	}
	if line.model == "" && client != nil {
		line.model = "Claude"
	}
	cfg := project.StatuslineOf(dir, app.Getenv)
	line.front = cfg.Front
	line.columns, _ = strconv.Atoi(app.Getenv("COLUMNS"))
	if line.task = currentTask(app.Getenv, client.text("session_id")); line.task == "" {
		line.state = inTime(stateLimit, func() string { return projectState(app.Getenv, dir, compact || cfg.Compact) })
	}
	app.IO.Printf("%s\n", line)
}

// baseName is the last part of a path; "" for none, where the directory is gone.
func baseName(dir string) string {
	if dir == "" {
		return ""
	}
	return filepath.Base(dir)
}

// stateLimit is how long the project's state may take: a disk that hangs must not keep a prompt.
const stateLimit = 200 * time.Millisecond

// inTime is what f returns, "" when that takes longer than limit or fails badly.
func inTime(limit time.Duration, f func() string) string {
	result := make(chan string, 1)
	go func() {
		defer func() {
			if recover() != nil {
				result <- ""
			}
		}()
		result <- f()
	}()
	select {
	case s := <-result:
		return s
	case <-time.After(limit):
		return ""
	}
}

// A client is the JSON that Claude Code gives; nil for none.
type client map[string]any

const (
	clientLimit = 500 * time.Millisecond // for the JSON to arrive: some terminals leave the pipe open
	clientBytes = 1 << 20
)

// readClient reads one JSON object; it doesn't wait for the end of the input behind it.
func readClient(in io.Reader) client {
	if in == nil || iostreams.IsTerminal(in) {
		return nil
	}
	result := make(chan client, 1)
	go func() {
		defer func() { _ = recover() }()
		var c client
		if json.NewDecoder(io.LimitReader(in, clientBytes)).Decode(&c) != nil {
			c = nil
		}
		result <- c
	}()
	select {
	case c := <-result:
		return c
	case <-time.After(clientLimit):
		return nil
	}
}

// at is the value at a path of keys; nil for none.
func (c client) at(path ...string) any {
	var v any = map[string]any(c)
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func (c client) text(path ...string) string {
	s, _ := c.at(path...).(string)
	return s
}

// used is how full the context is, in percent; -1 for unknown.
func (c client) used() int {
	if n, ok := c.at("context_window", "used_percentage").(float64); ok {
		return int(math.Round(max(0, min(100, n))))
	}
	if n, ok := c.at("context_window", "remaining_percentage").(float64); ok {
		return int(math.Round(max(0, min(100, 100-n))))
	}
	return -1
}

// A statusBar is the line, its texts as they are in files.
type statusBar struct {
	model, dir  string
	task, state string // of task and state one at most
	context     int    // percent; -1 for unknown
	front       bool   // the context comes first
	color       bool
	columns     int // 0 for any number
}

// The most characters that the parts may have: nobody reads more, and a file may hold megabytes.
const (
	maxModel = 40
	maxDir   = 60
	maxState = 200
)

func (l statusBar) String() string {
	model, middle, dir := term.OneLine(l.model, maxModel), term.OneLine(l.task+l.state, maxState), term.OneLine(l.dir, maxDir)
	if over := term.Width(model) + term.Width(middle) + term.Width(dir) + 2*term.Width(separator) + term.Width(" ██████████ 100%") - l.columns; l.columns > 0 && over > 0 {
		middle = term.OneLine(middle, max(term.Width(middle)-over, 1))
	}
	middleColor := term.Dim
	if l.task != "" {
		middleColor = term.Bold
	}
	model, dir = l.paint(term.Dim, model), l.paint(term.Dim, dir)
	if context := l.meter(); l.front {
		model = strings.TrimSpace(model + " " + context)
	} else {
		dir = strings.TrimSpace(dir + " " + context)
	}
	var parts []string
	for _, p := range []string{model, l.paint(middleColor, middle), dir} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, separator)
}

const separator = " │ "

func (l statusBar) paint(c term.Color, text string) string {
	if !l.color {
		return text
	}
	return c.Paint(text)
}

// meter is the context as ten cells, from green to red.
func (l statusBar) meter() string {
	color := term.Red
	switch {
	case l.context < 0:
		return ""
	case l.context < 50:
		color = term.Green
	case l.context < 65:
		color = term.Yellow
	case l.context < 80:
		color = term.Orange
	}
	cells := strings.Repeat("█", l.context/10) + strings.Repeat("░", 10-l.context/10)
	return l.paint(color, fmt.Sprintf("%s %d%%", cells, l.context))
}

// maxTodos is how many bytes of a to-do list are read.
const maxTodos = 256 << 10

// currentTask is what the to-do list of a Claude session has in progress; "" for nothing.
func currentTask(getenv func(string) string, session string) string {
	if session == "" || session != filepath.Base(session) {
		return ""
	}
	dir := getenv("CLAUDE_CONFIG_DIR")
	if dir == "" {
		dir = filepath.Join(getenv("HOME"), ".claude")
	}
	lists, _ := filepath.Glob(filepath.Join(globQuote(filepath.Join(dir, "todos")), globQuote(session)+"*-agent-*.json"))
	newest, latest := "", time.Time{}
	for _, path := range lists {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() <= maxTodos && info.ModTime().After(latest) {
			newest, latest = path, info.ModTime()
		}
	}
	data, err := os.ReadFile(newest)
	if err != nil {
		return ""
	}
	var todos []struct {
		Status     string `json:"status"`
		ActiveForm string `json:"activeForm"`
	}
	_ = json.Unmarshal(data, &todos) // entries that can be read count
	for _, t := range todos {
		if t.Status == "in_progress" {
			return t.ActiveForm
		}
	}
	return ""
}

// globQuote makes a path match itself alone.
func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}
