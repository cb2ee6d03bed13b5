// Package claudetest lets tests run the real Claude Code client at no cost and without a
// network. It has a stand-in for the Messages API on loopback, whose model follows a script,
// and an environment that confines the client to it. Only tests use it. The package's own tests
// check how the client and gl interact; they need the client and are skipped without it (make
// test-claude).
package claudetest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Script is what the model answers in the conversations that it applies to.
type Script struct {
	When func(*Request) bool // nil for every conversation
	// the n-th answers a conversation in which the model has answered n times
	Steps []Reply
}

// A Reply is an answer of the model, or an error in its place.
type Reply struct {
	Text  string // text before the calls
	Calls []Call // tool calls

	Status  int               // HTTP status of a failed request
	Kind    string            // type of the error: "rate_limit_error", …
	Message string            // of the error
	Header  map[string]string // of the response, in all cases

	Hang bool          // no answer as long as the client waits
	Wait time.Duration // before the answer
}

// A Call is one use of a tool; Input is marshaled as JSON.
type Call struct {
	Tool  string
	Input any
}

// Say returns an answer that ends the model's turn.
func Say(text string) Reply { return Reply{Text: text} }

// Bash returns an answer that runs each command as a call of its own.
func Bash(commands ...string) Reply {
	var r Reply
	for _, c := range commands {
		r.Calls = append(r.Calls,
			Call{"Bash", map[string]string{"command": c, "description": "run " + c}})
	}
	return r
}

// Use returns an answer that calls one tool.
func Use(tool string, input any) Reply { return Reply{Calls: []Call{{tool, input}}} }

// Fail returns an API error in place of an answer.
func Fail(status int, kind, message string) Reply {
	return Reply{Status: status, Kind: kind, Message: message}
}

// An API is a running stand-in. Its scripts are fixed when it starts; the first whose When
// matches answers. A request that offers no tools is the client's own (a title, a probe of the
// quota) and gets a short answer unless a script with a When matches. All state is in the
// conversation, so that retries and resumed sessions get the right answers.
type API struct {
	URL string // for ANTHROPIC_BASE_URL, and for HTTPS_PROXY

	scripts []Script
	server  *httptest.Server
	mu      sync.Mutex
	seen    []*Request
	outside []string
}

// Start serves the scripts on a free port of loopback until Close.
func Start(scripts ...Script) *API {
	a := &API{scripts: scripts}
	a.server = httptest.NewServer(a)
	a.URL = a.server.URL
	return a
}

// Close stops the stand-in and ends every hanging request.
func (a *API) Close() {
	a.server.CloseClientConnections()
	a.server.Close()
}

// Requests returns the requests for an answer of the model so far, oldest first.
func (a *API) Requests() []*Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.seen)
}

// Outside returns the hosts and the paths beyond the Messages API that the client asked for,
// each once, in order.
func (a *API) Outside() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.outside)
}

// ServeHTTP answers the client. It is also the client's proxy: it refuses every other host and
// notes it.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect || r.URL.IsAbs():
		a.note(r.Host)
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages":
		a.messages(w, r)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages/count_tokens":
		writeJSON(w, http.StatusOK, object{"input_tokens": 100})
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
	default:
		a.note(r.Method + " " + r.URL.Path)
		writeError(w,
			Fail(http.StatusNotFound, "not_found_error", "the stand-in has no "+r.URL.Path))
	}
}

func (a *API) note(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.outside, what) {
		a.outside = append(a.outside, what)
	}
}

func (a *API) messages(w http.ResponseWriter, r *http.Request) {
	req, err := readRequest(r)
	if err != nil {
		writeError(w, Fail(http.StatusBadRequest, "invalid_request_error", err.Error()))
		return
	}
	req.Reply = a.answer(req)
	a.mu.Lock()
	a.seen = append(a.seen, req)
	a.mu.Unlock()
	for k, v := range req.Reply.Header {
		w.Header().Set(k, v)
	}
	select {
	case <-time.After(req.Reply.Wait):
	case <-r.Context().Done():
	}
	switch {
	case req.Reply.Hang:
		<-r.Context().Done()
	case req.Reply.Status != 0:
		writeError(w, req.Reply)
	case req.Stream:
		writeStream(w, req)
	default:
		msg := message(req)
		msg["content"], msg["stop_reason"] = blocksOf(req.Reply), stopReason(req.Reply)
		writeJSON(w, http.StatusOK, msg)
	}
}

// answer returns the model's next answer. If a conversation goes on after its script's end, the
// answer says so, in words that no script has.
func (a *API) answer(req *Request) Reply {
	for _, s := range a.scripts {
		if s.When == nil && len(req.Tools) == 0 || s.When != nil && !s.When(req) {
			continue
		}
		if n := req.Answers(); n < len(s.Steps) {
			return s.Steps[n]
		}
		return Say("The script is over.")
	}
	return Say("No script is for this.")
}

// A Request is a request for an answer of the model.
type Request struct {
	Header   http.Header // without the key
	Model    string
	Stream   bool
	System   string // all blocks of the system prompt, concatenated
	Messages []Message
	Tools    []string // names
	Reply    Reply    // the answer it got
}

// A Message is one turn of the conversation.
type Message struct {
	Role    string
	Content []Block
}

// A Block is a part of a message: text, a tool call, or a tool result (its text).
type Block struct {
	Type    string // "text", "tool_use", "tool_result", …
	Text    string
	Tool    string // of a call
	CallID  string // of a call and of its result
	IsError bool   // of a result
}

// Answers returns how often the model has answered in the conversation.
func (r *Request) Answers() int {
	n := 0
	for i, m := range r.Messages {
		if m.Role == "assistant" && (i == 0 || r.Messages[i-1].Role != "assistant") {
			n++
		}
	}
	return n
}

// Asked reports whether the messages before the model's first answer contain the words.
func (r *Request) Asked(words string) bool {
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			break
		}
		if m.says(words) {
			return true
		}
	}
	return false
}

// Says reports whether the system prompt or a message contains the words.
func (r *Request) Says(words string) bool {
	return strings.Contains(r.System, words) ||
		slices.ContainsFunc(r.Messages, func(m Message) bool {
			return m.says(words)
		})
}

func (m Message) says(words string) bool {
	return slices.ContainsFunc(m.Content, func(b Block) bool {
		return strings.Contains(b.Text, words)
	})
}

// Results returns the tool results of the conversation, oldest first.
func (r *Request) Results() []Block {
	var all []Block
	for _, m := range r.Messages {
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				all = append(all, b)
			}
		}
	}
	return all
}

type object = map[string]any

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func writeError(w http.ResponseWriter, r Reply) {
	writeJSON(w, r.Status, object{"type": "error",
		"error": object{"type": r.Kind, "message": r.Message}, "request_id": "req_standin"})
}
