package agent

import (
	"slices"
	"strings"
)

// A PromptKind is the form of prompt that an agent needs.
type PromptKind string

// The kinds of prompt.
const (
	SlashCommand PromptKind = "slash command" // Job.Prompt: "/gl:slice S-01"
	// Job.Instructions: the method itself, for agents without our commands
	MethodText PromptKind = "instructions"
	// everything about the slice, for programs with a method of their own
	Brief PromptKind = "brief"
)

// Part of the prompt for an agent without our commands is unknown until launch, because the
// worktree doesn't exist yet. These marks stand for it in a command line until FillIn. A dry
// run shows them.
const (
	BriefMark = "<the slice, its contracts, what came of earlier attempts and what people have said, and how to finish>"
	SliceMark = "<what gl slice prints of the slice>"
)

// mostArgument is the maximum length of an argument in bytes; Linux allows 128 KB.
const mostArgument = 120 << 10

// FillIn returns argv with the marks replaced by the texts. It cuts a text that is too long for
// an argument and refers to file, which has the whole brief.
func FillIn(argv []string, brief, slice, file string) []string {
	filled := make([]string, len(argv))
	for i, word := range argv {
		word = strings.NewReplacer(BriefMark, brief, SliceMark, slice).Replace(word)
		if len(word) > mostArgument {
			word = cutBytes(word, mostArgument-1000) + "\n\n(Cut here, because it is too long for an argument. All of it is in " + file + ": read that file.)"
		}
		filled[i] = word
	}
	return filled
}

// IsBriefed reports whether a command line contains a mark, or the file with the brief.
func IsBriefed(argv []string, file string) bool {
	return slices.ContainsFunc(argv, func(word string) bool {
		return strings.Contains(word, BriefMark) || strings.Contains(word, SliceMark) ||
			file != "" && strings.Contains(word, file)
	})
}

// Instructions turns the Markdown of a slash command into a prompt for an agent that doesn't
// know the command: it removes the front matter, turns a line that inlines a command's output
// (!`…`) into a request to run the command, and replaces $ARGUMENTS by the id. The text never
// begins like an option. Applying Instructions to its own result changes nothing.
func Instructions(markdown, id string) string {
	lines := strings.Split(body(strings.ReplaceAll(markdown, "\r\n", "\n")), "\n")
	for i, line := range lines {
		if command := inlined(line); command != "" {
			lines[i] = "Run `" + command + "` and read what it prints."
		}
	}
	text := strings.TrimSpace(strings.ReplaceAll(strings.Join(lines, "\n"), "$ARGUMENTS", id))
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "/") {
		// it would be taken for an option, or for one of the agent's own slash commands
		return "\n" + text
	}
	return text
}

// body returns markdown without its front matter. An unclosed one isn't front matter.
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

// inlined returns the command of a line that consists of !`command`, without the "|| true" that
// Claude Code needs; "" for any other line.
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

// brief returns everything to know for an agent with a method of its own; for a task, its text
// comes first.
func (j Job) brief() string {
	switch {
	case !j.Briefed:
		return j.Prompt
	case j.Instructions != "":
		return j.methodText() + "\n\n" + BriefMark
	}
	return BriefMark
}

// note returns the prompt for a resumed conversation.
func (j Job) note() string {
	if !j.Briefed {
		return j.Note
	}
	return j.Note + "\n\n" + SliceMark
}

// instructions returns the text of the job's command, with gl's information about the slice, or
// the prompt if there is no such text.
func (j Job) instructions() string {
	if j.Instructions == "" || !j.Briefed {
		return j.methodText()
	}
	text := strings.Replace(j.methodText(), "Run `gl slice` and read what it prints.",
		"It is at the end of this text.", 1)
	return text + "\n\n## What gl slice prints\n\n" + SliceMark
}

func (j Job) methodText() string {
	if j.Instructions == "" {
		return j.Prompt
	}
	text := Instructions(j.Instructions, j.arguments())
	if words := j.arguments(); words != "" && words != j.Slice &&
		!strings.Contains(j.Instructions, "$ARGUMENTS") {
		text += "\n\nARGUMENTS: " + words // as Claude Code does for a command without $ARGUMENTS
	}
	return text
}

// arguments returns the words after the slash command in the prompt, or the slice's id if the
// prompt isn't a slash command.
func (j Job) arguments() string {
	if command, rest, _ := strings.Cut(j.Prompt, " "); strings.HasPrefix(command, "/") {
		return rest
	}
	return j.Slice
}
