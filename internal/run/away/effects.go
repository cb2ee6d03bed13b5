package away

import (
	"context"
	"errors"
	"fmt"
	"time"

	"greenlight/internal/core/remote"
	"greenlight/internal/run/hub"
)

// sendLimit is how long the loop waits for the engine to take a message. The machine repeats it.
const sendLimit = 5 * time.Second

// carryOut does what the machine wants. An error means that it couldn't be written.
func (s *server) carryOut(effect remote.CoordinatorEffect) error {
	switch e := effect.(type) {
	case remote.PersistAttempt:
		if err := s.files.putAttempt(e.Attempt); err != nil {
			return err
		}
		s.known[e.Attempt.Name] = copyOf(e.Attempt)
		if job := s.errands[e.Attempt.Name]; job != nil {
			job.heard(e.Attempt)
		}
	case remote.PersistMember:
		return s.files.putMember(e.Member)
	case remote.Drop:
		delete(s.known, e.Attempt)
		return s.files.drop(e.Attempt)
	case remote.Append:
		if err := s.files.append(e.Attempt, e.Data); err != nil {
			return err
		}
		if job := s.errands[e.Attempt]; job != nil {
			job.more()
		}
	case remote.SendToWorker:
		s.send(e.Worker, e.Message)
	case remote.Publish:
		go s.publish(e)
	case remote.Forget:
		go s.forget(e.Fence)
	case remote.Seal:
		return s.cfg.Hub.Withdraw(s.life, e.Fence)
	case remote.Settle:
		s.settle(e)
	case remote.Keep:
		go s.keep(e)
	case remote.Run:
		go s.run(e)
	case remote.Vacant:
		s.vacate(e)
	case remote.Unheard:
		s.unheard(e)
	case remote.Notice:
		s.notice(e)
	}
	return nil
}

// send gives a message to the engine. One that doesn't go is sent again when it is due.
func (s *server) send(worker string, m remote.ToWorker) {
	data, err := remote.Encode(m)
	if err == nil {
		ctx, cancel := context.WithTimeout(s.life, sendLimit)
		defer cancel()
		err = s.cfg.Hub.Send(ctx, worker, data)
	}
	if err != nil && !errors.Is(err, hub.ErrUnknown) && s.life.Err() == nil {
		s.cfg.Tell(fmt.Sprintf("a message for worker %s can't be sent: %v", worker, err))
	}
}

func (s *server) publish(e remote.Publish) {
	err := s.cfg.Hub.Grant(s.life, e.Worker, e.Fence)
	if err == nil {
		err = s.cfg.Hub.Publish(s.life, e.Fence, e.Commit)
	}
	if err == nil && e.Merge != "" {
		err = s.cfg.Hub.Publish(s.life, e.Fence, e.Merge)
	}
	failed := remote.Text("")
	if err != nil {
		failed = remote.Text("its commit can't be published: " + err.Error())
	}
	s.post(remote.Published{Fence: e.Fence, Failed: failed})
}

func (s *server) forget(f remote.Fence) {
	if err := s.cfg.Hub.Forget(s.life, f); err != nil && s.life.Err() == nil {
		s.cfg.Tell(fmt.Sprintf("what %s has in the exchange can't be removed: %v", f, err))
	}
}

// settle ends the run of the attempt's wrapper, which then judges it. Without a wrapper it waits
// for one, and without an attempt that is open it is done.
func (s *server) settle(e remote.Settle) {
	if job := s.errands[e.Attempt]; job != nil && job.settle(e) {
		return
	}
	s.settles[e.Attempt] = e
}

// vacate notes that an attempt needs a worker: see place. Any other errand is lost.
func (s *server) vacate(e remote.Vacant) {
	if job := s.errands[e.Attempt]; job != nil && s.jobs[e.Attempt] == nil {
		job.current().lose(e)
		return
	}
	s.vacant[e.Attempt] = e
}

// unheard notes in the attempt's log what its agent may not have read. What a person said stays in
// runs/say for the next attempt.
func (s *server) unheard(e remote.Unheard) {
	for _, line := range e.Lines {
		if !line.Close {
			s.cfg.Tell(fmt.Sprintf("%s: a message hasn't reached its agent: %s", e.Attempt, e.Why))
			return
		}
	}
}

// notice takes in how far a lease or a worker is.
func (s *server) notice(e remote.Notice) {
	switch e.What {
	case remote.NewsSilent:
		now := time.Now().UTC()
		s.silent[e.Worker] = &now
		s.cfg.Tell("worker " + e.Worker + " is silent")
		s.markSilent(e.Worker, &now)
		s.tests.giveUp(e.Worker)
	case remote.NewsContact:
		if e.Fence != (remote.Fence{}) {
			delete(s.vacant, e.Attempt)
			return
		}
		delete(s.silent, e.Worker)
		s.cfg.Tell("worker " + e.Worker + " is back")
		s.markSilent(e.Worker, nil)
	case remote.NewsSaved:
		if j := s.jobs[e.Attempt]; j != nil {
			j.saved(e.Fence)
		}
	case remote.NewsHello:
		if e.Detail != "" {
			s.cfg.Tell("worker " + e.Worker + " gets no work: " + string(e.Detail))
		}
	case remote.NewsAccepted: // it has the conversation: work that is soon handed back goes there
		s.list(false)
	case remote.NewsGoodbye: // nothing more is placed there
		s.list(false)
		s.cfg.Tell("worker " + e.Worker + " has left")
	case remote.NewsStrange:
		s.cfg.Tell("worker " + e.Worker + ": " + string(e.Detail))
	}
}
