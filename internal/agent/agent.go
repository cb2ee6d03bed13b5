// Package agent knows the coding agents that gl runs: how each is called, what its output means, and the words that
// tell a person what it does. It is pure: it starts no process, reads no file and keeps no state but a Decoder's.
// Starting, logging and judging an attempt is package attempt's business; the built-in agent's own work is package
// rehearsal's.
package agent

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/suggest"
)

// The streams that a Decoder knows.
const (
	StreamClaude   = "claude"   // Claude Code's stream-json: one JSON object a line
	StreamCodex    = "codex"    // codex exec --json
	StreamGemini   = "gemini"   // gemini -o stream-json
	StreamOpencode = "opencode" // opencode run --format json
	StreamCursor   = "cursor"   // cursor-agent --output-format stream-json
	StreamText     = "text"     // lines for people
	StreamAuto     = "auto"     // the first line that isn't blank decides between claude and text
)

// An Agent is one way to have work done. Find makes it; its fields are for reading.
type Agent struct {
	Name    string     // as the user gave it: "claude", "rehearsal:crash=5%", a custom name
	Program string     // what to start: a name to look up on PATH, or a path; argv[0] is only the name it goes by
	Stream  string     // what it writes to stdout: StreamClaude, …
	Prompts PromptKind // which of a Job's prompts it is given
	Install string     // command line that installs it; "" for unknown
	Login   string     // command line that logs in; "" for unknown
	Keys    []string   // of config.json that its command lines are from, or have arguments from

	Talks bool   // it takes its prompt and further messages on stdin while it works: see Talking
	Homes []Home // where it keeps its login and its conversations

	kind string            // the agent that it is by another name; its own otherwise
	env  map[string]string // of parallel.agents.NAME.env

	models bool // its command line takes Job.Model

	argv    func(Job) []string
	resumed func(Job) []string // goes on with Job.Conversation; nil if it can't
}

// A Job is what one attempt asks of an agent.
type Job struct {
	Prompt       string  // the slash command
	Instructions string  // the command's Markdown, or what Instructions made of it; "" has Prompt stand in for it
	Dir          string  // absolute directory it works in
	SessionID    string  // a fresh uuid; "" lets the agent choose
	PluginDir    string  // directory of the plugin to load; "" for none
	Slice        string  // id of the slice, or of the task
	Account      string  // Agent.Account
	Conversation string  // the conversation that Resume goes on with
	Model        string  // the model that it is told to use; "" for the agent's own choice
	BudgetUSD    float64 // what the run may cost, for clients that know a limit; 0 for none
	Note         string  // what it is told then, in plain words: it knows the rest
	Briefed      bool    // the marks in the command line are filled in when it starts: see FillIn
	BriefFile    string  // absolute path of the file with the brief
}

// A Config is what the project's configuration says about agents.
type Config struct {
	ClaudeFlags []string          // further arguments for claude
	Custom      map[string]Custom // by name
	Self        string            // path of gl itself, which is also the rehearsal's program
}

// Custom is an agent by its command lines, whose elements may hold Placeholders, which gl help agents explains; or one that is called like
// another.
type Custom struct {
	Command []string
	Extends string // name of the agent that it is; with Env it is another account of it
	// Env is added to its environment. A value ${NAME} is the variable of that name in gl's environment, and ~/ begins a path in HOME.
	Env map[string]string
	// Resume goes on with a conversation, and its elements may hold {conversation}, too; {prompt} is Job.Note there. nil if
	// the program can't.
	Resume []string
}

// FlagsSetting is the key of config.json with the arguments for claude.
const FlagsSetting = "parallel.claude_flags"

// CustomSetting is the key of config.json with the command line of a custom agent.
func CustomSetting(name string) string { return "parallel.agents." + name + ".command" }

// ResumeSetting is the key of config.json with the command line by which a custom agent resumes a conversation.
func ResumeSetting(name string) string { return "parallel.agents." + name + ".resume" }

// ExtendsSetting is the key of config.json with the name of the agent that a custom agent extends.
func ExtendsSetting(name string) string { return "parallel.agents." + name + ".extends" }

// EnvSetting is the key of config.json with what is added to the environment of a custom agent.
func EnvSetting(name string) string { return "parallel.agents." + name + ".env" }

const (
	claudeBudget  = "--max-budget-usd"
	claudeName    = "claude"
	rehearsalName = "rehearsal"
)

// Command is the command line of one job, argv[0] first. It never passes through a shell. A prompt is one of its
// elements, so that Linux allows it 128 KB.
func (a Agent) Command(j Job) []string { return a.argv(j) }

// Resume is the command line that goes on with the job's conversation; nil if the agent can't.
func (a Agent) Resume(j Job) []string {
	if a.resumed == nil || j.Conversation == "" {
		return nil
	}
	return a.resumed(j)
}

// Account says with which login the agent works: limits, and so holds, belong to it, and a conversation can be resumed only where its
// files are. It is the agent's kind with the directory of its login. An agent with an environment of its own in the same directory has
// its name in it, since a key may be in that environment. getenv is gl's environment.
func (a Agent) Account(getenv func(string) string) string {
	own := home(a.Homes, func(name string) string {
		if v, ok := a.variable(name, getenv); ok {
			return v
		}
		return getenv(name)
	})
	account := cmp.Or(a.kind, a.Name) + " " + own
	if len(a.env) > 0 && own == home(a.Homes, getenv) {
		account += " " + a.Name
	}
	return account
}

// home names the directory where the agent's files are.
func home(homes []Home, getenv func(string) string) string {
	var names []string
	for _, h := range homes {
		if h.Variable != "" {
			names = append(names, h.Variable)
		}
	}
	for _, name := range append(names, "HOME") {
		if dir := getenv(name); dir != "" {
			return name + "=" + dir
		}
	}
	return ""
}

// Environ is what is added to the agent's environment, with what its values refer to in gl's. It may hold keys: it goes to the
// agent's process and nowhere else.
func (a Agent) Environ(getenv func(string) string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(a.env)) {
		v, _ := a.variable(name, getenv)
		list = append(list, name+"="+v)
	}
	return list
}

func (a Agent) variable(name string, getenv func(string) string) (value string, ok bool) {
	value, ok = a.env[name]
	if inner, refers := strings.CutPrefix(value, "${"); refers && strings.HasSuffix(inner, "}") {
		return getenv(strings.TrimSuffix(inner, "}")), ok
	}
	if rest, inHome := strings.CutPrefix(value, "~/"); inHome && getenv("HOME") != "" {
		return path.Join(getenv("HOME"), rest), ok
	}
	return value, ok
}

// BuiltIn are the names of the built-in agents, in the order in which help lists them.
func BuiltIn() []string {
	var names []string
	for _, a := range table(Config{}) {
		names = append(names, a.Name)
	}
	return names
}

// Usage are the built-in agents as help lists them: the rehearsal takes a SPEC.
func Usage() []string {
	names := BuiltIn()
	for i, name := range names {
		if name == rehearsalName {
			names[i] += ":SPEC"
		}
	}
	return names
}

// Names are the agents that Find knows, sorted: the built-in ones and the custom ones.
func Names(custom map[string]Custom) []string {
	known := BuiltIn()
	for n := range custom {
		if !slices.Contains(known, n) {
			known = append(known, n)
		}
	}
	slices.Sort(known)
	return known
}

// SplitNames splits an order of preference: "claude,codex". The parts of a rehearsal's SPEC, which has commas itself, stay together:
// what follows it and is the name of an agent ends it.
func SplitNames(text string, custom map[string]Custom) []string {
	var names []string
	spec := false
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		isRehearsal := part == rehearsalName || strings.HasPrefix(part, rehearsalName+":")
		if spec && !isRehearsal && !slices.Contains(Names(custom), part) {
			names[len(names)-1] += "," + part
			continue
		}
		names, spec = append(names, part), strings.HasPrefix(part, rehearsalName+":")
	}
	return names
}

// Find returns the agent called name: a built-in one, "rehearsal:SPEC", or a custom one. A custom agent may take any
// place but the rehearsal's, which promises to cost nothing. SPEC isn't looked into: rehearsal.ParseSpec checks it. The
// error names the agents there are.
func Find(name string, cfg Config) (Agent, error) {
	if name == rehearsalName || strings.HasPrefix(name, rehearsalName+":") {
		return rehearsal(name, cfg), nil
	}
	if c, ok := cfg.Custom[name]; ok {
		return custom(name, c, cfg)
	}
	for _, a := range table(cfg) {
		if a.Name == name {
			return a, nil
		}
	}
	known := Names(cfg.Custom)
	hint := ""
	if n := suggest.Match(name, known); n != "" {
		hint = fmt.Sprintf(", did you mean %q?", n)
	}
	return Agent{}, fmt.Errorf("no agent is called %q%s (known: %s; parallel.agents in config.json adds more)",
		name, hint, strings.Join(known, ", "))
}

func claude(cfg Config) Agent {
	flags := slices.Clone(cfg.ClaudeFlags)
	// A slash command counts only at the very start of the prompt, and stream-json asks for --verbose.
	headless := func(prompt, option, session string, j Job) []string {
		argv := []string{claudeName, "-p", prompt, "--output-format", "stream-json", "--verbose"}
		if session != "" {
			argv = append(argv, option, session)
		}
		if j.PluginDir != "" {
			argv = append(argv, "--plugin-dir", j.PluginDir)
		}
		if j.BudgetUSD > 0 && !slices.Contains(flags, claudeBudget) {
			argv = append(argv, claudeBudget, strconv.FormatFloat(j.BudgetUSD, 'f', 2, 64))
		}
		argv = append(argv, flags...)
		if j.Model != "" { // the last one counts
			argv = append(argv, "--model", j.Model)
		}
		return argv
	}
	return Agent{
		Name:    claudeName,
		Program: claudeName,
		Stream:  StreamClaude,
		Prompts: SlashCommand,
		Install: "npm install -g @anthropic-ai/claude-code",
		Login:   "claude /login",
		Keys:    []string{FlagsSetting},
		Talks:   !slices.Contains(flags, inputFormat),
		Homes:   claudeHomes,
		argv:    func(j Job) []string { return headless(j.Prompt, "--session-id", j.SessionID, j) },
		models:  true,
		resumed: func(j Job) []string { return headless(j.Note, "--resume", j.Conversation, j) },
	}
}

func rehearsal(name string, cfg Config) Agent {
	_, spec, _ := strings.Cut(name, ":")
	return Agent{
		Name:    name,
		models:  true, // and costs nothing with any
		Program: cfg.Self,
		Stream:  StreamClaude,
		Prompts: SlashCommand,
		argv: func(j Job) []string {
			// In one word with its flag: whether the client lists the command is asked of those that get it as a prompt.
			return []string{"gl", "rehearsal-agent", "--spec", spec, "--prompt=" + j.Prompt, j.Slice}
		},
	}
}

// custom makes an agent of command lines. One that calls a program we know is known by its stream, whatever its name:
// it is the same agent with other options. Whether it can resume with these it has to say itself.
func custom(name string, c Custom, cfg Config) (Agent, error) {
	if c.Extends != "" {
		return extended(name, c, cfg)
	}
	if len(c.Command) == 0 || c.Command[0] == "" {
		return Agent{}, fmt.Errorf("agent %q has no program: give parallel.agents.%s a command in config.json", name, name)
	}
	a := Agent{Name: name, Program: c.Command[0], Stream: StreamAuto, Prompts: Brief, Keys: []string{CustomSetting(name)}, kind: name}
	if known, ok := inWords(a.Program); ok {
		a.Stream, a.Install, a.Login = known.Stream, known.Install, known.Login
	}
	if program := path.Base(a.Program); HomesOf(program) != nil {
		a.kind = program
	}
	a.addEnv(c.Env)
	a.models = slices.ContainsFunc(c.Command[1:], func(w string) bool { return strings.Contains(w, "{model}") })
	a.Homes = HomesOf(a.Program)
	has := func(word string) bool {
		return slices.ContainsFunc(c.Command[1:], func(w string) bool { return strings.Contains(w, word) })
	}
	prompt, note := Job.brief, Job.note
	switch {
	case has("{instructions}"):
		a.Prompts, note = MethodText, Job.note
	case path.Base(a.Program) == claudeName, has("{command}"): // it has our commands
		a.Prompts = SlashCommand
		prompt, note = func(j Job) string { return j.Prompt }, func(j Job) string { return j.Note }
	}
	a.argv = filled(c.Command, prompt)
	if len(c.Resume) > 0 {
		a.Keys = append(a.Keys, ResumeSetting(name))
		a.resumed = filled(c.Resume, note)
	}
	return a, nil
}

// extended makes an agent that is another one by another name. What extends it isn't known to that one, so that there is no circle.
func extended(name string, c Custom, cfg Config) (Agent, error) {
	without := cfg
	without.Custom = maps.Clone(cfg.Custom)
	delete(without.Custom, name) // it may extend the built-in one of its name
	a, err := Find(c.Extends, without)
	if err != nil {
		return Agent{}, fmt.Errorf("agent %q: %w", name, err)
	}
	a.kind = cmp.Or(a.kind, a.Name)
	a.Name, a.Keys = name, append(slices.Clone(a.Keys), ExtendsSetting(name))
	a.addEnv(c.Env)
	return a, nil
}

// Rehearses is the rehearsal's name with its SPEC, whatever the agent is called.
func (a Agent) Rehearses() string { return cmp.Or(a.kind, a.Name) }

// TakesModel says whether the agent can be told which model to use.
func (a Agent) TakesModel() bool { return a.models }

// addEnv adds to the environment that the agent has.
func (a *Agent) addEnv(env map[string]string) {
	if len(env) == 0 {
		return
	}
	all := maps.Clone(env)
	for name, value := range a.env {
		if _, own := all[name]; !own {
			all[name] = value
		}
	}
	a.env, a.Keys = all, append(slices.Clone(a.Keys), EnvSetting(a.Name))
}

// placeholders are the words in braces, each with what it stands for.
func placeholders(j Job, prompt string) []string {
	return []string{"{prompt}", prompt, "{brief}", j.BriefFile, "{command}", j.Prompt, "{instructions}", j.instructions(), "{slice}", j.Slice, "{dir}", j.Dir, "{conversation}", j.Conversation, "{model}", j.Model}
}

// Placeholders are the words in braces that a custom agent's command lines may hold.
func Placeholders() []string {
	var names []string
	for i, word := range placeholders(Job{}, "") {
		if i%2 == 0 {
			names = append(names, word)
		}
	}
	return names
}

// filled makes a command line of a list with words in braces.
func filled(command []string, prompt func(Job) string) func(Job) []string {
	command = slices.Clone(command)
	return func(j Job) []string {
		// One pass: what a prompt or a path holds in braces stays as it is.
		fill := strings.NewReplacer(placeholders(j, prompt(j))...)
		argv := []string{command[0]}
		for _, word := range command[1:] {
			argv = append(argv, fill.Replace(word))
		}
		return argv
	}
}
