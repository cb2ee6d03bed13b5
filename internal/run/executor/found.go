package executor

import (
	"sync"
	"syscall"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/proc"
)

// foundPoll is the interval for checking whether a process that isn't our child has ended.
const foundPoll = 50 * time.Millisecond

// found is a process that another process has started. Its pipes led there: nothing of its
// output is left, and it can't be told anything.
type found struct {
	*talk
	lost Lost

	watching, ending sync.Once
	done             chan struct{} // closed when res is valid
	res              command.Result
}

// Find returns a job whose starter has died.
func (l *Local) Find(lost Lost) Run { return &found{lost: lost, done: make(chan struct{})} }

func (f *found) Handle() command.Handle { return f.lost.Handle }

func (f *found) Output() <-chan Chunk {
	none := make(chan Chunk)
	close(none)
	return none
}

// End ends what is left of the job. A process that is known to be gone isn't signaled: its pid
// may be another's by now.
func (f *found) End() {
	f.ending.Do(func() { go f.end() })
}

func (f *found) end() {
	defer close(f.done)
	f.res.ExitCode, f.res.Unseen = -1, true
	id := f.lost.Handle.Process
	if f.lost.Leaves == Services {
		f.res.Leftover = proc.EndGroup(id, f.lost.Grace)
		return
	}
	f.res.Left, f.res.Leftover = proc.Tree{Root: id, Marks: f.lost.Marks}.End(f.lost.Grace)
}

func (f *found) Kill() { _ = f.lost.Handle.Process.SignalGroup(syscall.SIGKILL) }

// Exited is closed once everything is gone: what the process leaves can't be told from it.
func (f *found) Exited() <-chan struct{} {
	f.watching.Do(func() { go f.watch() })
	return f.done
}

// watch ends what the process leaves, once it has exited by itself.
func (f *found) watch() {
	for f.lost.Handle.Process.State() != proc.Dead {
		select {
		case <-f.done:
			return
		case <-time.After(foundPoll):
		}
	}
	f.End()
}

func (f *found) Wait() (command.Result, error) {
	<-f.Exited()
	return f.res, nil
}
