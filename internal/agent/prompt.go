package agent

import "strings"

// A PromptKind says what an agent wants to be told.
type PromptKind string

// The kinds of prompt.
const (
	SlashCommand PromptKind = "slash command" // Job.Prompt: "/gl:slice S-01"
	MethodText   PromptKind = "instructions"  // Job.Instructions: the method itself, for agents without our commands
)

// Instructions makes the Markdown of a slash command into a prompt for an agent that doesn't know it: the frontmatter
// goes, a line that has a command's output inlined (!`…`) asks to run the command, and $ARGUMENTS becomes the id. The
// text never begins as an option does. A text that Instructions made stays as it is.
func Instructions(markdown, id string) string {
	lines := strings.Split(body(strings.ReplaceAll(markdown, "\r\n", "\n")), "\n")
	for i, line := range lines {
		if command := inlined(line); command != "" {
			lines[i] = "Run `" + command + "` and read what it prints."
		}
	}
	text := strings.TrimSpace(strings.ReplaceAll(strings.Join(lines, "\n"), "$ARGUMENTS", id))
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "/") {
		return "\n" + text // it would be read as an option or as a slash command of the agent's own
	}
	return text
}

// body is markdown without its frontmatter. One that isn't closed is no frontmatter.
func body(markdown string) string {
	rest, ok := strings.CutPrefix(markdown, "---\n")
	if !ok {
		return markdown
	}
	if after, ok := strings.CutPrefix(rest, "---\n"); ok {
		return after
	}
	if _, after, ok := strings.Cut(rest, "\n---\n"); ok {
		return after
	}
	if strings.HasSuffix(rest, "\n---") {
		return ""
	}
	return markdown
}

// inlined is the command of a line that is all !`command`, without the "|| true" that Claude Code needs; "" for any
// other line.
func inlined(line string) string {
	command, ok := strings.CutPrefix(strings.TrimSpace(line), "!`")
	if !ok {
		return ""
	}
	command, ok = strings.CutSuffix(command, "`")
	if !ok || strings.Contains(command, "`") {
		return ""
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(command), "|| true"))
}

// instructions is the text of the job's command; without one it is the prompt.
func (j Job) instructions() string {
	if j.Instructions == "" {
		return j.Prompt
	}
	text := Instructions(j.Instructions, j.arguments())
	if words := j.arguments(); words != "" && words != j.Slice && !strings.Contains(j.Instructions, "$ARGUMENTS") {
		text += "\n\nARGUMENTS: " + words // as Claude Code does where the command has no place for them
	}
	return text
}

// arguments are what the slash command is given, the prompt's words behind it; for another prompt the slice's id.
func (j Job) arguments() string {
	if command, rest, _ := strings.Cut(j.Prompt, " "); strings.HasPrefix(command, "/") {
		return rest
	}
	return j.Slice
}
