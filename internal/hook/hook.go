// Package hook answers Claude Code's hooks: what a session should know when it starts, which writes are refused, and
// whether a session may stop while it holds a slice. What may be written is decided by package guard, to which this package
// brings the files. It returns answers and prints nothing. A hook must never keep anybody from working, so whatever goes
// wrong is an empty answer.
package hook

import (
	"encoding/json"
	"io"
	"time"

	"greenlight/internal/attempt"
	"greenlight/internal/guard"
	"greenlight/internal/plan"
	"greenlight/internal/project"
)

// The hooks.
const (
	SessionStart = "session-start"
	Guard        = "guard"
	Stop         = "stop"
)

// Names lists the hooks.
func Names() []string { return []string{SessionStart, Guard, Stop} }

// An Answer is what a hook has to say. The zero Answer lets the session go on.
type Answer struct {
	Text    string // becomes part of the conversation; safe for a terminal
	Refusal error  // why the tool may not be called
	Block   *Block // keeps the session from stopping
}

// A Block is the document with which a hook makes Claude Code continue.
type Block struct {
	Decision string `json:"decision"` // always "block"
	Reason   string `json:"reason"`   // the model reads it
}

// Run answers the hook of that name, whose document is read from in. A hook that this gl doesn't know has nothing to say:
// the plugin may be newer.
func Run(name string, in io.Reader, getenv func(string) string, now time.Time) Answer {
	c, err := readCall(in)
	if err != nil {
		return Answer{}
	}
	s := &session{call: c, getenv: getenv, now: now}
	switch name {
	case SessionStart:
		return Answer{Text: s.start()}
	case Guard:
		return Answer{Refusal: s.guard()}
	case Stop:
		return Answer{Block: s.stop()}
	}
	return Answer{}
}

// A call is the document that the client passes to a hook, as far as we look at it.
type call struct {
	Event      string      `json:"hook_event_name"`
	Session    string      `json:"session_id"`
	Cwd        string      `json:"cwd"`
	AgentID    string      `json:"agent_id"`
	AgentType  string      `json:"agent_type"` // only in sub-agents: "gl:gl-implementer" from a plugin, otherwise "gl-implementer"
	Tool       string      `json:"tool_name"`
	ToolInput  guard.Input `json:"tool_input"`
	StopActive bool        `json:"stop_hook_active"` // the session continues because a hook wanted it to
	Background []any       `json:"background_tasks"` // they wake the session when they are done
}

// maxCall bounds what is read. A longer document doesn't parse, so the call is allowed.
const maxCall = 64 << 20

func readCall(in io.Reader) (call, error) {
	var c call
	data, err := io.ReadAll(io.LimitReader(in, maxCall))
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(data, &c)
}

// A session is the one that calls a hook.
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

// held are the slices in progress that the session has claimed.
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

// managed says whether gl itself claims and changes the project's items.
func managed(pr *project.Project) bool { return pr.Tracker.Traits().Managed }
