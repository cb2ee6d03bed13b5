// Package hook answers Claude Code's hooks: what a session and its sub-agents should know when
// they start, which reads and writes are refused, which protected files were changed, and
// whether a session may stop while it holds a slice. Package guard decides what may be written;
// this package brings it the files. It returns answers and prints nothing. A hook must never
// prevent work, so any failure gives an empty answer.
package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/guard"
)

// The hooks.
const (
	SessionStart  = "session-start"
	SubagentStart = "subagent-start"
	SubagentPages = "subagent-pages"
	Guard         = "guard"
	AfterTool     = "after-tool"
	SubagentStop  = "subagent-stop"
	Stop          = "stop"
)

// Names lists the hooks.
func Names() []string {
	return []string{SessionStart, SubagentStart, SubagentPages, Guard, AfterTool,
		SubagentStop, Stop}
}

// An Answer is the output of a hook. The zero Answer lets the session continue.
type Answer struct {
	Text    string   // becomes part of the conversation; safe for a terminal
	Refusal error    // why the tool may not be called
	Block   *Block   // keeps the session from stopping, or reports a problem with its last call
	Context *Context // becomes part of a sub-agent's conversation
}

// A Context is the document with which a hook informs a sub-agent before it begins.
type Context struct {
	Output struct {
		Event string `json:"hookEventName"`
		Text  string `json:"additionalContext"`
	} `json:"hookSpecificOutput"`
}

// A Block is the document with which a hook makes Claude Code continue, or reports on the call
// that it has just made.
type Block struct {
	Decision string `json:"decision"` // always "block"
	Reason   string `json:"reason"`   // the model reads it
}

// Run answers the named hook, whose document is read from in. An unknown hook gives an empty
// answer, because the plugin may be newer.
func Run(name string, in io.Reader, getenv func(string) string, now time.Time) Answer {
	c, err := readCall(in)
	if errors.Is(err, errTooLong) && name == Guard {
		return Answer{Refusal: err}
	}
	if err != nil {
		return Answer{}
	}
	s := &session{call: c, getenv: getenv, now: now}
	switch name {
	case SessionStart:
		return Answer{Text: s.start()}
	case SubagentStart:
		s.remember()
		return Answer{Context: s.startOfSubagent()}
	case SubagentPages:
		return Answer{Context: s.pages()}
	case AfterTool:
		return Answer{Block: s.touched(true)}
	case SubagentStop:
		return Answer{Block: s.subagentStop()}
	case Guard:
		return Answer{Refusal: s.guard()}
	case Stop:
		return Answer{Block: s.stop()}
	}
	return Answer{}
}

// A call is the part of the client's document that hooks use. A field of the wrong type doesn't
// hide the others.
type call struct {
	Event   string
	Source  string // why the session starts: startup, resume, clear, compact
	Session string
	Cwd     string
	AgentID string
	// only in sub-agents: "gl:gl-implementer" from a plugin, otherwise "gl-implementer"
	AgentType  string
	Tool       string
	ToolInput  guard.Input
	StopActive bool // the session continues because of a hook
	Background bool // tasks are running that will wake the session

	Unknown bool // the caller may be any session or sub-agent
}

// UnmarshalJSON accepts any object.
func (c *call) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	text := func(key string, to *string) (ok bool) {
		raw := fields[key]
		return len(raw) == 0 || json.Unmarshal(raw, to) == nil
	}
	text("hook_event_name", &c.Event)
	text("source", &c.Source)
	text("cwd", &c.Cwd)
	text("tool_name", &c.Tool) // an unnamed tool may write
	session := text("session_id", &c.Session)
	agent := text("agent_type", &c.AgentType)
	text("agent_id", &c.AgentID)
	c.Unknown = !session || !agent
	if len(c.Cwd) > guard.MaxPath { // no session works there
		c.Cwd = ""
	}
	if raw := fields["tool_input"]; len(raw) > 0 {
		_ = c.ToolInput.UnmarshalJSON(raw) // it accepts anything
	}
	c.StopActive = given(fields["stop_hook_active"], "false", `"false"`)
	c.Background = given(fields["background_tasks"], "[]", "false")
	return nil
}

// given reports whether there is a value other than null and empty ones.
func given(raw json.RawMessage, nothing ...string) bool {
	var compact bytes.Buffer
	return len(raw) > 0 && json.Compact(&compact, raw) == nil && compact.String() != "null" &&
		!slices.Contains(nothing, compact.String())
}

// maxCall bounds what is read.
const maxCall = 64 << 20

// errTooLong is returned for a call whose writes can't be checked.
var errTooLong = errors.New("the call is longer than 64 MB, which gl doesn't check: write the file in parts")

func readCall(in io.Reader) (call, error) {
	var c call
	data, err := io.ReadAll(io.LimitReader(in, maxCall+1))
	if err != nil {
		return c, err
	}
	if len(data) > maxCall {
		return c, errTooLong
	}
	return c, json.Unmarshal(data, &c)
}

// A session is the session that calls a hook.
type session struct {
	call
	getenv func(string) string
	now    time.Time
}

// project opens the project that the session works in; nil if there is none.
func (s *session) project() *project.Project {
	root, err := project.Find(s.Cwd, s.getenv)
	if err != nil {
		return nil
	}
	pr, err := project.Open(root)
	if err != nil {
		return nil
	}
	return pr
}

// held returns the slices in progress that the session has claimed.
func (s *session) held(pr *project.Project, p *plan.Plan) []*plan.State {
	var held []*plan.State
	for i := range p.States {
		st := &p.States[i]
		who := attempt.NewClaimant(s.getenv, st.ID)
		if who.Token == "" && s.Session != "" {
			who.Holder = s.Session
		}
		if st.Class == plan.Active && who.Holds(pr.Runs, st) {
			held = append(held, st)
		}
	}
	return held
}

// managed reports whether gl itself claims and changes the project's items.
func managed(pr *project.Project) bool { return pr.Tracker.Traits().Managed }
