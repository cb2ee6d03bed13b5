package hook

import (
	"cmp"
	"fmt"
	"strings"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/plugin"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
)

// start returns what a session should know before its first turn. A resumed session has already
// read the standards.
func (s *session) start() string {
	text := s.state()
	if standards := s.standards(); standards != "" && s.Source != "resume" {
		text = strings.TrimPrefix(text+"\n"+standards, "\n")
	}
	return text
}

// startOfSubagent returns what a sub-agent should know before its first turn: the standards. It
// returns nil for nothing.
func (s *session) startOfSubagent() *Context { return newContext(s.standards()) }

// MostContext is the number of bytes the client accepts from one hook; it truncates more. So
// the pages have a hook of their own.
const MostContext = 10_000

// pages returns the references for a sub-agent's work, so that they needn't be typed. It
// returns nil for none.
func (s *session) pages() *Context {
	names := isolation().Pages(s.agentName())
	if len(names) == 0 || s.project() == nil {
		return nil
	}
	return newContext(Pages(names))
}

// Pages returns references in the form that sub-agents get.
func Pages(names []string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "<page name=%q>\n%s\n</page>\n\n", name,
			strings.TrimSpace(plugin.Documents()[name]))
	}
	return b.String()
}

func newContext(text string) *Context {
	if text == "" {
		return nil
	}
	c := new(Context)
	c.Output.Event, c.Output.Text = "SubagentStart", text
	return c
}

// state returns the status of the project.
func (s *session) state() string {
	pr := s.project()
	if pr == nil {
		return ""
	}
	if s.getenv("GL_SESSION") != "" {
		return sanitize.Text(s.startOfAgent(pr))
	}
	p, err := pr.Plan(s.now, pr.Options())
	if err != nil {
		return ""
	}
	lines := []string{headline(pr, p)}
	for _, st := range s.held(pr, p) {
		lines = append(lines,
			fmt.Sprintf("This session has claimed %s (%s).", st.ID, st.Progress()))
	}
	for _, h := range p.InEffect() {
		lines = append(lines, "Held: "+h.Listed(s.now))
	}
	for _, text := range p.Snapshot.Blockers {
		lines = append(lines, "Blocker: "+text)
	}
	lines = append(lines, s.lists(p)...)
	if landed := lane.ReadStatus(pr.Runs.Files.Dir()); len(landed.Waiting()) > 0 &&
		p.Snapshot.Noun == plan.Slice {
		lines = append(lines, fmt.Sprintf("Not merged yet: %s%s (%s; gl land tries again).",
			strings.Join(landed.Waiting()[:min(len(landed.Waiting()), mostItems)], ", "),
			words.More(len(landed.Waiting())-mostItems), landed.Reason))
	}
	if command := next(pr, p); command != "" {
		lines = append(lines, "Next: "+command+".")
	}
	return sanitize.Text(strings.Join(lines, "\n") + "\n")
}

func headline(pr *project.Project, p *plan.Plan) string {
	if managed(pr) {
		return fmt.Sprintf("Greenlight keeps this project's state. Change it only with gl. %d/%d done.", p.Done, p.Total)
	}
	return fmt.Sprintf("%s keeps this project's state, and gl builds its %ss: %d/%d done.",
		pr.System().Name, p.Snapshot.Noun, p.Done, p.Total)
}

// startOfAgent returns what a session started by gl works on, without other work.
func (s *session) startOfAgent(pr *project.Project) string {
	slice := s.getenv("GL_SLICE")
	id := cmp.Or(slice, s.getenv("GL_TASK"))
	if id == "" {
		return ""
	}
	show := "gl why " + id
	if managed(pr) {
		show = "gl state show " + id + " --text"
	}
	claim := ""
	if slice != "" {
		claim = fmt.Sprintf(" The session has claimed it: %s.", show)
	}
	return fmt.Sprintf("gl started this session to work on %s.%s No one is there to answer questions.\n", id, claim)
}

// mostItems is how many items a list names.
const mostItems = 6

// lists returns a line for each nonempty group of items: what is running, ready and stuck.
func (s *session) lists(p *plan.Plan) []string {
	id := func(id string) string { return id }
	cause := func(id string) string { return p.Why(id, s.now).Brief() }
	var lines []string
	type list struct {
		label string
		ids   []string
		text  func(id string) string
	}
	lists := []list{{"Running", p.Lists.Running, id}, {"Merging", p.Lists.Landing, id},
		{"Ready", p.Lists.Ready, id}, {"Waiting for a person", p.Lists.Waiting, cause}}
	for _, g := range p.Lists.Troubled() {
		lists = append(lists, list{g.Label, g.IDs, cause})
	}
	for _, l := range lists {
		if len(l.ids) == 0 {
			continue
		}
		var texts []string
		for _, id := range l.ids[:min(len(l.ids), mostItems)] {
			texts = append(texts, l.text(id))
		}
		lines = append(lines,
			l.label+": "+strings.Join(texts, ", ")+words.More(len(l.ids)-mostItems))
	}
	return lines
}

// next returns the command to continue with, and what it does; "" for none.
func next(pr *project.Project, p *plan.Plan) string {
	switch {
	case len(p.Lists.TroubledIDs()) > 0:
		return "gl why says what to do about each; gl slice builds what is ready"
	case len(p.Lists.Ready) > 0:
		command, _, _ := strings.Cut(pr.Tracker.Prompt(p.Lists.Ready[0]), " ")
		return fmt.Sprintf("%s builds %s; gl slice --watch in a terminal builds everything",
			command, p.Lists.Ready[0])
	case p.Done < p.Total && len(p.Lists.Running) == 0:
		return "gl why"
	}
	return ""
}
