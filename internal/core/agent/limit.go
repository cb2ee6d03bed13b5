package agent

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
)

// The kinds of a Limit. LimitKinds lists them.
const (
	RateLimit = "rate limit" // too many requests, or a usage limit that resets by itself
	Quota     = "quota"      // out of money
	Login     = "login"      // not logged in, or not for this
	// the service doesn't answer, or with 5xx, even after the client's own retries
	Outage = "outage"
)

// LimitKinds returns the kinds of a Limit. A record with another one was written by another
// version of gl.
func LimitKinds() []string { return []string{RateLimit, Quota, Login, Outage} }

// A Limit keeps every agent of this kind from working, through no fault of the slice.
//
// A Summary has one in two cases. First, the last result event is an error caused by a limit:
// the last assistant message has such an error; or the result's api_error_status is 401, 403
// (login), 402 (quota), 429 (rate limit) or 5xx (outage); or it has no status, and a limit was
// met that no answer of the model followed; or its text has one of the known wordings. Second,
// there is no result event, and a limit was met that neither an answer of the model nor a retry
// for another reason followed. A limit that the agent recovered from doesn't count, nor does a
// run's own turn or budget limit.
type Limit struct {
	Kind   string `json:"kind"`   // one of LimitKinds
	Reason string `json:"reason"` // the agent's own words, one sanitized line
	// when it is over (UTC), as the agent last reported; nil if unknown
	Reset *time.Time `json:"reset,omitempty"`
	// the only evidence is a line of stderr: see ExitLimit
	Text bool `json:"text,omitempty"`
}

// limits tracks the signs of limits in a stream.
type limits struct {
	last     *Limit     // the last one met; nil after an answer of the model
	inAnswer bool       // last comes from an assistant message, the agent's own verdict
	reset    *time.Time // from the last rejection; an "allowed" clears it
}

// limited records a rate_limit_event.
func (l *limits) limited(info *rateLimitInfo) {
	switch info.Status {
	case "rejected":
		l.reset = info.ResetsAt.at
		l.meet(RateLimit, rateLimitText(RateLimit, info), false)
	case "allowed", "allowed_warning":
		l.reset = nil
	}
}

// retried records an api_retry. A retry for another reason supersedes the limit.
func (l *limits) retried(w *wire) {
	kind := kindOfError(w.Error)
	if kind == "" {
		kind = kindOfStatus(w.ErrorStatus)
	}
	if kind == "" && w.ErrorStatus == 0 && (w.Error == "" || w.Error == "unknown") {
		kind = Outage // no status: there was no answer at all
	}
	if kind == "" {
		l.last, l.inAnswer = nil, false
		return
	}
	l.meet(kind, retryText(w), false)
}

// answered records an assistant message. It returns true for an answer of the model, and false
// for an error that the client wrapped in a message.
func (l *limits) answered(w *wire) bool {
	if kind := kindOfError(w.Error); kind != "" {
		l.meet(kind, w.text(), true)
		return false
	}
	synthetic := w.Error != "" || w.APIError || w.Message.Model == "<synthetic>"
	if !synthetic {
		l.last, l.inAnswer = nil, false
	}
	return !synthetic
}

func (l *limits) meet(kind, reason string, inAnswer bool) {
	l.last, l.inAnswer = l.limit(kind, reason), inAnswer
}

func (l *limits) limit(kind, reason string) *Limit {
	limit := &Limit{Kind: kind, Reason: sanitize.Excerpt(reason, reasonRunes)}
	if limit.Reason == "" {
		limit.Reason = kind
	}
	if kind == RateLimit {
		limit.Reset = l.reset
	}
	return limit
}

const reasonRunes = 300

// of returns the Limit that caused a result, nil for none; text is the result's text.
func (l *limits) of(r *Result, text string) *Limit {
	if !r.IsError {
		return nil
	}
	if l.inAnswer {
		return l.last
	}
	if kind := kindOfStatus(r.APIStatus); kind != "" {
		return l.worded(kind, text)
	}
	if strings.HasPrefix(r.Subtype, "error_max_") {
		return nil
	}
	if l.last != nil && r.APIStatus == 0 {
		return l.last
	}
	if kind := kindOfWords(text); kind != "" {
		return l.worded(kind, text)
	}
	return nil
}

func (l *limits) worded(kind, text string) *Limit {
	limit := l.limit(kind, text)
	if at := resetOfWords(text); at != nil && kind == RateLimit {
		limit.Reset = at
	}
	return limit
}

func kindOfStatus(status int) string {
	switch status {
	case 429:
		return RateLimit
	case 401, 403:
		return Login
	case 402:
		return Quota
	}
	if status >= 500 && status < 600 {
		return Outage
	}
	return ""
}

// kindOfError classifies the error field of assistant messages and retries.
func kindOfError(name string) string {
	switch {
	case strings.HasPrefix(name, "rate_limit"):
		return RateLimit
	case strings.HasPrefix(name, "overloaded"), name == "server_error", name == "api_error":
		return Outage
	case name == "billing_error":
		return Quota
	case strings.HasPrefix(name, "authentication"), strings.HasPrefix(name, "oauth"):
		return Login
	}
	return ""
}

// kindOfWords classifies older clients' text of a result that is an error. Only its start is
// considered, because it may go on to quote anything.
func kindOfWords(text string) string {
	text = strings.ToLower(cutBytes(text, reasonRunes))
	if code, ok := strings.CutPrefix(text, "api error: "); ok {
		digits, _, _ := strings.Cut(code, " ")
		status, _ := strconv.Atoi(digits) // 0 if it isn't a number
		if kind := kindOfStatus(status); kind != "" {
			return kind
		}
		if noConnection(code) {
			return Outage
		}
	}
	for _, w := range []struct{ kind, words string }{
		{Quota, "credit balance is too low"},
		{Login, "invalid api key"},
		{Login, "please run /login"},
		{Login, "oauth token"},
		{Login, "authentication_error"},
		{RateLimit, "usage limit"},
		{RateLimit, "out of extra usage"},
		{RateLimit, "rate_limit_error"},
		{Outage, "overloaded_error"},
	} {
		if strings.Contains(text, w.words) {
			return w.kind
		}
	}
	if _, after, ok := strings.Cut(text, "hit your"); ok && strings.Contains(after, "limit") {
		return RateLimit
	}
	return ""
}

// noConnection reports whether a client's message, in lower case, means that it couldn't reach
// the service.
func noConnection(text string) bool {
	return has(text, "connection error", "connection refused", "connection reset",
		"connection timed out", "connection closed", "connection lost", "unable to connect",
		"failed to connect", "could not connect", "connectionrefused", "econnrefused", "econnreset",
		"etimedout", "enotfound", "ehostunreach", "enetunreach", "eai_again", "fetch failed",
		"socket hang up", "network error",
		"request timed out", "error sending request", "stream disconnected", "no such host",
		"name resolution")
}

// resetOfWords parses the time after the bar in "usage limit reached|1712345678".
func resetOfWords(text string) *time.Time {
	_, after, ok := strings.Cut(cutBytes(text, reasonRunes), "limit reached|")
	if !ok {
		return nil
	}
	end := 0
	for end < len(after) && after[end] >= '0' && after[end] <= '9' {
		end++
	}
	n, err := strconv.ParseFloat(after[:end], 64)
	if err != nil {
		return nil
	}
	return epoch(n)
}

// An instant is a time in any form used by events: seconds or milliseconds since 1970, as a
// number or a string, or RFC 3339. Anything else is unknown, never an error.
type instant struct{ at *time.Time }

func (i *instant) UnmarshalJSON(data []byte) error {
	i.at = nil
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		i.at = epoch(n)
	} else if t, err := time.Parse(time.RFC3339, text); err == nil {
		t = t.UTC()
		i.at = &t
	}
	return nil
}

// epoch converts seconds or milliseconds since 1970; nil for implausible values.
func epoch(n float64) *time.Time {
	const secondsEnd, millisEnd = 1e11, 2.5e14 // the year 5138 in seconds, 9892 in milliseconds
	if !(n >= 1) || n >= millisEnd {
		return nil
	}
	if n < secondsEnd {
		n *= 1000
	}
	t := time.UnixMilli(int64(n)).UTC()
	return &t
}
