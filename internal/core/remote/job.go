package remote

// A Job is one start of an agent or one run of tests. It has no secret: a worker has logins and
// files of its own. Durations are in milliseconds.
type Job struct {
	Kind    Kind   `json:"kind"`
	System  string `json:"system,omitempty"` // that has the slice; "" for slice files
	Slice   string `json:"slice,omitempty"`  // "" for tests of the merge queue
	N       int    `json:"n,omitempty"`      // the attempt's number
	Lineage string `json:"lineage"`          // jobs of one lineage may continue in one worktree; a name like an attempt's
	Commit  string `json:"commit"`           // to start from
	Merge   *Merge `json:"merge,omitempty"`  // that is begun in the worktree; nil for none

	Setup      []string `json:"setup,omitempty"`          // argv that prepares the worktree
	SetupLimit int64    `json:"setup_limit_ms,omitempty"` // after which it is ended; 0 for the worker's choice
	Save       int64    `json:"save_ms,omitempty"`        // between snapshots; 0 for none before the end
	Work       bool     `json:"work,omitempty"`           // what it leaves in the worktree is pushed at its end

	// Brief is the text of a file for the agent; BriefPlace stands for the file's path.
	Brief   string  `json:"brief,omitempty"`
	Command Command `json:"command"`
	Needs   Needs   `json:"needs"`
}

// A Merge is of a commit into a job's, with conflicts that its agent is to resolve.
type Merge struct {
	Commit  string `json:"commit"`
	Message string `json:"message"`
}

// Published is the commit that is merged, "" for none.
func (m *Merge) Published() string {
	if m == nil {
		return ""
	}
	return m.Commit
}

// Command is the program of a job.
type Command struct {
	Program string   `json:"program"` // what Argv starts: a name to look up on the worker's PATH, or a path in the worktree
	Argv    []string `json:"argv"`
	Env     []string `json:"env,omitempty"`   // "NAME=value", added to the worker's environment
	Dir     string   `json:"dir,omitempty"`   // in which it starts, relative to the worktree, with '/'
	Marks   []string `json:"marks,omitempty"` // of Env: what identifies the processes it starts

	Limit  int64  `json:"limit_ms,omitempty"` // after which it is ended; 0 for none
	Grace  int64  `json:"grace_ms,omitempty"` // between asking it to end and killing it; 0 for the worker's choice
	Leaves string `json:"leaves,omitempty"`   // what it may leave running: "services", "nothing"
	Apart  bool   `json:"apart,omitempty"`    // tells stdout and stderr apart
	Talks  bool   `json:"talks,omitempty"`    // reads lines from Say
	Unwrap bool   `json:"unwrap,omitempty"`   // an exit code above 128 is the signal it stands for
}

// Needs is what a worker must have to get a job.
type Needs struct {
	Agent   string   `json:"agent,omitempty"`
	Labels  []string `json:"labels,omitempty"`  // of Hello.Labels, or its OS or Arch
	Sandbox string   `json:"sandbox,omitempty"` // "bwrap", or ""
	Caches  []string `json:"caches,omitempty"`  // directories that it may write to in its sandbox
	Files   []string `json:"files,omitempty"`   // outside of git, relative to the worktree, with '/'
}

// Kind tells jobs apart.
type Kind string

// The kinds of jobs.
const (
	Agent Kind = "agent"
	Tests Kind = "tests"
)

// A Result is how a job ended. Its texts are safe to show.
type Result struct {
	How        How    `json:"how"`
	Reason     Text   `json:"reason,omitempty"` // unless How is Exited
	Program    Text   `json:"program,omitempty"`
	ExitCode   int    `json:"exit_code"`           // -1 if a signal ended it
	Signal     Text   `json:"signal,omitempty"`    // that ended it
	TimedOut   bool   `json:"timed_out,omitempty"` // it was ended at its limit
	Memory     bool   `json:"out_of_memory,omitempty"`
	Last       Text   `json:"last,omitempty"`        // its last informative line
	Took       int64  `json:"took_ms,omitempty"`     // from start to end
	Left       []Text `json:"left,omitempty"`        // processes that it left running, now ended
	Leftover   Text   `json:"leftover,omitempty"`    // why what it left can't be ended
	Log        int64  `json:"log"`                   // bytes of its whole log
	Commit     string `json:"commit,omitempty"`      // the branch's new tip, with all of its work; "" for none
	Unsaved    Text   `json:"unsaved,omitempty"`     // why Commit isn't all of its work
	Tested     string `json:"tested,omitempty"`      // of a run of tests that was started: the commit that was checked out
	TalkFailed bool   `json:"talk_failed,omitempty"` // its input was closed before all was told
}

// How tells ends apart.
type How string

// How a job ends.
const (
	Exited  How = "exited"  // by itself, or because it was ended
	Crashed How = "crashed" // its worker stopped while it ran: how it ended is unknown
	Failed  How = "failed"  // it was never started: worktree, setup or sandbox failed
)

// Stage is how far a lease is. One that is silent or lost has the stage it had.
type Stage string

// The stages of a lease. Its worker has it in those from Accepted on.
const (
	Placed   Stage = "placed"   // on the coordinator's disk, and maybe sent
	Accepted Stage = "accepted" // preparing its worktree
	Running  Stage = "running"
	Ended    Stage = "ended"   // offered until confirmed
	Settled  Stage = "settled" // confirmed
)

// Placeholders for paths that are others on each side. The worker replaces them in a job's Setup,
// Argv and Env, and puts the first one into what its agent asks; the coordinator does the same
// with what it is asked and answers.
const (
	WorktreePlace = "/.gl/worktree" // the job's worktree
	PluginPlace   = "/.gl/plugin"   // gl's plugin for its agent
	BriefPlace    = "/.gl/brief"    // the file with the job's Brief
)
