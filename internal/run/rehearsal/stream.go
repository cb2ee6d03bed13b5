package rehearsal

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// A stream writes events in the format of Claude Code's stream-json, each line in one write.
type stream struct {
	w       io.Writer
	session string
	start   time.Time
	cost    float64
	calls   int   // tool calls so far
	turns   int   // answers so far
	err     error // first error of w; nothing is written after it
}

type object = map[string]any

func (s *stream) emit(event object) {
	if s.err != nil {
		return
	}
	event["session_id"] = s.session
	line, err := json.Marshal(event)
	if err == nil {
		_, err = s.w.Write(append(line, '\n'))
	}
	s.err = err
}

func (s *stream) init(dir string, commands []string) {
	s.emit(object{
		"type": "system", "subtype": "init", "cwd": dir, "model": "rehearsal",
		"claude_code_version": "rehearsal",
		"tools":               []string{"Bash"}, "slash_commands": commands,
		"permissionMode": "bypassPermissions",
	})
}

func (s *stream) say(text string) {
	s.turns++
	s.message(object{"type": "text", "text": text}, nil)
}

// call writes a tool call and returns its id; answer writes the result for that id.
func (s *stream) call(command string) (id string) {
	s.calls++
	s.turns++
	id = fmt.Sprintf("toolu_%d", s.calls)
	s.message(object{"type": "tool_use", "id": id, "name": "Bash",
		"input": object{"command": command}}, nil)
	return id
}

func (s *stream) answer(id, output string, isError bool) {
	s.emit(object{"type": "user", "message": object{"role": "user", "content": []object{
		{"type": "tool_result", "tool_use_id": id, "content": output, "is_error": isError},
	}}})
}

func (s *stream) message(block, extra object) {
	event := object{"type": "assistant", "message": object{
		"role": "assistant", "type": "message", "model": "rehearsal", "content": []object{block},
	}}
	for key, value := range extra {
		event[key] = value
	}
	s.emit(event)
}

// result writes the result event; the fields of extra take precedence.
func (s *stream) result(extra object) {
	event := object{
		"type": "result", "subtype": "success", "is_error": false, "terminal_reason": "completed",
		"num_turns": s.turns, "total_cost_usd": 0.0,
		"duration_ms":      time.Since(s.start).Milliseconds(),
		"api_error_status": nil, "permission_denials": []object{},
	}
	if s.cost > 0 {
		event["total_cost_usd"] = s.cost
		event["usage"] = object{"input_tokens": 100 * s.turns, "output_tokens": 10 * s.turns,
			"cache_read_input_tokens": 1000 * s.turns}
	}
	for key, value := range extra {
		event[key] = value
	}
	s.emit(event)
}

// rateLimit writes the three events of a request that is rejected until reset. The time is in
// seconds, as from the client, or in milliseconds for a rehearsal that can't wait.
func (s *stream) rateLimit(reset time.Time, seconds bool) {
	at := reset.UnixMilli()
	if seconds { // rounded up, so that the limit isn't over early
		at = (at + 999) / 1000
	}
	const text = "You've hit your limit (rehearsal)"
	s.emit(object{"type": "rate_limit_event", "rate_limit_info": object{
		"status": "rejected", "resetsAt": at, "rateLimitType": "rehearsal",
	}})
	s.message(object{"type": "text", "text": text}, object{
		"error": "rate_limit", "is_api_error_message": true, "api_error_status": 429,
	})
	s.result(object{"is_error": true, "terminal_reason": "api_error", "api_error_status": 429,
		"result": text})
}

// outage writes the events of requests that the service failed to answer, including the last
// retry.
func (s *stream) outage() {
	const text = "API Error: 500 Internal server error (rehearsal)"
	s.emit(object{"type": "system", "subtype": "api_retry", "attempt": 10, "max_retries": 10,
		"retry_delay_ms": 1, "error_status": 500, "error": "server_error"})
	s.message(object{"type": "text", "text": text},
		object{"error": "server_error", "is_api_error_message": true, "api_error_status": 500})
	s.result(object{"is_error": true, "terminal_reason": "api_error", "api_error_status": 500,
		"result": text})
}

// turnLimit writes the result of a run that has no turns left.
func (s *stream) turnLimit() {
	s.result(object{
		"subtype": "error_max_turns", "is_error": true, "terminal_reason": "max_turns",
		"errors": []string{fmt.Sprintf("Reached maximum number of turns (%d)", s.turns)},
	})
}

// denied writes a tool call that isn't permitted, and the success that the client reports for
// it.
func (s *stream) denied(command string) {
	id := s.call(command)
	s.answer(id, "Permission to use Bash was denied", true)
	s.result(object{
		"result": "I may not run the tests.",
		"permission_denials": []object{
			{"tool_name": "Bash", "tool_use_id": id, "tool_input": object{"command": command}},
		},
	})
}
