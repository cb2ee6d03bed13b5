package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A cursorLine is one line of cursor-agent --output-format stream-json, according to
// cursor.com/docs/cli/reference/output-format (June 2026) and, for what that omits (usage,
// connection, the failed tool results), reports about the 2026 clients. Messages and the result
// have claude's shape, tool calls their own; there are no turns and no cost. A failed run
// writes its reason to stderr and no result event: see ExitLimit.
type cursorLine struct {
	wire
	CallID string `json:"call_id"`
	// {"shellToolCall": {"args": …, "result": {"success": …}}, …}
	ToolCall map[string]json.RawMessage `json:"tool_call"`
	Usage    struct {
		Input      float64 `json:"inputTokens"`
		Output     float64 `json:"outputTokens"`
		CacheRead  float64 `json:"cacheReadTokens"`
		CacheWrite float64 `json:"cacheWriteTokens"`
	} `json:"usage"`
}

type cursorTool struct {
	Args   json.RawMessage            `json:"args"`
	Result map[string]json.RawMessage `json:"result"`
}

func (d *Decoder) cursor(line []byte) (events []Event, ok bool) {
	var l cursorLine
	if !unmarshal(line, &l) || l.Type == "" {
		return nil, false
	}
	switch {
	case l.Type == "system" && l.Subtype == "init":
		return d.began(l.SessionID, l.Model), true
	case l.Type == "assistant" && l.Message != nil:
		return d.said(l.Message.Content.text()), true
	case l.Type == "thinking":
		d.answered()
	case l.Type == "tool_call":
		return d.cursorTool(&l), true
	case l.Type == "connection" && l.Subtype == "reconnecting":
		return []Event{{Kind: KindRetry,
			Text: fmt.Sprintf("connection lost, attempt %d", l.Attempt)}}, true
	case l.Type == "result" && (l.Subtype != "" || l.IsError != nil):
		return d.cursorResult(&l), true
	}
	return nil, true
}

func (d *Decoder) cursorResult(l *cursorLine) []Event {
	failed := l.IsError != nil && *l.IsError || isErrorSubtype(l.Subtype)
	u := &l.Usage
	r := Result{Subtype: firstText(l.Subtype, subtype(failed)), IsError: failed,
		DurationMS: l.DurationMS, SessionID: l.SessionID,
		Tokens: whole(u.Input + u.Output + u.CacheRead + u.CacheWrite)}
	d.work.usage = newUsage(u.Input, u.Output, u.CacheRead, u.CacheWrite)
	if failed {
		return d.ended(r, complaint{text: firstText(l.Result, l.Error)})
	}
	r.Text = l.Result
	return d.ended(r, complaint{})
}

func (d *Decoder) cursorTool(l *cursorLine) []Event {
	name, tool := l.tool()
	if name == "" {
		return nil
	}
	var events []Event
	if _, told := d.open[l.CallID]; !told {
		events = d.called(l.CallID, name, tool.Args)
	}
	if l.Subtype == "started" {
		return events
	}
	d.returned(l.CallID)
	for _, outcome := range slices.Sorted(maps.Keys(tool.Result)) {
		switch word := strings.ToLower(outcome); {
		case has(word, "reject", "denied"):
			d.work.denials++
			return append(events, toolFailed(cursorReason(outcome, tool.Result[outcome]))...)
		case has(word, "fail", "error", "timeout", "notfound"):
			return append(events, toolFailed(cursorReason(outcome, tool.Result[outcome]))...)
		}
	}
	return events
}

// tool returns the tool of a call: the field whose name ends in ToolCall, among others that
// describe the call.
func (l *cursorLine) tool() (name string, t cursorTool) {
	for _, key := range slices.Sorted(maps.Keys(l.ToolCall)) {
		if name, ok := strings.CutSuffix(key, "ToolCall"); ok && name != "" {
			unmarshal(l.ToolCall[key], &t)
			return name, t
		}
	}
	var f struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	if raw, ok := l.ToolCall["function"]; ok && unmarshal(raw, &f) {
		t.Args = json.RawMessage(f.Arguments)
	}
	return f.Name, t
}

// cursorReason describes why a tool call failed: the name of the outcome and the message in its
// object.
func cursorReason(outcome string, data json.RawMessage) string {
	var w struct {
		Error    string `json:"error"`
		Message  string `json:"message"`
		Reason   string `json:"reason"`
		Stderr   string `json:"stderr"`
		Stdout   string `json:"stdout"`
		ExitCode int    `json:"exitCode"`
	}
	unmarshal(data, &w)
	if w.ExitCode != 0 {
		outcome = fmt.Sprintf("exit %d", w.ExitCode)
	}
	return outcome + after(firstText(w.Error, w.Message, w.Reason, w.Stderr, w.Stdout))
}
