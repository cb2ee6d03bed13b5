package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/workspace/git"
)

// A found records a sub-agent: when it worked, and the state it started from. It is a file in
// runs/agents, named by the client's id of the agent, and stays while another agent is working
// that ran at the same time.
type found struct {
	Agent   string    `json:"agent"`
	Session string    `json:"session"` // session of the sub-agent
	Dir     string    `json:"dir"`     // its worktree or checkout
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`

	Commit   string        `json:"commit,omitempty"`   // snapshot of gl's worktree
	Contents *git.Contents `json:"contents,omitempty"` // of a checkout
}

// forgotten is the age from which a sub-agent without a recorded end no longer counts: its
// session was killed.
const forgotten = 6 * time.Hour

var agentID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)
})

// foundIn returns the file of the session's sub-agent; "" for none.
func (s *session) foundIn(runs string) string {
	if !agentID().MatchString(s.AgentID) {
		return ""
	}
	return filepath.Join(runs, "agents", s.AgentID)
}

func readFound(path string) *found {
	data, err := durable.ReadFile(path)
	var f found
	if err != nil || json.Unmarshal(data, &f) != nil || f.Agent == "" {
		return nil
	}
	return &f
}

// write saves f. Without it nothing is compared, so write errors are ignored rather than
// stopping the agent.
func (f *found) write(path string) {
	data, err := json.Marshal(f)
	if err == nil && durable.MkdirPrivate(filepath.Dir(path)) == nil {
		_ = durable.WriteFile(path, data, 0o600)
	}
}

// beside returns the other sub-agents in the same directory that worked at the same time as
// this one. It removes files that no comparison needs anymore.
func (f *found) beside(path string, now time.Time) []*found {
	entries, _ := durable.ReadDir(filepath.Dir(path)) // on error there are none
	var list []*found
	all := map[string]*found{}
	oldest := now // start of the earliest agent that is still working
	for _, e := range entries {
		name := filepath.Join(filepath.Dir(path), e.Name())
		o := readFound(name)
		if name == path {
			continue
		}
		if o == nil || now.Sub(o.Started) > forgotten {
			_ = os.Remove(name)
			continue
		}
		all[name] = o
		if o.Ended.IsZero() && o.Started.Before(oldest) {
			oldest = o.Started
		}
		if o.Dir == f.Dir && (o.Ended.IsZero() || !o.Ended.Before(f.Started)) {
			list = append(list, o)
		}
	}
	for name, o := range all {
		if !o.Ended.IsZero() && o.Ended.Before(oldest) && o.Ended.Before(f.Started) {
			_ = os.Remove(name)
		}
	}
	return list
}

// namesOf returns the agents' names, without duplicates.
func namesOf(list []*found) []string {
	var names []string
	for _, f := range list {
		names = append(names, f.Agent)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// excused omits the files that one of the agents may change.
func excused(paths []string, list []*found) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(rel string) bool {
		return slices.ContainsFunc(list, func(f *found) bool {
			return len(isolation().Strayed(f.Agent, []string{rel}, true)) == 0
		})
	})
}
