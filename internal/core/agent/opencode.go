package agent

import "encoding/json"

// An opencodeLine is one line of opencode run --format json, as emitted by
// packages/opencode/src/cli/cmd/run.ts, with parts as defined in session/message-v2.ts
// (opencode 1.18). A tool is reported when it has returned, so an unfinished step may be a
// running tool. A rate limit is retried forever and silently (anomalyco/opencode#40747); the
// limit on silence ends that. Older clients end without the "done" event; then the exit code
// decides.
type opencodeLine struct {
	Type      string       `json:"type"`
	Timestamp float64      `json:"timestamp"` // milliseconds since 1970
	SessionID string       `json:"sessionID"`
	Part      opencodePart `json:"part"`
	Error     complaint    `json:"error"`
	Rejected  []any        `json:"rejected"` // for done: denied permissions
}

type opencodePart struct {
	Text   string `json:"text"`
	Tool   string `json:"tool"`
	CallID string `json:"callID"`
	State  struct {
		Status string          `json:"status"` // "completed", "error"
		Input  json.RawMessage `json:"input"`
		Error  string          `json:"error"`
	} `json:"state"`
	Cost   float64 `json:"cost"` // of a step, in US dollars
	Tokens struct {
		Total     float64 `json:"total"`
		Input     float64 `json:"input"`
		Output    float64 `json:"output"`
		Reasoning float64 `json:"reasoning"`
		Cache     struct {
			Read  float64 `json:"read"`
			Write float64 `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
}

const opencodeStep = "step" // entry in Decoder.open, among the tool calls

func (d *Decoder) opencode(line []byte) (events []Event, ok bool) {
	var l opencodeLine
	if !unmarshal(line, &l) || l.Type == "" {
		return nil, false
	}
	if l.SessionID != "" && d.work.session == "" {
		events = d.began(l.SessionID, "")
	}
	return append(events, d.opencodeEvent(&l)...), true
}

func (d *Decoder) opencodeEvent(l *opencodeLine) []Event {
	switch l.Type {
	case "step_start":
		d.answered()
		d.open[opencodeStep] = struct{}{}
	case "step_finish":
		d.returned(opencodeStep)
		d.work.spend(l.Part.Cost)
		d.work.tokens += l.Part.tokens()
		t := &l.Part.Tokens
		if u := newUsage(t.Input, t.Output+t.Reasoning, t.Cache.Read, t.Cache.Write); u != nil {
			u.add(d.work.usage)
			d.work.usage = u
		}
	case "reasoning":
		d.answered()
	case "text":
		return d.said(l.Part.Text)
	case "tool_use":
		return d.opencodeTool(&l.Part)
	case "error":
		c := l.Error
		c.at = clock(l.Timestamp)
		switch c.name {
		case "MessageAbortedError":
			d.work.stopped = true
		case "ProviderAuthError":
			c.kind = Login
		}
		// This needn't be the end: an overflowing context is compacted, and the work continues.
		return d.troubled(c)
	case "done":
		d.work.denials += len(l.Rejected)
		failed := !d.work.trouble.empty()
		return d.ended(Result{Subtype: subtype(failed), IsError: failed}, complaint{})
	}
	return nil
}

func (d *Decoder) opencodeTool(p *opencodePart) []Event {
	text := toolText(block{Name: p.Tool, Input: p.State.Input})
	d.answered()
	events := []Event{{Kind: KindTool, Text: text}}
	if p.State.Status == "error" {
		events = append(events, toolFailed(p.State.Error)...)
	}
	return events
}

func (p *opencodePart) tokens() int64 {
	t := &p.Tokens
	if t.Total > 0 {
		return whole(t.Total)
	}
	return whole(t.Input + t.Output + t.Reasoning + t.Cache.Read + t.Cache.Write)
}
