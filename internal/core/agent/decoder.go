package agent

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"

	"greenlight/internal/base/sanitize"
)

// Kind is the type of an Event.
type Kind string

const (
	KindInit      Kind = "init"       // the agent has started
	KindSay       Kind = "say"        // output of the agent
	KindHeard     Kind = "heard"      // a message from a person to the agent
	KindTool      Kind = "tool"       // a tool call: name and main argument
	KindToolError Kind = "tool error" // a failed tool call
	KindRetry     Kind = "retry"      // a request is retried
	KindLimit     Kind = "limit"      // rate limit, quota, login or outage
	KindResult    Kind = "result"     // the result event
	KindPlain     Kind = "plain"      // a line that isn't an event, or a warning
)

// An Event is something a person may want to see. Text is sanitized; only agent output and
// plain text may have several lines.
type Event struct {
	Kind Kind
	Text string
	By   string // name of the sub-agent it comes from; "" for the agent itself
}

// A Summary describes the stream so far.
type Summary struct {
	Version  string   // of the client
	Commands []string // slash commands of the (last) init event, without the slash
	SawInit  bool     // claude's init event has listed the commands
	// the last result event; nil before the first, and again if claude's model continues after
	// it
	Result *Result
	// a tool call hasn't returned, or runs in the background; for opencode, it only may be
	// running
	ToolRunning bool
	// number of commands and agents that claude runs in the background; it wakes the model when
	// one ends
	Background int
	Limit      *Limit  // the current obstacle, see Limit
	Window     *Window // the fullest of the account's windows, as last reported; nil if unknown
	Denials    int     // denied tool calls, as the agent counts them
	Tokens     *Tokens // tokens so far; nil if unknown
	// a tool's last error about a read-only file system, one sanitized line; "" for none
	ReadOnly string
	// the last error not followed by an answer of the model, one sanitized line; "" for claude
	Trouble string

	// Conversation is the client's id of the conversation that it began or resumed; "" before
	// the client reports one, and for an id that is unsafe as an argument. A result event alone
	// doesn't count: claude's names the conversation that it failed to find.
	Conversation string
}

// A Result is a result event. It is stored in the attempt's record.
type Result struct {
	Subtype string `json:"subtype"` // "success", "error_max_turns", …
	// as in the event; also true for any subtype error…
	IsError bool `json:"is_error"`
	// HTTP status of a failed request, 0 for none
	APIStatus int `json:"api_status,omitempty"`
	// "completed", "max_turns", "api_error", …
	TerminalReason string `json:"terminal_reason,omitempty"`
	// the model's answers; 0 if it was never asked
	Turns   int      `json:"turns"`
	CostUSD *float64 `json:"cost_usd,omitempty"` // nil if unknown
	// as the agent counts them, 0 if unknown and for claude
	Tokens int64 `json:"tokens,omitempty"`
	// by the agent's own clock, 0 if unknown
	DurationMS int64  `json:"duration_ms"`
	SessionID  string `json:"session_id,omitempty"` //
	// the first 500 bytes, in whole runes; not sanitized
	Text   string   `json:"text,omitempty"`
	Errors []string `json:"errors,omitempty"` // the first 5, cut like Text
}

// A Decoder follows the stdout of one agent. It never fails: it turns unknown input into Plain
// events. It isn't safe for concurrent use.
type Decoder struct {
	stream  string
	foreign bool // detected by the first line, so it may be another agent's JSON
	sum     Summary
	open    map[string]struct{} // ids of tool calls that haven't returned
	limits  limits              // for claude
	agents  map[string]string   // for claude: sub-agents by the id of the call that started them

	heard       []string          // ids of messages that claude has read from stdin
	messages    map[string]Tokens // for claude, by message id
	resultUsage *Tokens           // from its last result
	work        work              // for the other agents
}

// NewDecoder returns a Decoder for one of the streams; an unknown name means StreamAuto.
func NewDecoder(stream string) *Decoder {
	return &Decoder{stream: stream, open: map[string]struct{}{}}
}

// Line decodes one line of any length, with or without its line ending. It keeps no reference
// to line. A line may produce no events, or several.
func (d *Decoder) Line(line []byte) []Event {
	events := d.decode(line)
	if slices.ContainsFunc(events, func(e Event) bool { return e.Kind == KindToolError }) {
		d.sum.ReadOnly = cmp.Or(readOnly(line), d.sum.ReadOnly)
	}
	return events
}

// readOnly returns a failed tool's message about a read-only file system from the event's JSON;
// "" for none. This is the only trace of a sandbox that an agent brings along.
func readOnly(line []byte) string {
	const mark = "ead-only file system"
	end := bytes.Index(line, []byte(mark))
	if end < 0 {
		return ""
	}
	text := string(line[:end+len(mark)])
	for _, before := range []string{`\\n`, `\n`, `":"`, `": "`} { // JSON inside JSON escapes twice
		if i := strings.LastIndex(text, before); i >= 0 {
			text = text[i+len(before):]
		}
	}
	return sanitize.Excerpt(text, reasonRunes)
}

func (d *Decoder) decode(line []byte) []Event {
	line = bytes.TrimRight(line, "\r\n")
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	switch d.stream {
	case StreamText:
		return []Event{{Kind: KindPlain, Text: sanitize.Text(string(line))}}
	case StreamCodex, StreamGemini, StreamOpencode, StreamCursor:
		return d.otherLine(line)
	}
	w, ok := decode(line)
	if d.stream != StreamClaude {
		d.stream, d.foreign = StreamText, true
		if ok {
			d.stream = StreamClaude
		}
		return d.decode(line)
	}
	if !ok {
		return []Event{{Kind: KindPlain, Text: plainText(line)}}
	}
	return d.event(w, line)
}

func (d *Decoder) event(w *wire, line []byte) []Event {
	switch {
	case w.Type == "system" && w.Subtype == "init":
		return d.init(w)
	case w.Type == "system" && w.Subtype == "api_retry":
		d.limits.retried(w)
		return []Event{{Kind: KindRetry, Text: retryText(w)}}
	case w.Type == "system" && w.Subtype == "background_tasks_changed":
		d.sum.Background = len(w.Tasks)
		return nil
	case w.Type == "assistant" && w.Message != nil:
		return d.by(w.Parent, d.assistant(w))
	case w.Type == "user" && w.Message != nil:
		return d.by(w.Parent, d.user(w))
	case w.Type == "rate_limit_event" && w.RateLimit != nil:
		return d.rateLimit(w.RateLimit)
	case w.Type == "result" && (w.Subtype != "" || w.IsError != nil):
		return d.result(w)
	case d.foreign && !d.sum.SawInit:
		return []Event{{Kind: KindPlain, Text: sanitize.Excerpt(string(line), argumentRunes)}}
	}
	return nil // progress, hooks, additions of later clients
}

// plainText returns a line that isn't an event for display. A line that begins like JSON is a
// truncated event, of which an excerpt is enough.
func plainText(line []byte) string {
	if line[0] == '{' {
		return sanitize.Excerpt(string(line), argumentRunes)
	}
	return sanitize.Text(string(line))
}

func (d *Decoder) init(w *wire) []Event {
	d.sum.SawInit, d.sum.Result = true, nil
	d.sum.Commands = w.SlashCommands
	d.sum.Version = w.Version
	d.sum.Conversation = ConversationID(w.SessionID)
	return []Event{{Kind: KindInit, Text: initText(w)}}
}

func (d *Decoder) assistant(w *wire) []Event {
	if d.limits.answered(w) {
		d.sum.Result = nil
	}
	d.used(w.Message)
	kind := KindSay
	if kindOfError(w.Error) != "" {
		kind = KindLimit
	}
	var events []Event
	for _, b := range w.Message.Content {
		switch b.Type {
		case "text":
			if text := sanitize.Text(b.Text); text != "" {
				events = append(events, Event{Kind: kind, Text: text})
			}
		case "tool_use":
			d.open[b.ID] = struct{}{}
			d.starts(b)
			events = append(events, Event{Kind: KindTool, Text: toolText(b)})
		}
	}
	return events
}

const mostAgents = 10_000 // limit of the names kept

// starts records the name of a sub-agent that a call starts.
func (d *Decoder) starts(b block) {
	var input struct {
		Type string `json:"subagent_type"`
	}
	if b.Name != "Agent" && b.Name != "Task" || len(d.agents) >= mostAgents ||
		!unmarshal(b.Input, &input) || input.Type == "" {
		return
	}
	if d.agents == nil {
		d.agents = map[string]string{}
	}
	name := input.Type[strings.LastIndexByte(input.Type, ':')+1:] // strip the plugin's name
	d.agents[b.ID] = sanitize.Excerpt(name, nameRunes)
}

// by attributes events to the sub-agent that the call started, or to the agent itself.
func (d *Decoder) by(call string, events []Event) []Event {
	if call == "" {
		return events
	}
	name := cmp.Or(d.agents[call], "sub-agent")
	for i := range events {
		events[i].By = name
	}
	return events
}

func (d *Decoder) user(w *wire) []Event {
	if w.IsReplay { // echoed from stdin: the prompt, and a person's messages
		if len(w.UUID) != 36 || w.UUID[14] != MessageVersion || len(d.heard) >= mostHeard {
			return nil
		}
		d.heard = append(d.heard, w.UUID)
		return []Event{{Kind: KindHeard, Text: sanitize.Text(w.Message.Content.text())}}
	}
	var events []Event
	for _, b := range w.Message.Content {
		if b.Type != "tool_result" {
			continue
		}
		delete(d.open, b.ToolUseID)
		if b.IsError {
			events = append(events, Event{Kind: KindToolError, Text: toolErrorText(b)})
		}
	}
	return events
}

func (d *Decoder) rateLimit(info *rateLimitInfo) []Event {
	d.limits.limited(info)
	if w := info.fullest(); w != nil {
		d.sum.Window = w
	}
	switch info.Status {
	case "rejected":
		return []Event{{Kind: KindLimit, Text: rateLimitText("rate limit", info)}}
	case "allowed_warning":
		return []Event{{Kind: KindPlain, Text: rateLimitText("close to the rate limit", info)}}
	}
	return nil
}

func (d *Decoder) result(w *wire) []Event {
	clear(d.open)
	d.sum.Result = newResult(w)
	if u := w.Usage.usage(); u != nil {
		d.resultUsage = u
	}
	d.sum.Denials = max(d.sum.Denials, len(w.Denials))
	d.sum.Limit = d.limits.of(d.sum.Result, w.text())
	return []Event{{Kind: KindResult, Text: resultText(d.sum.Result, len(w.Denials))}}
}

// IsModel reports whether the name is valid for a model or an agent. A model's name becomes an
// argument of a client's command line.
func IsModel(name string) bool {
	const longest = 100
	return name != "" && len(name) <= longest && !strings.HasPrefix(name, "-") &&
		!strings.ContainsFunc(name, func(r rune) bool {
			return r > unicode.MaxASCII ||
				!unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:/@[]", r)
		})
}

// mostHeard bounds the memory that a stream can claim.
const mostHeard = 1000

// Heard returns the ids of the messages that the agent has read from its stdin.
func (d *Decoder) Heard() []string { return d.heard }

// ConversationID returns the id if it is safe as an argument of the client's command line,
// otherwise "".
func ConversationID(id string) string {
	const longest = 200
	if len(id) > longest || strings.HasPrefix(id, "-") ||
		strings.ContainsFunc(id, func(r rune) bool {
			return r > unicode.MaxASCII ||
				!unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:", r)
		}) {
		return ""
	}
	return id
}

// Summary returns the summary so far. Later lines don't change the returned value.
func (d *Decoder) Summary() Summary {
	s := d.sum
	s.ToolRunning = len(d.open) > 0 || s.Background > 0
	s.Commands = slices.Clone(s.Commands)
	if u := d.usage(); u != nil {
		copied := *u
		s.Tokens = &copied
	}
	// opencode also puts the requested id into an error about it.
	if d.work.session != "" && (d.stream != StreamOpencode || d.work.turns > 0) {
		s.Conversation = ConversationID(d.work.session)
	}
	if !d.work.trouble.empty() {
		s.Trouble = d.work.trouble.words(reasonRunes)
	}
	if s.Result == nil {
		s.Denials = d.work.denials
		s.Limit = d.limits.last
		if s.Limit == nil {
			s.Limit = d.work.limit
		}
	} else {
		r := *s.Result
		r.Errors = slices.Clone(r.Errors)
		s.Result = &r
	}
	if s.Limit != nil {
		t := *s.Limit
		s.Limit = &t
	}
	if s.Window != nil {
		t := *s.Window
		s.Window = &t
	}
	return s
}
