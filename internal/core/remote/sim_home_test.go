package remote_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"greenlight/internal/core/remote"
)

// home is the coordinator's machine and what it is to the machine: disk, records, exchange.
type home struct {
	w     *world
	up    bool
	epoch int // of the process
	c     *remote.Coordinator
	since time.Duration // by its clock
	until time.Duration // when its disk is done

	attempts map[string][]byte // its disk
	members  map[string][]byte
	logs     map[string]int64
	records  map[string]*record
	grants   map[remote.Fence]string // the exchange
	refs     map[remote.Fence]string
}

// record is an attempt as the project has it.
type record struct {
	lineage string
	n       int    // of the lineage
	before  string // the worker that had the lineage's last attempt; "" for none
	last    string // that attempt
	open    bool
	begins  time.Duration
	stop    bool // by a person
	abandon bool // by a person
	vacant  bool // as the process knows
	assigns time.Duration
}

func newHome(w *world, attempts int) *home {
	h := &home{w: w, attempts: map[string][]byte{}, members: map[string][]byte{}, logs: map[string]int64{},
		records: map[string]*record{}, grants: map[remote.Fence]string{}, refs: map[remote.Fence]string{}}
	for i := range attempts {
		h.open(record{lineage: fmt.Sprintf("S-%d", i+1), n: 1, begins: w.between(0, time.Minute)})
	}
	return h
}

// open opens an attempt, whose record is on disk.
func (h *home) open(r record) {
	r.open = true
	h.records[fmt.Sprintf("%s.%d.tok", r.lineage, r.n)] = &r
}

// handBack has the work of a settled attempt go on.
func (h *home) handBack(last string, worker string) {
	const most = 3
	r, w := h.records[last], h.w
	if r.n == most || worker == "" || h.records[fmt.Sprintf("%s.%d.tok", r.lineage, r.n+1)] != nil {
		return
	}
	w.saw("work handed back")
	h.open(record{lineage: r.lineage, n: r.n + 1, before: worker, last: last, vacant: true,
		begins: w.now + w.between(0, 40*time.Second)})
}

func (h *home) names() []string { return slices.Sorted(maps.Keys(h.records)) }

func (h *home) start() {
	h.up, h.epoch, h.until = true, h.epoch+1, 0
	h.since = h.w.between(0, 9*time.Hour)
	var attempts []*remote.Attempt
	for _, name := range slices.Sorted(maps.Keys(h.attempts)) {
		a := &remote.Attempt{}
		read(h.w, h.attempts[name], a)
		a.Log = h.logs[name]
		attempts = append(attempts, a)
	}
	var members []remote.Member
	for _, name := range slices.Sorted(maps.Keys(h.members)) {
		var m remote.Member
		read(h.w, h.members[name], &m)
		members = append(members, m)
	}
	h.c = remote.NewCoordinator(h.w.policy, attempts, members)
	for name, r := range h.records {
		r.vacant = h.attempts[name] == nil
	}
	h.w.say("coordinator starts with %d attempts", len(attempts))
	h.step(remote.Begin{})
	for _, s := range h.w.sites {
		if !s.gone {
			h.join(s)
		}
	}
	h.later(0, h.tick)
}

func (h *home) crash() {
	h.w.saw("coordinator dies")
	h.w.say("coordinator dies")
	h.up = false
	h.epoch++
	h.w.after(h.w.between(0, 20*time.Second), h.start)
}

// later calls do unless the process has died meanwhile.
func (h *home) later(d time.Duration, do func()) {
	epoch := h.epoch
	h.w.after(d, func() {
		if h.up && h.epoch == epoch {
			do()
		}
	})
}

func (h *home) tick() {
	w := h.w
	if w.happens(w.faults.jump) {
		w.saw("clock jumps")
		h.since += w.between(-2*time.Hour, 2*time.Hour)
		w.truth.jumps++
	}
	w.truth.tick()
	h.step(remote.Tick{})
	for _, name := range h.names() {
		switch r := h.records[name]; {
		case !h.up:
		case r.open && w.now >= r.begins:
			h.drive(name, r)
		case !r.open && r.vacant && h.attempts[name] != nil: // settled before a restart
			h.step(remote.Abandon{Attempt: name, Reason: "settled"})
		}
	}
	if h.up && w.happens(0.01) {
		s := w.sites[w.IntN(len(w.sites))]
		h.step(remote.SetDraining{Worker: s.name, On: w.chance(0.5)})
	}
	for _, s := range w.sites {
		if h.up && w.calm() {
			h.step(remote.SetDraining{Worker: s.name, On: false})
		}
		if h.up && s.gone && (w.calm() || w.chance(0.02)) {
			h.replace(s)
		}
	}
	if h.up {
		h.discard()
	}
	h.later(time.Second, h.tick)
}

// over reports whether no work of the lineage goes on: then none ever does.
func (h *home) over(lineage string) bool {
	for _, r := range h.records {
		if r.lineage == lineage && r.open {
			return false
		}
	}
	return true
}

// discard tells workers which worktrees they needn't keep.
func (h *home) discard() {
	for _, p := range h.c.Workers() {
		var over []string
		for _, lineage := range p.Kept {
			if h.over(lineage) && (h.w.calm() || h.w.chance(0.2)) {
				over = append(over, lineage)
			}
		}
		if len(over) > 0 {
			h.step(remote.Unneeded{Worker: p.Name, Lineages: over})
		}
	}
}

// replace gives a name whose machine burned down to another machine, or revokes it.
func (h *home) replace(s *site) {
	if s.number%3 != 0 {
		if h.step(remote.Revoked{Worker: s.name}) {
			h.w.saw("worker revoked")
		}
		return
	}
	if s.key++; !h.join(s) {
		return
	}
	h.w.saw("worker joins anew")
	s.gone, s.mark = false, remote.Mark{}
	clear(s.works)
	clear(s.programs)
	s.start()
}

func (h *home) join(s *site) bool {
	return h.step(remote.Joined{Worker: s.name, Key: fmt.Sprint(s.key)})
}

// drive does what people and the scheduler do with an open attempt.
func (h *home) drive(name string, r *record) {
	w := h.w
	switch {
	case r.abandon:
		if h.step(remote.Abandon{Attempt: name, Reason: "abandoned"}) {
			r.open = false
			w.truth.abandoned[name] = true
		}
	case r.vacant && r.stop && h.attempts[name] == nil:
		r.open = false // it never had a lease
	case r.vacant && r.stop:
		h.step(remote.Stop{Attempt: name, Halting: remote.Halting{Reason: "stopped"}})
	case r.vacant && w.now >= r.assigns:
		r.assigns = w.now + w.between(0, 5*time.Second)
		h.assign(name, r)
	case w.happens(0.005):
		w.saw("attempt stopped")
		r.stop = true
		h.step(remote.Stop{Attempt: name, Halting: remote.Halting{Reason: "stopped", Kill: w.chance(0.3)}})
	case w.happens(0.002) && h.attempts[name] != nil:
		w.saw("attempt abandoned")
		r.abandon = true
	case w.happens(0.1):
		h.step(remote.Speak{Attempt: name, Line: w.truth.line(name)})
	case r.stop && w.chance(0.1): // a restarted scheduler says it again
		h.step(remote.Stop{Attempt: name, Halting: remote.Halting{Reason: "stopped"}})
	}
}

func (h *home) assign(name string, r *record) {
	w := h.w
	all := h.c.Workers()
	if len(all) == 0 {
		return
	}
	p := all[w.IntN(len(all))]
	if p.Name == "hostile" || p.Hello == nil {
		return
	}
	job := remote.Job{Kind: remote.Agent, Slice: "S", Lineage: r.lineage, Commit: commitOf(name, 0, 0), Work: w.chance(0.9),
		Command: remote.Command{Program: "agent", Argv: []string{"agent"}, Talks: true}}
	if w.chance(0.3) {
		job.Needs.Labels = []string{"big"}
	}
	if r.before != "" && h.attempts[name] == nil { // later leases go anywhere, as those of work that isn't handed back
		to, ok := h.goOn(r, all, job.Needs)
		if !ok {
			return
		}
		p.Name = to
	}
	r.vacant = false
	h.step(remote.Assign{Attempt: name, Worker: p.Name, Job: job, Talk: [][]byte{w.truth.line(name)}})
}

// goOn chooses the worker of work that is handed back; ok is false if there is none now.
func (h *home) goOn(r *record, all []remote.Presence, needs remote.Needs) (to string, ok bool) {
	wish := remote.Wish{Needs: needs, Lineage: r.lineage, Before: r.before, Waited: h.w.now - r.begins}
	var list []remote.Candidate
	for i := range all {
		if p := &all[i]; p.Name != "hostile" {
			c := remote.Candidate{Name: p.Name, Hello: p.Hello, Kept: p.Kept, Used: p.Used, Returns: !p.Draining && !p.Revoked}
			switch {
			case p.Revoked:
				c.Barred = "revoked"
			case p.Silent:
				c.Barred = "silent"
			case p.Leaving:
				c.Barred = "leaving"
			case p.Full:
				c.Barred = "full"
			}
			list = append(list, c)
		}
	}
	c := h.w.policy.Choose(list, wish)
	h.w.say("%s.%d goes to %+v", r.lineage, r.n, c)
	h.w.truth.chosen(r, all, wish, c)
	return c.Worker, c.Worker != ""
}

func (h *home) receive(worker string, data []byte) {
	if !h.up {
		return // the engine doesn't count it as delivered, and the worker repeats it
	}
	m, err := remote.DecodeToCoordinator(data)
	if err != nil {
		if worker != "hostile" {
			h.w.violated("%s sent %s: %v", worker, data, err)
		}
		return
	}
	h.step(remote.FromWorker{Worker: worker, Message: m})
}

// step reports whether all that the event leads to was carried out.
func (h *home) step(e remote.CoordinatorEvent) bool {
	w := h.w
	if !h.up {
		return false
	}
	if w.now < h.until {
		h.later(h.until-w.now, func() { h.step(e) })
		return false
	}
	if from, ok := e.(remote.FromWorker); ok {
		w.truth.contact(from.Worker)
		w.say("%s -> %s", from.Worker, show(from.Message))
	} else if e != (remote.Tick{}) {
		w.say("coordinator: %s", show(e))
	}
	for _, effect := range h.c.Step(w.now+h.since, e) {
		if w.happens(w.faults.crash) {
			h.crash()
			return false
		}
		h.carry(effect)
	}
	return true
}

func (h *home) write(file map[string][]byte, name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		h.w.violated("%v", err)
	}
	file[name] = data
	if h.w.happens(h.w.faults.slow) {
		h.w.saw("slow disk")
		h.until = h.w.now + h.w.between(0, 5*time.Second)
	}
}

func (h *home) carry(effect remote.CoordinatorEffect) {
	w := h.w
	switch e := effect.(type) {
	case remote.PersistAttempt:
		h.write(h.attempts, e.Attempt.Name, e.Attempt)
		w.truth.persisted(e.Attempt)
	case remote.PersistMember:
		h.write(h.members, e.Member.Name, e.Member)
	case remote.Drop:
		delete(h.attempts, e.Attempt)
		delete(h.logs, e.Attempt)
	case remote.Append:
		w.truth.appended(e)
		h.logs[e.Attempt] += int64(len(e.Data))
	case remote.Seal:
		delete(h.grants, e.Fence)
	case remote.SendToWorker:
		h.send(e)
	case remote.Vacant:
		w.say("  %s", show(e))
		w.saw("attempt vacant")
		h.records[e.Attempt].vacant = true
		w.truth.vacant(e)
	case remote.Unheard:
		w.saw("line unheard")
		w.say("  %s", show(e))
		for _, line := range e.Lines {
			w.truth.unheard[string(line.Text)] = true
		}
	case remote.Notice:
		w.say("  %s", show(e))
		w.saw("notice " + string(e.What))
		if e.What == remote.NewsContact && e.Attempt != "" {
			h.records[e.Attempt].vacant = false
		}
	default:
		w.say("  %s", show(e))
		h.begin(effect)
	}
}

// begin carries out what takes long.
func (h *home) begin(effect remote.CoordinatorEffect) {
	w := h.w
	took := w.between(0, 3*time.Second)
	switch e := effect.(type) {
	case remote.Publish:
		h.later(took, func() {
			failed := remote.Text("")
			if w.happens(0.05) {
				failed = "the exchange's disk is full"
			} else {
				h.grants[e.Fence] = e.Worker
			}
			h.step(remote.Published{Fence: e.Fence, Failed: failed})
		})
	case remote.Forget:
		delete(h.grants, e.Fence)
		delete(h.refs, e.Fence)
	case remote.Settle:
		w.truth.settling(e)
		h.later(took, func() {
			if w.truth.abandoned[e.Attempt] {
				return // the record says so: nothing is settled any more
			}
			w.truth.settled(e)
			keep := w.chance(0.5)
			r := h.records[e.Attempt]
			first := r.open // later ones repeat it: the record says already whether work goes on
			if r.open = false; first && keep && w.chance(0.7) {
				h.handBack(e.Attempt, e.Worker)
			}
			h.later(w.between(0, time.Second), func() { h.step(remote.Done{Fence: e.Fence, Keep: keep}) })
		})
	case remote.Keep:
		w.saw("work kept")
		h.later(took, func() {
			if commit := h.refs[e.Fence]; commit != "" {
				w.truth.kept[commit] = true
			}
			h.later(w.between(0, time.Second), func() { h.step(remote.Kept{Fence: e.Fence, Worker: e.Worker}) })
		})
	case remote.Run:
		w.truth.run(e)
		h.later(took, func() {
			h.step(remote.Answered{Answer: remote.Answer{Fence: e.Fence, Number: e.Ask.Number, Output: []byte("done\n")}})
		})
	default:
		w.violated("unknown effect %T", effect)
	}
}

func (h *home) send(e remote.SendToWorker) {
	if _, is := e.Message.(*remote.Discard); is {
		h.w.saw("worktree needless")
	}
	h.w.truth.sentToWorker(e)
	data := encode(h.w, e.Message)
	h.w.say("  to %s %s", e.Worker, show(e.Message))
	for _, s := range h.w.sites {
		if s.name == e.Worker {
			to := s.machine() // another one of the name has a connection of its own
			h.w.carry(s, func() {
				if s.machine() == to {
					s.receive(data)
				}
			})
		}
	}
}

func read(w *world, data []byte, to any) {
	if err := json.Unmarshal(data, to); err != nil {
		w.violated("%v", err)
	}
}

// commitOf returns the commit that a version of a lease's work has.
func commitOf(attempt string, lease, version int) string {
	h := uint64(14695981039346656037)
	for _, b := range fmt.Appendf(nil, "%s/%d/%d", attempt, lease, version) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return fmt.Sprintf("%040x", h)
}
