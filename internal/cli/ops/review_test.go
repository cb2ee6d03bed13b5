package ops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/durable"
)

// What a run is about to merge waits for no person; what it can't merge does, and so does what a
// run that has ended left behind.
func TestMergingIsNotPending(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: complete; step: complete"})
	pending := func(reason string) (list []string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(y.Runs.Files.Dir(), "lane.json"),
			[]byte(`{"schema_version":1,"target":"refs/heads/main","undelivered":[{"slice":"S-1","commit":"c"}],"reason":"`+reason+`"}`), 0o644))
		all, err := ToReview(y.Project, time.Now())
		must(t, err)
		for _, w := range all {
			list = append(list, string(w.Kind))
		}
		return list
	}
	if got := strings.Join(pending(""), " "); got != "undelivered" {
		t.Errorf("without a run: %s", got)
	}
	lock, err := durable.TryLock(y.Runs.Control.LeaderLock())
	must(t, err)
	if got := pending(""); len(got) > 0 {
		t.Errorf("a run merges it: %s", got)
	}
	if got := strings.Join(pending("the checkout has changes"), " "); got != "undelivered" {
		t.Errorf("the run can't merge it: %s", got)
	}
	must(t, lock.Unlock())
}
