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

	"greenlight/internal/journal"
)

// A Channel is one way to tell people. Send may take as long as ctx lasts.
type Channel interface {
	Name() string // of its setting, for messages: "notify.webhook"
	Send(ctx context.Context, m Message) error
}

// A Config says what is told, and how.
type Config struct {
	Journal  *journal.Journal
	Root     string // of the project
	Kinds    []Kind
	Channels []Channel
	Past     bool                     // also tell what a drain that was killed hasn't told
	Mine     func(journal.Event) bool // whether the event is for this process to tell
}

const (
	queueLength = 100              // messages that wait for a slow channel; what is more is dropped, and said so
	sendLimit   = 10 * time.Second // of one message
	longAgo     = 24 * time.Hour   // what is older nobody wants to be told
	patience    = time.Minute      // how long another process may take to tell what it has claimed
)

// A Notifier tells what the journal says. Look and Close are for one goroutine; neither waits for a channel, but Close at its end.
type Notifier struct {
	cfg    Config
	reader *journal.Reader
	queues []chan telling
	done   sync.WaitGroup
	cancel context.CancelFunc
	told   map[string]bool // keys that this process has told, if the journal can't be written
	others []*telling      // what another process has claimed and hasn't told yet, the oldest first
	looked bool            // once

	mu      sync.Mutex
	trouble []string // of channels, each said once
	said    map[string]bool
}

// A telling is a message on its way through the channels. It is told when all of them are through with it.
type telling struct {
	Message
	mark    journal.Event // the claim; its time is zero until that was read
	waiting *atomic.Int32 // channels
}

// Start begins to listen. Call it before the drain writes its first event.
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

// fromPast is a reader of what nobody has told: what came since the end of the last drain or, if that and maybe some before it were killed,
// since the first of these started.
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
	if last.IsZero() { // no drain has run: whoever did what there is knows
		return n.cfg.Journal.ReaderAtEnd()
	}
	return n.cfg.Journal.Reader(last), nil
}

// Look tells what has come since it was called last. The error is about the journal.
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
			n.others = slices.DeleteFunc(n.others, func(o *telling) bool { return o.mark.Key == claimOf(e.Key) })
		default:
			n.take(&e)
		}
	}
}

// takeOver tells what others have claimed and not told: they were killed in between. Whoever tells what drains before it have left finds their
// claims when it looks first; a claim that comes later may be one of a process that is just about to tell.
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

// toldMark ends the key of an event Told, which else is that of its claim.
const toldMark = ".told"

func claimOf(key string) string { return strings.TrimSuffix(key, toldMark) }

func (n *Notifier) take(e *journal.Event) {
	m, ok := of(e)
	if !ok || !slices.Contains(n.cfg.Kinds, m.Kind) || !n.cfg.Mine(*e) {
		return
	}
	key := "told." + e.Key
	if e.Key == "" {
		key = fmt.Sprintf("told.%s.%s.%d.%d.%d", e.Kind, e.Slice, e.Attempt, e.PID, e.Time.UnixMilli())
	}
	if n.told[key] {
		return
	}
	n.told[key] = true
	m.Root = n.cfg.Root
	t := telling{Message: m.clean(filepath.Base(n.cfg.Root)), waiting: new(atomic.Int32),
		mark: journal.Event{Kind: journal.Notified, Key: key, System: e.System, Slice: e.Slice, Attempt: e.Attempt, Reason: string(m.Kind)}}
	// What can't be written here is told all the same: twice is better than never.
	if mine, err := n.cfg.Journal.Claim(e.Time, t.mark); err != nil || mine {
		n.send(t)
	} else if n.cfg.Past {
		n.others = append(n.others, &t)
	}
}

// send gives a message to all channels.
func (n *Notifier) send(t telling) {
	t.waiting.Store(int32(len(n.queues)))
	for i, queue := range n.queues {
		select {
		case queue <- t:
		default:
			n.say(n.cfg.Channels[i].Name(), errors.New("it is too slow, and some notifications are left out"))
			n.through(t)
		}
	}
}

// through says that a channel is through with a message. After the last one of them nobody tells it again.
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
	text := name + ": a notification wasn't delivered: " + strings.TrimSpace(err.Error())
	if !n.said[name] {
		n.said[name] = true
		n.trouble = append(n.trouble, text)
	}
}

// Trouble are the channels that have failed since it was called last; each is named once.
func (n *Notifier) Trouble() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.trouble
	n.trouble = nil
	return list
}

// Close tells what is still waiting, for no longer than limit, and ends the channels.
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
