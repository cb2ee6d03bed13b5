package attempt

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
)

// A streak is a row of attempts at different slices that failed early and in the same way. The
// reason is then rarely in the slices: a broken login, a flag that the client refuses, a full
// disk. The file is there while there is one.
type streak struct {
	Agent  string   `json:"agent"`
	Detail string   `json:"detail"`
	Slices []string `json:"slices"`
}

const (
	streakFile   = "streak.json"
	streakLength = 5               // so many, and launching stops
	early        = 2 * time.Minute // an attempt that lasted longer has worked
)

func (s *HoldFile) streakPath() string { return filepath.Join(s.dir, streakFile) }

// noteStreak counts an attempt that has been judged, and holds everybody when it is the last of a
// row: only a person can tell what is wrong. An attempt that ended well, or worked for a while,
// ends the row. The lock must be held.
func (s *HoldFile) noteStreak(r *Record, now time.Time) error {
	counts := r.Judged.Outcome.Traits().Streak
	if counts == outcome.KeepsStreak || r.ID.IsTask() {
		return nil
	}
	if counts == outcome.EndsStreak || r.Life.StartedAt != nil && r.Life.EndedAt != nil &&
		r.Life.EndedAt.Sub(*r.Life.StartedAt) > early {
		err := durable.Remove(s.streakPath())
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	now = now.UTC()
	detail := strings.ReplaceAll(r.Judged.Detail, r.ID.Slice, "ID")
	var row streak
	if err := readChecked(s.streakPath(), &row, func() error {
		return nil
	}); err != nil || row.Agent != r.Job.Agent || row.Detail != detail {
		row = streak{Agent: r.Job.Agent, Detail: detail}
	}
	if slices.Contains(row.Slices, r.ID.Slice) {
		return nil
	}
	row.Slices = append(row.Slices, r.ID.Slice)
	if len(row.Slices) < streakLength {
		return durable.WriteJSON(s.streakPath(), &row)
	}
	h := s.Everybody()
	if h.Open() {
		return nil
	}
	return errors.Join(s.write(&plan.Hold{Since: now, Until: plan.UntilLifted,
		Kind: plan.HeldByFailures, By: r.ID.Slice, Count: 1,
		Reason: cut(fmt.Sprintf("%s failed early in the same way: %s",
			strings.Join(row.Slices, ", "), r.Judged.Detail), longestText)}),
		durable.Remove(s.streakPath()))
}

func cut(text string, n int) string { return text[:textline.Boundary(text, min(len(text), n))] }
