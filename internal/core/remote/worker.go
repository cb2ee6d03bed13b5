package remote

import "time"

// A Worker is a worker's machine.
type Worker struct {
	policy Policy
	clock  clock
}

// NewWorker returns the machine for what is on disk. hello is what the worker has to offer; its
// Boot is greater than at all earlier starts.
func NewWorker(p Policy, hello Hello, mark Mark, works []*Work) *Worker {
	return &Worker{policy: p}
}

// Step is Coordinator.Step for a worker.
func (w *Worker) Step(now time.Duration, e WorkerEvent) []WorkerEffect {
	w.clock.advance(now, w.policy.Gap)
	return nil
}
