package claudetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// readRequest decodes a request. Text and results are a string or a list of blocks.
func readRequest(r *http.Request) (*Request, error) {
	var body struct {
		Model    string
		Stream   bool
		System   blockList
		Messages []struct {
			Role    string
			Content blockList
		}
		Tools []struct{ Name string }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	req := &Request{Header: r.Header.Clone(), Model: body.Model, Stream: body.Stream,
		System: body.System.text()}
	req.Header.Del("X-Api-Key")
	req.Header.Del("Authorization")
	for _, t := range body.Tools {
		req.Tools = append(req.Tools, t.Name)
	}
	for _, m := range body.Messages {
		msg := Message{Role: m.Role}
		for _, b := range m.Content {
			msg.Content = append(msg.Content, b.block())
		}
		req.Messages = append(req.Messages, msg)
	}
	return req, nil
}

// A blockList is a list of blocks, or a string in its place.
type blockList []wireBlock

type wireBlock struct {
	Type      string    `json:"type"`
	Text      string    `json:"text"`
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	ToolUseID string    `json:"tool_use_id"`
	IsError   bool      `json:"is_error"`
	Content   blockList `json:"content"`
}

func (c *blockList) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = blockList{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*[]wireBlock)(c))
}

func (c blockList) text() string {
	parts := make([]string, len(c))
	for i, b := range c {
		parts[i] = b.Text
	}
	return strings.Join(parts, "\n")
}

func (b wireBlock) block() Block {
	switch b.Type {
	case "tool_use":
		return Block{Type: b.Type, Tool: b.Name, CallID: b.ID}
	case "tool_result":
		return Block{Type: b.Type, Text: b.Content.text(), CallID: b.ToolUseID, IsError: b.IsError}
	}
	return Block{Type: b.Type, Text: b.Text}
}

var ids atomic.Int64 // unique in the process, which is all that the client needs

func newID(prefix string) string { return fmt.Sprintf("%s_standin%08d", prefix, ids.Add(1)) }

// message returns the answer without its content.
func message(req *Request) object {
	return object{"id": newID("msg"), "type": "message", "role": "assistant", "model": req.Model,
		"content": []object{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage()}
}

// usage returns the usage reported with every answer; the client computes its cost from it.
func usage() object {
	return object{"input_tokens": 100, "cache_creation_input_tokens": 0,
		"cache_read_input_tokens": 0, "output_tokens": 20}
}

func blocksOf(r Reply) []object {
	var blocks []object
	if r.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": r.Text})
	}
	for _, c := range r.Calls {
		blocks = append(blocks,
			object{"type": "tool_use", "id": newID("toolu"), "name": c.Tool, "input": c.Input})
	}
	return blocks
}

func stopReason(r Reply) string {
	if len(r.Calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

// writeStream writes the answer as server-sent events, in small pieces as the real API does.
func writeStream(w http.ResponseWriter, req *Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	send := func(kind string, event object) {
		event["type"] = kind
		data, err := json.Marshal(event)
		if err != nil {
			panic(err) // a test gave a Call whose Input doesn't marshal
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
	}
	send("message_start", object{"message": message(req)})
	send("ping", object{})
	for i, b := range blocksOf(req.Reply) {
		sendBlock(send, i, b)
	}
	send("message_delta", object{"delta": object{"stop_reason": stopReason(req.Reply),
		"stop_sequence": nil}, "usage": usage()})
	send("message_stop", object{})
}

func sendBlock(send func(string, object), i int, b object) {
	start, field, kind, rest := object{"type": "text", "text": ""}, "text", "text_delta", ""
	if b["type"] == "text" {
		rest = b["text"].(string)
	} else {
		input, err := json.Marshal(b["input"])
		if err != nil {
			panic(err)
		}
		start = object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}}
		field, kind, rest = "partial_json", "input_json_delta", string(input)
	}
	send("content_block_start", object{"index": i, "content_block": start})
	for rest != "" {
		n := pieceEnd(rest)
		send("content_block_delta",
			object{"index": i, "delta": object{"type": kind, field: rest[:n]}})
		rest = rest[n:]
	}
	send("content_block_stop", object{"index": i})
}

// pieceEnd returns the end of the first piece of s: after about forty bytes, between two runes.
func pieceEnd(s string) int {
	for i := range s {
		if i >= 40 {
			return i
		}
	}
	return len(s)
}
