package attempt

import (
	"fmt"

	"greenlight/internal/core/agent"
	"greenlight/internal/workspace/worktree"
)

// LineageIn returns the lineage that the attempt was claimed for.
func (r *Record) LineageIn(repo *worktree.Repo) (*worktree.Lineage, error) {
	l, err := repo.Lineages.Get(r.ID.System, r.ID.Work())
	if err == nil && l.N != r.Place.Lineage {
		err = fmt.Errorf("worktree %d of %s has taken the place of %d",
			l.N, r.ID.Work(), r.Place.Lineage)
	}
	return l, err
}

// SandboxBwrap is the sandbox that bubblewrap makes, as records and settings name it.
const SandboxBwrap = "bwrap"

// Confined reports whether the attempt's agent may be unable to write the records: in gl's
// sandbox, or in codex's own.
func (j *Job) Confined() bool { return j.Sandbox != "" || agent.IsCodex(j.Program) }
