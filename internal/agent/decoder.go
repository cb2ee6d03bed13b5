package agent

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"

	"greenlight/internal/sanitize"
)

// Kind says what an Event is about.
type Kind string

const (
	KindInit      Kind = "init"       // the agent is up
	KindSay       Kind = "say"        // what it says
	KindHeard     Kind = "heard"      // what a person has said to it
	KindTool      Kind = "tool"       // a tool call: name and main argument
	KindToolError Kind = "tool error" // a tool call that went wrong
	KindRetry     Kind = "retry"      // a request is tried again
	KindLimit     Kind = "limit"      // rate limit, quota, login or outage
	KindResult    Kind = "result"     // the result event
	KindPlain     Kind = "plain"      // a line that is no event, or a warning
)

// An Event is something a person may want to see. Text has passed Clean; only what an agent says and plain
// text have more than one line.
type Event struct {
	Kind Kind
	Text string
	By   string // the sub-agent that it is of; "" for the agent itself
}

// A Summary is what a stream has shown so far.
type Summary struct {
	Version     string   // of the client
	Commands    []string // slash commands of the (last) init event, without the slash
	SawInit     bool     // an init event of claude's has listed the commands
	Result      *Result  // the last result event, nil for none yet, and once claude's model goes on after it
	ToolRunning bool     // a tool was called and hasn't returned, or runs in the background; of opencode also: it may be
	Background  int      // commands and agents that claude runs in the background; it wakes the model when one ends
	Limit       *Limit   // what stands in the way, see Limit
	Window      *Window  // the fullest of the account's windows, as the client said last; nil for unknown
	Denials     int      // tool calls that were denied, as the agent counts them
	Tokens      *Tokens  // tokens so far; nil for unknown
	ReadOnly    string   // the last complaint of a tool about a read-only file system, one clean line; "" for none
	Trouble     string   // the last error that no answer of the model followed, one clean line; "" for claude

	// Conversation is the client's id of the conversation that it has begun or resumed; "" as long as it has told of none, and
	// for one that couldn't be an argument of a command line. A result event alone doesn't count: claude's names the
	// conversation that it didn't find.
	Conversation string
}

// A Result is a result event; it is stored in the attempt's record.
type Result struct {
	Subtype        string   `json:"subtype"`                   // "success", "error_max_turns", …
	IsError        bool     `json:"is_error"`                  // as the event says; true too for any subtype error…
	APIStatus      int      `json:"api_status,omitempty"`      // HTTP status of a failed request, 0 for none
	TerminalReason string   `json:"terminal_reason,omitempty"` // "completed", "max_turns", "api_error", …
	Turns          int      `json:"turns"`                     // the model's answers; 0: it was never asked
	CostUSD        *float64 `json:"cost_usd,omitempty"`        // nil for unknown
	Tokens         int64    `json:"tokens,omitempty"`          // as the agent counts them, 0 for unknown and for claude
	DurationMS     int64    `json:"duration_ms"`               // by the agent's own clock, 0 for unknown
	SessionID      string   `json:"session_id,omitempty"`      //
	Text           string   `json:"text,omitempty"`            // the first 500 bytes, whole runes; not passed through Clean
	Errors         []string `json:"errors,omitempty"`          // the first 5, cut like Text
}

// A Decoder follows one agent's stdout. It never fails: what it doesn't understand is a Plain event. It isn't safe for
// several goroutines.
type Decoder struct {
	stream  string
	foreign bool // decided by its first line, so it may be another agent's JSON
	sum     Summary
	open    map[string]struct{} // ids of tool calls that haven't returned
	limits  limits              // of claude
	agents  map[string]string   // of claude: sub-agents by the id of the call that started them

	heard       []string          // ids of messages that claude has taken in from stdin
	messages    map[string]Tokens // of claude, by the message's id
	resultUsage *Tokens           // of its last result
	work        work              // of the others
}

// NewDecoder returns a Decoder for one of the streams; what is none of them counts as StreamAuto.
func NewDecoder(stream string) *Decoder {
	return &Decoder{stream: stream, open: map[string]struct{}{}}
}

// Line decodes one line, with or without its line ending, of any length. It keeps no part of line. A line often holds
// no event that a person wants to see, and may hold several.
func (d *Decoder) Line(line []byte) []Event {
	events := d.decode(line)
	if slices.ContainsFunc(events, func(e Event) bool { return e.Kind == KindToolError }) {
		d.sum.ReadOnly = cmp.Or(readOnly(line), d.sum.ReadOnly)
	}
	return events
}

// readOnly is what a tool that failed says of a read-only file system, in the line of JSON that tells of it; "" for nothing.
// A sandbox that an agent brings along shows nowhere else.
func readOnly(line []byte) string {
	const mark = "ead-only file system"
	end := bytes.Index(line, []byte(mark))
	if end < 0 {
		return ""
	}
	text := string(line[:end+len(mark)])
	for _, before := range []string{`\\n`, `\n`, `":"`, `": "`} { // JSON in JSON escapes twice
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
	return nil // progress, hooks, what later clients add
}

// plainText shows a line that is no event. What began as JSON is an event cut short: a hint of it is enough.
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

const mostAgents = 10_000 // whose names are kept

// starts keeps the name of a sub-agent that a call starts.
func (d *Decoder) starts(b block) {
	var input struct {
		Type string `json:"subagent_type"`
	}
	if b.Name != "Agent" && b.Name != "Task" || len(d.agents) >= mostAgents || !unmarshal(b.Input, &input) || input.Type == "" {
		return
	}
	if d.agents == nil {
		d.agents = map[string]string{}
	}
	name := input.Type[strings.LastIndexByte(input.Type, ':')+1:] // without its plugin
	d.agents[b.ID] = sanitize.Excerpt(name, nameRunes)
}

// by says whose events these are: those of the sub-agent that the call started, or of the agent itself.
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
	if w.IsReplay { // of what came in on stdin: the prompt, and what a person says
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

// IsModel says whether a model, or an agent, may have that name. A model's becomes an argument of a client's command line.
func IsModel(name string) bool {
	const longest = 100
	return name != "" && len(name) <= longest && !strings.HasPrefix(name, "-") && !strings.ContainsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:/@[]", r)
	})
}

// mostHeard bounds what a stream can make a Decoder remember.
const mostHeard = 1000

// Heard are the ids of the messages that the agent has taken in from its stdin.
func (d *Decoder) Heard() []string { return d.heard }

// ConversationID is the id if a client may have made it: it becomes an argument of its command line.
// "" for any other.
func ConversationID(id string) string {
	const longest = 200
	if len(id) > longest || strings.HasPrefix(id, "-") || strings.ContainsFunc(id, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:", r)
	}) {
		return ""
	}
	return id
}

// Summary says what is known so far. Later lines don't change what it returned.
func (d *Decoder) Summary() Summary {
	s := d.sum
	s.ToolRunning = len(d.open) > 0 || s.Background > 0
	s.Commands = slices.Clone(s.Commands)
	if u := d.usage(); u != nil {
		copied := *u
		s.Tokens = &copied
	}
	// opencode puts the id that it was asked for into an error about it, too.
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
