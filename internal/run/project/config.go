package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/slice"
)

// A Config is the part of .greenlight/config.json about running agents, with defaults for
// missing settings.
type Config struct {
	Max        int                     // number of parallel agents
	Agent      []string                // names of agents, in order of preference
	Flags      []string                // additional arguments for claude
	Agents     map[string]agent.Custom // by name
	Prefix     string                  // prefix of the tmux session's name
	Interval   time.Duration           // polling interval of the watch loop, as a safety net
	StaleAfter time.Duration           // when another session's claim counts as stale
	Silent     time.Duration           // an agent without any event for this long is hung
	Tool       time.Duration           // the same while a tool is running
	Result     time.Duration           // between an agent's result and its exit
	Hold       time.Duration           // the first hold after a limit without a reset time
	Stagger    time.Duration           // between two launches
	Curfew     plan.Curfew             // when nothing is launched

	// WindowPercent is the used part of an account's usage window up to which agents are
	// launched on it.
	WindowPercent float64

	Escalate string // the model for an attempt to fix red tests; "" for the same as before
	Mode     string // "interactive", or "yolo" to skip optional questions
	Git      Git    // settings for worktrees
	// which slices need a person's approval before they are merged: ReviewAlways, ReviewVerify,
	// ReviewNever
	Review  string
	Sandbox string // SandboxBwrap confines programs in worktrees; or SandboxOff
	// the person's directories that are writable in the sandbox, as written: ~ is HOME
	Caches  []string
	Test    Test    // how gl runs the project's tests
	Budget  Budget  // cost limits of agents
	Notify  Notify  // which events are announced, and how
	Workers Workers // which attempts run on other machines
	WebURL  string  // the address by which people reach gl web, without a slash at its end; "" for none
}

// A Budget limits the cost of agents, in dollars as they report it. 0 is no limit.
type Budget struct{ Slice, Drain, Day float64 }

// limits returns the keys of the section in display order.
func (b *Budget) limits() []budgetLimit {
	return []budgetLimit{{"slice_usd", &b.Slice}, {"drain_usd", &b.Drain}, {"day_usd", &b.Day}}
}

type budgetLimit struct {
	key string
	to  *float64
}

// Budget returns the current setting, because a person may raise it during a run. If it can't
// be read, the old one applies.
func (p *Project) Budget() Budget {
	if c, err := readConfig(filepath.Join(p.Root, ConfigFile)); err == nil {
		return c.Budget
	}
	return p.Config.Budget
}

// widthKey is the setting of how many tests of merges run side by side; parallelAuto is its value
// that has gl measure how many are best.
const (
	widthKey     = "test.parallel"
	parallelAuto = "auto"
)

// Test is the configuration of the project's tests.
type Test struct {
	Command testrun.Command // the zero Command for none
	Limit   time.Duration
	// waiting slices are tested together if tests usually take longer than this
	Batch time.Duration
	// how many merges of the queue are tested side by side; 0 to find the number by measuring
	Parallel int
	Where    string         // where tests of merges run: WhereAuto, WhereHere, WhereWorkers
	Pattern  *regexp.Regexp // finds the counts in the output; nil to use the built-in runners

	Removable []string // patterns of paths where tests may be removed without asking
}

// Workers is the configuration of workers on other machines.
type Workers struct {
	Where string        // where attempts run: WhereAuto, WhereHere, WhereWorkers
	Lost  time.Duration // without contact, after which a worker's jobs go to another
}

// The values of Workers.Where and Test.Where.
const (
	WhereAuto    = "auto"    // here and on workers
	WhereHere    = "here"    // on this machine alone
	WhereWorkers = "workers" // on workers alone
)

// Wheres returns the values of workers.where and test.where.
func Wheres() []string { return []string{WhereAuto, WhereHere, WhereWorkers} }

// Git is the configuration of git worktrees.
type Git struct {
	// Isolation is explicit; otherwise it is the default, and shared if worktrees aren't
	// possible
	Asked bool
	// "worktree": each slice is built in its own worktree; "shared": all in one checkout
	Isolation     string
	Target        string        // the branch to merge to; "" for the one checked out at first
	Worktrees     string        // directory of the worktrees; "" for beside the repository
	BranchPrefix  string        // prefix of the branches that gl creates
	Setup         []string      // a command that prepares a new worktree; nil for none
	Teardown      []string      // a command that runs before a worktree is removed; nil for none
	SetupLimit    time.Duration // how long Setup may take
	SnapshotEvery time.Duration // how often work in a worktree is saved
	// how merged work is delivered: DeliverMerge, DeliverBranch, DeliverPR
	Deliver string
	// how the merge queue merges a slice: LandMerge, LandRebase, LandSquash
	Land        string
	CommitState bool // gl commits state files on the target
	SnapshotMB  int  // a larger snapshot isn't taken, and the worktree is kept instead
}

// The values of Deliver.
const (
	DeliverMerge  = "merge"  // the target branch moves to it
	DeliverBranch = "branch" // the merge queue's branch is the result
	DeliverPR     = "pr"     // the merge queue's branch is pushed, and put in a pull request
)

// Deliveries returns the values of git.deliver.
func Deliveries() []string { return []string{DeliverMerge, DeliverBranch, DeliverPR} }

// The values of Land.
const (
	LandMerge  = "merge"  // a merge commit
	LandRebase = "rebase" // its commits, one after the other
	LandSquash = "squash" // one commit
)

// Landings returns the values of git.land.
func Landings() []string { return []string{LandMerge, LandRebase, LandSquash} }

// The values of Isolation.
const (
	IsolationWorktree = "worktree"
	IsolationShared   = "shared"
)

// The values of Review, and of the key review in a slice's front matter.
const (
	ReviewAlways = slice.ReviewAlways // every slice
	ReviewVerify = slice.ReviewVerify // slices with a contract other than auto
	ReviewNever  = slice.ReviewNever  // none
)

// Reviews returns the values of review.
func Reviews() []string { return slice.Reviews() }

// The values of Sandbox.
const (
	SandboxOff   = "off"
	SandboxBwrap = attempt.SandboxBwrap
)

// Sandboxes returns the values of sandbox.
func Sandboxes() []string { return []string{SandboxOff, SandboxBwrap} }

// Dir returns the absolute directory for worktrees in the setting, for the project at root; ""
// for none.
func (g Git) Dir(root, home string) string {
	rest, ok := strings.CutPrefix(g.Worktrees, "~")
	switch {
	case g.Worktrees == "":
		return ""
	case ok && (rest == "" || rest[0] == '/'):
		return filepath.Join(home, rest)
	case filepath.IsAbs(g.Worktrees):
		return filepath.Clean(g.Worktrees)
	}
	return filepath.Join(root, g.Worktrees)
}

// DefaultConfig returns the configuration of a project without one.
func DefaultConfig() Config {
	return Config{
		Max: 4, Agent: []string{"claude"}, WindowPercent: 95,
		Flags: []string{"--dangerously-skip-permissions", "--max-turns", "200"}, Prefix: "gl",
		Interval: 30 * time.Second, StaleAfter: 120 * time.Minute, Silent: 30 * time.Minute,
		Tool:   120 * time.Minute,
		Result: 10 * time.Second, Hold: 300 * time.Second, Mode: "interactive",
		Review: ReviewVerify, Sandbox: SandboxOff,
		Git: Git{Isolation: IsolationWorktree, BranchPrefix: "gl", SetupLimit: 10 * time.Minute,
			SnapshotEvery: 5 * time.Minute, SnapshotMB: 64, Deliver: DeliverMerge, Land: LandMerge,
			CommitState: true},
		Test:    Test{Limit: 30 * time.Minute, Batch: 2 * time.Minute, Where: WhereHere},
		Notify:  defaultNotify(),
		Workers: Workers{Where: WhereAuto, Lost: 10 * time.Minute},
	}
}

// FindAgent finds an agent by its name; self is the path of gl. The errors are those of
// agent.Find.
func (c Config) FindAgent(name, self string) (agent.Agent, error) {
	return agent.Find(name, agent.Config{ClaudeFlags: c.Flags, Custom: c.Agents, Self: self})
}

// readConfig reads the file. A missing file isn't an error; a value of the wrong type is an
// error that names its key, and is replaced by the default.
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

// parseConfig parses the file's text. An error names each invalid value, which is replaced by
// the default.
func parseConfig(data []byte) (Config, error) {
	c := DefaultConfig()
	file := &section{} // a map, because encoding/json would accept "Test" for a field test
	if err := jsonedit.Unmarshal(data, &file.keys); err != nil {
		return c, err
	}
	return c, errors.Join(file.read(c.top), readSection("git", file.keys["git"], c.git),
		readSection("parallel", file.keys["parallel"], c.parallel), readSection("test",
			file.keys["test"], c.test), readSection("budget", file.keys["budget"], c.budget),
		readSection("retry", file.keys["retry"], c.retry),
		readSection("notify", file.keys["notify"], c.notify),
		readSection("web", file.keys["web"], c.web),
		readSection("workers", file.keys["workers"], c.workers))
}

// sections are the top-level objects of the file that gl reads.
var sections = []string{"git", "parallel", "test", "budget", "retry", "notify", "web", "workers"}

// top reads the keys that are in no section.
func (c *Config) top(s *section) {
	s.get("mode", func(raw json.RawMessage) error { return text(raw, &c.Mode) })
	s.get("review", func(raw json.RawMessage) error { return oneOf(raw, Reviews(), &c.Review) })
	s.get("sandbox", func(raw json.RawMessage) error {
		err := oneOf(raw, Sandboxes(), &c.Sandbox)
		if err != nil { // a mistyped "bwrap" must not turn the sandbox off
			c.Sandbox = SandboxBwrap
		}
		return err
	})
	s.get("sandbox_caches", func(raw json.RawMessage) error { return directories(raw, &c.Caches) })
	if s.variant("sandbox") != "" { // as above
		c.Sandbox = SandboxBwrap
	}
}

// budget reads the section of that name.
func (c *Config) budget(s *section) {
	for _, l := range c.Budget.limits() {
		s.get(l.key, func(raw json.RawMessage) error {
			var n float64
			if json.Unmarshal(raw, &n) != nil || !(n >= 0 && n <= 1e9) {
				return errors.New("must be a number of dollars, 0 for no limit")
			}
			*l.to = n
			return nil
		})
	}
}

// retry reads the section of that name.
func (c *Config) retry(s *section) {
	s.get("escalate", func(raw json.RawMessage) error {
		var model string
		if json.Unmarshal(raw, &model) != nil || model != "" && !agent.IsModel(model) {
			return errors.New("must be the name of a model")
		}
		c.Escalate = model
		return nil
	})
}

// A section is an object of the file while its keys are read.
type section struct {
	name  string // with a trailing dot; "" for the file itself
	keys  map[string]json.RawMessage
	known []string // keys that were requested
	errs  []error
}

// readSection calls f to read the keys of a section, which may be missing.
func readSection(name string, raw json.RawMessage, f func(*section)) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	s := &section{name: name + "."}
	if err := json.Unmarshal(raw, &s.keys); err != nil {
		return fmt.Errorf("%s must be an object", name)
	}
	return s.read(f)
}

// read calls f to read the keys. Errors are joined, so that all are reported at once.
func (s *section) read(f func(*section)) error {
	f(s)
	for _, key := range s.known {
		if variant := s.variant(key); variant != "" {
			s.errs = append(s.errs, fmt.Errorf("%s%s isn't a setting, did you mean %s?", s.name,
				sanitize.Text(variant), key))
		}
	}
	if s.name == "" {
		for _, key := range sections {
			if variant := s.variant(key); variant != "" {
				s.errs = append(s.errs,
					fmt.Errorf("%q isn't a section, did you mean %s?", variant, key))
			}
		}
	}
	slices.SortFunc(s.errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(s.errs...)
}

// variant returns a key that differs from the known one only in case, "" if there is none. gl
// ignores such a key, but other programs may not, and a person takes it for the known one, so
// it is an error.
func (s *section) variant(key string) string { return variant(s.keys, key) }

func variant(keys map[string]json.RawMessage, key string) string {
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if k != key && strings.EqualFold(k, key) {
			return k
		}
	}
	return ""
}

func (s *section) get(key string, set func(json.RawMessage) error) {
	s.secret(key, func(raw json.RawMessage) error {
		if err := set(raw); err != nil {
			return fmt.Errorf("%w, not %s", err, short(raw))
		}
		return nil
	})
}

// secret is get for a value that may contain keys: the error doesn't quote it.
func (s *section) secret(key string, set func(json.RawMessage) error) {
	s.known = append(s.known, key)
	if raw := s.keys[key]; len(raw) > 0 && string(raw) != "null" {
		if err := set(raw); err != nil {
			s.errs = append(s.errs, fmt.Errorf("%s%s %w", s.name, key, err))
		}
	}
}

func (s *section) spans(list []span) {
	for _, sp := range list {
		s.get(sp.key, func(raw json.RawMessage) error {
			return duration(raw, sp.unit, sp.to, sp.zero)
		})
	}
}

// parallel reads the section of that name.
func (c *Config) parallel(s *section) {
	s.get("max", func(raw json.RawMessage) error { return whole(raw, 1000, &c.Max) })
	s.get("claude_flags", func(raw json.RawMessage) error { return words(raw, &c.Flags) })
	s.get("tmux_session_prefix", func(raw json.RawMessage) error { return text(raw, &c.Prefix) })
	s.secret("agents", func(raw json.RawMessage) error { return commands(raw, &c.Agents) })
	s.get("agent", func(raw json.RawMessage) error { return agents(raw, c.Agents, &c.Agent) })
	s.get("curfew", func(raw json.RawMessage) error { return curfew(raw, &c.Curfew) })
	s.get("window_percent", func(raw json.RawMessage) error {
		return percent(raw, &c.WindowPercent)
	})
	s.spans(c.spans())
}

// git reads the section of that name.
func (c *Config) git(s *section) {
	g := &c.Git
	s.get("isolation", func(raw json.RawMessage) error {
		g.Asked = true
		return oneOf(raw, Isolations(), &g.Isolation)
	})
	s.get("target", func(raw json.RawMessage) error { return branch(raw, &g.Target) })
	s.get("worktrees", func(raw json.RawMessage) error {
		var text string
		if json.Unmarshal(raw, &text) != nil || strings.ContainsFunc(text, unicode.IsControl) {
			return errors.New("must be the path of a directory")
		}
		g.Worktrees = text
		return nil
	})
	s.get("branch_prefix", func(raw json.RawMessage) error { return branch(raw, &g.BranchPrefix) })
	s.get("setup", func(raw json.RawMessage) error { return program(raw, &g.Setup) })
	s.get("teardown", func(raw json.RawMessage) error { return program(raw, &g.Teardown) })
	s.get("deliver", func(raw json.RawMessage) error {
		return oneOf(raw, Deliveries(), &g.Deliver)
	})
	s.get("land", func(raw json.RawMessage) error { return oneOf(raw, Landings(), &g.Land) })
	s.get("commit_state", func(raw json.RawMessage) error { return yesOrNo(raw, &g.CommitState) })
	s.get("snapshot_mb", func(raw json.RawMessage) error {
		return whole(raw, 1<<20, &g.SnapshotMB)
	})
	s.spans(g.spans())
}

// workers reads the section of that name.
func (c *Config) workers(s *section) {
	s.get("where", func(raw json.RawMessage) error { return oneOf(raw, Wheres(), &c.Workers.Where) })
	s.spans(c.Workers.spans())
}

// test reads the keys of that section that gl itself uses. Others are for agents.
func (c *Config) test(s *section) {
	t := &c.Test
	s.get("command", func(raw json.RawMessage) error { return testCommand(raw, &t.Command) })
	s.get("pattern", func(raw json.RawMessage) error { return pattern(raw, &t.Pattern) })
	s.get("removable", func(raw json.RawMessage) error { return pathPatterns(raw, &t.Removable) })
	s.get("parallel", func(raw json.RawMessage) error { return parallelTests(raw, &t.Parallel) })
	s.get("where", func(raw json.RawMessage) error { return oneOf(raw, Wheres(), &t.Where) })
	s.spans(t.spans())
}

// pathPatterns parses path patterns separated by spaces.
func pathPatterns(raw json.RawMessage, to *[]string) error {
	var text string
	if json.Unmarshal(raw, &text) != nil || strings.ContainsFunc(text, unicode.IsControl) {
		return errors.New("must be patterns of paths, with spaces between them")
	}
	list := strings.Fields(text)
	for _, p := range list {
		if _, err := path.Match(p, ""); err != nil || path.IsAbs(p) {
			return fmt.Errorf("must be patterns of paths in the project, such as tests/old/*.py; %q isn't one", p)
		}
	}
	*to = list
	return nil
}

// Isolations returns the values of git.isolation.
func Isolations() []string { return []string{IsolationWorktree, IsolationShared} }

// A span is a key whose value is a duration: a number of units.
type span struct {
	key  string
	unit time.Duration
	to   *time.Duration
	zero bool // may be 0
}

// spans returns the duration keys in display order.
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

func (g *Git) spans() []span {
	return []span{
		{"setup_minutes", time.Minute, &g.SetupLimit, false},
		{"snapshot_minutes", time.Minute, &g.SnapshotEvery, false},
	}
}

func (w *Workers) spans() []span {
	return []span{{"lost_minutes", time.Minute, &w.Lost, false}}
}

func (t *Test) spans() []span {
	return []span{
		{"timeout_minutes", time.Minute, &t.Limit, false},
		{"batch_minutes", time.Minute, &t.Batch, true},
	}
}
