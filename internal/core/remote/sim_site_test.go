package remote_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"greenlight/internal/core/remote"
)

// site is a worker's machine and what it is to the machine: disk and programs.
type site struct {
	w      *world
	number int // from 0
	name   string
	up     bool
	gone   bool // burned down, or left
	leaves bool // it may say goodbye
	epoch  int  // of the process
	m      *remote.Worker
	since  time.Duration // by its clock
	cut    time.Duration // until when it is cut off
	boot   int64
	key    int // of which machine has its name

	works    map[string][]byte // its disk
	mark     remote.Mark
	programs map[remote.Fence]*program
}

// program is a job of a worker, and what is on disk of it.
type program struct {
	fence    remote.Fence
	work     bool
	up       bool // prepared or running in this process
	launched bool
	halted   bool
	log      int64
	trimmed  int64
	version  int
	replies  int64
	asked    int64
}

func newSite(w *world, number int) *site {
	return &site{w: w, number: number, name: fmt.Sprintf("w%d", number+1), works: map[string][]byte{}, programs: map[remote.Fence]*program{}}
}

func (s *site) start() {
	if s.gone || s.up {
		return
	}
	s.up, s.epoch, s.boot = true, s.epoch+1, s.boot+1
	s.since = s.w.between(0, 9*time.Hour)
	var works []*remote.Work
	for _, name := range slices.Sorted(maps.Keys(s.works)) {
		o := &remote.Work{}
		read(s.w, s.works[name], o)
		works = append(works, o)
	}
	hello := remote.Hello{Boot: s.boot, Release: "1", Host: remote.Text(s.name), Slots: s.slots(), OS: "linux",
		Arch: "amd64"}
	if s.number != 1 {
		hello.Labels = []string{"big"}
	}
	s.m = remote.NewWorker(s.w.policy, hello, s.mark, works)
	s.w.say("%s starts with %d leases", s.name, len(works))
	s.step(remote.Begin{})
	for _, p := range s.list() {
		if s.up && s.works[p.fence.String()] != nil {
			s.step(remote.Logged{Fence: p.fence, Start: p.trimmed, Size: p.log})
		}
	}
	s.later(s.w.between(0, time.Second), s.tick)
}

func (s *site) slots() int { return 1 + s.number%3 }

func (s *site) list() []*program {
	return slices.SortedFunc(maps.Values(s.programs), func(a, b *program) int {
		return strings.Compare(a.fence.String(), b.fence.String())
	})
}

func (s *site) crash() {
	if !s.up {
		return
	}
	s.w.saw("worker dies")
	s.w.say("%s dies", s.name)
	s.up = false
	s.epoch++
	for _, p := range s.programs {
		p.up, p.halted, p.asked, p.replies = false, false, 0, 0 // their gates end them
	}
	s.w.after(s.w.between(0, 30*time.Second), s.start)
}

func (s *site) later(d time.Duration, do func()) {
	epoch := s.epoch
	s.w.after(d, func() {
		if s.up && s.epoch == epoch {
			do()
		}
	})
}

// trouble is what happens to the whole machine.
func (s *site) trouble() {
	w := s.w
	switch {
	case w.calm():
		return
	case s.gone:
	case w.happens(w.faults.burn):
		w.saw("worker burns")
		w.say("%s burns", s.name)
		s.crash()
		s.gone = true
		w.truth.burn(s)
	case w.happens(w.faults.partition):
		w.saw("worker is cut off")
		s.cut = w.now + w.between(time.Second, 2*time.Minute)
		w.say("%s is cut off until %v", s.name, s.cut)
	case w.happens(w.faults.quits):
		w.saw("worker leaves")
		s.leaves = true
		s.step(remote.Leave{Now: w.chance(0.5), Reason: "asked to"})
	}
	w.after(time.Second, s.trouble)
}

func (s *site) tick() {
	if s.w.happens(s.w.faults.jump) {
		s.since += s.w.between(-2*time.Hour, 2*time.Hour)
	}
	s.step(remote.Tick{})
	if s.up && s.w.happens(0.2) {
		s.step(remote.DiskUsed{Bytes: s.w.Int64N(1100)})
	} else if s.up && s.w.calm() {
		s.step(remote.DiskUsed{Bytes: 799})
	}
	s.later(time.Second, s.tick)
}

func (s *site) receive(data []byte) {
	if !s.up {
		return
	}
	m, err := remote.DecodeToWorker(data)
	if err == nil {
		s.w.truth.reached(s, m)
		s.w.say("%s <- %s", s.name, show(m))
		s.step(remote.FromCoordinator{Message: m})
	}
}

func (s *site) step(e remote.WorkerEvent) {
	if !s.up {
		return
	}
	if _, ok := e.(remote.FromCoordinator); !ok && e != (remote.Tick{}) {
		s.w.say("%s: %s", s.name, show(e))
	}
	for _, effect := range s.m.Step(s.w.now+s.since, e) {
		if s.w.happens(s.w.faults.crash) {
			s.crash()
			return
		}
		s.carry(effect)
		if !s.up {
			return
		}
	}
	s.w.truth.slots(s)
}

// busy returns what the worker still has, "" for nothing but what it keeps for continuations that
// may come.
func (s *site) busy() string {
	for _, name := range slices.Sorted(maps.Keys(s.works)) {
		var o remote.Work
		read(s.w, s.works[name], &o)
		if o.Stage != remote.Settled || !o.Keep || s.w.home.over(o.Job.Lineage) {
			return fmt.Sprintf("%s %s", name, o.Stage)
		}
	}
	return ""
}

func (s *site) carry(effect remote.WorkerEffect) {
	w := s.w
	switch e := effect.(type) {
	case remote.PersistWork:
		data := encodeJSON(w, e.Work)
		s.works[e.Work.String()] = data
	case remote.PersistMark:
		s.mark = e.Mark
	case remote.SendToCoordinator:
		w.truth.sentToCoordinator(s, e.Message)
		s.send(e.Message)
	case remote.SendChunk:
		p := s.programs[e.Fence]
		if p == nil || e.Offset < p.trimmed || e.Size < 1 || e.Offset+e.Size > p.log {
			w.violated("%s is to send %d bytes from %d on of the log of %s: %+v", s.name, e.Size, e.Offset, e.Fence, p)
		}
		s.send(&remote.Chunk{Fence: e.Fence, Offset: e.Offset, Data: logOf(e.Fence, e.Offset, e.Size)})
	case remote.Trim:
		p := s.programs[e.Fence]
		if p != nil && e.Offset > p.trimmed {
			p.trimmed += w.Int64N(min(e.Offset, p.log) - p.trimmed + 1)
		}
	case remote.Depart:
		w.say("%s departs", s.name)
		s.up = false
		s.epoch++
		w.after(w.between(time.Second, time.Minute), s.start)
	default:
		w.say("  %s: %s", s.name, show(e))
		s.begin(effect)
	}
}

func (s *site) send(m remote.ToCoordinator) {
	data := encode(s.w, m)
	s.w.carry(s, func() { s.w.home.receive(s.name, data) })
}

// begin carries out what takes long.
func (s *site) begin(effect remote.WorkerEffect) {
	w := s.w
	took := w.between(0, 3*time.Second)
	switch e := effect.(type) {
	case remote.Prepare:
		p := s.programs[e.Fence]
		if p == nil {
			p = &program{fence: e.Fence, work: e.Job.Work}
			s.programs[e.Fence] = p
		}
		p.up = true
		s.later(took, func() {
			p.log += 1 + w.Int64N(50) // its setup
			s.step(remote.Logged{Fence: p.fence, Size: p.log, Start: p.trimmed})
			switch {
			case !p.up:
			case w.happens(w.faults.refused):
				s.finish(p, remote.Result{How: remote.Failed, Reason: "its setup failed"})
			default:
				s.step(remote.Ready{Fence: p.fence})
			}
		})
	case remote.Launch:
		s.launch(s.programs[e.Fence])
	case remote.Tell:
		w.truth.told(s, e)
		s.later(took, func() {
			failed := remote.Text("")
			if w.happens(0.05) {
				failed = "the program doesn't read its input"
				w.truth.failed(e)
			}
			s.step(remote.Told{Fence: e.Fence, Number: e.Number, Failed: failed})
		})
	case remote.Halt:
		p := s.programs[e.Fence]
		p.halted = true
		s.later(took, func() {
			how := remote.Result{How: remote.Exited, ExitCode: -1, Signal: "SIGTERM"}
			if !p.launched {
				how = remote.Result{How: remote.Failed, Reason: "ended"}
			}
			s.finish(p, how)
		})
	case remote.Reap:
		s.later(took, func() {
			p := s.programs[e.Fence]
			p.up = true
			s.finish(p, remote.Result{How: remote.Crashed, Reason: "the worker was restarted"})
		})
	case remote.Push:
		s.later(took, func() { s.push(e) })
	case remote.Reply:
		s.programs[e.Fence].replies++
	case remote.Remove:
		w.truth.removing(s, e)
		s.later(took, func() {
			delete(s.works, e.Fence.String())
			delete(s.programs, e.Fence)
			s.step(remote.Removed{Fence: e.Fence})
		})
	default:
		w.violated("unknown effect %T", effect)
	}
}

// launch runs a program for a while, which writes its log, leaves work and runs commands.
func (s *site) launch(p *program) {
	w := s.w
	w.truth.launched(s, p)
	s.later(w.between(0, time.Second), func() {
		if !p.up {
			return
		}
		p.launched = true
		s.step(remote.Launched{Fence: p.fence})
		ends := w.now + w.between(time.Second, time.Minute)
		var live func()
		live = func() {
			switch {
			case !p.up:
				return
			case w.now > ends && !p.halted:
				s.finish(p, remote.Result{How: remote.Exited})
				return
			}
			p.log += w.Int64N(40)
			s.step(remote.Logged{Fence: p.fence, Size: p.log, Start: p.trimmed})
			if s.up && p.up && w.chance(0.2) {
				p.version++
				if s.exchange(p) == "" {
					s.step(remote.Snapshotted{Fence: p.fence, Commit: p.commit()})
				}
			}
			if s.up && p.up && w.chance(0.1) {
				p.asked++
				s.step(remote.Inquire{Fence: p.fence, Key: p.asked, Argv: []string{"state", "set"}})
			}
			s.later(w.between(0, 4*time.Second), live)
		}
		live()
	})
}

func (p *program) commit() string { return commitOf(p.fence.Attempt, p.fence.Lease, p.version) }

func (s *site) finish(p *program, r remote.Result) {
	if p.up {
		p.up = false
		if p.replies < p.asked { // it is answered before it ends
			defer s.w.truth.answered(s, p)
		}
		r.Log = p.log
		s.step(remote.Finished{Fence: p.fence, Result: r})
	}
}

// exchange pushes the program's work, and returns why that isn't possible.
func (s *site) exchange(p *program) string {
	switch {
	case s.w.now < s.cut || s.w.happens(0.1):
		return "no connection"
	case s.w.home.grants[p.fence] != s.name:
		return "denied"
	}
	s.w.home.refs[p.fence] = p.commit()
	return ""
}

func (s *site) push(e remote.Push) {
	p := s.programs[e.Fence]
	p.version++
	switch s.exchange(p) {
	case "":
		s.w.truth.pushed[p.fence] = p.commit()
		s.step(remote.Pushed{Fence: p.fence, Commit: p.commit()})
	case "denied":
		s.w.saw("push denied")
		s.step(remote.Pushed{Fence: p.fence, Unsaved: "the exchange denies it"})
	default:
		s.step(remote.Pushed{Fence: p.fence, Failed: true})
	}
}

// logOf returns some of what a lease's job writes.
func logOf(f remote.Fence, from, n int64) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte((from+int64(i))*31 + int64(f.Lease)*7 + int64(f.Attempt[2]))
	}
	return data
}
