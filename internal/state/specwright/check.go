package specwright

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// Check implements tracker.Tracker: it reports mistakes that agents are known to make but that
// don't prevent reading the rest.
func (s *Store) Check() []tracker.Complaint {
	st, err := s.Read()
	if err != nil {
		return nil // Load reports the error
	}
	all := append(st.checkWork(), st.checkLock(s.Now())...)
	for _, g := range st.Gates {
		if !slices.Contains(Verdicts(), strings.ToUpper(g.Status)) {
			all = append(all,
				complain(fmt.Sprintf("gate %s has the unknown verdict %q; expected %s", g.Name, g.Status,
					strings.Join(Verdicts(), ", ")), "gl sw gate "+g.Name+" VERDICT"))
		}
	}
	return all
}

func complain(message, help string) tracker.Complaint {
	return tracker.Complaint{Warning: plan.Warning{Path: StateFile, Message: message}, Help: help}
}

func known(status string) bool {
	return canonical(status) == Pending || slices.Contains(Targets(), canonical(status))
}

func (s *State) checkWork() []tracker.Complaint {
	var all []tracker.Complaint
	if s.Work != nil && !known(s.Work.Status) {
		all = append(all, complain(fmt.Sprintf("currentWork has the unknown status %q; expected %s",
			s.Work.Status, strings.Join(Targets(), ", ")), "edit "+StateFile+", or gl sw reset"))
	}
	for _, u := range s.Units {
		if u.Dir == "" && !free(canonical(u.Status)) {
			all = append(all,
				complain(fmt.Sprintf("unit %s has no workDir: skills take its files from there", u.ID),
					"edit "+StateFile))
		}
	}
	return all
}

func (s *State) checkLock(now time.Time) []tracker.Complaint {
	if !s.Fresh(now) {
		return nil // Load reports it
	}
	l := s.Lock
	if since, err := time.Parse(time.RFC3339, l.Since); err == nil &&
		since.Before(now.Add(time.Minute)) {
		return nil
	}
	what := fmt.Sprintf("says it was taken at %q", l.Since)
	if l.Since == "" {
		what = "doesn't say when it was taken"
	}
	return []tracker.Complaint{complain(
		fmt.Sprintf("the lock of %s %s: the last change of the file counts", l.Who(), what),
		"gl sw unlock --force, when its holder is gone")}
}
