package scheduler

import (
	"context"
	"os"
	"syscall"
	"time"
)

// tick is how often the wrappers' processes are checked.
const tick = time.Second

// wait sleeps until there may be something to do; stop means that the run is to end at once.
func (s *scheduler) wait(ctx context.Context) (stop bool, err error) {
	interval := time.NewTimer(s.nextLook())
	defer interval.Stop()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-s.watch.News:
			return false, nil
		case e := <-s.cfg.Tools.Runner.Exits():
			if s.supervisor.exited(e) {
				return false, nil
			}
		case e := <-s.supervisor.recoveries.done:
			var r Report
			s.supervisor.recovered(e, &r)
			s.report(r)
			return false, nil
		case err := <-s.queueJobs.done:
			s.jobOver(s.queueJobs.over(err))
			return false, nil
		case err := <-s.foresight.done:
			s.foresight.over(err)
			return false, nil
		case l := <-s.leadership.succession:
			return false, s.takeOver(l)
		case sig := <-s.cfg.Signals:
			return s.signaled(ctx, sig), nil
		case <-ticker.C:
			if s.supervisor.someoneDied() || s.watch.Blind || s.watch.Renew(s.cfg.Project.Runs) {
				return false, nil
			}
			var r Report
			s.news.addSpace(&r)
			s.report(r)
		case <-interval.C:
			return false, nil
		case <-ctx.Done():
			return true, ctx.Err()
		}
	}
}

// nextLook returns the time until something is due by itself.
func (s *scheduler) nextLook() time.Duration {
	next := s.cfg.Pace.Interval
	if !s.picture.forced {
		for _, h := range s.picture.plan.InEffect() {
			next = min(next, time.Until(h.Until))
		}
	}
	if s.picture.inDoubt() || !s.picture.unread.IsZero() {
		next = min(next, settleTime)
	}
	if s.permissions.lacking() {
		next = min(next, lookAgain)
	}
	if s.waitsForWorkers() {
		next = min(next, workerLook)
	}
	if s.queueJobs.elsewhere { // no file event tells that its process was killed
		next = min(next, tick)
	}
	next = s.refused.due(s.stateFile.due(next), time.Now())
	if rest := s.turns.pause(s.cfg.Pace.Stagger); rest > 0 {
		next = min(next, rest)
	}
	return max(s.supervisor.recoveries.due(next), time.Millisecond)
}

// workerLook is the time between two looks while slices may wait for workers: no file event tells
// that one has come, or has room.
const workerLook = time.Second

// waitsForWorkers reports whether slices could be launched if a worker took them.
func (s *scheduler) waitsForWorkers() bool {
	if s.picture.plan == nil || !s.mayClaim() {
		return false
	}
	l, _ := s.fleet()
	return (len(l.Workers) > 0 || len(s.picture.plan.Snapshot.Outlook.Unplaced) > 0) &&
		len(s.candidates()) > 0
}

// takeOver takes the lead.
func (s *scheduler) takeOver(l succession) error {
	if err := s.leadership.takeOver(l); err != nil {
		return err
	}
	s.tellStart()
	s.report(Report{TookOver: true})
	return nil
}

// signaled handles the first Ctrl-C, or a later one: in the foreground it ends the attempts, the
// second one at once; otherwise the agents continue without this run.
func (s *scheduler) signaled(ctx context.Context, sig os.Signal) (stop bool) {
	first := s.res.Signal == nil
	if first {
		s.res.Signal = sig
	}
	s.stopping = true
	if !s.cfg.Mode.Foreground {
		return true
	}
	for _, rec := range s.supervisor.roster.open {
		if first {
			go func() { _, _ = s.supervisor.settler.Stop(ctx, rec) }()
		} else if rec.Life.Wrapper != nil {
			_ = rec.Life.Wrapper.Signal(syscall.SIGTERM)
		}
	}
	return false
}
