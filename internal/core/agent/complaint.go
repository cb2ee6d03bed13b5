package agent

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
)

// A complaint is an error reported by an agent other than claude. In JSON it is an object or a
// string.
type complaint struct {
	text   string
	name   string // class of the error: "APIError", "TerminalQuotaError"; "" for none
	status int    // HTTP status, 0 if unknown
	// kind of the Limit, if the class determines it; "" to derive it from status and text
	kind string
	wait time.Duration // time until it is over, 0 if unknown
	at   time.Time     // when it was reported, by the agent's clock; zero if unknown
}

// UnmarshalJSON never fails: unknown input gives an empty complaint.
func (c *complaint) UnmarshalJSON(data []byte) error {
	*c = complaint{}
	if json.Unmarshal(data, &c.text) == nil {
		return nil
	}
	var w struct {
		Name    string `json:"name"`
		Type    string `json:"type"`
		Message string `json:"message"`
		Status  int    `json:"status"`
		Data    struct {
			Message    string            `json:"message"`
			StatusCode int               `json:"statusCode"`
			Headers    map[string]string `json:"responseHeaders"`
		} `json:"data"`
	}
	unmarshal(data, &w)
	c.name, c.text, c.status = firstText(w.Name, w.Type),
		firstText(w.Message, w.Data.Message), w.Status
	if c.status == 0 {
		c.status = w.Data.StatusCode
	}
	if n, err := strconv.ParseFloat(w.Data.Headers["retry-after"], 64); err == nil {
		c.wait = seconds(n)
	}
	return nil
}

func firstText(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// seconds converts a plausible wait, up to forty days; otherwise it returns 0.
func seconds(n float64) time.Duration {
	if !(n > 0 && n <= 40*24*3600) {
		return 0
	}
	return time.Duration(n * float64(time.Second))
}

func (c complaint) empty() bool { return c.text == "" && c.name == "" && c.status == 0 }

// words returns the complaint for people: one line, never blank.
func (c complaint) words(limit int) string {
	for _, s := range []string{c.text, c.name} {
		if s = sanitize.Excerpt(s, limit); s != "" {
			return s
		}
	}
	if c.status != 0 {
		return "status " + strconv.Itoa(c.status)
	}
	return "unknown error"
}

// limit returns the Limit that the complaint is about, nil for none.
func (c complaint) limit() *Limit {
	kind := c.kind
	if kind == "" {
		kind = kindOfComplaint(c.status, c.text)
	}
	if kind == "" {
		return nil
	}
	l := &Limit{Kind: kind, Reason: c.words(reasonRunes)}
	wait := c.wait
	if wait == 0 {
		wait = waitOfWords(c.text)
	}
	if (kind == RateLimit || kind == Outage) && wait > 0 && !c.at.IsZero() {
		at := c.at.UTC().Add(wait)
		l.Reset = &at
	}
	return l
}

// kindOfComplaint classifies a client's description of a failed request. Money comes first:
// services refuse it with 401, 402 and 429 alike. Only the start of the text is considered,
// because it may go on to quote anything.
func kindOfComplaint(status int, text string) string {
	text = strings.ToLower(cutBytes(text, reasonRunes))
	if has(text, "out of credits", "insufficient credit", "insufficient balance",
		"insufficient_quota", "spend cap", "spending limit", "spend limit", "credit balance",
		"payment required", "add credits", "upgrade to plus: ") {
		return Quota
	}
	if kind := kindOfStatus(status); kind != "" {
		return kind
	}
	if kind := kindOfStatus(statusOfWords(text)); kind != "" {
		return kind
	}
	switch {
	case has(text, "too many requests", "rate limit", "rate_limit", "ratelimit", "usage limit",
		"usage_limit", "request limit", "resource_exhausted", "resource has been exhausted",
		"exhausted your", "current quota", "quota will reset", "at capacity"):
		return RateLimit
	case has(text, "quota", "billing"):
		return Quota
	case has(text, "unauthorized", "unauthenticated", "not logged in", "not authenticated",
		"not signed in", "authentication required", "authentication failed", "authentication error",
		"authentication_error", "log in again", "sign in again", "please log in",
		"please run /login", "codex login", "agent login",
		"auth login", "login required", "set an auth method", "invalid api key", "invalid_api_key",
		"incorrect api key", "api key not valid", "api key is missing", "no api key",
		"missing api key"):
		return Login
	case noConnection(text), has(text, "overloaded", "internal server error", "bad gateway",
		"service unavailable", "gateway timeout"):
		return Outage
	}
	return ""
}

func has(text string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// statusOfWords returns the HTTP status in words such as "last status: 429 Too Many Requests",
// "HTTP 401" or `"code": 403`; 0 for none. A number without such an introduction is ignored: it
// may be a line of a file.
func statusOfWords(text string) int {
	for _, word := range []string{"status", "code", "http", "error"} {
		for rest := text; ; {
			var ok bool
			if _, rest, ok = strings.Cut(rest, word); !ok {
				break
			}
			if n := threeDigits(rest); n >= 400 && n < 600 {
				return n
			}
		}
	}
	return 0
}

// threeDigits reads a number of three digits after at most four characters that are neither
// letters nor digits.
func threeDigits(s string) int {
	i := 0
	for i < len(s) && i < 4 && !isWord(s[i]) {
		i++
	}
	if i+3 > len(s) || i+3 < len(s) && isWord(s[i+3]) {
		return 0
	}
	n, err := strconv.ParseUint(s[i:i+3], 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// waitOfWords parses "… will reset after 5h3m12s", "retry in 34.07s" and the like; 0 for none.
func waitOfWords(text string) time.Duration {
	text = strings.ToLower(cutBytes(text, 4*reasonRunes))
	for _, before := range []string{"reset after ", "retry after ", "retry in ", "try again in "} {
		_, after, ok := strings.Cut(text, before)
		if !ok {
			continue
		}
		word, _, _ := strings.Cut(strings.TrimSpace(after), " ")
		word, _, _ = strings.Cut(word, "\n")
		if d, err := time.ParseDuration(strings.TrimRight(word, ".,;:)]")); err == nil {
			return seconds(d.Seconds())
		}
	}
	return 0
}

// geminiNoLogin is the exit code of gemini's FatalAuthenticationError, with any message.
const geminiNoLogin = 41

// ExitLimit returns the Limit indicated by an agent's exit code (-1 for none) and the last line
// of its stderr, nil for none. It is for an agent that failed without a result event:
// cursor-agent reports errors only there, and so do gemini and codex without a login. Claude
// reports them in events, and the author of a plain text is unknown, so ExitLimit returns nil
// for these.
//
// A line of text is weak evidence with a wide effect, since it holds all agents: a tool may
// have written it, about a file named billing.spec.ts. So the client must have exited as it
// does after its own errors, the line must begin as those errors do, and file names in it are
// ignored. The Limit records that it is from text, so that its judge can compare it with the
// fate of other attempts.
func ExitLimit(stream string, code int, line string) *Limit {
	if stream == StreamGemini && code == geminiNoLogin {
		return complaint{text: line, kind: Login}.limit()
	}
	switch stream {
	case StreamCodex, StreamGemini, StreamOpencode, StreamCursor:
	default:
		return nil
	}
	if code != clientError || !clientsOwn(line) {
		return nil
	}
	kind := kindOfComplaint(0, withoutFiles(line))
	if kind == "" {
		return nil
	}
	l := complaint{text: line, kind: kind}.limit()
	l.Text = true
	return l
}

// clientError is the exit code of all these clients after a failed request.
const clientError = 1

// clientsOwn reports whether a line begins like these clients' errors about requests.
func clientsOwn(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	for _, start := range []string{
		"error: ", "error when talking to ", "fatal: ", "[api error: ", "api error: ",
		"stream error: ", "unexpected status ",
		"exceeded retry limit", "you've hit your usage limit", "you hit your ", "quota exceeded",
		"not logged in",
		// cursor's own prefix of gRPC errors
		"please set an auth method", "authentication required", "s: [",
		"apierror: ", "actionrequirederror: ", "connecterror: ", "terminalquotaerror: ",
		"retryablequotaerror: ",
		"fatalauthenticationerror: ", "unauthenticatederror: ", "providerautherror: ",
		"airetryerror: ",
	} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return false
}

// withoutFiles returns the line without words that name files: rate_limit.rs, ./billing,
// src/unauthorized.md:12.
func withoutFiles(line string) string {
	words := strings.Fields(line)
	kept := words[:0]
	for _, w := range words {
		bare := strings.Trim(w, `"'`+"`"+`()[]{}<>,;:.!?`)
		if strings.ContainsAny(bare, `/\`) || hasExtension(bare) {
			continue
		}
		kept = append(kept, w)
	}
	return strings.Join(kept, " ")
}

// hasExtension reports whether a word looks like a file name: letters follow its last dot,
// maybe with a line and a column.
func hasExtension(word string) bool {
	name, _, _ := strings.Cut(word, ":")
	dot := strings.LastIndexByte(name, '.')
	if dot < 1 || dot == len(name)-1 {
		return false
	}
	return strings.Trim(strings.ToLower(name[dot+1:]),
		"abcdefghijklmnopqrstuvwxyz0123456789") == "" && !isDigits(name[dot+1:])
}

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }
