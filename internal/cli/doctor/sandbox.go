package doctor

import (
	"errors"
	"os"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/sandbox"
)

// checkSandbox reports that agents can't be confined although they should be, as an error, or that
// they could be, as a note. Agents in the checkout can't be confined.
func checkSandbox(x *exam) []Finding {
	wanted := x.pr.Config.Sandbox == project.SandboxBwrap
	if !wanted && !x.inWorktrees() {
		return nil
	}
	err := sandbox.Check(x.ctx)
	switch none := new(sandbox.Unavailable); {
	case errors.As(err, &none) && wanted:
		return []Finding{found(Error, project.ConfigFile, "sandbox is bwrap, and agents don't start: "+sanitize.Line(none.Reason), none.Help+", or gl settings set sandbox off")}
	case errors.As(err, &none):
		return []Finding{found(Note, "",
			"there is no sandbox for agents here: "+sanitize.Line(none.Reason), none.Help)}
	case err != nil:
		return []Finding{found(Warning, "", sanitize.Line(err.Error()), "")}
	case wanted && x.pr.Config.Git.Isolation != project.IsolationWorktree:
		return []Finding{found(Error, project.ConfigFile, "sandbox is bwrap, and it confines agents in worktrees only, but git.isolation is "+x.pr.Config.Git.Isolation,
			"gl settings set git.isolation worktree")}
	case wanted && os.Geteuid() == 0:
		return []Finding{found(Warning, "", "gl runs as root: an agent in the sandbox reads every file but the secrets of root's own home directory, those of other users too",
			"run gl as a user of its own")}
	case !wanted:
		return []Finding{found(Note, "", "agents in worktrees can be confined by bubblewrap here, and aren't (sandbox is off)", "gl settings set sandbox bwrap")}
	}
	return nil
}
