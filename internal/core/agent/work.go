package agent

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
)

// work is what a Decoder tracks for agents whose result events lack it, or that have none.
type work struct {
	turns   int       // answers of the model, each with its tool calls
	inTurn  bool      // the last of them continues
	said    string    // the agent's last message, cut like Result.Text
	trouble complaint // the last one; empty after an answer of the model
	limit   *Limit    // the limit that trouble is about
	session string
	tokens  int64
	usage   *Tokens // nil if unknown
	cost    float64
	priced  bool // a cost was reported
	denials int
	stopped bool // a person or gl ended the agent: the result says nothing about its work
	text    strings.Builder
}

// textBytes is how much text is buffered until the end of its line.
const textBytes = 8 << 10

// otherLine decodes a line of one of the other agents.
func (d *Decoder) otherLine(line []byte) []Event {
	var events []Event
	var ok bool
	switch d.stream {
	case StreamCodex:
		events, ok = d.codex(line)
	case StreamGemini:
		events, ok = d.gemini(line)
	case StreamOpencode:
		events, ok = d.opencode(line)
	case StreamCursor:
		events, ok = d.cursor(line)
	}
	if !ok {
		return append(d.flush(), Event{Kind: KindPlain, Text: plainText(line)})
	}
	return events
}

// began handles an init event.
func (d *Decoder) began(session, model string) []Event {
	if session != "" {
		d.work.session = session
	}
	return []Event{{Kind: KindInit, Text: initText(&wire{Model: model})}}
}

// answered records that the model is working: any earlier obstacle is gone.
func (d *Decoder) answered() {
	w := &d.work
	if !w.inTurn {
		w.turns++
		w.inTurn = true
	}
	w.trouble, w.limit = complaint{}, nil
}

// said handles a message of the model.
func (d *Decoder) said(text string) []Event {
	d.answered()
	clean := sanitize.Text(text)
	if strings.TrimSpace(clean) == "" {
		return nil
	}
	d.work.said = cutBytes(text, resultBytes)
	return []Event{{Kind: KindSay, Text: clean}}
}

// piece handles a part of a message, which may end within a word. It emits whole lines at once.
func (d *Decoder) piece(text string) []Event {
	d.answered()
	b := &d.work.text
	b.WriteString(text)
	held := b.String()
	end := strings.LastIndexByte(held, '\n')
	if end < 0 && len(held) < textBytes {
		return nil
	}
	if end < 0 {
		end = len(held)
	}
	b.Reset()
	b.WriteString(strings.TrimPrefix(held[end:], "\n"))
	return d.said(held[:end])
}

// flush emits buffered text, before any other event.
func (d *Decoder) flush() []Event {
	held := d.work.text.String()
	d.work.text.Reset()
	if strings.TrimSpace(held) == "" {
		return nil
	}
	return d.said(held)
}

// called handles a tool call of the model; input is JSON.
func (d *Decoder) called(id, name string, input json.RawMessage) []Event {
	return d.calling(id, toolText(block{Name: name, Input: input}))
}

func (d *Decoder) calling(id, text string) []Event {
	d.answered()
	d.open[id] = struct{}{}
	return []Event{{Kind: KindTool, Text: text}}
}

// returned handles the end of a tool call.
func (d *Decoder) returned(id string) {
	delete(d.open, id)
	d.work.inTurn = false
}

// toolFailed returns the event for a failed tool call.
func toolFailed(text string) []Event {
	if text = sanitize.Excerpt(text, argumentRunes); text == "" {
		text = "the tool failed"
	}
	return []Event{{Kind: KindToolError, Text: text}}
}

// troubled records a complaint that the agent may recover from.
func (d *Decoder) troubled(c complaint) []Event {
	d.work.trouble, d.work.limit = c, c.limit()
	if d.work.limit != nil {
		return []Event{{Kind: KindLimit, Text: d.work.limit.Reason}}
	}
	return []Event{{Kind: KindPlain, Text: "error: " + c.words(argumentRunes)}}
}

// retried handles a request that is retried. A retry for another reason supersedes the limit.
func (d *Decoder) retried(c complaint) []Event {
	d.work.trouble, d.work.limit = c, c.limit()
	return []Event{{Kind: KindRetry, Text: c.words(argumentRunes)}}
}

// ended handles a result event. Turns, text, session, tokens and cost missing from r are filled
// in from the counts. c is the error if r is one, otherwise the last error.
func (d *Decoder) ended(r Result, c complaint) []Event {
	events := d.flush()
	clear(d.open)
	if d.work.stopped {
		return events
	}
	if c.empty() {
		c = d.work.trouble
	}
	d.fill(&r)
	d.sum.Limit = nil
	if r.IsError {
		r.APIStatus = c.status
		r.Errors = []string{cutBytes(c.words(resultBytes), resultBytes)}
		if r.Subtype != maxTurns {
			d.sum.Limit = c.limit()
		}
		if d.sum.Limit == nil && r.Subtype != maxTurns {
			d.sum.Limit = d.work.limit
		}
	}
	d.sum.Denials = d.work.denials
	d.sum.Result = &r
	return append(events, Event{Kind: KindResult, Text: resultText(&r, d.work.denials)})
}

const maxTurns = "error_max_turns"

func (d *Decoder) fill(r *Result) {
	w := &d.work
	if r.Text == "" {
		r.Text = w.said
	}
	r.Text = cutBytes(r.Text, resultBytes)
	r.SessionID = firstText(r.SessionID, w.session)
	r.Tokens = max(r.Tokens, w.tokens)
	r.Turns = w.turns
	if r.Turns == 0 && (r.Text != "" || r.Tokens > 0 && !r.IsError) {
		r.Turns = 1 // an answer without an event of its own
	}
	r.DurationMS = max(r.DurationMS, 0)
	if w.priced {
		cost := w.cost
		r.CostUSD = &cost
	}
}

func subtype(isError bool) string {
	if isError {
		return "error"
	}
	return "success"
}

// spend adds the cost of a step of the model.
func (w *work) spend(dollars float64) {
	w.cost = min(w.cost+max(dollars, 0), 1e9) // bounded, because JSON can't represent infinity
	w.priced = true
}

// whole converts any number to a count, 0 for none.
func whole(n float64) int64 {
	if !(n > 0) {
		return 0
	}
	return int64(math.Min(n, 1e15))
}

// clock converts milliseconds since 1970 to a time, zero for none.
func clock(ms float64) time.Time {
	if at := epoch(ms); at != nil {
		return *at
	}
	return time.Time{}
}
