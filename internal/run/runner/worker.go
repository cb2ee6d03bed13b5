package runner

import (
	"fmt"
	"path/filepath"

	"greenlight/internal/base/durable"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/workers"
)

// WorkerName is the name of the runner of remote attempts in records.
const WorkerName = "worker"

// Placed starts attempts where they were placed: those on workers by word to gl serve, which takes
// them over, the others by a runner of this machine.
type Placed struct {
	Runner
	Runs string // the project's directory of runs
}

// Start leaves word for gl serve or starts the wrapper. If no gl serve takes a remote attempt over,
// the run gives its claim back after a while, as if its wrapper never began.
func (p Placed) Start(r *attempt.Record) error {
	if r.Life.Remote == nil {
		return p.Runner.Start(r)
	}
	dir := StartDir(p.Runs)
	if err := durable.MkdirPrivate(dir); err != nil {
		return err
	}
	if err := durable.WriteFile(filepath.Join(dir, r.ID.Name()), nil, 0o600); err != nil {
		return fmt.Errorf("leave word of %s for gl serve: %w", r.ID.Name(), err)
	}
	return nil
}

// StartDir has a file for each claimed attempt that gl serve is to take over.
func StartDir(runs string) string { return filepath.Join(workers.Dir(runs), "start") }
