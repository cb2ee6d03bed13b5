package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"greenlight/internal/base/sanitize"

	"github.com/google/go-cmp/cmp"
)

// Lines of handmade streams, in the shapes of Claude Code's client.
const (
	initLine = `{"type":"system","subtype":"init","cwd":"/p","session_id":"5e55","tools":["Bash"],"model":"m-1",` +
		`"slash_commands":["gl:slice","clear"],"terminal_slash_commands":["doctor"],"claude_code_version":"2.1.9"}`
	sayLine = `{"type":"assistant","message":{"id":"m1","model":"m-1","content":[{"type":"text","text":"all green"}],` +
		`"usage":{"input_tokens":1}},"parent_tool_use_id":null,"session_id":"5e55"}`
	callLine = `{"type":"assistant","message":{"model":"m-1","content":[{"type":"thinking","thinking":"hm"},` +
		`{"type":"tool_use","id":"t1","name":"Bash","input":{"description":"run","command":"go test\n ./..."}}]}}`
	doneLine = `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result",` +
		`"content":"ok","is_error":false}]},"tool_use_result":{"stdout":"ok"}}`
	brokeLine = `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result",` +
		`"content":[{"type":"text","text":"exit 1\nFAIL"}],"is_error":true}]}}`
	successLine = `{"duration_api_ms":9,"session_id":"5e55","total_cost_usd":0.4249,"modelUsage":{"m-1":{"costUSD":1}},` +
		`"permission_denials":[],"terminal_reason":"completed","is_error":false,"num_turns":12,"subtype":"success",` +
		`"api_error_status":null,"result":"all green","type":"result","duration_ms":190400}`
	retryLine = `{"type":"system","subtype":"api_retry","attempt":3,"max_retries":10,"retry_delay_ms":4144,` +
		`"error_status":429,"error":"rate_limit","session_id":"5e55"}`
	netRetryLine = `{"type":"system","subtype":"api_retry","attempt":4,"max_retries":10,"retry_delay_ms":617,` +
		`"error_status":null,"error":"unknown"}`
	rejectLine = `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1767225600,` +
		`"rateLimitType":"five_hour"},"session_id":"5e55"}`
	allowLine = `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1767225600}}`
	plainFail = `{"type":"result","subtype":"success","is_error":true,"num_turns":3,"result":"something broke"}`
)

func apiErrorLine(name string, status int, text string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":%q}]},`+
		`"error":%q,"is_api_error_message":true,"api_error_status":%d}`, text, name, status)
}

func apiFailLine(status int, text string) string {
	return fmt.Sprintf(`{"is_error":true,"num_turns":1,"subtype":"success","terminal_reason":"api_error",`+
		`"api_error_status":%d,"result":%q,"type":"result","duration_ms":183}`, status, text)
}

func feed(d *Decoder, lines ...string) []Event {
	var events []Event
	for _, l := range lines {
		events = append(events, d.Line([]byte(l))...)
	}
	return events
}

func TestEvents(t *testing.T) {
	turns := `{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":201,` +
		`"errors":["Reached maximum number of turns (200)"],"terminal_reason":"max_turns"}`
	for _, tt := range []struct {
		name, line string
		want       []Event
	}{
		{"init", initLine, []Event{{Kind: KindInit, Text: "started, version 2.1.9, m-1"}}},
		{"say", sayLine, []Event{{Kind: KindSay, Text: "all green"}}},
		{"say, content a string", `{"type":"assistant","message":{"content":"hi\u001b[2J"}}`, []Event{{Kind: KindSay, Text: `hi\x1b[2J`}}},
		{"tool", callLine, []Event{{Kind: KindTool, Text: "Bash: go test ./..."}}},
		{"tool result", doneLine, nil},
		{"tool error", brokeLine, []Event{{Kind: KindToolError, Text: "exit 1 FAIL"}}},
		{"retry", retryLine,
			[]Event{{Kind: KindRetry, Text: "retry 3 of 10 in 4 s: rate_limit (429)"}}},
		{"retry without a status", netRetryLine, []Event{{Kind: KindRetry, Text: "retry 4 of 10 in 1 s: unknown"}}},
		{"rejected", rejectLine, []Event{{Kind: KindLimit, Text: "rate limit (five_hour), resets 2026-01-01 00:00:00 UTC"}}},
		{"allowed", allowLine, nil},
		{"warned", `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning"}}`,
			[]Event{{Kind: KindPlain, Text: "close to the rate limit"}}},
		{"api error", apiErrorLine("billing_error", 400, "Credit balance is too low"),
			[]Event{{Kind: KindLimit, Text: "Credit balance is too low"}}},
		{"success", successLine,
			[]Event{{Kind: KindResult, Text: "finished: 12 turns, $0.42, 3m10s"}}},
		{"no turn", `{"type":"result","subtype":"success","is_error":false,"num_turns":0,"total_cost_usd":0.001,` +
			`"result":"Unknown command: /gl:slice","duration_ms":40}`,
			[]Event{{Kind: KindResult, Text: "finished: 0 turns, under $0.01, 0s: Unknown command: /gl:slice"}}},
		{"denied", `{"type":"result","subtype":"success","is_error":false,"num_turns":1,"duration_ms":1250,` +
			`"permission_denials":[{"tool_name":"Bash"},{"tool_name":"Edit"}]}`,
			[]Event{{Kind: KindResult, Text: "finished: 1 turn, 1.3s, 2 tool calls denied"}}},
		{"turn limit", turns, []Event{{Kind: KindResult, Text: "ended: turn limit reached (200)"}}},
		{"budget", `{"type":"result","subtype":"error_max_budget_usd","errors":["Reached maximum budget ($5)"]}`,
			[]Event{{Kind: KindResult, Text: "ended: budget reached ($5)"}}},
		{"api failure", apiFailLine(400, "Bad request"), []Event{{Kind: KindResult, Text: "ended: api error 400: Bad request"}}},
		{"execution error", `{"type":"result","subtype":"error_during_execution","errors":["boom"]}`,
			[]Event{{Kind: KindResult, Text: "ended: error during execution: boom"}}},
		{"other error", plainFail,
			[]Event{{Kind: KindResult, Text: "ended: error: something broke"}}},
		{"unknown type", `{"type":"keep_alive"}`, nil},
		{"unknown subtype", `{"type":"system","subtype":"status"}`, nil},
		{"no JSON", "warning: \x1b[1mslow\r\n",
			[]Event{{Kind: KindPlain, Text: `warning: \x1b[1mslow`}}},
		{"cut short", `{"type":"assistant","mess`, []Event{{Kind: KindPlain, Text: `{"type":"assistant","mess`}}},
		{"JSON without a type", `{"a":1}`, []Event{{Kind: KindPlain, Text: `{"a":1}`}}},
		{"JSON, no object", `[1]`, []Event{{Kind: KindPlain, Text: `[1]`}}},
		{"blank", " \r\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, NewDecoder(StreamClaude).Line([]byte(tt.line))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestToolText(t *testing.T) {
	long := strings.Repeat("é", 200)
	for in, want := range map[string]string{
		`"name":"Edit","input":{"file_path":"a.go","old_string":"x"}`:       "Edit: a.go",
		`"name":"Grep","input":{"pattern":"x+","path":"dir"}`:               "Grep: dir",
		`"name":"WebFetch","input":{"prompt":"sum up","url":"https://a.b"}`: "WebFetch: https://a.b",
		`"name":"Task","input":{"prompt":"…","description":"look"}`:         "Task: look",
		`"name":"Bash","input":{"command":["a"],"description":"d"}`:         "Bash: d",
		`"name":"TodoWrite","input":{"todos":[]}`:                           "TodoWrite",
		`"name":"Odd","input":"text"`:                                       "Odd",
		`"name":"None"`:                                                     "None",
		`"name":"Bash","input":{"command":"` + long + `"}`:                  "Bash: " + long[:320] + "…",
	} {
		line := `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1",` + in + `}]}}`
		got := NewDecoder(StreamClaude).Line([]byte(line))
		if len(got) != 1 || got[0].Text != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestSummaryOfASuccess(t *testing.T) {
	d := NewDecoder(StreamClaude)
	feed(d, initLine, callLine)
	if s := d.Summary(); !s.ToolRunning || s.Result != nil {
		t.Errorf("in a tool call: %+v", s)
	}
	feed(d, brokeLine)
	if d.Summary().ToolRunning {
		t.Error("the tool has returned")
	}
	feed(d, sayLine, successLine)
	cost := 0.4249
	want := Summary{
		Version: "2.1.9", Commands: []string{"gl:slice", "clear"}, SawInit: true,
		Result: &Result{Subtype: "success", TerminalReason: "completed", Turns: 12, CostUSD: &cost,
			DurationMS: 190400, SessionID: "5e55", Text: "all green"},
		Conversation: "5e55", Tokens: &Tokens{Input: 1},
	}
	if diff := cmp.Diff(want, d.Summary()); diff != "" {
		t.Error(diff)
	}
}

func TestToolCallsOverlap(t *testing.T) {
	d := NewDecoder(StreamClaude)
	feed(d, callLine, strings.Replace(callLine, `"t1"`, `"t2"`, 1), doneLine)
	if !d.Summary().ToolRunning {
		t.Error("t2 still runs")
	}
	feed(d, successLine)
	if d.Summary().ToolRunning {
		t.Error("nothing runs after the result")
	}
}

func TestTheLastResultCounts(t *testing.T) {
	d := NewDecoder(StreamClaude)
	feed(d, apiFailLine(429, "slow down"))
	if d.Summary().Limit == nil {
		t.Error("no limit after the first result")
	}
	early := d.Summary()
	feed(d, sayLine, successLine)
	if s := d.Summary(); s.Limit != nil || s.Result.IsError {
		t.Errorf("after the second: %+v", s)
	}
	if early.Limit == nil || !early.Result.IsError {
		t.Error("a summary changed after it was given")
	}
}

// A command that runs in the background outlives the result; claude wakes its model when it ends.
func TestResultIsNotTheEnd(t *testing.T) {
	const tasks = `{"type":"system","subtype":"background_tasks_changed","tasks":[%s],"uuid":"u"}`
	d := NewDecoder(StreamClaude)
	feed(d, initLine, fmt.Sprintf(tasks, `{"task_id":"b1","task_type":"local_bash","description":"go test ./..."}`), sayLine, successLine)
	if s := d.Summary(); s.Result == nil || s.Background != 1 || !s.ToolRunning {
		t.Errorf("after the first result: %+v", s)
	}
	feed(d, fmt.Sprintf(tasks, ""), initLine)
	if s := d.Summary(); s.Result != nil || s.Background != 0 || s.ToolRunning {
		t.Errorf("woken: %+v", s)
	}
	feed(d, successLine, apiErrorLine("rate_limit", 429, "slow down"))
	if d.Summary().Result == nil {
		t.Error("what the client says is no answer of the model")
	}
	feed(d, sayLine)
	if s := d.Summary(); s.Result != nil || s.Limit != nil {
		t.Errorf("the model goes on: %+v", s)
	}
}

func TestResultIsBounded(t *testing.T) {
	long := strings.Repeat("漢", 400)
	line := fmt.Sprintf(`{"type":"result","subtype":"error_x","result":%q,"errors":["1","2","3","4","5",%q]}`, long, long)
	d := NewDecoder(StreamClaude)
	feed(d, line)
	r := d.Summary().Result
	if len(r.Text) != 498 || !utf8.ValidString(r.Text) || len(r.Errors) != 5 || !r.IsError {
		t.Errorf("text of %d bytes, %d errors, error %v", len(r.Text), len(r.Errors), r.IsError)
	}
}

func TestChangedFieldsHideNothing(t *testing.T) {
	d := NewDecoder(StreamClaude)
	feed(d, `{"type":"system","subtype":"init","slash_commands":{"gl":1},"claude_code_version":7,"model":"m"}`,
		`{"type":"result","num_turns":"many","duration_ms":1.5,"total_cost_usd":"free","result":{"a":1},`+
			`"errors":"none","permission_denials":3,"api_error_status":"429?","is_error":true,"subtype":"success",`+
			`"session_id":"5e55"}`)
	s := d.Summary()
	if !s.SawInit || s.Result == nil || !s.Result.IsError || s.Result.SessionID != "5e55" ||
		s.Result.CostUSD != nil {
		t.Errorf("%+v, result %+v", s, s.Result)
	}
}

func TestAutoDecidesByTheFirstLine(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		want  []Event
	}{
		{"text", []string{"", "hello", sayLine},
			[]Event{{Kind: KindPlain, Text: "hello"}, {Kind: KindPlain, Text: sayLine}}},
		{"claude", []string{"\n", initLine, sayLine, `{"type":"keep_alive"}`},
			[]Event{{Kind: KindInit, Text: "started, version 2.1.9, m-1"},
				{Kind: KindSay, Text: "all green"}}},
		{"foreign JSON", []string{`{"type":"thread.started","id":"1"}`, `{"type":"result","status":"success"}`},
			[]Event{{Kind: KindPlain, Text: `{"type":"thread.started","id":"1"}`}, {Kind: KindPlain, Text: `{"type":"result","status":"success"}`}}},
		{"JSON for people", []string{`{"kind":1}`, `{"type":"x"}`}, []Event{{Kind: KindPlain,
			Text: `{"kind":1}`}, {Kind: KindPlain, Text: `{"type":"x"}`}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDecoder(StreamAuto)
			if diff := cmp.Diff(tt.want, feed(d, tt.lines...)); diff != "" {
				t.Error(diff)
			}
			if d.Summary().Result != nil {
				t.Error("a result out of nothing")
			}
		})
	}
	if got := feed(NewDecoder(StreamText), initLine); got[0].Kind != KindPlain {
		t.Errorf("text is never decoded: %q", got)
	}
}

func TestLimit(t *testing.T) {
	reset := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	old := time.Unix(1712345678, 0).UTC()
	overloaded := strings.NewReplacer(`"error_status":429`, `"error_status":529`, "rate_limit",
		"x").Replace(retryLine)
	failWith := func(text string) string {
		return strings.Replace(plainFail, "something broke", text, 1)
	}
	turns := `{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":3,"errors":["usage limit"]}`
	for _, tt := range []struct {
		name  string
		lines []string
		want  *Limit
	}{
		{"success", []string{initLine, sayLine, successLine}, nil},
		{"an error of its own", []string{sayLine, plainFail}, nil},
		{"bad flag: nothing on stdout", nil, nil},
		{"SIGTERM or SIGINT: no result", []string{initLine, sayLine, callLine}, nil},
		{"429 after retries", []string{initLine, retryLine, apiErrorLine("rate_limit", 429, "429 slow"), apiFailLine(429, "429 slow")},
			&Limit{Kind: RateLimit, Reason: "429 slow", Reset: nil}},
		{"429 with the reset of its event", []string{rejectLine, apiErrorLine("rate_limit", 429, "limit · resets 1am"), apiFailLine(429, "x")},
			&Limit{Kind: RateLimit, Reason: "limit · resets 1am", Reset: &reset}},
		{"status alone", []string{apiFailLine(529, "busy")},
			&Limit{Kind: Outage, Reason: "busy", Reset: nil}},
		{"401", []string{apiFailLine(401, "who?")},
			&Limit{Kind: Login, Reason: "who?", Reset: nil}},
		{"403", []string{apiFailLine(403, "")}, &Limit{Kind: Login, Reason: "login", Reset: nil}},
		{"402", []string{apiFailLine(402, "pay")}, &Limit{Kind: Quota, Reason: "pay", Reset: nil}},
		{"400 that is about money", []string{apiErrorLine("billing_error", 400, "Credit balance is too low"), apiFailLine(400, "Credit")},
			&Limit{Kind: Quota, Reason: "Credit balance is too low", Reset: nil}},
		{"400 that isn't", []string{retryLine, apiErrorLine("invalid_request", 400, "bad"),
			apiFailLine(400, "bad")}, nil},
		{"oauth", []string{apiErrorLine("oauth_org_not_allowed", 0, "not yours"), failWith("x")}, &Limit{Kind: Login, Reason: "not yours", Reset: nil}},
		{"met and survived", []string{retryLine, rejectLine, sayLine, successLine}, nil},
		{"met and survived, then another error",
			[]string{retryLine, rejectLine, sayLine, plainFail}, nil},
		{"met, turn limit after it", []string{rejectLine, turns}, nil},
		{"met, and an error that says nothing", []string{rejectLine, failWith("")},
			&Limit{Kind: RateLimit, Reason: "rate limit (five_hour), resets 2026-01-01 00:00:00 UTC", Reset: &reset}},
		{"killed while retrying", []string{initLine, sayLine, retryLine}, &Limit{Kind: RateLimit, Reason: "retry 3 of 10 in 4 s: rate_limit (429)", Reset: nil}},
		{"killed while retrying 529", []string{overloaded}, &Limit{Kind: Outage, Reason: "retry 3 of 10 in 4 s: x (529)", Reset: nil}},
		{"killed after retries that went well", []string{retryLine, sayLine}, nil},
		{"killed while the network was away", []string{retryLine, netRetryLine}, &Limit{Kind: Outage, Reason: "retry 4 of 10 in 1 s: unknown"}},
		{"the network came back", []string{netRetryLine, sayLine, successLine}, nil},
		{"no connection after retries", []string{netRetryLine, apiErrorLine("unknown", 0, "API Error: Connection error."), failWith("API Error: Connection error.")},
			&Limit{Kind: Outage, Reason: "retry 4 of 10 in 1 s: unknown"}},
		{"no connection, no retries", []string{failWith("API Error: Connection error.")}, &Limit{Kind: Outage, Reason: "API Error: Connection error."}},
		{"500 after retries", []string{apiErrorLine("server_error", 500, "API Error: 500"), apiFailLine(500, "API Error: 500")}, &Limit{Kind: Outage, Reason: "API Error: 500"}},
		{"words about connections of its own", []string{failWith("the test met connection refused")}, nil},
		{"killed after a rejection", []string{rejectLine, callLine[:40]},
			&Limit{Kind: RateLimit, Reason: "rate limit (five_hour), resets 2026-01-01 00:00:00 UTC", Reset: &reset}},
		{"rejected, allowed again, then 429", []string{rejectLine, allowLine, sayLine,
			apiFailLine(429, "x")}, &Limit{Kind: RateLimit, Reason: "x", Reset: nil}},
		{"old: usage limit", []string{failWith("Claude AI usage limit reached|1712345678")},
			&Limit{Kind: RateLimit, Reason: "Claude AI usage limit reached|1712345678",
				Reset: &old}},
		{"old: your limit", []string{failWith("You've hit your weekly limit · resets Mon")}, &Limit{Kind: RateLimit, Reason: "You've hit your weekly limit · resets Mon", Reset: nil}},
		{"old: key", []string{failWith("Invalid API key · Fix it")}, &Limit{Kind: Login, Reason: "Invalid API key · Fix it", Reset: nil}},
		{"old: login", []string{failWith("Not logged in · Please run /login")}, &Limit{Kind: Login, Reason: "Not logged in · Please run /login", Reset: nil}},
		{"old: credit", []string{failWith("Credit balance is too low")}, &Limit{Kind: Quota, Reason: "Credit balance is too low", Reset: nil}},
		{"old: status in words", []string{failWith("API Error: 429 {}")}, &Limit{Kind: RateLimit, Reason: "API Error: 429 {}", Reset: nil}},
		{"old: 500 in words", []string{failWith("API Error: 500 {}")}, &Limit{Kind: Outage, Reason: "API Error: 500 {}"}},
		{"words far inside", []string{failWith(strings.Repeat("x", 400) + "usage limit")}, nil},
		{"words of a success",
			[]string{strings.Replace(successLine, "all green", "Please run /login", 1)}, nil},
		{"words of a tool",
			[]string{strings.Replace(brokeLine, "FAIL", "Invalid API key", 1)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDecoder(StreamClaude)
			feed(d, tt.lines...)
			if diff := cmp.Diff(tt.want, d.Summary().Limit); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResetForms(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for in, want := range map[string]*time.Time{
		`1767225600`: &at, `1767225600000`: &at, `"1767225600"`: &at, `1767225600.0`: &at,
		`"2026-01-01T01:00:00+01:00"`: &at,
		`null`:                        nil, `""`: nil, `"soon"`: nil, `0`: nil, `-5`: nil,
		`1e300`: nil, `{}`: nil, `"NaN"`: nil,
	} {
		d := NewDecoder(StreamClaude)
		feed(d, `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":`+in+`}}`)
		l := d.Summary().Limit
		if l == nil || !cmp.Equal(l.Reset, want) {
			t.Errorf("%s: %+v, want %v", in, l, want)
		}
	}
}

func TestLongLines(t *testing.T) {
	text := strings.Repeat("a long line ", 1<<18)
	line := strings.Replace(brokeLine, "exit 1", text, 1)
	d := NewDecoder(StreamClaude)
	got := feed(d, callLine, line)
	if len(got) != 2 || got[1].Kind != KindToolError ||
		utf8.RuneCountInString(got[1].Text) > argumentRunes+1 {
		t.Errorf("%d events", len(got))
	}
}

func FuzzDecoder(f *testing.F) {
	for _, s := range []string{
		initLine, sayLine, callLine, doneLine, brokeLine, successLine, retryLine,
		rejectLine, plainFail,
		initLine + "\n" + callLine + "\n" + callLine[:50], "text\x1b[2J\n" + sayLine,
		`{"type":"result","subtype":"error_max_turns","errors":["(\u202e)"]}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","name":"\u009b","input":{"command":"\u0000"}}]}}`,
		`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1e13,"rateLimitType":"\u001b"}}`,
	} {
		for _, stream := range []string{StreamClaude, StreamText, StreamAuto} {
			f.Add(stream, []byte(s))
		}
	}
	for stream, runs := range otherRuns() {
		for _, run := range runs {
			f.Add(stream, []byte(strings.Join(run, "\n")))
		}
	}
	f.Fuzz(func(t *testing.T, stream string, data []byte) {
		d := NewDecoder(stream)
		for line := range strings.SplitSeq(string(data), "\n") {
			for _, e := range d.Line([]byte(line)) {
				if sanitize.Text(e.Text) != e.Text {
					t.Errorf("%s event: %q", e.Kind, e.Text)
				}
				manyLines := e.Kind == KindSay || e.Kind == KindLimit
				if !manyLines && e.Kind != KindPlain && strings.Contains(e.Text, "\n") {
					t.Errorf("%s event of several lines: %q", e.Kind, e.Text)
				}
			}
		}
		s := d.Summary()
		if s.Result != nil &&
			(len(s.Result.Text) > resultBytes || !utf8.ValidString(s.Result.Text)) {
			t.Errorf("text of the result: %q", s.Result.Text)
		}
		if r := s.Result; r != nil &&
			(r.Turns < 0 && stream != StreamClaude && stream != StreamAuto || r.Tokens < 0) {
			t.Errorf("result %+v", r)
		}
		if _, err := json.Marshal(s); err != nil {
			t.Errorf("a summary that can't be stored: %v", err)
		}
		if sanitize.Text(s.Trouble) != s.Trouble || strings.Contains(s.Trouble, "\n") {
			t.Errorf("trouble: %q", s.Trouble)
		}
		if l := s.Limit; l != nil && (sanitize.Text(l.Reason) != l.Reason || l.Reason == "" ||
			s.Result != nil && !s.Result.IsError) {
			t.Errorf("limit %+v, result %+v", l, s.Result)
		}
	})
}

func BenchmarkLine(b *testing.B) {
	big := []byte(strings.Replace(doneLine, `"ok"`, `"`+strings.Repeat("output ", 1<<17)+`"`, 1))
	for name, line := range map[string][]byte{"say": []byte(sayLine), "result of 900 KB": big} {
		b.Run(name, func(b *testing.B) {
			d := NewDecoder(StreamClaude)
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				d.Line(line)
			}
		})
	}
}
