package testrun

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"greenlight/internal/base/shellwords"
)

// A Command is the project's test command. The zero Command is none.
type Command struct {
	Line string   `json:"line"` // as people see and allow it
	Argv []string `json:"argv"` // what is run
}

// IsSet reports whether there is a command.
func (c Command) IsSet() bool { return len(c.Argv) > 0 }

// ParseCommand parses a command line. It splits words like a shell. A line with more than words
// in it (cd web && npm test) is run by sh: it is a person's own command, and trusted as a
// whole.
func ParseCommand(line string) (Command, error) {
	line = strings.TrimSpace(line)
	words, err := shellwords.Split(line)
	if err != nil || len(words) == 0 {
		return Command{}, err
	}
	if shellwords.NeedsShell(line) {
		words = []string{"sh", "-c", line}
	}
	if words[0] == "" {
		return Command{}, errors.New("must begin with a program")
	}
	return Command{Line: line, Argv: words}, nil
}

// ListCommand returns the command for a list of arguments, run without a shell.
func ListCommand(argv []string) (Command, error) {
	if len(argv) == 0 {
		return Command{}, nil
	}
	if argv[0] == "" {
		return Command{}, errors.New("must begin with a program")
	}
	return Command{Line: shellwords.Join(argv), Argv: slices.Clone(argv)}, nil
}

// groups are the allowed names of a pattern's groups.
var groups = [...]string{"passed", "failed", "skipped"}

// ParsePattern compiles a regular expression that finds counts in the output of an unknown
// runner.
func ParsePattern(text string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, errors.New("must be a regular expression in RE2 syntax (" + strings.TrimPrefix(err.Error(), "error parsing regexp: ") + ")")
	}
	named := 0
	for _, name := range re.SubexpNames() {
		if name == "" {
			continue
		}
		if !slices.Contains(groups[:], name) {
			return nil, errors.New("must name its groups passed, failed or skipped")
		}
		named++
	}
	if named == 0 {
		return nil, errors.New(`must have a group named passed, failed or skipped, such as (?P<passed>\d+) ok`)
	}
	return re, nil
}
