// Package rehearsal is the built-in agent: a real process that behaves like Claude Code at its
// interfaces (its stream, the state it writes, its exit codes, its faults), without a model and
// without cost. The spec, the slice's id and the attempt's number alone decide what happens to
// a slice, so a rehearsal is repeatable. The package has the agent's behavior; gl starts and
// judges it as it does any agent.
package rehearsal

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/suggest"
)

// A Spec describes a rehearsal. The zero Spec isn't valid: ParseSpec("") gives the defaults.
type Spec struct {
	Seed uint64
	Step time.Duration // length of each of the four steps; 200 ms unless Min and Max are given
	// by how much a slice is shorter or longer at most, as a fraction; 0 to 1
	Jitter float64
	// bounds of a whole slice's length, in place of Step; both zero if unused
	Min, Max time.Duration
	Reset    time.Duration // how long a rate limit lasts; 2 s
	Cost     float64       // dollars that each attempt reports as its cost
	Here     bool          // it changes the project itself rather than a copy

	chances map[Kind]float64
	targets []target
}

// A target is a slice that has a fate assigned.
type target struct {
	kind    Kind
	slice   string
	attempt int // 0 for every attempt
}

const (
	defaultStep  = 200 * time.Millisecond
	defaultReset = 2 * time.Second
	hereKey      = "here"
	longest      = 24 * time.Hour
)

// ParseSpec reads a spec such as "seed=1,step=200ms,crash=5%,hang=S-3#1", with or without
// "rehearsal:" before it. All parts are optional, in any order:
//
//	here            in the project itself, not in a copy: it writes state as an agent would
//	seed=N          a number; other numbers give other fates
//	step=200ms      length of each of the four steps of a slice
//	jitter=50%      how much shorter or longer a slice is at most
//	min=50ms,max=500ms   in place of step and jitter: bounds of a whole slice's length
//	reset=2s        how long a rate limit lasts
//	cost=0.5        dollars that each attempt reports, with tokens to match; default 0
//	KIND=5%         chance of a fault in each attempt (0.05 is the same); KIND is one of Faults
//	KIND=S-3        the slice that has the fault in every attempt; S-3#1 only in its first;
//	                S-3+S-7 several slices
//	KIND@3          the same, for an id that could be a number
//	red=S-3#1       its work is broken in that attempt, and the next attempt repairs it
//	clash=S-5+S-6   these also add a line at the same place of one file, so that they conflict;
//	                the agent that is given a conflict resolves it
//
// The error names the part that can't be read.
func ParseSpec(s string) (Spec, error) {
	spec := Spec{Reset: defaultReset, chances: map[Kind]float64{}}
	s = strings.TrimSpace(s)
	if s == "rehearsal" {
		s = ""
	}
	s = strings.TrimPrefix(s, "rehearsal:")
	seen := map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if err := spec.add(part, seen); err != nil {
			return Spec{}, fmt.Errorf("rehearsal: %w", err)
		}
	}
	if err := spec.check(seen); err != nil {
		return Spec{}, fmt.Errorf("rehearsal: %w", err)
	}
	return spec, nil
}

// add parses one part; seen holds the keys given so far that may be given only once.
func (s *Spec) add(part string, seen map[string]bool) error {
	key, value, sign := cut(part)
	switch {
	case part == hereKey:
		s.Here = true
		return nil
	case key == hereKey:
		return fmt.Errorf("%s takes no value", hereKey)
	}
	isFault := slices.Contains(Faults(), Kind(key))
	if !isFault && !slices.Contains(settings(), key) {
		return unknownKey(key)
	}
	if value == "" {
		return fmt.Errorf("%s needs a value, such as %s", key, example(key))
	}
	if isFault {
		chance, err := percentage(value)
		if sign == '@' || errors.Is(err, errNoNumber) {
			return s.aim(Kind(key), value)
		}
		if err != nil {
			return fmt.Errorf("%s=%s: %w", key, value, err)
		}
		s.chances[Kind(key)] = chance
	} else if err := s.set(key, value); err != nil || sign == '@' {
		return fmt.Errorf("%s can't be read: write for example %s", part, example(key))
	}
	if seen[key] {
		return fmt.Errorf("%s is given twice", key)
	}
	seen[key] = true
	return nil
}

func cut(part string) (key, value string, sign byte) {
	i := strings.IndexAny(part, "=@")
	if i < 0 {
		return part, "", 0
	}
	return strings.TrimSpace(part[:i]), strings.TrimSpace(part[i+1:]), part[i]
}

func (s *Spec) set(key, value string) (err error) {
	switch key {
	case "seed":
		s.Seed, err = strconv.ParseUint(value, 10, 64)
	case "jitter":
		s.Jitter, err = percentage(value)
	case "step":
		s.Step, err = duration(value)
	case "min":
		s.Min, err = duration(value)
	case "max":
		s.Max, err = duration(value)
	case "reset":
		s.Reset, err = duration(value)
	case "cost":
		s.Cost, err = strconv.ParseFloat(value, 64)
		if err == nil && !(s.Cost >= 0 && s.Cost <= 1e6) {
			err = errRange
		}
	}
	return err
}

func (s *Spec) check(seen map[string]bool) error {
	switch {
	case seen["min"] != seen["max"]:
		return fmt.Errorf("min and max go together, such as %s", example("min"))
	case seen["min"] && (seen["step"] || seen["jitter"]):
		return errors.New("give either min and max, or step and jitter")
	case s.Min > s.Max:
		return fmt.Errorf("min=%v is more than max=%v", s.Min, s.Max)
	case !seen["step"] && !seen["min"]:
		s.Step = defaultStep
	}
	sum := 0.0
	// sorted, because the rounding of the sum depends on the order
	for _, kind := range slices.Sorted(maps.Keys(s.chances)) {
		sum += s.chances[kind]
	}
	if sum > 1+1e-9 {
		return fmt.Errorf("the faults' chances add up to %.4g%%, which is more than 100%%", sum*100)
	}
	return nil
}

var (
	errNoNumber = errors.New("no number")
	errRange    = errors.New("a chance is 0% to 100%, or 0 to 1")
	idPattern   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	})
)

// aim parses "S-3", "S-3#1" or "S-3+S-7#2".
func (s *Spec) aim(kind Kind, value string) error {
	for word := range strings.SplitSeq(value, "+") {
		id, number, numbered := strings.Cut(word, "#")
		t := target{kind: kind, slice: id}
		if numbered {
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 {
				return fmt.Errorf("%s=%s: what follows # is the number of an attempt, from 1", kind,
					word)
			}
			t.attempt = n
		}
		if !idPattern().MatchString(id) {
			return fmt.Errorf("%s=%s is neither a chance nor the id of a slice: write for example %s", kind, word, example(string(kind)))
		}
		s.targets = append(s.targets, t)
	}
	return nil
}

// Slices returns the slices with an assigned fault, each once.
func (s *Spec) Slices() []string {
	var ids []string
	for _, t := range s.targets {
		if !slices.Contains(ids, t.slice) {
			ids = append(ids, t.slice)
		}
	}
	return ids
}

func percentage(value string) (float64, error) {
	digits, percent := strings.CutSuffix(value, "%")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil && !percent {
		return 0, errNoNumber
	}
	if percent {
		n /= 100
	}
	if err != nil || !(n >= 0 && n <= 1) {
		return 0, errRange
	}
	return n, nil
}

func duration(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err == nil && (d < 0 || d > longest) {
		return 0, fmt.Errorf("%v is out of range", d)
	}
	return d, err
}

func settings() []string {
	return []string{"seed", "step", "jitter", "min", "max", "reset", "cost"}
}

// Words returns the words that the parts of a spec begin with.
func Words() []string {
	words := append([]string{hereKey}, settings()...)
	for _, kind := range Faults() {
		words = append(words, string(kind))
	}
	return words
}

func example(key string) string {
	switch key {
	case "seed":
		return "seed=1"
	case "jitter":
		return "jitter=50%"
	case "cost":
		return "cost=0.5"
	case "min", "max":
		return "min=50ms,max=500ms"
	case "step", "reset":
		return key + "=200ms (24h at most)"
	}
	return fmt.Sprintf("%s=5%% or %s=S-3", key, key)
}

func unknownKey(key string) error {
	keys := Words()
	hint := ""
	if n := suggest.Match(key, keys); n != "" {
		hint = fmt.Sprintf(", did you mean %q?", n)
	}
	return fmt.Errorf("unknown key %q%s (known: %s)", key, hint, strings.Join(keys, ", "))
}
