package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"greenlight/internal/base/sanitize"
)

// A codexLine is one line of codex exec --json, as written by codex-rs/exec/src/exec_events.rs
// (0.142, 2026): a thread, its turn, and the turn's items, which start, are updated and
// complete. One exec is one turn, so gl counts the model's answers as turns instead. There is
// no cost and no time.
type codexLine struct {
	Type     string    `json:"type"`
	ThreadID string    `json:"thread_id"`
	Item     codexItem `json:"item"`
	Usage    struct {
		Input  float64 `json:"input_tokens"` // including cached ones
		Cached float64 `json:"cached_input_tokens"`
		Output float64 `json:"output_tokens"`
	} `json:"usage"`
	Error   complaint `json:"error"`   // turn.failed
	Message string    `json:"message"` // error
}

type codexItem struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Text    string `json:"text"`
	Message string `json:"message"`
	Status  string `json:"status"` // "in_progress", "completed", "failed", "declined"

	Command  string `json:"command"`
	Output   string `json:"aggregated_output"`
	ExitCode *int   `json:"exit_code"`

	Changes []struct {
		Path string `json:"path"`
	} `json:"changes"`

	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Error     complaint       `json:"error"`
	Query     string          `json:"query"`
	Prompt    string          `json:"prompt"`
}

func (d *Decoder) codex(line []byte) (events []Event, ok bool) {
	var l codexLine
	if !unmarshal(line, &l) || l.Type == "" {
		return nil, false
	}
	switch l.Type {
	case "thread.started":
		return d.began(l.ThreadID, ""), true
	case "item.started":
		return d.codexStarted(&l.Item), true
	case "item.completed":
		return d.codexCompleted(&l.Item), true
	case "error":
		// Errors that are retried look like the final one, except for the wording
		// (openai/codex#32984).
		c := complaint{text: firstText(l.Message, l.Error.text)}
		if strings.HasPrefix(c.text, "Reconnecting") {
			return d.retried(c), true
		}
		return d.troubled(c), true
	case "turn.completed":
		tokens := whole(l.Usage.Input + l.Usage.Output)
		d.work.usage = newUsage(l.Usage.Input-l.Usage.Cached, l.Usage.Output, l.Usage.Cached, 0)
		return d.ended(Result{Subtype: subtype(false), Tokens: tokens}, complaint{}), true
	case "turn.failed":
		return d.ended(Result{Subtype: subtype(true), IsError: true}, l.Error), true
	}
	return nil, true
}

// codexStarted reports an item that is running. Other items are reported when they complete;
// the to-do list is open for the whole turn and isn't a tool.
func (d *Decoder) codexStarted(it *codexItem) []Event {
	text := it.toolText()
	if text == "" {
		return nil
	}
	return d.calling(it.ID, text)
}

func (d *Decoder) codexCompleted(it *codexItem) []Event {
	switch it.Type {
	case "agent_message":
		return d.said(it.Text)
	case "reasoning":
		d.answered()
		return nil
	case "error": // a warning that stops nothing
		return []Event{{Kind: KindPlain, Text: complaint{text: it.Message}.words(argumentRunes)}}
	}
	text := it.toolText()
	if text == "" {
		return nil
	}
	var events []Event
	if _, told := d.open[it.ID]; !told {
		events = d.calling(it.ID, text)
	}
	d.returned(it.ID)
	switch it.Status {
	case "declined":
		d.work.denials++
		return append(events, toolFailed("declined")...)
	case "failed":
		return append(events, toolFailed(it.failure())...)
	}
	return events
}

// toolText describes the item's tool call; "" if it isn't one.
func (it *codexItem) toolText() string {
	name, arg := "", ""
	switch it.Type {
	case "command_execution":
		name, arg = "shell", it.Command
	case "file_change":
		paths := make([]string, 0, len(it.Changes))
		for _, c := range it.Changes {
			paths = append(paths, c.Path)
		}
		name, arg = "edit", strings.Join(paths, ", ")
	case "mcp_tool_call":
		return toolText(block{Name: it.Server + "." + it.Tool, Input: it.Arguments})
	case "collab_tool_call":
		name, arg = firstText(it.Tool, "subagent"), it.Prompt
	case "web_search":
		name, arg = "search", it.Query
	default:
		return ""
	}
	return sanitize.Excerpt(name, argumentRunes) + after(arg)
}

func (it *codexItem) failure() string {
	said := firstText(it.Output, it.Error.text)
	if it.ExitCode == nil {
		return said
	}
	return fmt.Sprintf("exit %d", *it.ExitCode) + after(said)
}
