package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"greenlight/internal/state/journal"
)

// A Channel is one way to notify people. Send may take as long as ctx lasts.
type Channel interface {
	Name() string // name of its setting, for messages: "notify.webhook"
	Send(ctx context.Context, m Message) error
}

// A Config selects what is announced, and how.
type Config struct {
	Journal  *journal.Journal
	Root     string // of the project
	Web      string // the address of its pages; "" for none
	Kinds    []Kind
	Channels []Channel
	Past     bool                     // also announce what a killed run has left unannounced
	Mine     func(journal.Event) bool // reports whether this process should announce the event
}

const (
	// messages waiting for a slow channel; more are dropped, with a note
	queueLength = 100
	sendLimit   = 10 * time.Second // for one message
	longAgo     = 24 * time.Hour   // older events aren't announced
	// how long another process may take to announce what it has claimed
	patience = time.Minute
)

// A Notifier announces transitions recorded in the journal. Look and Close must be called from
// one goroutine; only Close waits for the channels, up to its limit.
type Notifier struct {
	cfg    Config
	reader *journal.Reader
	queues []chan telling
	done   sync.WaitGroup
	cancel context.CancelFunc
	told   map[string]bool // keys announced by this process, in case the journal can't be written
	others []*telling      // claimed by other processes and not announced yet, oldest first
	looked bool            // Look has run once

	mu      sync.Mutex
	trouble []string // errors of channels, each reported once
	said    map[string]bool
}

// A telling is a message on its way through the channels. It counts as delivered once all of them
// have finished with it.
type telling struct {
	Message
	mark    journal.Event // the claim; its time is zero until the claim was read
	waiting *atomic.Int32 // number of channels
}

// Start begins to listen. Call it before the run writes its first event.
func Start(cfg Config) (*Notifier, error) {
	n := &Notifier{cfg: cfg, told: map[string]bool{}, said: map[string]bool{}}
	var err error
	if cfg.Past {
		n.reader, err = n.fromPast()
	} else {
		n.reader, err = cfg.Journal.ReaderAtEnd()
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	for _, c := range cfg.Channels {
		queue := make(chan telling, queueLength)
		n.queues = append(n.queues, queue)
		n.done.Go(func() { n.serve(ctx, c, queue) })
	}
	return n, nil
}

// fromPast returns a reader of events that were never announced: those since the end of the
// last run or, if that and maybe some before it were killed, since the first of these
// started.
func (n *Notifier) fromPast() (*journal.Reader, error) {
	since := time.Now().Add(-longAgo)
	var last time.Time
	killed := false
	for e, err := range n.cfg.Journal.Events(since) {
		if err != nil {
			return nil, err
		}
		switch e.Kind {
		case journal.DrainStarted:
			if !killed {
				last, killed = e.Time, true
			}
		case journal.DrainEnded:
			last, killed = e.Time, false
		case journal.Told:
			n.told[claimOf(e.Key)] = true
		}
	}
	if last.IsZero() { // there was no run: the people who caused these events know
		return n.cfg.Journal.ReaderAtEnd()
	}
	return n.cfg.Journal.Reader(last), nil
}

// Look announces the events since the last call. The error is about the journal.
func (n *Notifier) Look() error {
	for {
		e, err := n.reader.Next()
		if errors.Is(err, io.EOF) {
			n.takeOver()
			return nil
		}
		if err != nil {
			return err
		}
		switch e.Kind {
		case journal.Notified:
			for _, o := range n.others {
				if o.mark.Key == e.Key {
					o.mark.Time = e.Time
				}
			}
		case journal.Told:
			n.others = slices.DeleteFunc(n.others, func(o *telling) bool {
				return o.mark.Key == claimOf(e.Key)
			})
		default:
			n.take(&e)
		}
	}
}

// takeOver announces what other processes have claimed without announcing it, because they were
// killed in between. A process that announces what earlier runs have left finds their claims
// in its first look; a later claim may belong to a process that is just about to announce.
func (n *Notifier) takeOver() {
	n.others = slices.DeleteFunc(n.others, func(o *telling) bool {
		late := !n.looked || time.Since(o.mark.Time) > patience
		if late {
			n.send(*o)
		}
		return late
	})
	n.looked = true
}

// toldMark ends the key of a Told event, which otherwise equals that of its claim.
const toldMark = ".told"

func claimOf(key string) string { return strings.TrimSuffix(key, toldMark) }

func (n *Notifier) take(e *journal.Event) {
	m, ok := of(e)
	if !ok || !slices.Contains(n.cfg.Kinds, m.Kind) || !n.cfg.Mine(*e) {
		return
	}
	key := "told." + e.Key
	if e.Key == "" {
		key = fmt.Sprintf("told.%s.%s.%d.%d.%d", e.Kind, e.Slice, e.Attempt, e.PID,
			e.Time.UnixMilli())
	}
	if n.told[key] {
		return
	}
	n.told[key] = true
	m.Root = n.cfg.Root
	m.Link = link(n.cfg.Web, m.Slice)
	t := telling{Message: m.clean(filepath.Base(n.cfg.Root)), waiting: new(atomic.Int32),
		mark: journal.Event{Kind: journal.Notified, Key: key, System: e.System, Slice: e.Slice,
			Attempt: e.Attempt, Reason: string(m.Kind)}}
	// If the claim can't be written, announce anyway: twice is better than never.
	if mine, err := n.cfg.Journal.Claim(e.Time, t.mark); err != nil || mine {
		n.send(t)
	} else if n.cfg.Past {
		n.others = append(n.others, &t)
	}
}

// link returns the address of a slice's page, or of what waits for a person.
func link(web, slice string) string {
	switch {
	case web == "":
		return ""
	case slice == "" || strings.HasPrefix(slice, "@"): // tasks have no page
		return web + "/open/"
	}
	return web + "/open/slice/" + slice
}

// send queues a message for all channels.
func (n *Notifier) send(t telling) {
	t.waiting.Store(int32(len(n.queues)))
	for i, queue := range n.queues {
		select {
		case queue <- t:
		default:
			n.say(n.cfg.Channels[i].Name(),
				errors.New("it is too slow, and some notifications are left out"))
			n.through(t)
		}
	}
}

// through records that a channel has finished with a message. After the last channel, the
// message isn't announced again.
func (n *Notifier) through(t telling) {
	if t.waiting.Add(-1) == 0 {
		e := t.mark
		e.Kind, e.Key, e.Time = journal.Told, e.Key+toldMark, time.Time{}
		_ = n.cfg.Journal.Append(e)
	}
}

func (n *Notifier) serve(ctx context.Context, c Channel, queue <-chan telling) {
	for m := range queue {
		if ctx.Err() != nil {
			return
		}
		limited, cancel := context.WithTimeout(ctx, sendLimit)
		err := c.Send(limited, m.Message)
		if errors.Is(limited.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("not done after %s", sendLimit)
		}
		cancel()
		if err != nil {
			n.say(c.Name(), err)
		}
		n.through(m)
	}
}

func (n *Notifier) say(name string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := name + ": can't send a notification: " + strings.TrimSpace(err.Error())
	if !n.said[name] {
		n.said[name] = true
		n.trouble = append(n.trouble, text)
	}
}

// Trouble returns the channels that have failed since the last call, each once.
func (n *Notifier) Trouble() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.trouble
	n.trouble = nil
	return list
}

// Close announces the waiting messages, taking at most limit, and ends the channels.
func (n *Notifier) Close(limit time.Duration) {
	for _, queue := range n.queues {
		close(queue)
	}
	over := make(chan struct{})
	go func() {
		n.done.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(limit):
		n.cancel()
		select {
		case <-over:
		case <-time.After(limit):
		}
	}
	n.cancel()
	n.reader.Close()
}
