package worktree

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
)

// A Lineage is the work on one slice over several attempts: one branch, one worktree, one
// conversation, one number. Its file is written first, before anything exists in git.
type Lineage struct {
	SchemaVersion int    `json:"schema_version"`
	System        string `json:"system,omitempty"` // "" for none
	Slice         string `json:"slice"`
	N             int    `json:"n"`
	Branch        string `json:"branch"` // refs/heads/…; "" for the lane's
	// Path is the worktree's top, as a real path; see Layout.Dir.
	Path  string `json:"path"`
	Admin string `json:"admin,omitempty"` // the admin directory, once there is one
	Base  string `json:"base"`            // the commit at which the branch was made
	Phase Phase  `json:"phase"`
	// Again is set while a lost worktree is made again: its branch has work.
	Again bool `json:"again,omitempty"`
	// Remote is set while its work is done on other machines: see Begin.
	Remote bool `json:"remote,omitempty"`
	// Setup is a hash of the setup command that ran, "" for none.
	Setup string `json:"setup,omitempty"`
	// Ignored are the ignored paths after setup: what comes later is the agent's.
	Ignored []string `json:"ignored,omitempty"`
	Ports   int      `json:"ports,omitempty"` // the first of ten
	Was     *Origin  `json:"was,omitempty"`   // whose work it goes on with; nil for none
}

// An Origin is the lineage of a slice that has been renamed.
//
// The new lineage begins a new conversation, since clients find theirs by directory, so its agent
// is told how the last attempt under the old name ended. The worktree itself isn't moved: it may be
// in use.
type Origin struct {
	Slice string `json:"slice"`
	N     int    `json:"n"`
}

// plausible reports whether gl can have written the origin.
func (o *Origin) plausible() bool {
	return o.N >= 1 && o.N <= mostLineages && o.Slice != "" && len(o.Slice) <= longestText &&
		o.Slice == filepath.Base(o.Slice) && !strings.ContainsFunc(o.Slice, unicode.IsControl)
}

// Phase is a step in the life of a lineage's worktree.
type Phase string

const (
	Planned Phase = "planned" // nothing is there yet, or a half of it
	Added   Phase = "added"   // git has it, without files
	Filled  Phase = "filled"  // its files are there; from here on they are never written again
	Ready   Phase = "ready"   // set up
	Gone    Phase = "gone"    // the slice is complete, and the worktree is removed or about to be
)

var phases = []Phase{Planned, Added, Filled, Ready, Gone}

const (
	schemaVersion = 1
	mostLineages  = 1 << 30
	longestText   = 4096
	largestFile   = 4 << 20
)

// A BadLineage is a lineage file that can't be used. Git has what was in it, too.
type BadLineage struct {
	Path string
	Keep bool // another version of gl wrote it
	Err  error
}

func (e *BadLineage) Error() string {
	return fmt.Sprintf("the record of a worktree %s: %v", e.Path, e.Err)
}

func (e *BadLineage) Unwrap() error { return e.Err }

// errForeign marks what another version of gl may have written.
type errForeign struct{ error }

func isHash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
