package remote

import "time"

// Policy is how patient a machine is. Its durations are of the process's own monotonic clock; times
// of other machines are never compared.
type Policy struct {
	Beat   time.Duration // between a worker's beats
	Resend time.Duration // before what isn't answered is sent again
	Silent time.Duration // without contact, after which a worker shows as silent
	Lost   time.Duration // without contact, after which its jobs may go to another worker
	Accept time.Duration // for a worker in contact to answer a placement before it is withdrawn
	Return time.Duration // for which a job waits for the worker that has its conversation
	Gap    time.Duration // between two steps; what is beyond counts as the machine's own absence
	MaxLog int64         // bytes of a lease's log; a job that writes more is ended
	Window int64         // bytes of a log that are sent before they are acknowledged
	Disk   int64         // bytes on a worker's disk above which it accepts no job
}

// DefaultPolicy is the policy where the configuration says nothing else.
var DefaultPolicy = Policy{Beat: 5 * time.Second, Resend: 10 * time.Second,
	Silent: 30 * time.Second, Lost: 10 * time.Minute, Accept: time.Minute, Return: 5 * time.Minute, Gap: 10 * time.Second,
	MaxLog: 1 << 30, Window: 1 << 20, Disk: 20 << 30}

// every returns the time between beats.
func (p Policy) every() time.Duration { return max(p.Beat, time.Millisecond) }

// A clock counts the time in which a machine was awake. A jump backward counts as nothing, and a
// jump forward as gap at most: a coordinator that was stopped for an hour has heard no worker, and
// loses none for that.
type clock struct {
	last, awake time.Duration
	begun       bool
}

func (c *clock) advance(now, gap time.Duration) {
	if c.begun {
		c.awake += min(max(now-c.last, 0), gap)
	}
	c.last, c.begun = now, true
}
