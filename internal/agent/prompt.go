package agent

import (
	"slices"
	"strings"
)

// A PromptKind says what an agent wants to be told.
type PromptKind string

// The kinds of prompt.
const (
	SlashCommand PromptKind = "slash command" // Job.Prompt: "/gl:slice S-01"
	MethodText   PromptKind = "instructions"  // Job.Instructions: the method itself, for agents without our commands
	Brief        PromptKind = "brief"         // everything about the slice, for programs with a method of their own
)

// What an agent without our commands is told of a slice isn't known before it starts: its worktree isn't made yet. These words
// stand for it in a command line, until FillIn. A dry run shows them.
const (
	BriefMark = "<the slice, its contracts, what came of earlier attempts and what people have said, and how to finish>"
	SliceMark = "<what gl slice prints of the slice>"
)

// mostArgument is how many bytes an argument may have; Linux allows 128 KB.
const mostArgument = 120 << 10

// FillIn returns argv with the texts in the place of their marks. What is too long for an argument is cut, and file, which has the
// whole brief, is named there.
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

// IsBriefed reports whether a command line has a mark, or the file with the brief.
func IsBriefed(argv []string, file string) bool {
	return slices.ContainsFunc(argv, func(word string) bool {
		return strings.Contains(word, BriefMark) || strings.Contains(word, SliceMark) || file != "" && strings.Contains(word, file)
	})
}

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

// brief is all that there is to know for an agent that has a method of its own; of a task, its text comes first.
func (j Job) brief() string {
	switch {
	case !j.Briefed:
		return j.Prompt
	case j.Instructions != "":
		return j.methodText() + "\n\n" + BriefMark
	}
	return BriefMark
}

// note is what a conversation is told that is resumed.
func (j Job) note() string {
	if !j.Briefed {
		return j.Note
	}
	return j.Note + "\n\n" + SliceMark
}

// instructions is the text of the job's command, with what gl knows of the slice; without one it is the prompt.
func (j Job) instructions() string {
	if j.Instructions == "" || !j.Briefed {
		return j.methodText()
	}
	text := strings.Replace(j.methodText(), "Run `gl slice` and read what it prints.", "It is at the end of this text.", 1)
	return text + "\n\n## What gl slice prints\n\n" + SliceMark
}

func (j Job) methodText() string {
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
