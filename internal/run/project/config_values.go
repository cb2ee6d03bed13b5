package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/testrun"
)

// testCommand accepts a command line, or a list of arguments. No words mean no command.
func testCommand(raw json.RawMessage, to *testrun.Command) error {
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		c, err := testrun.ListCommand(list)
		if err == nil {
			*to = c
		}
		return err
	}
	var line string
	if json.Unmarshal(raw, &line) != nil || strings.ContainsFunc(line, unicode.IsControl) {
		return errors.New("must be one line of text or a list of strings")
	}
	c, err := testrun.ParseCommand(line)
	if err != nil {
		return fmt.Errorf("can't be run (%w)", err)
	}
	*to = c
	return nil
}

func pattern(raw json.RawMessage, to **regexp.Regexp) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return errors.New("must be a regular expression")
	}
	if text == "" {
		*to = nil
		return nil
	}
	re, err := testrun.ParsePattern(text)
	if err == nil {
		*to = re
	}
	return err
}

func whole(raw json.RawMessage, most int, to *int) error {
	var n float64
	if json.Unmarshal(raw, &n) != nil || n != math.Trunc(n) || n < 1 || n > float64(most) {
		return fmt.Errorf("must be a whole number from 1 to %d", most)
	}
	*to = int(n)
	return nil
}

// parallelTests parses test.parallel: a number, or parallelAuto for 0.
func parallelTests(raw json.RawMessage, to *int) error {
	const most = 32
	var text string
	if json.Unmarshal(raw, &text) == nil && text == parallelAuto {
		*to = 0
		return nil
	}
	if whole(raw, most, to) != nil {
		return fmt.Errorf("must be %s or a whole number from 1 to %d", parallelAuto, most)
	}
	return nil
}

func branch(raw json.RawMessage, to *string) error {
	var name string
	if json.Unmarshal(raw, &name) != nil || !isBranch(name) {
		return errors.New("must be the name of a branch")
	}
	*to = name
	return nil
}

// isBranch reports whether git accepts the name for a branch (git check-ref-format --branch)
// and it can't mean another ref.
func isBranch(name string) bool {
	if strings.HasPrefix(name, "-") || strings.HasPrefix(name, "refs/") ||
		strings.HasSuffix(name, ".") || name == "@" ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") ||
		strings.ContainsAny(name, " ~^:?*[\\") ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

// program accepts a command line like words; no words mean no command. Shell syntax is an
// error, because no shell runs it.
func program(raw json.RawMessage, to *[]string) error {
	var list []string
	if err := words(raw, &list); err != nil {
		return err
	}
	if len(list) == 0 {
		*to = nil
		return nil
	}
	if list[0] == "" {
		return errors.New("must begin with a program")
	}
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`)) {
		for _, word := range list {
			if slices.Contains([]string{"&&", "||", "|", "&", ";", ">", ">>", "<", "2>&1"}, word) {
				return fmt.Errorf("has %q, which only a shell understands (write sh -c '…')",
					word)
			}
		}
	}
	*to = list
	return nil
}

func duration(raw json.RawMessage, unit time.Duration, to *time.Duration, zero bool) error {
	var n float64
	if json.Unmarshal(raw, &n) != nil || n < 0 || n*float64(unit) < 1 && !zero ||
		n*float64(unit) > float64(30*24*time.Hour) {
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

// words accepts a list of arguments, or a string that is split like a shell does, but never by
// a shell.
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
		return fmt.Errorf("must be words as in a shell (%w)", err)
	}
	*to = list
	return nil
}

// agents accepts the names of agents in order of preference: a list, or one text separated by
// commas.
func agents(raw json.RawMessage, custom map[string]agent.Custom, to *[]string) error {
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		var one string
		if err := text(raw, &one); err != nil {
			return errors.New("must be a text or a list of texts")
		}
		list = agent.SplitNames(one, custom)
	}
	if len(list) == 0 || slices.Contains(list, "") {
		return errors.New("must name an agent")
	}
	*to = list
	return nil
}

var errNoCurfew = errors.New(`must be times of day such as "09:00-17:30", or a list of them`)

// curfew accepts times of day: a text, or a list of texts.
func curfew(raw json.RawMessage, to *plan.Curfew) error {
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		var one string
		if json.Unmarshal(raw, &one) != nil {
			return errNoCurfew
		}
		if one != "" {
			list = []string{one}
		}
	}
	var all plan.Curfew
	for _, text := range list {
		d, err := plan.ParseDayTime(text)
		if err != nil {
			return errNoCurfew
		}
		all = append(all, d)
	}
	if all.Always() {
		return errors.New("must leave some time of the day")
	}
	*to = all
	return nil
}

func percent(raw json.RawMessage, to *float64) error {
	var n float64
	if json.Unmarshal(raw, &n) != nil || !(n > 0 && n <= 100) {
		return errors.New("must be a number above 0, and at most 100")
	}
	*to = n
	return nil
}

func commands(raw json.RawMessage, to *map[string]agent.Custom) error {
	var objects map[string]map[string]json.RawMessage
	if json.Unmarshal(raw, &objects) != nil {
		return errNoAgents
	}
	all := map[string]agent.Custom{}
	for name, keys := range objects {
		a, err := custom(keys)
		if err != nil {
			return fmt.Errorf("%w (in %q)", err, name)
		}
		all[name] = a
		for variable := range a.Env {
			if !isVariable(variable) {
				return fmt.Errorf(`has %q in "env" of %q, which can't be set there`, variable, name)
			}
		}
		// An environment alone makes an account of the built-in agent of that name. Under another
		// name, nothing says which agent is meant.
		if a.Extends == "" && len(a.Env) > 0 && len(a.Command)+len(a.Resume) == 0 &&
			slices.Contains(agent.BuiltIn(), name) {
			a.Extends = name // the agent with that name, with this environment
			all[name] = a
		}
		if a.Extends != "" && len(a.Command)+len(a.Resume) == 0 {
			continue
		}
		if a.Extends != "" {
			return fmt.Errorf(`has both "extends" and a command for %q`, name)
		}
		if len(a.Command) == 0 || a.Command[0] == "" {
			return fmt.Errorf(`needs a "command" list for %q, or "extends"`, name)
		}
		if len(a.Resume) > 0 && a.Resume[0] != a.Command[0] {
			return fmt.Errorf(`needs a "resume" list for %q that begins with the program of its "command"`, name)
		}
	}
	*to = all
	return nil
}

var errNoAgents = errors.New(`must be an object of {"command": ["program", "{prompt}"]} or {"extends": "claude", "env": {"NAME": "value"}}`)

// custom reads an agent's keys case-sensitively: encoding/json would accept COMMAND for
// command.
func custom(keys map[string]json.RawMessage) (agent.Custom, error) {
	var a agent.Custom
	for key, to := range map[string]any{"command": &a.Command, "extends": &a.Extends, "env": &a.Env,
		"resume": &a.Resume} {
		if v := variant(keys, key); v != "" {
			return a, fmt.Errorf("has %q, did you mean %q?", v, key)
		}
		if raw, ok := keys[key]; ok && json.Unmarshal(raw, to) != nil {
			return a, errNoAgents
		}
	}
	return a, nil
}

// isVariable reports whether an agent's environment may contain a variable with that name. gl's
// own variables are reserved: they name the agent's claim.
func isVariable(name string) bool {
	for i, r := range name {
		if r != '_' && !('A' <= r && r <= 'Z') && !('a' <= r && r <= 'z') &&
			!(i > 0 && '0' <= r && r <= '9') {
			return false
		}
	}
	return name != "" && !strings.HasPrefix(name, "GL_") && !strings.HasPrefix(name, "GREENLIGHT_")
}

func short(raw json.RawMessage) string {
	s := textline.Collapse(string(raw))
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return sanitize.Text(s)
}

// directories accepts absolute directories, or ones below HOME.
func directories(raw json.RawMessage, to *[]string) error {
	var list []string
	bad := func(path string) bool {
		return strings.ContainsFunc(path, unicode.IsControl) ||
			!filepath.IsAbs(path) && !strings.HasPrefix(path, "~/")
	}
	if json.Unmarshal(raw, &list) != nil || slices.ContainsFunc(list, bad) {
		return errors.New("must be a list of directories that begin with / or ~/")
	}
	if len(list) > 0 {
		*to = list
	}
	return nil
}

func yesOrNo(raw json.RawMessage, to *bool) error {
	if json.Unmarshal(raw, to) != nil {
		return errors.New("must be true or false")
	}
	return nil
}

// oneOf accepts one of the words.
func oneOf(raw json.RawMessage, words []string, to *string) error {
	var text string
	if json.Unmarshal(raw, &text) != nil || !slices.Contains(words, text) {
		if len(words) > 2 {
			return errors.New("must be one of " + strings.Join(words, ", "))
		}
		return errors.New("must be " + strings.Join(words, " or "))
	}
	*to = text
	return nil
}
