package ops

import (
	"context"
	"time"

	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/slice"
)

// A Note is a line of text for a section of a slice's file. A note in the section Decisions is
// dated.
type Note struct{ Section, Text string }

// AddNotes appends the notes to the slice's file, in one write. Lines that their section already
// has are skipped.
func AddNotes(ctx context.Context, pr *project.Project, id string, notes []Note,
	who attempt.Claimant) (warnings []string, err error) {
	today := time.Now() // the same in every retry
	err = editAlone(ctx, pr, id, func(m moment, f *slice.File) error {
		warnings = warnOther(pr, m.st, who, m.now)
		for _, n := range notes {
			text := n.Text
			if n.Section == "Decisions" {
				text = dated(today, text)
			}
			if err := f.AppendToSection(n.Section, text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return warnings, nil
}
