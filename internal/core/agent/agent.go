// Package agent describes the coding agents that gl runs: how to call each, what its output
// means, and how to describe its work to a person. It is pure: it starts no process, reads no
// file and keeps no state other than a Decoder's. Package attempt starts, logs and judges
// attempts; package rehearsal implements the built-in agent's work.
package agent

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/suggest"
)

// The streams that a Decoder understands.
const (
	StreamClaude   = "claude"   // Claude Code's stream-json: one JSON object per line
	StreamCodex    = "codex"    // codex exec --json
	StreamGemini   = "gemini"   // gemini -o stream-json
	StreamOpencode = "opencode" // opencode run --format json
	StreamCursor   = "cursor"   // cursor-agent --output-format stream-json
	StreamText     = "text"     // lines for people
	StreamAuto     = "auto"     // the first nonblank line decides between claude and text
)

// An Agent is one way to have work done. Find creates it; its fields are read-only.
type Agent struct {
	Name string // as given by the user: "claude", "rehearsal:crash=5%", a custom name
	// the program to start: a name to look up on PATH, or a path; argv[0] is only what it is
	// called
	Program string
	Stream  string     // format of its stdout: StreamClaude, …
	Prompts PromptKind // which of a Job's prompts it gets
	Install string     // command line that installs it; "" if unknown
	Login   string     // command line that logs in; "" if unknown
	Keys    []string   // keys of config.json that its command lines, or their arguments, come from

	Talks bool   // it reads its prompt and further messages from stdin while it works: see Talking
	Homes []Home // where it stores its login and its conversations

	kind string            // the agent that it is another name for; "" if it is its own
	env  map[string]string // from parallel.agents.NAME.env

	models bool // its command line takes Job.Model

	argv    func(Job) []string
	resumed func(Job) []string // continues Job.Conversation; nil if unsupported
}

// A Job is the input of an agent for one attempt.
type Job struct {
	Prompt string // the slash command
	// the command's Markdown, or the result of Instructions; if empty, Prompt is used instead
	Instructions string
	Dir          string   // absolute working directory
	SessionID    string   // a fresh UUID; "" to let the agent choose
	PluginDirs   []string // plugin directories to load
	Slice        string   // id of the slice, or of the task
	Account      string   // Agent.Account
	Conversation string   // the conversation that Resume continues
	Model        string   // the model to use; "" for the agent's default
	BudgetUSD    float64  // cost limit of the run, for clients that support one; 0 for none
	Note         string   // the prompt for Resume, in plain words: the conversation has the rest
	Briefed      bool     // marks in the command line are filled in at launch: see FillIn
	BriefFile    string   // absolute path of the file with the brief
}

// A Config is the project's configuration of agents.
type Config struct {
	ClaudeFlags []string          // additional arguments for claude
	Custom      map[string]Custom // by name
	Self        string            // path of gl itself, which is also the rehearsal's program
}

// Custom is an agent defined by its command lines, whose elements may contain Placeholders (see
// gl help agents), or by extending another agent.
type Custom struct {
	Command []string
	Extends string // name of the agent it extends; with Env, another account of it
	// Env is added to its environment. A value ${NAME} is replaced by that variable of gl's
	// environment, and a leading ~/ by HOME.
	Env map[string]string
	// Resume continues a conversation. Its elements may also contain {conversation}, and
	// {prompt} is Job.Note. It is nil if the program can't resume.
	Resume []string
}

// FlagsSetting is the key of config.json for claude's additional arguments.
const FlagsSetting = "parallel.claude_flags"

// CustomSetting returns the key of config.json for the command line of a custom agent.
func CustomSetting(name string) string { return "parallel.agents." + name + ".command" }

// ResumeSetting returns the key of config.json for the command line with which a custom agent
// resumes a conversation.
func ResumeSetting(name string) string { return "parallel.agents." + name + ".resume" }

// ExtendsSetting returns the key of config.json for the name of the agent that a custom agent
// extends.
func ExtendsSetting(name string) string { return "parallel.agents." + name + ".extends" }

// EnvSetting returns the key of config.json for additions to the environment of a custom agent.
func EnvSetting(name string) string { return "parallel.agents." + name + ".env" }

const (
	claudeBudget  = "--max-budget-usd"
	claudeName    = "claude"
	rehearsalName = "rehearsal"
)

// Command returns the command line of a job, including argv[0]. It never passes through a
// shell. The prompt is one of its elements, so Linux limits it to 128 KB.
func (a Agent) Command(j Job) []string { return a.argv(j) }

// Resume returns the command line that continues the job's conversation; nil if the agent
// can't.
func (a Agent) Resume(j Job) []string {
	if a.resumed == nil || j.Conversation == "" {
		return nil
	}
	return a.resumed(j)
}

// Account identifies the agent's login. Limits, and so holds, belong to a login, and a
// conversation can be resumed only where its files are. The result is the agent's kind and its
// login's directory. For an agent with an environment of its own but in the same directory, it
// includes the agent's name, since a key may be in that environment. getenv is gl's
// environment.
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

// home returns the directory of the agent's files.
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

// Environ returns the additions to the agent's environment, with references to gl's environment
// resolved. They may contain keys, so pass them only to the agent's process.
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

// BuiltIn returns the names of the built-in agents, in the order of the help.
func BuiltIn() []string {
	var names []string
	for _, a := range table(Config{}) {
		names = append(names, a.Name)
	}
	return names
}

// Usage returns the built-in agents as listed in the help, with the rehearsal's SPEC.
func Usage() []string {
	names := BuiltIn()
	for i, name := range names {
		if name == rehearsalName {
			names[i] += ":SPEC"
		}
	}
	return names
}

// Names returns the agents that Find knows, sorted: built-in and custom ones.
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

// SplitNames splits an order of preference: "claude,codex". The parts of a rehearsal's SPEC,
// which itself contains commas, stay together; the SPEC ends before the next name of an agent.
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

// Find returns the agent with that name: a built-in one, "rehearsal:SPEC", or a custom one. A
// custom agent may replace any but the rehearsal, which promises to cost nothing. Find doesn't
// validate SPEC; rehearsal.ParseSpec does. The error lists the known agents.
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
	// A slash command is recognized only at the very start of the prompt, and stream-json
	// requires --verbose.
	headless := func(prompt, option, session string, j Job) []string {
		argv := []string{claudeName, "-p", prompt, "--output-format", "stream-json", "--verbose"}
		if session != "" {
			argv = append(argv, option, session)
		}
		for _, dir := range j.PluginDirs {
			argv = append(argv, "--plugin-dir", dir)
		}
		if j.BudgetUSD > 0 && !slices.Contains(flags, claudeBudget) {
			argv = append(argv, claudeBudget, strconv.FormatFloat(j.BudgetUSD, 'f', 2, 64))
		}
		argv = append(argv, flags...)
		if j.Model != "" { // the last one takes precedence
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
		models:  true, // any model, at no cost
		Program: cfg.Self,
		Stream:  StreamClaude,
		Prompts: SlashCommand,
		argv: func(j Job) []string {
			// One word with its flag, because gl checks whether a client lists the command only
			// for agents that get it as a prompt argument.
			return []string{"gl", "rehearsal-agent", "--spec", spec,
				"--prompt=" + j.Prompt, j.Slice}
		},
	}
}

// custom returns an agent defined by command lines. If it calls a program we know, under any
// name, it has that program's stream: it is the same agent with other options. It must define
// by itself how to resume with these.
func custom(name string, c Custom, cfg Config) (Agent, error) {
	if c.Extends != "" {
		return extended(name, c, cfg)
	}
	if len(c.Command) == 0 || c.Command[0] == "" {
		return Agent{}, fmt.Errorf("agent %q has no program: give parallel.agents.%s a command in config.json", name, name)
	}
	a := Agent{Name: name, Program: c.Command[0], Stream: StreamAuto, Prompts: Brief,
		Keys: []string{CustomSetting(name)}, kind: name}
	if known, ok := inWords(a.Program); ok {
		a.Stream, a.Install, a.Login = known.Stream, known.Install, known.Login
	}
	if program := path.Base(a.Program); HomesOf(program) != nil {
		a.kind = program
	}
	a.addEnv(c.Env)
	a.models = slices.ContainsFunc(c.Command[1:], func(w string) bool {
		return strings.Contains(w, "{model}")
	})
	a.Homes = HomesOf(a.Program)
	has := func(word string) bool {
		return slices.ContainsFunc(c.Command[1:], func(w string) bool {
			return strings.Contains(w, word)
		})
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

// extended returns an agent that is another one under a new name. The base can't refer to the
// extending agent, which prevents cycles.
func extended(name string, c Custom, cfg Config) (Agent, error) {
	without := cfg
	without.Custom = maps.Clone(cfg.Custom)
	delete(without.Custom, name) // it may extend the built-in agent with its name
	a, err := Find(c.Extends, without)
	if err != nil {
		return Agent{}, fmt.Errorf("agent %q: %w", name, err)
	}
	a.kind = cmp.Or(a.kind, a.Name)
	a.Name, a.Keys = name, append(slices.Clone(a.Keys), ExtendsSetting(name))
	a.addEnv(c.Env)
	return a, nil
}

// Rehearses returns the rehearsal's name with its SPEC, even if the agent has another name.
func (a Agent) Rehearses() string { return cmp.Or(a.kind, a.Name) }

// TakesModel reports whether the agent can be told which model to use.
func (a Agent) TakesModel() bool { return a.models }

// addEnv adds to the agent's environment.
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

// placeholders returns the words in braces, each followed by its replacement.
func placeholders(j Job, prompt string) []string {
	return []string{"{prompt}", prompt, "{brief}", j.BriefFile, "{command}", j.Prompt,
		"{instructions}", j.instructions(), "{slice}", j.Slice, "{dir}", j.Dir, "{conversation}",
		j.Conversation, "{model}", j.Model}
}

// Placeholders returns the words in braces that a custom agent's command lines may contain.
func Placeholders() []string {
	var names []string
	for i, word := range placeholders(Job{}, "") {
		if i%2 == 0 {
			names = append(names, word)
		}
	}
	return names
}

// filled returns a function that fills in the placeholders of a command line.
func filled(command []string, prompt func(Job) string) func(Job) []string {
	command = slices.Clone(command)
	return func(j Job) []string {
		// One pass, so that braces in a prompt or a path aren't expanded.
		fill := strings.NewReplacer(placeholders(j, prompt(j))...)
		argv := []string{command[0]}
		for _, word := range command[1:] {
			argv = append(argv, fill.Replace(word))
		}
		return argv
	}
}
