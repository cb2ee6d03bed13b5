package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/sanitize"
	"greenlight/internal/shellwords"
	"greenlight/internal/text/jsonedit"
	"greenlight/internal/text/textline"
)

// A Config is what .greenlight/config.json says about running agents; the defaults where it says nothing.
type Config struct {
	Max        int                 // agents at a time
	Agent      string              // the agent's name
	Flags      []string            // further arguments for claude
	Agents     map[string][]string // custom command lines
	Prefix     string              // of the tmux session's name
	Interval   time.Duration       // the watch loop's safety net
	StaleAfter time.Duration       // when a claim of somebody else counts as stale
	Silent     time.Duration       // an agent without any event is hung after this
	Tool       time.Duration       // the same while a tool runs
	Result     time.Duration       // between an agent's result and its exit
	Hold       time.Duration       // the first hold after a limit that doesn't say when it ends
	Stagger    time.Duration       // between two launches
	Mode       string              // "interactive", or "yolo": what may be asked isn't
}

// DefaultConfig is the configuration of a project that has none.
func DefaultConfig() Config {
	return Config{
		Max: 4, Agent: "claude", Flags: []string{"--dangerously-skip-permissions", "--max-turns", "200"}, Prefix: "gl",
		Interval: 30 * time.Second, StaleAfter: 120 * time.Minute, Silent: 30 * time.Minute, Tool: 120 * time.Minute,
		Result: 10 * time.Second, Hold: 300 * time.Second, Mode: "interactive",
	}
}

// readConfig reads the file. A missing one is no error; a value of the wrong type is one that names its key, and the
// default stands for it.
func readConfig(path string) (Config, error) {
	c := DefaultConfig()
	data, err := durable.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c, err = parseConfig(data)
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// parseConfig reads the file's text; where a value is wrong the error names it, and the default stands for it.
func parseConfig(data []byte) (Config, error) {
	c := DefaultConfig()
	var file struct{ Parallel, Mode json.RawMessage }
	if err := jsonedit.Unmarshal(data, &file); err != nil {
		return c, err
	}
	return c, errors.Join(c.mode(file.Mode), c.section(file.Parallel))
}

func (c *Config) mode(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if err := text(raw, &c.Mode); err != nil {
		return fmt.Errorf("mode %w, not %s", err, short(raw))
	}
	return nil
}

// section reads the section "parallel", which may be missing.
func (c *Config) section(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return errors.New("parallel must be an object")
	}
	return c.parallel(keys)
}

// parallel takes over the keys of the section of that name; errors are joined, so that all are named at once.
func (c *Config) parallel(keys map[string]json.RawMessage) error {
	var errs []error
	get := func(key string, set func(json.RawMessage) error) {
		if raw, ok := keys[key]; ok && string(raw) != "null" {
			if err := set(raw); err != nil {
				errs = append(errs, fmt.Errorf("parallel.%s %w, not %s", key, err, short(raw)))
			}
		}
	}
	get("max", func(raw json.RawMessage) error {
		var n float64
		if json.Unmarshal(raw, &n) != nil || n != math.Trunc(n) || n < 1 || n > 1000 {
			return errors.New("must be a whole number from 1 to 1000")
		}
		c.Max = int(n)
		return nil
	})
	get("claude_flags", func(raw json.RawMessage) error { return words(raw, &c.Flags) })
	get("agent", func(raw json.RawMessage) error { return text(raw, &c.Agent) })
	get("tmux_session_prefix", func(raw json.RawMessage) error { return text(raw, &c.Prefix) })
	get("agents", func(raw json.RawMessage) error { return commands(raw, &c.Agents) })
	for _, s := range c.spans() {
		get(s.key, func(raw json.RawMessage) error { return duration(raw, s.unit, s.to, s.zero) })
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// A span is a key of the section that is a time: a number of units.
type span struct {
	key  string
	unit time.Duration
	to   *time.Duration
	zero bool // may be 0
}

// spans lists them in the order in which they are shown.
func (c *Config) spans() []span {
	return []span{
		{"watch_interval_seconds", time.Second, &c.Interval, false},
		{"stale_minutes", time.Minute, &c.StaleAfter, false},
		{"silent_minutes", time.Minute, &c.Silent, false},
		{"tool_minutes", time.Minute, &c.Tool, false},
		{"result_grace_seconds", time.Second, &c.Result, false},
		{"hold_seconds", time.Second, &c.Hold, false},
		{"stagger_ms", time.Millisecond, &c.Stagger, true},
	}
}

func duration(raw json.RawMessage, unit time.Duration, to *time.Duration, zero bool) error {
	var n float64
	if json.Unmarshal(raw, &n) != nil || n < 0 || n*float64(unit) < 1 && !zero || n*float64(unit) > float64(30*24*time.Hour) {
		return errors.New("must be a number above 0")
	}
	*to = time.Duration(n * float64(unit))
	return nil
}

func text(raw json.RawMessage, to *string) error {
	var s string
	if json.Unmarshal(raw, &s) != nil || s == "" {
		return errors.New("must be a text")
	}
	*to = s
	return nil
}

// words takes a list of arguments, or a string that is split as a shell splits words, but never by a shell.
func words(raw json.RawMessage, to *[]string) error {
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		*to = list
		return nil
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return errors.New("must be a string or a list of strings")
	}
	list, err := shellwords.Split(s)
	if err != nil {
		return fmt.Errorf("can't be split into words (%w)", err)
	}
	*to = list
	return nil
}

func commands(raw json.RawMessage, to *map[string][]string) error {
	var all map[string]struct {
		Command []string `json:"command"`
	}
	if json.Unmarshal(raw, &all) != nil {
		return errors.New(`must be an object of {"command": ["program", "{prompt}"]}`)
	}
	*to = make(map[string][]string, len(all))
	for name, a := range all {
		if len(a.Command) == 0 || a.Command[0] == "" {
			return fmt.Errorf(`needs a "command" list for %q`, name)
		}
		(*to)[name] = a.Command
	}
	return nil
}

func short(raw json.RawMessage) string {
	s := textline.Collapse(string(raw))
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return sanitize.Text(s)
}
