package agent

import (
	"encoding/json"
	"strings"
	"time"
)

// A geminiLine is one line of gemini -o stream-json, as defined in
// packages/core/src/output/types.ts (gemini-cli 0.56). The assistant's messages come in pieces.
// Without a login there is no stream at all: exit 41 and a line on stderr.
type geminiLine struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"` // RFC 3339

	SessionID string `json:"session_id"`
	Model     string `json:"model"`

	Role    string `json:"role"`
	Content string `json:"content"`
	Delta   bool   `json:"delta"`

	ToolName   string          `json:"tool_name"`
	ToolID     string          `json:"tool_id"`
	Parameters json.RawMessage `json:"parameters"`

	Status   string    `json:"status"` // of a tool_result, of the result: "success", "error"
	Output   string    `json:"output"`
	Error    complaint `json:"error"`
	Severity string    `json:"severity"` // of an error: "warning", "error"
	Message  string    `json:"message"`

	Stats struct {
		Tokens   float64 `json:"total_tokens"`
		Input    float64 `json:"input_tokens"` // including cached ones
		Output   float64 `json:"output_tokens"`
		Cached   float64 `json:"cached"`
		Duration float64 `json:"duration_ms"` // 0 after an error
	} `json:"stats"`
}

func (d *Decoder) gemini(line []byte) (events []Event, ok bool) {
	var l geminiLine
	if !unmarshal(line, &l) || l.Type == "" {
		return nil, false
	}
	if l.Type == "message" && l.Role == "assistant" && l.Delta {
		return d.piece(l.Content), true
	}
	return append(d.flush(), d.geminiEvent(&l)...), true
}

func (d *Decoder) geminiEvent(l *geminiLine) []Event {
	switch l.Type {
	case "init":
		return d.began(l.SessionID, l.Model)
	case "message":
		if l.Role == "assistant" {
			return d.said(l.Content)
		}
	case "tool_use":
		return d.called(l.ToolID, l.ToolName, l.Parameters)
	case "tool_result":
		d.returned(l.ToolID)
		if l.Status == "error" {
			return toolFailed(firstText(l.Error.text, l.Output))
		}
	case "error":
		if l.Severity == "warning" {
			return []Event{{Kind: KindPlain,
				Text: "warning: " + complaint{text: l.Message}.words(argumentRunes)}}
		}
		return d.troubled(complaint{text: l.Message, at: l.when()})
	case "result":
		return d.geminiResult(l)
	}
	return nil
}

func (d *Decoder) geminiResult(l *geminiLine) []Event {
	c := l.Error
	c.kind, c.at = kindOfGemini(c.name), l.when()
	r := Result{Subtype: subtype(l.Status == "error"), IsError: l.Status == "error",
		Tokens: whole(l.Stats.Tokens), DurationMS: whole(l.Stats.Duration)}
	d.work.usage = newUsage(l.Stats.Input-l.Stats.Cached, l.Stats.Output, l.Stats.Cached, 0)
	last := d.work.trouble.text
	switch {
	case c.name == "FatalCancellationError":
		d.work.stopped = true
	case c.name == "FatalTurnLimitedError", strings.HasPrefix(last, "Maximum session turns"):
		r.Subtype, r.IsError = maxTurns, true // the client calls the second one a success
	}
	if c.text == "" {
		// an error with just a class is less informative than the error event before it
		c = complaint{}
	}
	return d.ended(r, c)
}

func (l *geminiLine) when() time.Time {
	at, _ := time.Parse(time.RFC3339, l.Timestamp) // zero if invalid
	return at
}

// kindOfGemini classifies an error. An exhausted quota resets by itself, even if the text
// mentions plans.
func kindOfGemini(class string) string {
	switch class {
	case "TerminalQuotaError", "RetryableQuotaError":
		return RateLimit
	case "FatalAuthenticationError", "UnauthorizedError", "AccountSuspendedError",
		"ValidationRequiredError":
		return Login
	}
	return ""
}
