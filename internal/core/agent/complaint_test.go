package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestKindOfComplaint(t *testing.T) {
	for _, tt := range []struct {
		status int
		text   string
		want   string
	}{
		{0, "You've hit your usage limit. Upgrade to Pro (https://x.y), or try again at 3:45 PM.", RateLimit},
		{0, "exceeded retry limit, last status: 429 Too Many Requests, request id: 4", RateLimit},
		{0, "[API Error: You exceeded your current quota, please check your plan and billing details.]", RateLimit},
		{0, "[API Error: Resource has been exhausted (e.g. check quota).]", RateLimit},
		{0, "Selected model is at capacity. Please try a different model.", RateLimit},
		{429, "slow down", RateLimit},
		{529, "", Outage},
		{0, "Quota exceeded. Check your plan and billing details.", Quota},
		{0, "Your workspace is out of credits. Add credits to continue.", Quota},
		{0, "You hit your spend cap set in your workspace.", Quota},
		{0, "To use it with your plan, upgrade to Plus: https://x.y", Quota},
		{401, "Insufficient balance. Manage your billing here", Quota},
		{429, "insufficient_quota", Quota},
		{402, "no", Quota},
		{0, "unexpected status 401 Unauthorized: Missing bearer", Login},
		{0, `{"error":{"code": 403}}`, Login},
		{0, "Error: Not logged in. Run 'codex login'", Login},
		{0, "Please set an Auth method in your settings.json", Login},
		{0, "Your refresh token was used. Please log out and sign in again.", Login},
		{0, "API key not valid. Please pass a valid API key.", Login},
		{0, "HTTP 500", Outage},
		{500, "internal error", Outage},
		{0, "stream error: error sending request for url (https://x.y/v1/responses)", Outage},
		{0, "[API Error: fetch failed sending request]", Outage},
		{0, "connect ECONNREFUSED 127.0.0.1:1", Outage},
		{0, "syntax error: 429 is no statement", RateLimit}, // introduced by a word
		{0, "error at line 401 of x.go", ""},
		{0, "see status 4290 and code 42", ""},
		{0, "The model gave no answer", ""},
		{0, strings.Repeat("x", 400) + "usage limit", ""},
		{0, "", ""},
	} {
		if got := kindOfComplaint(tt.status, tt.text); got != tt.want {
			t.Errorf("%d %q: %q, want %q", tt.status, tt.text, got, tt.want)
		}
	}
}

func TestWaitOfWords(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"Your quota will reset after 5h3m12s.": 5*time.Hour + 3*time.Minute + 12*time.Second,
		"x\nSuggested retry after 60s.":        time.Minute,
		"Please retry in 1.5s, please":         1500 * time.Millisecond,
		"try again in 200ms":                   200 * time.Millisecond,
		"Try again in 3 days":                  0,
		"reset after soon":                     0,
		"retry in 9999h":                       0,
		"retry in -5s":                         0,
		"retry in ":                            0,
		"":                                     0,
		strings.Repeat("retry", 9000) + "retry in 3s":   0,
		"reset after the storm, so please retry in 10s": 10 * time.Second,
	} {
		if got := waitOfWords(in); got != want {
			t.Errorf("%.60q: %v, want %v", in, got, want)
		}
	}
}

func TestComplaintShapes(t *testing.T) {
	for in, want := range map[string]complaint{
		`"boom"`:                            {text: "boom"},
		`{"message":"m","type":"T"}`:        {text: "m", name: "T"},
		`{"message":"m","status":429}`:      {text: "m", status: 429},
		`{"name":"N","data":{"message":1}}`: {name: "N"},
		`{"name":"N","data":{"message":"m","statusCode":401,"responseHeaders":{"retry-after":"90"}}}`: {
			name: "N", text: "m", status: 401, wait: 90 * time.Second},
		`{"data":{"responseHeaders":{"retry-after":"Wed, 21 Oct 2026 07:28:00 GMT"}}}`: {},
		`{"data":{"responseHeaders":{"retry-after":"-1e9"}}}`:                          {},
		`[1]`: {}, `null`: {}, `7`: {},
	} {
		var got complaint
		if err := json.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
}

func TestExitLimit(t *testing.T) {
	const line = "ActionRequiredError: You've hit your usage limit\x1b[0m"
	for _, stream := range []string{StreamCodex, StreamGemini, StreamOpencode, StreamCursor} {
		l := ExitLimit(stream, 1, line)
		if l == nil || l.Kind != RateLimit ||
			l.Reason != `ActionRequiredError: You've hit your usage limit\x1b[0m` {
			t.Errorf("%s: %+v", stream, l)
		}
		if l := ExitLimit(stream, 1, "panic: index out of range"); l != nil {
			t.Errorf("%s: %+v", stream, l)
		}
	}
	if l := ExitLimit(StreamGemini, 41, "Invalid auth method selected."); l == nil ||
		l.Kind != Login {
		t.Errorf("gemini's exit 41: %+v", l)
	}
	for _, stream := range []string{StreamClaude, StreamText, StreamAuto, ""} {
		if l := ExitLimit(stream, 1, line); l != nil {
			t.Errorf("%s: %+v", stream, l)
		}
	}
	for _, line := range []string{
		"You've hit your usage limit. Try again at 3:45 PM.", "exceeded retry limit, last status: 429 Too Many Requests",
		"Error: Not logged in. Run 'codex login'", "[API Error: You exceeded your current quota, please check your plan.]",
		"Please set an Auth method in your /home/me/.gemini/settings.json", "S: [resource_exhausted] Error",
	} {
		if ExitLimit(StreamCursor, 1, line) == nil {
			t.Errorf("%q is no limit", line)
		}
		// a signal, or the exit code of something else
		for _, code := range []int{-1, 2, 101, 143} {
			if l := ExitLimit(StreamCursor, code, line); l != nil {
				t.Errorf("%q with exit %d: %+v", line, code, l)
			}
		}
	}
	for _, line := range []string{ // from tools and tests, about anything
		"billing.spec.ts", "FAIL src/billing.spec.ts", "rate_limit.rs:12:5: error[E0308]: mismatched types", "wrote unauthorized.md",
		"error: src/rate_limit.rs doesn't compile", "Error: Cannot find module './billing'", "Error: billing.spec.ts failed",
		"AssertionError: expected 'unauthorized' to equal 'ok'", "2 tests failed: quota, login required", "usage limit is tested",
	} {
		for _, stream := range []string{StreamCodex, StreamGemini, StreamOpencode, StreamCursor} {
			if l := ExitLimit(stream, 1, line); l != nil {
				t.Errorf("%s, %q: %+v", stream, line, l)
			}
		}
	}
}
