package project

import (
	"encoding/json"
	"slices"
	"strings"

	"greenlight/internal/core/agent"
)

// A SettingSection is a group of settings in the file and on the screen.
type SettingSection struct {
	Title    string
	Keys     string // the keys begin with it; "" for those at the top
	settings []knownSetting
}

// About explains a setting to people.
type About struct {
	Line    string   // what it does, in one line
	More    string   // what else to know; "" for nothing
	Values  []string // all that it can be; nil if they can't be listed
	Example string   // a value, as a person types it; "" for none
	// Guarded means that a value in the file takes effect only once a person has allowed it,
	// because a repository from elsewhere could run a program by it, or send work away.
	Guarded bool
}

// SettingSections returns the table of all settings, in display order. The screens, the
// completion and the reference are made from it.
func SettingSections() []SettingSection {
	c := DefaultConfig()
	return []SettingSection{
		{"Project", "", projectSettings(c)},
		{"Agents and runs", "parallel.", append(parallelSettings(c), c.spanSettings()...)},
		{"Budget, in dollars", "budget.", budgetSettings(c)},
		{"Retries", "retry.", []knownSetting{{"retry.escalate", nil, parsedSetting, About{
			Line:    "the model for an attempt that fixes red tests",
			More:    "Without it the attempt has the model of the one before.",
			Example: "opus"}}}},
		{"Tests", "test.", testSettings(c)},
		{"Git and worktrees", "git.", gitSettings(c)},
		{"Workers on other machines", "workers.", workerSettings(c)},
		{"Steps of a slice", "workflow.", workflowSettings()},
		{"Notifications", "notify.", notifySettings(c.Notify)},
	}
}

func projectSettings(c Config) []knownSetting {
	return []knownSetting{
		{"mode", rawJSON(c.Mode), modeSetting, About{
			Line: "whether gl asks before it takes over a stale claim, and the like",
			More: "interactive asks; yolo doesn't.", Values: Modes()}},
		{"model_profile", rawJSON(defaultProfile), profileSetting, About{
			Line: "which models the method's agents get",
			More: "quality, balanced or budget, or a profile of your own: an object below profiles in the file. " +
				"gl settings model AGENT MODEL sets one agent's model.",
			Example: "quality"}},
		{"review", rawJSON(c.Review), fileSetting, About{
			Line: "which slices you approve before they are merged",
			More: "always: every one. verify: those with a contract that asks a person to look. " +
				"never: none. The key review in a slice's own file wins.", Values: Reviews()}},
		{"sandbox", rawJSON(c.Sandbox), fileSetting, About{
			Line: "what confines agents in worktrees",
			More: "bwrap (Linux, with bubblewrap) lets them write to their worktree and little else, and hides " +
				"the keys and tokens in your home directory.", Values: Sandboxes(), Guarded: true}},
		{cachesKey, rawJSON([]string{}), fileSetting, About{
			Line:    "directories that agents may write to in the sandbox",
			Example: `["~/.cache/go-build", "~/.npm"]`, Guarded: true}},
	}
}

func parallelSettings(c Config) []knownSetting {
	return []knownSetting{
		{"parallel.max", rawJSON(c.Max), parsedSetting, About{
			Line: "how many agents run at once on this machine", Example: "6",
			More: "A run that is under way follows it. Workers on other machines bring slots of their own."}},
		{"parallel.agent", rawJSON(strings.Join(c.Agent, ",")), parsedSetting, About{
			Line: "the agent that builds slices; with several, the first that isn't held",
			More: "Built in: " + strings.Join(agent.BuiltIn(), ", ") +
				". The key agent in a slice's own file wins.", Example: "claude,codex"}},
		{"parallel.agents", rawJSON(map[string]any{}), parsedSetting, About{
			Line: "command lines and accounts of your own, by name",
			More: "An agent is a program with its arguments, in which {prompt} stands for the task, or a built-in " +
				"agent with other variables. Set one with gl settings set parallel.agents.NAME.command " +
				"'my-agent --task {prompt}'. gl help agents has the rest.",
			Example: `{"work": {"extends": "claude", "env": {"CLAUDE_CONFIG_DIR": "~/.claude-work"}}}`,
			Guarded: true}},
		{"parallel.claude_flags", rawJSON(strings.Join(c.Flags, " ")), parsedSetting, About{
			Line: "what gl passes to Claude Code besides its own flags",
			More: "The default lets Claude Code use its tools without asking, because no person is there to answer, " +
				"and ends an attempt after 200 turns.",
			Example: `--max-turns 100 --allowedTools "Bash(git *)"`, Guarded: true}},
		{"parallel.tmux_session_prefix", rawJSON(c.Prefix), parsedSetting, About{
			Line: "how the names of tmux sessions begin"}},
		{"parallel.curfew", rawJSON(""), parsedSetting, About{
			Line: "times of day in which no agent is started", Example: "09:00-17:30",
			More: "One span, or a JSON list of them."}},
		{"parallel.window_percent", rawJSON(c.WindowPercent), parsedSetting, About{
			Line: "start no agent on an account whose usage window is this full", Example: "80",
			More: "As far as the agent's program reports its usage."}},
	}
}

// spanSettings returns the durations of the section parallel.
func (c Config) spanSettings() []knownSetting {
	return durations("parallel.", c.spans(), map[string]About{
		"watch_interval_seconds": {Line: "how often a run looks at the files without being notified"},
		"stale_minutes":          {Line: "when another session's claim without a change counts as stale"},
		"silent_minutes":         {Line: "when an agent that says nothing is ended as hung"},
		"tool_minutes":           {Line: "the same while one of its tools runs, such as a long build"},
		"result_grace_seconds":   {Line: "how long an agent may take to exit after its result"},
		"hold_seconds": {Line: "how long a rate limit without a reset time holds an agent",
			More: "The first time; then twice as long each time, up to an hour."},
		"stagger_ms": {Line: "milliseconds between two starts of agents"},
	})
}

func budgetSettings(c Config) []knownSetting {
	lines := map[string]string{
		"slice_usd": "what one slice may cost; 0 is no limit",
		"drain_usd": "what one run may cost; 0 is no limit",
		"day_usd":   "what one day may cost; 0 is no limit",
	}
	var list []knownSetting
	for _, l := range c.Budget.limits() {
		list = append(list, knownSetting{"budget." + l.key, rawJSON(*l.to), parsedSetting, About{
			Line: lines[l.key], Example: "20",
			More: "By what the agents report. When it is spent, no more agents are started; those that run go on. " +
				"gl budget shows what is left."}})
	}
	return list
}

func testSettings(c Config) []knownSetting {
	list := []knownSetting{
		{testKey, nil, parsedSetting, About{
			Line: "runs the tests; a slice is complete when they pass on the merge",
			More: "Without one, slices are shown as unverified. No shell runs it, unless it has operators, variables or " +
				"patterns outside of quotes, such as cd web && npm test: that is run by sh -c.",
			Example: "npm test", Guarded: true}},
		{"test.pattern", nil, parsedSetting, About{
			Line: "finds the number of tests in the output of a runner that gl doesn't know",
			More: "A regular expression (RE2) with groups named passed, failed or skipped. What it finds in each line " +
				"adds up.", Example: `(?P<passed>\d+) ok`}},
		{removableKey, nil, parsedSetting, About{
			Line: "paths where tests may be removed or skipped without asking you",
			More: "Patterns with spaces between them.", Example: "tests/old/*.py", Guarded: true}},
		{widthKey, rawJSON(parallelAuto), parsedSetting, About{
			Line: "how many merges are tested side by side; 1 if your tests can't run at once", Example: "1",
			More: "Each in a worktree of its own, on top of those ahead of it in the merge queue. auto measures how " +
				"many finish the most in a minute; it repeats failed tests alone, and goes back to one at a time " +
				"if they share a port or a database. 1 tests one after the other, or several in one batch."}},
		{"test.where", rawJSON(c.Test.Where), parsedSetting, About{
			Line: "where the tests of merges run, once workers have joined",
			More: "auto gives them to workers with free slots, unless they are faster here; what fails on a worker " +
				"is repeated here. workers runs them here only if none is connected, here on this machine alone. " +
				"A worker tests each merge in a new worktree, with git.setup. Its word counts then: turn this on for machines you trust with that.",
			Values: Wheres()}},
	}
	list = append(list, durations("test.", c.Test.spans(), map[string]About{
		"timeout_minutes": {Line: "how long the tests may take", Example: "10"},
		"batch_minutes": {Line: "test waiting slices together if tests usually take longer than this",
			Example: "5"},
	})...)
	return append(list,
		knownSetting{"test.coverage_command", nil, textSetting, About{
			Line: "measures coverage; /gl:ship runs it", Example: "go test -cover ./..."}},
		knownSetting{"test.security_filter", nil, textSetting, About{
			Line: "how the names of security tests begin, for the agents", Example: "Security"}})
}

func gitSettings(c Config) []knownSetting {
	list := []knownSetting{
		{"git.isolation", rawJSON(c.Git.Isolation), parsedSetting, About{
			Line:   "where slices are built: in worktrees of their own, or in your checkout",
			More:   "Only in worktrees is work merged, tested on the merge, and taken back by gl undo.",
			Values: Isolations()}},
		{"git.target", nil, parsedSetting, About{
			Line:    "the branch that work is merged into",
			More:    "Without it, the one that was checked out when the first slice was built.",
			Example: "main"}},
		{"git.worktrees", nil, parsedSetting, About{
			Line:    "the directory for worktrees",
			More:    "Without it, one beside the repository.",
			Example: "~/worktrees", Guarded: true}},
		{"git.branch_prefix", rawJSON(c.Git.BranchPrefix), parsedSetting, About{
			Line: "how the names of gl's own branches begin"}},
		{"git.setup", nil, parsedSetting, About{
			Line:    "prepares a new worktree, such as by installing packages",
			More:    "A command line; no shell runs it.",
			Example: "npm ci", Guarded: true}},
		{"git.teardown", nil, parsedSetting, About{
			Line:    "runs before a worktree is removed",
			More:    "A command line; no shell runs it.",
			Example: "docker compose down", Guarded: true}},
	}
	list = append(list, durations("git.", c.Git.spans(), map[string]About{
		"setup_minutes":    {Line: "how long git.setup may take"},
		"snapshot_minutes": {Line: "how often unfinished work in a worktree is saved"},
	})...)
	return append(list,
		knownSetting{"git.land", rawJSON(c.Git.Land), parsedSetting, About{
			Line:   "how a slice is merged: as a merge, commit by commit, or as one commit",
			Values: Landings()}},
		knownSetting{"git.deliver", rawJSON(c.Git.Deliver), parsedSetting, About{
			Line:   "where merged work goes: your branch, a branch of gl's, a pull request",
			More:   "pr pushes the branch and opens a pull request, so it needs your permission.",
			Values: Deliveries(), Guarded: true}},
		knownSetting{"git.commit_state", rawJSON(c.Git.CommitState), boolSetting, About{
			Line: "gl commits the slices' state files on your branch"}},
		knownSetting{"git.snapshot_mb", rawJSON(c.Git.SnapshotMB), parsedSetting, About{
			Line: "a larger change isn't saved in git; its worktree is kept instead"}})
}

func workerSettings(c Config) []knownSetting {
	list := []knownSetting{{"workers.where", rawJSON(c.Workers.Where), parsedSetting, About{
		Line: "where agents run, once workers have joined",
		More: "auto fills the slots of this machine (parallel.max), then those of the workers. workers " +
			"runs none here, here none there. A slice whose worktree is here goes on here. One with labels " +
			"(gl state set ID labels=gpu) goes to workers that have them, unless it is here.",
		Values: Wheres()}}}
	return append(list, durations("workers.", c.Workers.spans(), map[string]About{
		"lost_minutes": {Line: "without contact for this long, a worker's jobs go to another",
			More: "gl serve reads it as it starts."},
	})...)
}

func workflowSettings() []knownSetting {
	return []knownSetting{
		{"workflow.security_scan", rawJSON(true), boolSetting, About{
			Line: "each slice has a step that looks for security problems"}},
		{"workflow.max_implementation_retries", rawJSON(4), countSetting, About{
			Line: "how often an agent tries to get one test to pass"}},
		{"workflow.max_security_retries", rawJSON(2), countSetting, About{
			Line: "how often it fixes what the security step found"}},
	}
}

func notifySettings(n Notify) []knownSetting {
	return []knownSetting{
		{"notify.events", rawJSON(n.Events), parsedSetting, About{
			Line: "what gl reports during a run", More: "A JSON list of " + kindList() + ".",
			Example: `["needs_you", "failed"]`}},
		{"notify.terminal", rawJSON(n.Terminal), boolSetting, About{
			Line: "report to the run's own terminal, with its bell"}},
		{"notify.desktop", rawJSON(n.Desktop), boolSetting, About{
			Line: "report to the desktop (notify-send, osascript)"}},
		{notifyCommandKey, nil, parsedSetting, About{
			Line: "a program that gets each event as JSON on its stdin",
			More: "A command line; no shell runs it.", Example: "my-notifier", Guarded: true}},
		{webhookKey, nil, parsedSetting, About{
			Line:    "an address that each event is posted to, as JSON",
			Example: "https://hooks.example.com/x", Guarded: true}},
		{ntfyKey, nil, parsedSetting, About{
			Line: "a topic of ntfy, for your phone", Example: "https://ntfy.sh/my-topic",
			Guarded: true}},
		{webURLKey, nil, parsedSetting, About{
			Line:    "the address by which you reach gl web: notifications link to it",
			More:    "Of a tunnel, for example. gl web answers to its host.",
			Example: "https://build-box.tailnet.ts.net", Guarded: true}},
	}
}

// durations returns settings in the units that their keys name.
func durations(section string, spans []span, about map[string]About) []knownSetting {
	var list []knownSetting
	for _, s := range spans {
		value := rawJSON(float64(*s.to) / float64(s.unit))
		list = append(list, knownSetting{section + s.key, value, parsedSetting, about[s.key]})
	}
	return list
}

// List returns the keys of a section.
func (s SettingSection) List() []string {
	var keys []string
	for _, k := range s.settings {
		keys = append(keys, k.key)
	}
	return keys
}

// AboutSetting returns the explanation of a setting and its default, which is nil for none. That of
// parallel.agents is for all agents. It returns false for a key that gl doesn't know.
func AboutSetting(key string) (About, json.RawMessage, bool) {
	if strings.HasPrefix(key, "parallel.agents.") {
		key = "parallel.agents"
	}
	k, ok := findSetting(key)
	if k.kind == boolSetting {
		k.about.Values = []string{"true", "false"}
	}
	return k.about, slices.Clone(k.value), ok
}
