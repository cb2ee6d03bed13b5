package hands

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/durable"
	"greenlight/internal/core/remote"
)

// files is what a worker has on disk of one project besides its repository:
//
//	mark.json           remote.Mark
//	boot                how often the worker has started
//	leases/F.json       remote.Work of the lease F
//	leases/F.run        the process that works for it
//	leases/F.log.N      its log
//	leases/F.setup.log  what its setup wrote
//	leases/F.brief      its brief
type files struct{ dir string }

func (s files) path(names ...string) string {
	return filepath.Join(append([]string{s.dir}, names...)...)
}

func (s files) lease(f remote.Fence, ending string) string {
	return s.path("leases", f.String()+ending)
}

// prepare makes the directories.
func (s files) prepare() error { return os.MkdirAll(s.path("leases"), 0o700) }

// boot returns the number of this start. It is greater than those of a worker that had the name
// before, if its clock isn't hours behind.
func (s files) boot(now time.Time) (int64, error) {
	var n int64
	err := durable.ReadJSON(s.path("boot"), &n)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	n = max(n+1, now.Unix())
	return n, durable.WriteJSON(s.path("boot"), n)
}

// load reads what there is of all leases.
func (s files) load() (mark remote.Mark, works []*remote.Work, err error) {
	if err := durable.ReadJSON(s.path("mark.json"), &mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return mark, nil, err
	}
	entries, err := durable.ReadDir(s.path("leases"))
	if err != nil {
		return mark, nil, err
	}
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), ".json")
		if !is {
			continue
		}
		w := new(remote.Work)
		if err := durable.ReadJSON(s.path("leases", e.Name()), w); err != nil {
			return mark, nil, err
		}
		if err := w.Fence.Check(); err != nil || w.Fence.String() != name {
			return mark, nil, fmt.Errorf("%s isn't of the lease %q", s.path("leases", e.Name()), name)
		}
		works = append(works, w)
	}
	return mark, works, nil
}

// A process is what is known of the process that works for a lease: setup, or the job's program.
type process struct {
	Handle command.Handle `json:"handle"`
	Marks  []string       `json:"marks,omitempty"`
	Setup  bool           `json:"setup,omitempty"`
}

// record writes the process durably, before it may run.
func (s files) record(f remote.Fence, p process) error {
	return durable.WriteJSON(s.lease(f, ".run"), p)
}

// recorded returns the process that works for the lease, or did; nil for none.
func (s files) recorded(f remote.Fence) (*process, error) {
	p := new(process)
	err := durable.ReadJSON(s.lease(f, ".run"), p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return p, err
}

// remove removes a lease's files, the one that says that there is a lease last.
func (s files) remove(f remote.Fence) error {
	for _, ending := range []string{".run", ".setup.log", ".brief", ".json"} {
		err := durable.Unlink(s.lease(f, ending))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
