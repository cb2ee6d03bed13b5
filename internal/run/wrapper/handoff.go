package wrapper

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"greenlight/internal/base/logfile"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/text/lines"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/base/words"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/attempt"
	"greenlight/internal/workspace/worktree"
)

// A handoff describes earlier work to the agent that continues it. gl slice prints it in the
// agent's session, so it appears on no command line.
type handoff struct {
	*attempt.Continuation                    // nil for the first attempt in the lineage
	checkout              bool               // it works there rather than in a worktree
	resumes               bool               // the agent knows the conversation
	is                    worktree.Condition // of the worktree
	branch                string             // that belongs there
	changed               []string           // what isn't committed, as git status has it
	said                  string             // the end of the last attempt's log
	messages              []attempt.Message  // of a person
}

const (
	shownPaths = 10
	saidBytes  = 2 << 10
	logBytes   = 256 << 10 // of a log's end that is read for its last words
)

// text returns the hand-off as the agent reads it; "" for none.
func (h handoff) text() string {
	var b strings.Builder
	line := func(format string, a ...any) {
		b.WriteString(sanitize.Text(fmt.Sprintf(format, a...)) + "\n")
	}
	for _, m := range h.messages {
		line("A person says: %s", m.Words())
	}
	if h.Continuation != nil {
		place := "worktree"
		if h.checkout {
			place = "checkout"
		}
		if h.Again {
			line("%s", h.Why)
		} else {
			line("This attempt goes on with earlier work in the same %s. %s", place, h.Why)
		}
		if h.Output != "" && !h.resumes {
			line("%s", textline.Indent(h.Output))
		}
	}
	if h.is.Operation != "" {
		line("A %s isn't finished in the worktree: git status says more. Finish it or abort it before anything else.", h.is.Operation)
	}
	switch {
	case h.is.Branch == h.branch:
	case h.is.Branch != "":
		line("The worktree is on the branch %s. Your work belongs on %s.", worktree.Short(h.is.Branch), worktree.Short(h.branch))
	case h.is.Operation != "rebase" && h.is.Operation != "bisect": // which detach it themselves
		line("The worktree's HEAD is detached. Your work belongs on the branch %s.", worktree.Short(h.branch))
	}
	if h.Continuation != nil && len(h.changed) > 0 {
		line("Not committed (git status --short):")
		for _, path := range h.changed[:min(len(h.changed), shownPaths)] {
			line("    %s", strings.ReplaceAll(path, "\n", "?"))
		}
		if more := len(h.changed) - shownPaths; more > 0 {
			line("    and %s more", words.Count(more, "path"))
		}
	}
	if h.Continuation != nil && h.said != "" && !h.resumes {
		line("The last lines of attempt %d, whose agent you may not be:", h.After)
		line("%s", textline.Indent(h.said))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// handOff looks at what the attempt begins with, in its worktree.
func (p *workplace) handOff(ctx context.Context, repo *worktree.Repo, l *worktree.Lineage) error {
	h := handoff{
		Continuation: p.rec.Talk.Continues, resumes: p.rec.Talk.Resumes(), is: p.before, branch: l.Branch,
		messages: p.rec.Talk.Said,
	}
	if h.Continuation != nil {
		var err error
		if h.changed, err = repo.Layout.Worktree(l).Changed(ctx); err != nil {
			return err
		}
	}
	p.hand(h)
	return nil
}

// handOffHere is handOff in the checkout.
func (c *claimed) handOffHere() {
	if c.rec.Talk.Continues != nil || len(c.rec.Talk.Said) > 0 {
		c.hand(handoff{Continuation: c.rec.Talk.Continues, checkout: true, messages: c.rec.Talk.Said})
	}
}

// handOffAnew returns the hand-off for an agent without the earlier conversation.
func (c *claimed) handOffAnew() string {
	c.handoff.resumes = false
	return c.handoff.text()
}

func (c *claimed) hand(h handoff) {
	if h.Continuation != nil {
		if last, err := c.settler.Store.Get(cmp.Or(h.Of, c.rec.ID.Slice), h.After); err == nil {
			h.said = lastSaid(last.Life.Log, last.Job.Stream)
		}
	}
	c.handoff = h
	c.rec.Talk.Handoff = h.text()
}

// lastSaid returns the end of a log as its agent's reader would see it; "" for one that can't be
// read.
func lastSaid(path, stream string) string {
	log := logfile.NewReader(path)
	defer log.Close()
	if log.ToEnd(logBytes) != nil {
		return ""
	}
	var texts []string
	d, in := agent.NewDecoder(stream), lines.NewSplitter(lines.Max)
	hear := func(p lines.Piece) {
		if note, ours := logfile.ParseNote(p.Text); ours {
			texts = append(texts, sanitize.Text(note.Text))
			return
		}
		for _, e := range d.Piece(p) {
			if e.Kind != agent.KindInit && e.By == "" {
				texts = append(texts, e.Text)
			}
		}
	}
	if in.Read(log, hear) != nil {
		return ""
	}
	in.End(hear)
	return textline.Last(strings.Join(texts, "\n"), saidBytes)
}
