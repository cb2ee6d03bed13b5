package doctor

import (
	"fmt"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
)

// checkTests reports a missing test command, with a suggestion, and the settings that agents
// proposed.
func checkTests(x *exam) []Finding {
	var all []Finding
	if !x.pr.Config.Test.Command.IsSet() {
		if p, ok := testrun.Detect(x.pr.Root); ok {
			all = append(all, found(Note, project.ConfigFile,
				"there is no test command, so gl can't verify what agents complete ("+p.Why+")",
				p.Set()))
		} else if x.inWorktrees() {
			all = append(all, found(Note, project.ConfigFile,
				"there is no test command, so gl can't verify what agents complete",
				"gl settings set test.command 'COMMAND'"))
		}
	}
	if lane.TestsShare(x.pr) {
		all = append(all, found(Note, project.ConfigFile,
			"the tests fail side by side and pass alone, so merges are tested one after the other; tests that share a port or a database do that",
			"gl settings set test.parallel 1, or make them independent of each other"))
	}
	proposals, err := x.pr.Proposals().List()
	if err != nil {
		all = append(all, found(Warning, "", sanitize.Line(err.Error()), ""))
	}
	for _, p := range proposals {
		key, value := sanitize.Line(p.Key), sanitize.Line(p.Value)
		all = append(all, found(Note, project.ConfigFile,
			fmt.Sprintf("attempt %s wanted to set %s to %s", sanitize.Line(p.Attempt), key, value),
			p.Command()+", if you agree"))
	}
	return all
}
