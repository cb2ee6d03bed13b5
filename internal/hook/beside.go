package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/git"
)

// A found is what is remembered of a sub-agent: when it worked, and what it found. It is a file of runs/agents, named by the client's id of the
// agent, and stays for as long as another agent is at work that ran at the same time.
type found struct {
	Agent   string    `json:"agent"`
	Session string    `json:"session"` // whose it is
	Dir     string    `json:"dir"`     // the worktree or checkout in which it works
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`

	Commit   string        `json:"commit,omitempty"`   // of what is in a worktree of gl's
	Contents *git.Contents `json:"contents,omitempty"` // of a checkout
}

// forgotten is the age at which a sub-agent of which no end was seen no longer counts: its session was killed.
const forgotten = 6 * time.Hour

var agentID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`) })

// foundIn is the file of the session's sub-agent; "" for none.
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

// write keeps it. Without it nothing is compared, so an error is no reason to keep anybody from working.
func (f *found) write(path string) {
	data, err := json.Marshal(f)
	if err == nil && durable.MkdirPrivate(filepath.Dir(path)) == nil {
		_ = durable.WriteFile(path, data, 0o600)
	}
}

// beside are the other sub-agents in the same directory that worked at a time when this one did. Files of those that nobody's comparison needs
// any more are removed.
func (f *found) beside(path string, now time.Time) []*found {
	entries, _ := durable.ReadDir(filepath.Dir(path)) // without it there are none
	var list []*found
	all := map[string]*found{}
	oldest := now // when the first of those began that are still at work
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

// namesOf are the agents' names, each once.
func namesOf(list []*found) []string {
	var names []string
	for _, f := range list {
		names = append(names, f.Agent)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// excused leaves out those of the files that one of the agents may change.
func excused(paths []string, list []*found) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(rel string) bool {
		return slices.ContainsFunc(list, func(f *found) bool { return len(isolation().Strayed(f.Agent, []string{rel}, true)) == 0 })
	})
}
