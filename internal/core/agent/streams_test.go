package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Lines of the other agents' streams, handmade in the shapes named in their decoders' comments.
const (
	codexStart  = `{"type":"thread.started","thread_id":"th-1"}`
	codexTurn   = `{"type":"turn.started"}`
	codexThink  = `{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"hm"}}`
	codexSay    = `{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"all\ngreen"}}`
	codexTodo   = `{"type":"item.started","item":{"id":"item_9","type":"todo_list","items":[{"text":"x","completed":false}]}}`
	codexCall   = `{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"go test ./...","aggregated_output":"","exit_code":null,"status":"in_progress"}}`
	codexOK     = `{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"go test ./...","aggregated_output":"ok","exit_code":0,"status":"completed"}}`
	codexBroke  = `{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"go test ./...","aggregated_output":"FAIL\nx","exit_code":1,"status":"failed"}}`
	codexEdit   = `{"type":"item.completed","item":{"id":"item_3","type":"file_change","changes":[{"path":"a.go","kind":"add"},{"path":"b.go","kind":"update"}],"status":"completed"}}`
	codexNo     = `{"type":"item.completed","item":{"id":"item_4","type":"command_execution","command":"rm x","aggregated_output":"","status":"declined"}}`
	codexMCP    = `{"type":"item.completed","item":{"id":"item_5","type":"mcp_tool_call","server":"docs","tool":"find","arguments":{"query":"q"},"error":{"message":"down"},"status":"failed"}}`
	codexWarn   = `{"type":"item.completed","item":{"id":"item_6","type":"error","message":"model rerouted"}}`
	codexRetry  = `{"type":"error","message":"Reconnecting... 1/5 (stream disconnected before completion)"}`
	codexLimit  = `{"type":"error","message":"You've hit your usage limit. Try again at 3:45 PM."}`
	codexDone   = `{"type":"turn.completed","usage":{"input_tokens":900,"cached_input_tokens":800,"output_tokens":100}}`
	codexFailed = `{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again at 3:45 PM."}}`
	codexBad    = `{"type":"turn.failed","error":{"message":"unexpected status 400 Bad Request: no such model"}}`

	geminiInit   = `{"type":"init","timestamp":"2026-01-01T00:00:00.000Z","session_id":"s-1","model":"pro"}`
	geminiUser   = `{"type":"message","timestamp":"2026-01-01T00:00:00.000Z","role":"user","content":"Build S-1"}`
	geminiCall   = `{"type":"tool_use","timestamp":"2026-01-01T00:00:01.000Z","tool_name":"run_shell_command","tool_id":"t1","parameters":{"command":"go test"}}`
	geminiBack   = `{"type":"tool_result","timestamp":"2026-01-01T00:00:02.000Z","tool_id":"t1","status":"success","output":"ok"}`
	geminiBroke  = `{"type":"tool_result","timestamp":"2026-01-01T00:00:02.000Z","tool_id":"t1","status":"error","output":"x","error":{"type":"E","message":"no such file"}}`
	geminiWarn   = `{"type":"error","timestamp":"2026-01-01T00:00:02.000Z","severity":"warning","message":"Loop detected, stopping execution"}`
	geminiError  = `{"type":"error","timestamp":"2026-01-01T00:00:02.000Z","severity":"error","message":"The model returned nothing."}`
	geminiTurns  = `{"type":"error","timestamp":"2026-01-01T00:00:02.000Z","severity":"error","message":"Maximum session turns exceeded"}`
	geminiDone   = `{"type":"result","timestamp":"2026-01-01T00:00:03.000Z","status":"success","stats":{"total_tokens":1200,"input_tokens":1000,"output_tokens":200,"duration_ms":61000,"tool_calls":1}}`
	geminiFailed = `{"type":"result","timestamp":"2026-01-01T00:00:03.000Z","status":"error","stats":{"total_tokens":5,"duration_ms":0}}`

	openStart  = `{"type":"step_start","timestamp":1767225600000,"sessionID":"ses_1","part":{"type":"step-start"}}`
	openSay    = `{"type":"text","timestamp":1767225600000,"sessionID":"ses_1","part":{"type":"text","text":"all green","time":{"start":1,"end":2}}}`
	openTool   = `{"type":"tool_use","timestamp":1767225600000,"sessionID":"ses_1","part":{"type":"tool","callID":"c1","tool":"edit","state":{"status":"completed","input":{"filePath":"a.go"},"output":"ok"}}}`
	openBroke  = `{"type":"tool_use","timestamp":1767225600000,"sessionID":"ses_1","part":{"type":"tool","callID":"c2","tool":"bash","state":{"status":"error","input":{"command":"x"},"error":"not\nfound"}}}`
	openFinish = `{"type":"step_finish","timestamp":1767225600000,"sessionID":"ses_1","part":{"type":"step-finish","reason":"tool-calls","cost":0.125,"tokens":{"input":10,"output":5,"reasoning":1,"cache":{"read":4,"write":0}}}}`
	openLimit  = `{"type":"error","timestamp":1767225600000,"sessionID":"ses_1","error":{"name":"APIError","data":{"message":"Too many","statusCode":429,"isRetryable":true,"responseHeaders":{"retry-after":"3600"}}}}`
	openError  = `{"type":"error","timestamp":1767225600000,"sessionID":"ses_1","error":{"name":"ContextOverflowError","data":{"message":"too long"}}}`
	openAuth   = `{"type":"error","timestamp":1767225600000,"sessionID":"ses_1","error":{"name":"ProviderAuthError","data":{"providerID":"p","message":"who are you"}}}`
	openAbort  = `{"type":"error","timestamp":1767225600000,"sessionID":"ses_1","error":{"name":"MessageAbortedError","data":{"message":"Aborted"}}}`
	openDone   = `{"type":"done","timestamp":1767225600000,"sessionID":"ses_1","reason":"idle","rejected":["bash"]}`

	cursorInit  = `{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/p","session_id":"u-1","model":"Auto","permissionMode":"default"}`
	cursorUser  = `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Build"}]},"session_id":"u-1"}`
	cursorThink = `{"type":"thinking","subtype":"delta","text":"hm","session_id":"u-1"}`
	cursorSay   = `{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"all green"}]},"session_id":"u-1"}`
	cursorCall  = `{"type":"tool_call","subtype":"started","call_id":"c\nf","tool_call":{"hookAdditionalContexts":[],"shellToolCall":{"args":{"command":"go test"}},"toolCallId":"c"},"session_id":"u-1"}`
	cursorBack  = `{"type":"tool_call","subtype":"completed","call_id":"c\nf","tool_call":{"shellToolCall":{"args":{"command":"go test"},"result":{"success":{"exitCode":0,"stdout":"ok"}}}},"session_id":"u-1"}`
	cursorBroke = `{"type":"tool_call","subtype":"completed","call_id":"c\nf","tool_call":{"shellToolCall":{"args":{"command":"go test"},"result":{"failure":{"exitCode":2,"stdout":"","stderr":"FAIL\nx"}}}}}`
	cursorNo    = `{"type":"tool_call","subtype":"completed","call_id":"d","tool_call":{"editToolCall":{"args":{"path":"a.go"},"result":{"rejected":{"reason":"no"}}}}}`
	cursorLost  = `{"type":"connection","subtype":"reconnecting","session_id":"u-1","attempt":2}`
	cursorDone  = `{"type":"result","subtype":"success","duration_ms":5234,"duration_api_ms":5234,"is_error":false,"result":"all green","session_id":"u-1","request_id":"r","usage":{"inputTokens":100,"outputTokens":20,"cacheReadTokens":3,"cacheWriteTokens":0}}`
	cursorBad   = `{"type":"result","subtype":"error","duration_ms":10,"is_error":true,"result":"You've hit your usage limit","session_id":"u-1"}`
)

func geminiFail(class, text string) string {
	return fmt.Sprintf(`{"type":"result","timestamp":"2026-01-01T00:00:03.000Z","status":"error","error":{"type":%q,"message":%q},`+
		`"stats":{"total_tokens":5,"duration_ms":0}}`, class, text)
}

// otherRuns returns whole streams by kind, which are also the seeds of the fuzz test.
func otherRuns() map[string][][]string {
	return map[string][][]string{
		StreamCodex: {
			{codexStart, codexTurn, codexThink, codexTodo, codexCall, codexBroke, codexEdit,
				codexMCP, codexNo, codexWarn, codexSay, codexDone},
			{codexStart, codexTurn, codexRetry, codexLimit, codexFailed},
			{codexBad, codexBad[:40], "text\x1b[2J"},
			{`{"type":"item.started","item":{"id":"\u202e","type":"collab_tool_call","tool":"\u009b","prompt":"\u0000"}}`},
		},
		StreamGemini: {
			{geminiInit, geminiUser, geminiPiece("all\ngr"), geminiPiece("een"), geminiCall,
				geminiBack, geminiDone},
			{geminiInit, geminiError, geminiWarn, geminiFailed},
			{geminiPiece("\u202e\u001b"), "no JSON"},
			{geminiFail("TerminalQuotaError", "Your quota will reset after 5h3m12s."), geminiTurns, geminiDone},
		},
		StreamOpencode: {
			{openStart, openSay, openTool, openBroke, openFinish, openStart, openFinish, openDone},
			{openError, openLimit, openAuth, openAbort, openDone},
			{`{"type":"step_finish","part":{"cost":1e308,"tokens":{"total":1e300}}}`, `{"type":"step_finish","part":{"cost":1e308}}`, `{"type":"done"}`},
		},
		StreamCursor: {
			{cursorInit, cursorUser, cursorThink, cursorSay, cursorCall, cursorBroke, cursorNo,
				cursorLost, cursorSay, cursorDone},
			{cursorInit, cursorBad}, {`{"type":"tool_call","tool_call":{"function":{"name":"\u001b","arguments":"{\"path\":\"\u0007\"}"}}}`},
		},
	}
}

func geminiPiece(text string) string {
	return fmt.Sprintf(`{"type":"message","timestamp":"2026-01-01T00:00:01.000Z","role":"assistant","content":%q,"delta":true}`, text)
}

func TestOtherEvents(t *testing.T) {
	tool, say := func(s string) Event { return Event{Kind: KindTool, Text: s} },
		func(s string) Event { return Event{Kind: KindSay, Text: s} }
	broke, plain := func(s string) Event { return Event{Kind: KindToolError, Text: s} },
		func(s string) Event { return Event{Kind: KindPlain, Text: s} }
	started, limit := Event{Kind: KindInit, Text: "started"}, func(s string) Event {
		return Event{Kind: KindLimit, Text: s}
	}
	result := func(s string) Event { return Event{Kind: KindResult, Text: s} }
	const usage = "You've hit your usage limit. Try again at 3:45 PM."
	for _, tt := range []struct {
		name, stream string
		lines        []string
		want         []Event
	}{
		{"codex", StreamCodex, []string{codexStart, codexTurn, codexThink, codexTodo, codexCall,
			codexOK, codexEdit, codexSay, codexDone}, []Event{
			started, tool("shell: go test ./..."), tool("edit: a.go, b.go"), say("all\ngreen"), result("finished: 3 turns, 1000 tokens")}},
		{"codex tools", StreamCodex,
			[]string{codexCall, codexBroke, codexNo, codexMCP, codexWarn}, []Event{
				tool("shell: go test ./..."), broke("exit 1: FAIL x"), tool("shell: rm x"), broke("declined"),
				tool("docs.find: q"), broke("down"), plain("model rerouted")}},
		{"codex limit", StreamCodex, []string{codexRetry, codexLimit, codexFailed}, []Event{
			{Kind: KindRetry, Text: "Reconnecting... 1/5 (stream disconnected before completion)"}, limit(usage), result("ended: error: " + usage)}},
		{"codex, the error a string", StreamCodex, []string{`{"type":"turn.failed","error":"boom"}`}, []Event{result("ended: error: boom")}},
		{"codex, no reason", StreamCodex, []string{`{"type":"turn.failed"}`}, []Event{result("ended: error: unknown error")}},
		{"gemini", StreamGemini, []string{geminiInit, geminiUser, geminiPiece("all "),
			geminiPiece("green\nan"), geminiPiece("d done"), geminiCall, geminiBack,
			geminiPiece("end"), geminiDone}, []Event{{Kind: KindInit, Text: "started, pro"},
			say("all green"), say("and done"), tool("run_shell_command: go test"), say("end"), result("finished: 2 turns, 1200 tokens, 1m1s")}},
		{"gemini, what isn't JSON ends a piece", StreamGemini, []string{geminiPiece("half"), "noise"}, []Event{say("half"), plain("noise")}},
		{"gemini, a whole message", StreamGemini, []string{`{"type":"message","role":"assistant","content":"hi\u001b[2J"}`}, []Event{say(`hi\x1b[2J`)}},
		{"gemini errors", StreamGemini,
			[]string{geminiCall, geminiBroke, geminiWarn, geminiError, geminiFailed}, []Event{
				tool("run_shell_command: go test"), broke("no such file"), plain("warning: Loop detected, stopping execution"),
				plain("error: The model returned nothing."), result("ended: error: The model returned nothing.")}},
		{"gemini turn limit", StreamGemini, []string{geminiFail("FatalTurnLimitedError", "Reached max session turns")}, []Event{result("ended: turn limit reached")}},
		{"opencode", StreamOpencode, []string{openStart, openTool, openBroke, openFinish, openStart,
			openSay, openFinish, openDone}, []Event{
			started, tool("edit: a.go"), tool("bash: x"), broke("not found"), say("all green"),
			result("finished: 2 turns, $0.25, 40 tokens, 1 tool call denied")}},
		{"opencode errors", StreamOpencode, []string{openError, openLimit, openDone}, []Event{
			started, plain("error: too long"), limit("Too many"), result("ended: api error 429: Too many")}},
		{"cursor", StreamCursor, []string{cursorInit, cursorUser, cursorThink, cursorSay,
			cursorCall, cursorBack, cursorSay, cursorDone}, []Event{
			{Kind: KindInit, Text: "started, Auto"}, say("all green"), tool("shell: go test"), say("all green"), result("finished: 2 turns, 123 tokens, 5.2s")}},
		{"cursor tools", StreamCursor,
			[]string{cursorCall, cursorBroke, cursorNo, cursorLost}, []Event{
				tool("shell: go test"), broke("exit 2: FAIL x"), tool("edit: a.go"), broke("rejected: no"), {Kind: KindRetry, Text: "connection lost, attempt 2"}}},
		{"cursor fails", StreamCursor, []string{cursorBad}, []Event{result("ended: error: You've hit your usage limit")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, feed(NewDecoder(tt.stream), tt.lines...)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOtherStreamsAreForgiving(t *testing.T) {
	for stream := range otherRuns() {
		for line, want := range map[string][]Event{
			`{"type":"new.thing","item":7,"part":[],"stats":"x","tool_call":[1],"message":3}`: nil,
			"warning: \x1b[1mslow\r\n":      {{Kind: KindPlain, Text: `warning: \x1b[1mslow`}},
			`{"type":"text","par`:           {{Kind: KindPlain, Text: `{"type":"text","par`}},
			`{"a":1}`:                       {{Kind: KindPlain, Text: `{"a":1}`}},
			`[1]`:                           {{Kind: KindPlain, Text: `[1]`}},
			" \n":                           nil,
			`{"type":"user","message":"x"}`: nil,
		} {
			d := NewDecoder(stream)
			if diff := cmp.Diff(want, d.Line([]byte(line))); diff != "" {
				t.Errorf("%s, %s: %s", stream, line, diff)
			}
			if s := d.Summary(); s.Result != nil || s.Limit != nil || s.ToolRunning || s.SawInit {
				t.Errorf("%s, %s: %+v", stream, line, s)
			}
		}
	}
}

func TestOtherResults(t *testing.T) {
	cost := 0.125
	const usage = "You've hit your usage limit. Try again at 3:45 PM."
	for _, tt := range []struct {
		name, stream string
		lines        []string
		want         *Result
	}{
		{"codex", StreamCodex, []string{codexStart, codexCall, codexOK, codexSay, codexDone},
			&Result{Subtype: "success", Turns: 2, Tokens: 1000, SessionID: "th-1",
				Text: "all\ngreen"}},
		{"codex failed", StreamCodex, []string{codexStart, codexFailed},
			&Result{Subtype: "error", IsError: true, SessionID: "th-1", Errors: []string{usage}}},
		{"codex did nothing", StreamCodex,
			[]string{codexStart, codexTurn, `{"type":"turn.completed"}`},
			&Result{Subtype: "success", SessionID: "th-1"}},
		{"codex cut off", StreamCodex, []string{codexStart, codexCall, codexLimit}, nil},
		{"gemini", StreamGemini, []string{geminiInit, geminiPiece("done"), geminiDone},
			&Result{Subtype: "success", Turns: 1, Tokens: 1200, DurationMS: 61000, SessionID: "s-1",
				Text: "done"}},
		{"gemini failed without a word", StreamGemini, []string{geminiFailed},
			&Result{Subtype: "error", IsError: true, Tokens: 5, Errors: []string{"unknown error"}}},
		{"gemini out of turns, which it calls a success", StreamGemini,
			[]string{geminiCall, geminiBack, geminiTurns, geminiDone},
			&Result{Subtype: "error_max_turns", IsError: true, Turns: 1, Tokens: 1200,
				DurationMS: 61000, Errors: []string{"Maximum session turns exceeded"}}},
		{"gemini cancelled", StreamGemini, []string{geminiInit, geminiCall, geminiFail("FatalCancellationError", "Operation cancelled.")}, nil},
		{"opencode", StreamOpencode, []string{openStart, openSay, openFinish, openDone},
			&Result{Subtype: "success", Turns: 1, CostUSD: &cost, Tokens: 20, SessionID: "ses_1",
				Text: "all green"}},
		{"opencode, an older client", StreamOpencode,
			[]string{openStart, openSay, openFinish}, nil},
		{"opencode survived", StreamOpencode, []string{openError, openStart, openDone},
			&Result{Subtype: "success", Turns: 1, SessionID: "ses_1"}},
		{"opencode failed", StreamOpencode, []string{openStart, openError, openDone},
			&Result{Subtype: "error", IsError: true, Turns: 1, SessionID: "ses_1",
				Errors: []string{"too long"}}},
		{"opencode aborted", StreamOpencode, []string{openStart, openAbort, openDone}, nil},
		{"cursor", StreamCursor, []string{cursorInit, cursorDone},
			&Result{Subtype: "success", Turns: 1, Tokens: 123, DurationMS: 5234, SessionID: "u-1",
				Text: "all green"}},
		{"cursor failed", StreamCursor, []string{cursorInit, cursorBad},
			&Result{Subtype: "error", IsError: true, DurationMS: 10, SessionID: "u-1",
				Errors: []string{"You've hit your usage limit"}}},
		{"cursor cut off", StreamCursor, []string{cursorInit, cursorSay}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDecoder(tt.stream)
			feed(d, tt.lines...)
			s := d.Summary()
			if diff := cmp.Diff(tt.want, s.Result); diff != "" {
				t.Error(diff)
			}
			if s.Result != nil && s.ToolRunning {
				t.Error("a tool runs after the result")
			}
		})
	}
}

func TestOtherLimits(t *testing.T) {
	hour := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	later := time.Date(2026, 1, 1, 5, 3, 15, 0, time.UTC)
	const usage = "You've hit your usage limit. Try again at 3:45 PM."
	quota := "[API Error: You have exhausted your capacity on this model. Your quota will reset after 5h3m12s.]"
	for _, tt := range []struct {
		name, stream string
		lines        []string
		want         *Limit
	}{
		{"codex", StreamCodex, []string{codexSay, codexLimit, codexFailed},
			&Limit{Kind: RateLimit, Reason: usage, Reset: nil}},
		{"codex, killed after the error", StreamCodex, []string{codexLimit},
			&Limit{Kind: RateLimit, Reason: usage, Reset: nil}},
		{"codex survived it", StreamCodex, []string{codexLimit, codexSay}, nil},
		{"codex survived it, then failed", StreamCodex,
			[]string{codexLimit, codexSay, codexBad}, nil},
		{"codex, and then another retry", StreamCodex, []string{codexLimit, codexRetry}, &Limit{Kind: Outage, Reason: "Reconnecting... 1/5 (stream disconnected before completion)"}},
		{"codex failed", StreamCodex, []string{codexBad}, nil},
		{"codex done", StreamCodex, []string{codexLimit, codexDone}, nil},
		{"codex, words of a tool", StreamCodex,
			[]string{strings.Replace(codexBroke, "FAIL", "429 usage limit", 1)}, nil},
		{"codex, words of the model", StreamCodex,
			[]string{strings.Replace(codexSay, "all", "usage limit", 1), codexBad}, nil},
		{"gemini", StreamGemini, []string{geminiInit, geminiFail("TerminalQuotaError", quota)},
			&Limit{Kind: RateLimit, Reason: quota, Reset: &later}},
		{"gemini, class alone", StreamGemini, []string{geminiFail("RetryableQuotaError", "no")},
			&Limit{Kind: RateLimit, Reason: "no", Reset: nil}},
		{"gemini, login", StreamGemini, []string{geminiFail("FatalAuthenticationError", "no")},
			&Limit{Kind: Login, Reason: "no", Reset: nil}},
		{"gemini, an event before the result", StreamGemini, []string{strings.Replace(geminiError, "The model returned nothing.", "Rate limit", 1), geminiFailed},
			&Limit{Kind: RateLimit, Reason: "Rate limit", Reset: nil}},
		{"gemini, turns", StreamGemini, []string{geminiFail("FatalTurnLimitedError", "quota of turns")}, nil},
		{"gemini failed", StreamGemini, []string{geminiError, geminiFailed}, nil},
		{"opencode", StreamOpencode, []string{openStart, openLimit, openDone},
			&Limit{Kind: RateLimit, Reason: "Too many", Reset: &hour}},
		{"opencode, an older client", StreamOpencode, []string{openLimit},
			&Limit{Kind: RateLimit, Reason: "Too many", Reset: &hour}},
		{"opencode, login", StreamOpencode, []string{openAuth},
			&Limit{Kind: Login, Reason: "who are you", Reset: nil}},
		{"opencode survived it", StreamOpencode, []string{openLimit, openStart}, nil},
		{"opencode failed", StreamOpencode, []string{openError, openDone}, nil},
		{"cursor", StreamCursor, []string{cursorInit, cursorBad},
			&Limit{Kind: RateLimit, Reason: "You've hit your usage limit", Reset: nil}},
		{"cursor done", StreamCursor,
			[]string{strings.Replace(cursorDone, "all green", "usage limit", 1)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDecoder(tt.stream)
			feed(d, tt.lines...)
			if diff := cmp.Diff(tt.want, d.Summary().Limit); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOtherToolsRun(t *testing.T) {
	second := strings.Replace(codexCall, "item_2", "item_7", 1)
	for _, tt := range []struct {
		name, stream string
		lines        []string
		want         bool
	}{
		{"codex, a list of what is to do", StreamCodex, []string{codexTodo}, false},
		{"codex", StreamCodex, []string{codexTodo, codexCall}, true},
		{"codex, another returned", StreamCodex, []string{codexCall, codexEdit}, true},
		{"codex, one of two returned", StreamCodex, []string{codexCall, second, codexBroke}, true},
		{"codex, returned", StreamCodex, []string{codexCall, codexBroke}, false},
		{"gemini", StreamGemini, []string{geminiCall}, true},
		{"gemini, returned", StreamGemini, []string{geminiCall, geminiBroke}, false},
		{"opencode, in a step", StreamOpencode, []string{openStart, openTool}, true},
		{"opencode, between two", StreamOpencode, []string{openStart, openTool, openFinish}, false},
		{"opencode, a tool without a step", StreamOpencode, []string{openTool}, false},
		{"cursor", StreamCursor, []string{cursorCall}, true},
		{"cursor, another was refused", StreamCursor, []string{cursorCall, cursorNo}, true},
		{"cursor, returned", StreamCursor, []string{cursorCall, cursorBack}, false},
	} {
		d := NewDecoder(tt.stream)
		feed(d, tt.lines...)
		if got := d.Summary().ToolRunning; got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestTroubleAndDenials(t *testing.T) {
	d := NewDecoder(StreamOpencode)
	feed(d, openStart, openError)
	if s := d.Summary(); s.Trouble != "too long" || s.Limit != nil {
		t.Errorf("%+v", s)
	}
	feed(d, openSay)
	if s := d.Summary(); s.Trouble != "" {
		t.Errorf("survived, and still %q", s.Trouble)
	}
	for stream, line := range map[string]string{StreamCodex: codexNo, StreamCursor: cursorNo,
		StreamOpencode: openDone} {
		d := NewDecoder(stream)
		feed(d, line)
		if n := d.Summary().Denials; n != 1 {
			t.Errorf("%s: %d denials", stream, n)
		}
	}
}

// A line of text is emitted when it is complete, and one without an end is bounded.
func TestPiecesAreBounded(t *testing.T) {
	d := NewDecoder(StreamGemini)
	piece := geminiPiece(strings.Repeat("x", 1000))
	var told int
	for range 100 {
		for _, e := range feed(d, piece) {
			told += len(e.Text)
		}
		if held := d.work.text.Len(); held > textBytes+1000 {
			t.Fatalf("%d bytes are held back", held)
		}
	}
	for _, e := range feed(d, geminiDone) {
		if e.Kind == KindSay {
			told += len(e.Text)
		}
	}
	if told != 100*1000 {
		t.Errorf("told %d bytes", told)
	}
}
