package agent

import (
	"encoding/json"
	"errors"
)

// A wire is one line of stream-json: the fields of all event types that gl reads. All others
// are skipped without decoding.
type wire struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`

	// system/init
	SlashCommands []string `json:"slash_commands"`
	Version       string   `json:"claude_code_version"`
	Model         string   `json:"model"`

	// system/api_retry
	Attempt     int     `json:"attempt"`
	MaxRetries  int     `json:"max_retries"`
	RetryDelay  float64 `json:"retry_delay_ms"`
	ErrorStatus int     `json:"error_status"`

	Error string `json:"error"` // system/api_retry and assistant: "rate_limit", …

	// assistant, user
	Message *message `json:"message"`
	// the call that started its sub-agent; "" for the agent itself
	Parent   string `json:"parent_tool_use_id"`
	APIError bool   `json:"is_api_error_message"`
	UUID     string `json:"uuid"`
	IsReplay bool   `json:"isReplay"` // user: echoed from stdin

	// system/background_tasks_changed: all tasks running now
	Tasks []json.RawMessage `json:"tasks"`

	RateLimit *rateLimitInfo `json:"rate_limit_info"`

	// result
	IsError        *bool             `json:"is_error"`
	APIErrorStatus int               `json:"api_error_status"`
	TerminalReason string            `json:"terminal_reason"`
	Turns          int               `json:"num_turns"`
	Cost           any               `json:"total_cost_usd"` // a float64 if known
	DurationMS     int64             `json:"duration_ms"`
	SessionID      string            `json:"session_id"`
	Result         string            `json:"result"`
	Errors         []string          `json:"errors"`
	Denials        []json.RawMessage `json:"permission_denials"`
	Usage          *wireUsage        `json:"usage"`
}

type message struct {
	ID      string     `json:"id"`
	Model   string     `json:"model"`
	Content blocks     `json:"content"`
	Usage   *wireUsage `json:"usage"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
}

type rateLimitInfo struct {
	Status   string  `json:"status"` // "allowed", "allowed_warning", "rejected"
	Type     string  `json:"rateLimitType"`
	ResetsAt instant `json:"resetsAt"`

	// a float64 if known: the used part of the window of Type
	Utilization any                   `json:"utilization"`
	Windows     map[string]usedWindow `json:"unifiedWindows"`
}

type usedWindow struct {
	Utilization any     `json:"utilization"` // 0 to 1
	ResetsAt    instant `json:"resetsAt"`
}

// blocks are the content of a message or a tool result: a list, or a plain string.
type blocks []block

func (b *blocks) UnmarshalJSON(data []byte) error {
	*b = nil
	switch {
	case len(data) > 0 && data[0] == '[':
		var list []block
		if unmarshal(data, &list) {
			*b = list
		}
	case len(data) > 0 && data[0] == '"':
		var text string
		if unmarshal(data, &text) {
			*b = blocks{{Type: "text", Text: text}}
		}
	}
	return nil // a message with any other content is empty
}

// decode parses one line; ok is false unless it is a JSON object with a type.
func decode(line []byte) (w *wire, ok bool) {
	w = &wire{}
	ok = unmarshal(line, w) && w.Type != ""
	return w, ok
}

// unmarshal reports whether data is JSON. A field of an unexpected type stays empty, and the
// others are still decoded: the stream has no guaranteed schema, and one changed field must not
// hide the rest.
func unmarshal(data []byte, v any) bool {
	err := json.Unmarshal(data, v)
	var mismatch *json.UnmarshalTypeError
	return err == nil || errors.As(err, &mismatch)
}

func newResult(w *wire) *Result {
	r := &Result{
		Subtype:        w.Subtype,
		IsError:        w.IsError != nil && *w.IsError || isErrorSubtype(w.Subtype),
		APIStatus:      w.APIErrorStatus,
		TerminalReason: w.TerminalReason,
		Turns:          w.Turns,
		DurationMS:     w.DurationMS,
		SessionID:      w.SessionID,
		Text:           cutBytes(w.Result, resultBytes),
	}
	if cost, ok := w.Cost.(float64); ok {
		r.CostUSD = &cost
	}
	for _, e := range w.Errors[:min(len(w.Errors), resultErrors)] {
		r.Errors = append(r.Errors, cutBytes(e, resultBytes))
	}
	return r
}

const (
	resultBytes  = 500
	resultErrors = 5
)
