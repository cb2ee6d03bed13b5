package cli

import (
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
	"greenlight/internal/show/view"
	"greenlight/internal/workspace/worktree"
)

// begin returns the commands to begin with where no project is.
func begin(place string, inside bool) []nextCommand {
	demo := nextCommand{"gl demo", "watch it build a sample: fifteen seconds, no cost"}
	switch {
	case place != inRepository && inside:
		return []nextCommand{demo}
	case place != inRepository:
		return []nextCommand{demo, {worktree.BeginRepository,
			`begin here; then gl do "TEXT" has an agent do a task`}}
	case inside: // an agent starts no agents
		return []nextCommand{{"gl init --no-agent", "create a project's files"}, demo}
	}
	return []nextCommand{
		{`gl do "fix the login"`, "give agents tasks, one or several, without any setup"},
		{"gl init", "plan bigger work as slices that depend on each other"}, demo,
	}
}

// A standing is where a project is: all that decides which commands come next in a project.
type standing struct {
	p         *plan.Plan
	counts    view.Counts
	own       bool   // Greenlight's own slices
	inside    bool   // an agent asks
	builds    string // the slice that this agent builds; "" for none
	launching bool   // a run is under way, which launches what gets ready
	noGit     bool   // built in the directory itself, which is in no repository
	refuses   bool   // config.json has errors, so nothing is launched
	archive   string // GSD's slash command that archives a milestone; "" in other systems
	land      string // the command that goes on with merged work that the target doesn't have
	slots     int
	agents    []string // in order of preference
}

// mostNext is how many commands are shown.
const mostNext = 2

// next returns the commands to go on with, the most urgent first.
func (s standing) next() []nextCommand {
	list := s.all()
	list = list[:min(len(list), mostNext)]
	for i, n := range list {
		if strings.HasPrefix(n.Command, "/") { // for Claude Code
			continue
		}
		list[i].Command += s.p.Snapshot.Flags
		if flags, text, found := strings.Cut(n.Command, ` "`); found { // flags before the text
			list[i].Command = flags + s.p.Snapshot.Flags + ` "` + text
		}
	}
	return list
}

func (s standing) all() (list []nextCommand) {
	add := func(applies bool, command, why string) {
		if applies {
			list = append(list, nextCommand{command, why})
		}
	}
	c, person, noun := s.counts, !s.inside, s.p.Snapshot.Noun
	wait := c.NeedsYou + c.Failed + c.Stopped
	holds := s.p.InEffect()
	held, lift := len(holds) > 0, ""
	if held {
		all := holds[0].Lifting()
		lift = all[len(all)-1] // without a number to think of
	}
	add(s.builds != "", "gl state show "+s.builds, "the slice that this session builds")
	add(wait > 0, "gl review", "go through what waits for you: "+words.Count(wait, noun))
	add(len(s.p.Warnings) > 0, "gl doctor", "what is wrong and what helps: "+
		words.Count(len(s.p.Warnings), "warning"))
	add(plan.RedBase(s.p) != nil && person, "gl verify", "run the tests again, once they are fixed")
	idle := s.idle()
	startOver := slices.Contains([]string{idle, s.land}, plan.LandReset)
	add(startOver && person, plan.LandReset, "start the merge queue over: what is merged there isn't in the target")
	add(c.Undelivered > 0 && person && !startOver, "gl land",
		"merge what had to wait: "+words.Count(c.Undelivered, noun))
	add(held && c.Ready > 0 && person, lift, "launch agents again, before the hold ends")
	add(idle != "" && person && !startOver, "gl land", "merge what is queued: no gl is working on it")
	add(c.Running+c.Merging > 0 && person, "gl board", "watch them live")
	add(c.Running+c.Merging > 0 && s.inside, "gl status", "where each slice is")
	add(c.Ready > 0 && !held && !s.launching && !s.refuses && person, "gl slice --watch", s.building())
	add(c.Ready > 0 && s.inside && s.builds == "", "gl slice", "print the slice to build next")
	add(s.p.Total == 0 && s.own && !s.noGit && person, `gl do "TEXT"`, "have an agent do a task")
	add(s.p.Total == 0 && s.own, `gl add-slice "NAME"`, "add the first slice of a plan")
	add(s.p.Total == 0 && s.own && person, "gl init", "plan the slices with an agent")
	add(s.done() && person, "gl report", "what was built, and what it cost")
	add(s.done() && s.archive != "" && person, s.archive,
		"in Claude Code: archive the milestone, once you are content with it")
	add(s.done() && s.noGit && person, worktree.BeginRepository, `then gl do "TEXT" works here, and gl undo`)
	add(s.done() && s.own && !s.noGit && person, `gl do "TEXT"`, "have an agent do another task; gl add-slice plans it instead")
	add(s.done() && s.own, `gl add-slice "NAME"`, "add the next slice")
	add(c.Blocked > 0 && wait+c.Running+c.Merging+c.Ready == 0, "gl why", "what keeps each from going on")
	add(c.Ready > 0 && !s.launching && person, "gl slice --dry-run", "show what would be launched")
	add(len(list) == 0, "gl status", "where each "+noun+" is")
	return list
}

// idle returns the command that goes on with work that waits in the merge queue while no gl works
// on it; "" for no such work.
func (s standing) idle() string {
	for _, id := range s.p.Lists.Landing {
		if a := s.p.State(id).Attempt; a != nil && a.Idle {
			return plan.LandCommand(a.Landing)
		}
	}
	return ""
}

// done reports whether all items are complete.
func (s standing) done() bool { return s.p.Total > 0 && s.counts.Done == s.counts.Total }

// building says what a run would do: "build 5 ready slices with claude, 4 at a time".
func (s standing) building() string {
	n := s.counts.Ready
	text := "build " + words.Count(n, "ready "+s.p.Snapshot.Noun) + " with " +
		strings.Join(s.agents, ", ")
	if s.noGit {
		return text + " in this directory itself, which is in no git repository"
	}
	if n > 1 && s.slots > 1 {
		text += fmt.Sprintf(", %d at a time", min(n, s.slots))
	}
	if s.counts.Blocked > 0 {
		text += ", then what depends on " + map[bool]string{true: "it", false: "them"}[n == 1]
	}
	return text
}
