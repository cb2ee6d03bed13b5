package remote

import "slices"

// An Attempt is what the coordinator has on disk about the leases of one attempt. It is stored as
// JSON; only the machine changes it.
type Attempt struct {
	Name   string  `json:"name"`
	Newest int     `json:"newest"`           // number of the newest lease; 0 before the first
	Closed bool    `json:"closed,omitempty"` // settled or abandoned: no lease counts any more
	Base   int64   `json:"base,omitempty"`   // bytes of the log at home that came before the newest lease
	Saved  string  `json:"saved,omitempty"`  // commit of the last snapshot
	Leases []Lease `json:"leases,omitempty"` // that a worker may still have

	// Log is how much of its log the coordinator has. The code that restores the
	// attempt fills it in.
	Log int64 `json:"-"`
}

// A Lease is one worker's hold of a job.
type Lease struct {
	Number  int      `json:"number"`
	Worker  string   `json:"worker"`
	Serial  int64    `json:"serial"`
	Job     Job      `json:"job"`
	Stage   Stage    `json:"stage"`
	Taken   bool     `json:"taken,omitempty"` // withdrawn, since its worker didn't answer
	Gone    bool     `json:"gone,omitempty"`  // its worker no longer has it; its result isn't settled or kept yet
	Stopped *Halting `json:"stopped,omitempty"`
	Result  *Result  `json:"result,omitempty"` // from stage Ended on
	Keep    bool     `json:"keep,omitempty"`   // Confirm.Keep
	Saved   int64    `json:"saved,omitempty"`  // number of the last snapshot
	Talk    Talk     `json:"talk"`
	Asks    Asks     `json:"asks"`
}

// Halting is a wish to end a job.
type Halting struct {
	Kill   bool `json:"kill,omitempty"` // without grace
	Reason Text `json:"reason,omitempty"`
}

// Talk has the lines for a job's program.
type Talk struct {
	Last  int64  `json:"last,omitempty"`  // number of the last line
	Lines []Line `json:"lines,omitempty"` // that aren't acknowledged
}

// A Line is a line of a program's input.
type Line struct {
	Number int64  `json:"number"`
	Text   []byte `json:"text,omitempty"`
	Close  bool   `json:"close,omitempty"` // ends the input
}

// Asks are the commands that a job's agent ran through its worker.
type Asks struct {
	Below int64   `json:"below,omitempty"` // those with lower numbers are over
	Open  []Asked `json:"open,omitempty"`
}

// Asked is a command from Below on. It is run once: one without an answer after a restart of the
// coordinator has an unknown end.
type Asked struct {
	Number int64   `json:"number"`
	Answer *Answer `json:"answer,omitempty"`
}

// lease returns the lease with the number, nil for none.
func (a *Attempt) lease(n int) *Lease {
	i := slices.IndexFunc(a.Leases, func(l Lease) bool { return l.Number == n })
	if i < 0 {
		return nil
	}
	return &a.Leases[i]
}

// Current returns the newest lease, nil if no worker has it.
func (a *Attempt) Current() *Lease { return a.lease(a.Newest) }

// counts reports whether the lease's result is the attempt's.
func (a *Attempt) counts(l *Lease) bool { return !a.Closed && l.Number == a.Newest }

func (a *Attempt) fence(l *Lease) Fence { return Fence{a.Name, l.Number} }

// offset is how much of the newest lease's log is at home.
func (a *Attempt) offset() int64 { return a.Log - a.Base }

func (a *Attempt) remove(l *Lease) {
	n := l.Number
	a.Leases = slices.DeleteFunc(a.Leases, func(l Lease) bool { return l.Number == n })
}
