package remote_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"greenlight/internal/core/remote"
)

// truth knows what has really happened, and what must hold:
//
//   - an attempt is settled once, by its newest lease, with what that lease's worker offered;
//   - work that was offered is settled or kept before its worker removes it, and what a surviving
//     worker made is at home in the end;
//   - a byte of a log that is acknowledged is at home, and each log is at home in its order;
//   - a job's program starts once, hears each line once and in order, and a line that it may not
//     have heard is told;
//   - a command of an agent runs once;
//   - what is sent is on disk before;
//   - a worker never has more jobs than slots;
//   - work is given to another worker only if its own was silent for long, said goodbye or doesn't
//     have it;
//   - work that is handed back goes to the worker that has its worktree, which it waits for so long
//     and no longer, and that worktree isn't removed meanwhile;
//   - in the end no worker has a worktree in which no work goes on;
//   - once faults end, all ends (world.run).
type truth struct {
	w         *world
	messages  int
	jumps     int
	newest    map[string]int // on the coordinator's disk
	settle    map[string]remote.Settle
	kept      map[string]bool // commits
	abandoned map[string]bool
	home      map[remote.Fence]int64
	runs      map[remote.Fence]map[int64]bool
	starts    map[remote.Fence]string // the machines on which programs started
	refused   map[remote.Fence]string // the machines that did
	offered   map[remote.Fence]string // what was offered and not refused by a worker that is alive
	pushed    map[remote.Fence]string
	burned    map[remote.Fence]bool // on a worker that burned down
	contacts  map[string]time.Duration
	talk      *talk
	lines     int
	unheard   map[string]bool
}

type talk struct {
	given   map[string]remote.Fence // lines that are on disk
	heard   map[string]bool
	numbers map[string]int64 // by machine and lease
}

func newTruth(w *world) *truth {
	return &truth{w: w, newest: map[string]int{}, settle: map[string]remote.Settle{}, kept: map[string]bool{},
		abandoned: map[string]bool{}, home: map[remote.Fence]int64{}, runs: map[remote.Fence]map[int64]bool{},
		starts: map[remote.Fence]string{}, refused: map[remote.Fence]string{}, offered: map[remote.Fence]string{},
		pushed: map[remote.Fence]string{}, burned: map[remote.Fence]bool{}, contacts: map[string]time.Duration{},
		talk:    &talk{map[string]remote.Fence{}, map[string]bool{}, map[string]int64{}},
		unheard: map[string]bool{}}
}

func encodeJSON(w *world, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		w.violated("%v", err)
	}
	return data
}

// line returns a line that no agent was told before.
func (t *truth) line(attempt string) []byte {
	t.lines++
	return fmt.Appendf(nil, "%s: line %d", attempt, t.lines)
}

func (t *truth) persisted(a *remote.Attempt) {
	if a.Newest < t.newest[a.Name] {
		t.w.violated("the newest lease of %s was %d and is %d", a.Name, t.newest[a.Name], a.Newest)
	}
	t.newest[a.Name] = a.Newest
	for i := range a.Leases {
		for _, line := range a.Leases[i].Talk.Lines {
			t.talk.given[string(line.Text)] = remote.Fence{Attempt: a.Name, Lease: a.Leases[i].Number}
		}
	}
}

func (t *truth) appended(e remote.Append) {
	if want := logOf(e.Fence, t.home[e.Fence], int64(len(e.Data))); !bytes.Equal(e.Data, want) {
		t.w.violated("what is appended to the log of %s at %d isn't its log", e.Fence, t.home[e.Fence])
	}
	if e.Lease != t.newest[e.Attempt] {
		t.w.violated("the log of %s grows, and lease %d is newer", e.Fence, t.newest[e.Attempt])
	}
	t.home[e.Fence] += int64(len(e.Data))
}

// tick counts contact in whole seconds of the coordinator's life.
func (t *truth) tick() {
	for _, s := range t.w.sites {
		t.contacts[s.name] += time.Second
	}
}

func (t *truth) contact(worker string) { t.contacts[worker] = 0 }

func (t *truth) vacant(e remote.Vacant) {
	if e.Why != "its worker is lost" {
		return
	}
	t.w.saw("worker lost")
	// A jump of its own clock may count as one gap, and a message waits while the disk is slow.
	least := t.w.policy.Lost - time.Duration(t.jumps)*t.w.policy.Gap - 6*time.Second
	for _, s := range t.w.sites {
		if s.name == e.Worker && t.contacts[s.name] < least && !s.leaves {
			t.w.violated("%s is lost after %v", s.name, t.contacts[s.name])
		}
	}
}

func (t *truth) settling(e remote.Settle) {
	if e.Lease != t.newest[e.Attempt] {
		t.w.violated("%s is settled, and lease %d is newer", e.Fence, t.newest[e.Attempt])
	}
	if t.abandoned[e.Attempt] {
		t.w.violated("%s is settled, and was abandoned", e.Fence)
	}
	if e.Result.How == remote.Exited && e.Result.Commit != t.pushed[e.Fence] {
		t.w.violated("%s is settled with %s, and %q was pushed", e.Fence, e.Result.Commit, t.pushed[e.Fence])
	}
	if missing := e.Result.Log - t.home[e.Fence]; e.Worker != "" && missing > 0 {
		t.short(e, missing)
	}
}

// short holds that a log that isn't whole at home is one whose rest is lost, or too large.
func (t *truth) short(e remote.Settle, missing int64) {
	if t.home[e.Fence] >= t.w.policy.MaxLog {
		t.w.saw("log too large")
		return
	}
	for _, p := range t.w.home.c.Workers() {
		if p.Name == e.Worker && !p.Lost && !p.Revoked && !t.burned[e.Fence] {
			t.w.violated("%s is settled without the last %d bytes of its log", e.Fence, missing)
		}
	}
	t.w.saw("end of a log lost")
}

func (t *truth) settled(e remote.Settle) {
	before, again := t.settle[e.Attempt]
	if again && before.Fence != e.Fence {
		t.w.violated("%s is settled, and %s was", e.Fence, before.Fence)
	}
	t.w.saw("attempt settled")
	t.settle[e.Attempt] = e
	if e.Result.Commit != "" {
		t.kept[e.Result.Commit] = true
	}
}

func (t *truth) run(e remote.Run) {
	if t.runs[e.Fence] == nil {
		t.runs[e.Fence] = map[int64]bool{}
	}
	if t.runs[e.Fence][e.Ask.Number] {
		t.w.violated("command %d of %s runs again", e.Ask.Number, e.Fence)
	}
	t.runs[e.Fence][e.Ask.Number] = true
	t.w.saw("command run")
}

// sentToWorker holds that what the coordinator says is on its disk.
func (t *truth) sentToWorker(e remote.SendToWorker) {
	h := t.w.home
	switch m := e.Message.(type) {
	case *remote.Place:
		var a remote.Attempt
		if data := h.attempts[m.Attempt]; data != nil {
			read(t.w, data, &a)
		}
		i := slices.IndexFunc(a.Leases, func(l remote.Lease) bool { return l.Number == m.Lease })
		if i < 0 || a.Newest != m.Lease || a.Leases[i].Worker != e.Worker || a.Leases[i].Serial != m.Serial {
			t.w.violated("%s is placed on %s, and isn't on disk", m.Fence, e.Worker)
		}
		if h.grants[m.Fence] != e.Worker {
			t.w.violated("%s is placed on %s, which can't fetch its commit", m.Fence, e.Worker)
		}
	case *remote.Say:
		if _, ok := t.talk.given[string(m.Line)]; !ok {
			t.w.violated("line %d of %s is said, and isn't on disk", m.Number, m.Fence)
		}
	case *remote.Ack:
		if m.Offset > t.home[m.Fence] {
			t.w.violated("%d bytes of %s are acknowledged, and %d are at home", m.Offset, m.Fence, t.home[m.Fence])
		}
	case *remote.Confirm:
		commit := t.offered[m.Fence]
		if commit != "" && !t.kept[commit] && t.settle[m.Attempt].Result.Commit != commit {
			t.w.violated("%s is confirmed, and its work is neither settled nor kept", m.Fence)
		}
	}
}

// sentToCoordinator holds that what a worker says is on its disk.
func (t *truth) sentToCoordinator(s *site, m remote.ToCoordinator) {
	stage := func(f remote.Fence) (o remote.Work) {
		if data := s.works[f.String()]; data != nil {
			read(t.w, data, &o)
		}
		return o
	}
	switch m := m.(type) {
	case *remote.Accept:
		if stage(m.Fence).Stage == "" {
			t.w.violated("%s accepts %s, which isn't on its disk", s.name, m.Fence)
		}
	case *remote.Refuse:
		t.refused[m.Fence] = s.machine()
		t.w.saw("job refused")
	case *remote.Offer:
		if o := stage(m.Fence); o.Stage != remote.Ended || o.Result.Commit != m.Result.Commit {
			t.w.violated("%s offers %s, and has %+v on its disk", s.name, m.Fence, o)
		}
		if m.Result.Commit != t.pushed[m.Fence] && !t.burned[m.Fence] {
			t.w.violated("%s offers %s, and pushed %q", s.name, m.Result.Commit, t.pushed[m.Fence])
		}
		t.offered[m.Fence] = m.Result.Commit
	}
}

func (t *truth) reached(s *site, m remote.ToWorker) {
	switch m := m.(type) {
	case *remote.Ack:
		if m.Offset > t.home[m.Fence] {
			t.w.violated("%s hears that %d bytes of %s are at home, and %d are", s.name, m.Offset, m.Fence, t.home[m.Fence])
		}
	case *remote.Discard:
		for _, lineage := range m.Lineages {
			if !t.w.home.over(lineage) {
				t.w.violated("%s is to remove the worktree of %s, in which work goes on", s.name, lineage)
			}
		}
	}
}

// machine names the machine that has the worker's name now.
func (s *site) machine() string { return fmt.Sprintf("%s, machine %d", s.name, s.key) }

func (t *truth) launched(s *site, p *program) {
	machine := s.machine()
	switch {
	case t.starts[p.fence] == machine:
		t.w.violated("%s starts on %s, and was started before", p.fence, s.name)
	case t.refused[p.fence] == machine:
		t.w.violated("%s starts on %s, and was refused", p.fence, s.name)
	}
	t.starts[p.fence] = machine
	t.w.saw("program started")
}

func (t *truth) slots(s *site) {
	n := 0
	for _, p := range s.programs {
		if p.up {
			n++
		}
	}
	if most := s.slots(); n > most {
		t.w.violated("%s has %d jobs in %d slots", s.name, n, most)
	}
}

func (t *truth) told(s *site, e remote.Tell) {
	program := s.machine() + " " + e.Fence.String() // a late placement may have begun it on another one, too
	if e.Number <= t.talk.numbers[program] {
		t.w.violated("line %d of %s is told after line %d", e.Number, e.Fence, t.talk.numbers[program])
	}
	t.talk.numbers[program] = e.Number
	if p := s.programs[e.Fence]; p == nil || !p.launched {
		t.w.violated("line %d of %s is told to a program that doesn't run", e.Number, e.Fence)
	}
	t.talk.heard[string(e.Text)] = true
	t.w.saw("line heard")
}

func (t *truth) failed(e remote.Tell) { delete(t.talk.heard, string(e.Text)) }

func (t *truth) answered(s *site, p *program) {
	if s.up && p.replies < p.asked {
		t.w.violated("%s has ended, and %d of %d commands were answered", p.fence, p.replies, p.asked)
	}
}

// chosen holds that work which is handed back goes to the worker that has its worktree, as far as
// the coordinator can know, and that it waits for no other and not for longer than it may.
func (t *truth) chosen(r *record, all []remote.Presence, wish remote.Wish, c remote.Choice) {
	i := slices.IndexFunc(all, func(p remote.Presence) bool { return p.Name == r.before })
	if i < 0 {
		t.w.violated("the coordinator has forgotten %s", r.before)
	}
	p := all[i]
	kept := p.Hello == nil || slices.Contains(p.Kept, r.lineage)
	if data := t.w.home.attempts[r.last]; data != nil {
		var a remote.Attempt
		read(t.w, data, &a)
		for _, l := range a.Leases {
			if l.Worker == r.before && l.Stage == remote.Settled && l.Keep && !kept && !p.Revoked {
				t.w.violated("%s was told to keep %s, and that isn't known", p.Name, r.lineage)
			}
		}
	}
	able := kept && !p.Revoked && !p.Draining &&
		(p.Hello == nil || len(wish.Needs.Labels) == 0 || slices.Contains(p.Hello.Labels, "big"))
	now := able && p.Hello != nil && !p.Silent && !p.Leaving && !p.Full && p.Used < p.Hello.Slots
	patient := wish.Waited < t.w.policy.Return
	switch {
	case now && c.Worker != r.before:
		t.w.violated("%s has the worktree of %s and a free slot, and the work goes to %q", r.before, r.lineage, c.Worker)
	case able && patient && !now && (c.Waits == "" || c.Worker != ""):
		t.w.violated("%s has the worktree of %s and may be back, and the work goes to %q", r.before, r.lineage, c.Worker)
	case (!able || !patient) && c.Waits != "":
		t.w.violated("%s waits for %s after %v: %s", r.lineage, r.before, wish.Waited, c.Waits)
	}
	switch {
	case c.Waits != "":
		t.w.saw("work waits for its worker")
	case c.Worker == r.before && kept:
		t.w.saw("work goes on where it was")
	case c.Worker != "":
		t.w.saw("work goes on elsewhere")
	}
}

// removing holds that a worker removes no work that isn't at home, and no worktree in use.
func (t *truth) removing(s *site, e remote.Remove) {
	for name, data := range s.works {
		var o remote.Work
		if read(t.w, data, &o); e.Worktree && o.Fence != e.Fence && o.Job.Lineage == e.Lineage && o.Stage != remote.Settled {
			t.w.violated("%s removes the worktree of %s, in which %s is", s.name, e.Lineage, name)
		}
	}
	p := s.programs[e.Fence]
	if p == nil || !p.work || !p.launched {
		return
	}
	commit := t.pushed[e.Fence]
	if commit == "" && !t.denied() || commit != "" && !t.kept[commit] {
		t.w.violated("%s removes %s, whose work %q is neither settled nor kept", s.name, e.Fence, commit)
	}
}

// denied reports whether a worker couldn't push, since it was revoked.
func (t *truth) denied() bool { return t.w.seen["push denied"] > 0 }

// end holds what must be true when all is over.
func (t *truth) end() {
	for _, f := range slices.SortedFunc(maps.Keys(t.pushed), func(a, b remote.Fence) int {
		return bytes.Compare([]byte(a.String()), []byte(b.String()))
	}) {
		if !t.kept[t.pushed[f]] && !t.burned[f] {
			t.w.violated("the work of %s is neither settled nor kept", f)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(t.talk.given)) {
		if !t.talk.heard[line] && !t.unheard[line] {
			t.w.violated("%s heard nothing of %q, and nothing tells that", t.talk.given[line], line)
		}
	}
	for _, name := range t.w.home.names() {
		if _, settled := t.settle[name]; settled && t.abandoned[name] {
			t.w.saw("attempt settled and abandoned")
		}
	}
}

func (t *truth) burn(s *site) {
	for f := range s.programs {
		t.burned[f] = true
	}
}
