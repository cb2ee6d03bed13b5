package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/gsd"
	"greenlight/internal/cli/sw"
)

type commandGroup struct {
	id, title string
	commands  []entry
}

// An entry is a command of the table.
type entry struct {
	name string
	make maker
}

// showsAll are the commands that show or complete the others.
const showsAll = "board completion"

// needed returns the groups with only the command that args call, because making all of them takes
// a fifth of gl's start. all is true if every command is there: for a word that isn't a command,
// and for help.
func needed(groups []commandGroup, args []string) (few []commandGroup, all bool) {
	at := commandAt(args)
	if at >= len(args) || slices.Contains(strings.Fields(showsAll), args[at]) {
		return groups, true
	}
	few, all = slices.Clone(groups), true
	for i, g := range groups {
		few[i].commands = nil
		for _, e := range g.commands {
			if e.name == args[at] {
				few[i].commands, all = []entry{e}, false
			}
		}
	}
	if all {
		return groups, true
	}
	return few, false
}

type maker = func(*cmdutil.App) *cobra.Command

func paged(f maker, flags ...string) maker {
	return func(app *cmdutil.App) *cobra.Command { return cmdutil.Paged(app, f(app), flags...) }
}

// changes and telling apply cmdutil.Changes and cmdutil.Telling to a command.
func changes(f maker) maker {
	return func(app *cmdutil.App) *cobra.Command { return cmdutil.Changes(app, f(app)) }
}

func telling(f maker) maker {
	return func(app *cmdutil.App) *cobra.Command { return cmdutil.Telling(app, f(app)) }
}

// groupAdmin is also the group of gl help, which cobra adds.
const groupAdmin = "admin"

// commandGroups returns the commands in the order of the help.
func commandGroups() []commandGroup {
	return []commandGroup{
		{"begin", "Project lifecycle:", []entry{
			{"init", telling(newInit)},
			{"design", newDesign},
			{"roadmap", paged(newRoadmap)},
		}},
		{"build", "Building:", []entry{
			{"slice", newSlice},
			{"quick", newQuick},
			{"rehearse", newRehearse},
			{"retry", telling(newRetry)},
			{"edit", changes(newEdit)},
			{"remove", changes(newRemove)},
			{"rename", changes(newRename)},
		}},
		{"review", "Review:", []entry{
			{"review", newReview},
			{"diff", paged(newDiff, "tool")},
			{"accept", changes(newAccept)},
			{"reject", changes(newReject)},
			{"answer", changes(newAnswer)},
			{"verify", telling(newVerify)},
			{"land", changes(newLand)},
			{"undo", changes(newUndo)},
			{"salvage", paged(newSalvage, "to", "branch")},
			{"clean", newClean},
		}},
		{"state", "State and progress:", []entry{
			{"status", paged(newStatus, "watch")},
			{"why", paged(newWhy)},
			{"board", newBoard},
			{"web", newWeb},
			{"report", newReport},
			{"graph", paged(newGraph)},
			{"events", paged(newEvents, "follow")},
			{"cost", paged(newCost)},
			{"budget", newBudget},
			{"logs", paged(newLogs, "follow")},
			{"debug", paged(newDebug, "run-tests")},
			{"changelog", paged(newChangelog)},
			{"statusline", newStatusline},
		}},
		{"run", "Running sessions:", []entry{
			{"attach", newAttach},
			{"say", changes(newSay)},
			{"do", newDo},
			{"trust", newTrust},
			{"stop", telling(newStop)},
			{"hold", newHold},
		}},
		{"machines", "Other machines:", []entry{
			{"serve", newServe},
			{"workers", paged(newWorkers)},
			{"worker", newWorker},
		}},
		{"code", "Existing code:", []entry{
			{"assess", newAssess},
			{"map", newMap},
			{"wrap", newWrap},
		}},
		{"release", "Release:", []entry{
			{"ship", newShip},
		}},
		{"session", "Session:", []entry{
			{"pause", telling(newPause)},
			{"resume", newResume},
		}},
		{"files", "State, for slash commands and scripts:", []entry{
			{"state", newState},
			{"add-slice", newAddSlice},
			{"import", newImport},
			{"migrate", telling(newMigrate)},
			{"settings", newSettings},
			{"doctor", newDoctor},
		}},
		{"siblings", "Sibling formats:", []entry{
			{"sw", sw.New},
			{"gsd", gsd.New},
		}},
		{groupAdmin, "Admin:", []entry{
			{"install", changes(newInstall)},
			{"uninstall", changes(newUninstall)},
			{"check", newCheck},
			{"hook", newHook},
			{"ref", newRef},
			{"demo", changes(newDemo)},
			{"completion", newCompletion},
			{"version", newVersion},
		}},
	}
}

// remoteGroups returns the commands of gl-remote.
func remoteGroups() []commandGroup {
	return []commandGroup{
		{"machines", "Other machines:", []entry{
			{"serve", newServe},
			{"worker", newWorker},
		}},
		{groupAdmin, "Admin:", []entry{
			{"version", newVersion},
		}},
	}
}
