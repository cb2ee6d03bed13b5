package remote

import (
	"cmp"
	"slices"
	"time"
)

// A Candidate is a worker that may get a job.
type Candidate struct {
	Name    string
	Hello   *Hello   // nil until the worker was heard of
	Kept    []string // lineages whose worktrees and conversations it has
	Used    int      // slots that have a job
	Barred  Text     // why it gets no job now; "" if it does
	Returns bool     // what bars it may pass by itself
}

// A Wish is a job that looks for a worker.
type Wish struct {
	Needs   Needs
	Lineage string
	Before  string        // the worker that had the lineage's last job; "" for none
	Waited  time.Duration // since the job could go on
}

// A Choice is where a job goes, if anywhere.
type Choice struct {
	Worker string // "" for none now
	Waits  Text   // why Before can't have it yet, which is waited for; "" if it isn't
	Lacks  []Text // what those miss that have a free slot
}

// Choose returns the worker for a job: the one that has its lineage's worktree and conversation,
// which it waits for if that is away or full, at most for the policy's Return, and otherwise the
// one with the most free slots.
func (p Policy) Choose(all []Candidate, w Wish) (c Choice) {
	best := 0
	for i := range all {
		one := &all[i]
		keeps := w.Before != "" && one.Name == w.Before && one.keeps(w.Lineage)
		free := one.free()
		if one.Hello == nil || one.Barred != "" || free <= 0 {
			if keeps && w.Waited < p.Return && one.mayHave(w.Needs) {
				return Choice{Waits: cmp.Or(one.Barred, "all its slots are taken")}
			}
			continue
		}
		switch no := Fit(one.Hello, w.Needs); {
		case no != "":
			c.Lacks = append(c.Lacks, clean(one.Name+": "+string(no)))
		case keeps:
			return Choice{Worker: one.Name}
		case free > best:
			c.Worker, best = one.Name, free
		}
	}
	return c
}

func (c *Candidate) free() int {
	if c.Hello == nil {
		return 0
	}
	return c.Hello.Slots - c.Used
}

// keeps reports whether the worker has the lineage, as far as is known: of one that wasn't heard of
// since a restart of the coordinator, that isn't.
func (c *Candidate) keeps(lineage string) bool {
	return c.Hello == nil || slices.Contains(c.Kept, lineage)
}

// mayHave reports whether the worker can get a job with the needs once nothing bars it.
func (c *Candidate) mayHave(n Needs) bool {
	return (c.Barred == "" || c.Returns) && (c.Hello == nil || Fit(c.Hello, n) == "")
}
