package remote_test

import (
	"testing"
	"time"

	"greenlight/internal/core/remote"
)

// Work that goes on prefers the worker that has its conversation, and waits for it for a while.
// Where that can't help, any worker may have it.
func TestChoose(t *testing.T) {
	const lineage = "S-1.w1"
	worker := func(name string, slots int, change func(*remote.Candidate)) remote.Candidate {
		c := remote.Candidate{Name: name, Hello: &remote.Hello{Slots: slots, Agents: []string{"claude"}}, Returns: true}
		if change != nil {
			change(&c)
		}
		return c
	}
	kept := func(change func(*remote.Candidate)) remote.Candidate {
		return worker("w1", 1, func(c *remote.Candidate) {
			c.Kept = []string{lineage}
			if change != nil {
				change(c)
			}
		})
	}
	const long = 5 * time.Minute
	tests := []struct {
		name   string
		w1     remote.Candidate
		waited time.Duration
		worker string
		waits  remote.Text
	}{
		{"there", kept(nil), 0, "w1", ""},
		{"there, after long", kept(nil), time.Hour, "w1", ""},
		{"full", kept(func(c *remote.Candidate) { c.Used = 1 }), 0, "", "all its slots are taken"},
		{"full for long", kept(func(c *remote.Candidate) { c.Used = 1 }), long, "w2", ""},
		{"away", kept(func(c *remote.Candidate) { c.Barred = "it has no contact" }), long - 1, "", "it has no contact"},
		{"away for long", kept(func(c *remote.Candidate) { c.Barred = "it has no contact" }), long, "w2", ""},
		{"not heard of since a restart", kept(func(c *remote.Candidate) { c.Hello, c.Kept, c.Barred = nil, nil, "it has no contact" }),
			0, "", "it has no contact"},
		{"drained", kept(func(c *remote.Candidate) { c.Barred, c.Returns = "it gets no new jobs", false }), 0, "w2", ""},
		{"without the agent now", kept(func(c *remote.Candidate) { c.Hello.Agents, c.Barred = nil, "it has no contact" }), 0, "w2", ""},
		{"the worktree was removed", worker("w1", 1, nil), 0, "w2", ""},
		{"the worktree was removed, and it is away",
			worker("w1", 1, func(c *remote.Candidate) { c.Barred = "it has no contact" }), 0, "w2", ""},
	}
	for _, tt := range tests {
		all := []remote.Candidate{tt.w1, worker("w2", 3, nil), worker("w3", 2, nil)}
		wish := remote.Wish{Needs: remote.Needs{Agent: "claude"}, Lineage: lineage, Before: "w1", Waited: tt.waited}
		if c := remote.DefaultPolicy.Choose(all, wish); c.Worker != tt.worker || c.Waits != tt.waits {
			t.Errorf("%s: %+v", tt.name, c)
		}
		wish.Before = ""
		if c := remote.DefaultPolicy.Choose(all, wish); c.Worker != "w2" || c.Waits != "" {
			t.Errorf("%s, without a conversation: %+v", tt.name, c)
		}
	}
	wish := remote.Wish{Needs: remote.Needs{Agent: "codex"}}
	if c := remote.DefaultPolicy.Choose([]remote.Candidate{worker("w1", 1, nil)}, wish); c.Worker != "" || len(c.Lacks) != 1 {
		t.Errorf("without the agent: %+v", c)
	}
}
