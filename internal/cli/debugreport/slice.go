package debugreport

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/text/markdown"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/show/explain"
	"greenlight/internal/state/contracts"
)

// A Slice is the part of gl debug about one slice.
type Slice struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// relative to the root; null for a slice that is only in the graph
	File  *string    `json:"file"`
	Class plan.Class `json:"class"`
	// the front matter; for a slice without a file, the known fields
	Fields    map[string]string    `json:"fields"`
	Corrupt   *string              `json:"corrupt"` // why its file can't be read
	Why       explain.Slice        `json:"why"`     // as in gl why --json
	Claim     *Claim               `json:"claim"`   // null if it is unclaimed
	Log       *Log                 `json:"log"`     // of the last attempt
	Files     []string             `json:"files"`   // files that its file names
	Contracts []contracts.Contract `json:"contracts"`
	// lines of its section Decisions, including answers and rejections
	Decisions []string `json:"decisions"`
	// unmerged work in its worktree; null for none
	Work *ops.Work `json:"work"`

	Order   []ops.Field       `json:"-"` // Fields in the order of the file
	Records []*attempt.Record `json:"-"` // of the last attempts, newest first
}

// A Claim is the claim on a slice.
type Claim struct {
	Session *string    `json:"session"` // token of the claim; null if unknown
	Holder  *string    `json:"holder"`  // Claude Code's session id, if a session made the claim
	Changed *time.Time `json:"changed"` // when the slice's file last changed
	Stale   bool       `json:"stale"`   // the file hasn't changed for parallel.stale_minutes
}

func newSlice(pr *project.Project, p *plan.Plan, id string, now time.Time) (*Slice, error) {
	st := p.State(id)
	all, err := pr.Runs.Last(id)
	if err != nil {
		return nil, err
	}
	recs := all[id]
	s := &Slice{ID: id, Name: st.Name, File: jsondoc.OrNull(st.File), Class: st.Class,
		Corrupt: jsondoc.OrNull(st.Corrupt), Fields: map[string]string{},
		Why: explain.NewSlice(pr, p, id, recs, now), Files: []string{},
		Contracts: []contracts.Contract{}, Decisions: []string{}, Records: recs}
	if st.Session != "" || st.Class == plan.Active {
		s.Claim = newClaim(pr, st)
	}
	if len(recs) > 0 {
		s.Log = newLog(pr, recs[0])
	}
	if st.Corrupt != "" {
		return s, nil
	}
	var text string
	if s.Order, text, err = ops.Contents(pr, st); err != nil {
		return nil, err
	}
	for _, f := range s.Order {
		s.Fields[f.Key] = f.Value
	}
	s.Files = append(s.Files, filesIn(text)...)
	decisions, _ := markdown.Section(text, "Decisions")
	s.Decisions = append(s.Decisions, contracts.ListItems(decisions)...)
	s.Contracts = append(s.Contracts,
		contracts.Find(pr.Root, contracts.In(text, s.Fields["contracts"]))...)
	return s, nil
}

func newClaim(pr *project.Project, st *plan.State) *Claim {
	c := &Claim{Session: jsondoc.OrNull(st.Session), Stale: st.Stale}
	if st.Session != "" {
		c.Holder = jsondoc.OrNull(pr.Runs.Claims.Holder(st.ID, st.Session))
	}
	if !st.Changed.IsZero() {
		changed := st.Changed.UTC()
		c.Changed = &changed
	}
	return c
}

// filesIn returns the paths in the section Files of a slice's file.
func filesIn(text string) []string {
	section, _ := markdown.Section(text, "Files")
	var files []string
	for _, item := range contracts.ListItems(section) {
		path := strings.TrimSuffix(firstWord(item), ",")
		if filepath.IsLocal(path) && strings.ContainsAny(path, "./") &&
			!slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	return files
}

// firstWord returns the text up to the first space, or the code span that it begins with.
func firstWord(s string) string {
	if quoted, ok := strings.CutPrefix(s, "`"); ok {
		word, _, _ := strings.Cut(quoted, "`")
		return word
	}
	word, _, _ := strings.Cut(s, " ")
	return word
}
