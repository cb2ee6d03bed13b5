package attempt

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"greenlight/internal/base/durable"
)

// The commit with the tests that a lineage's agent handed over first is recorded here, besides
// in git's refs, which agents can write. What is handed over later builds on it.

// A handed is a file of runs/handed.
type handed struct {
	Commit string `json:"commit"`
}

// fileName returns the name by which a file of runs/ belongs to a slice or task of a system.
func fileName(system, work string) string { return strings.ReplaceAll(system, "/", "_") + "." + work }

func (s *Proofs) handedPath(system, slice string, lineage int) string {
	return filepath.Join(s.dir, "handed", fileName(system, slice)+"."+fmt.Sprint(lineage)+".json")
}

// Handed is the commit that was noted, "" for none.
func (s *Proofs) Handed(system, slice string, lineage int) string {
	var h handed
	if !readJSON(s.handedPath(system, slice, lineage), &h) || strings.Trim(h.Commit, "0123456789abcdef") != "" {
		return ""
	}
	return h.Commit
}

// NoteHanded notes the first hand-over of a lineage; a later one changes nothing. The gl of a
// confined agent can't: its wrapper does.
func (s *Proofs) NoteHanded(system, slice string, lineage int, commit string) error {
	if commit == "" || s.Handed(system, slice, lineage) != "" {
		return nil
	}
	if err := mkdir(filepath.Join(s.dir, "handed")); err != nil {
		return err
	}
	return durable.WriteJSON(s.handedPath(system, slice, lineage), handed{commit})
}

// forgetHanded is for a lineage that has landed.
func (s *Proofs) forgetHanded(r *Record) {
	_ = os.Remove(s.handedPath(r.ID.System, r.ID.Work(), r.Place.Lineage))
}

// SentBack returns the tree of the work that a person last sent back in the attempt's lineage,
// "" for none.
func (s *Store) SentBack(r *Record) (string, error) {
	last, err := s.LastIn(r, func(l *Record) bool { return l.Since.Rejected != "" || len(l.Since.Comments) > 0 })
	if err != nil || last == nil {
		return "", err
	}
	return last.Place.Tree, nil
}
