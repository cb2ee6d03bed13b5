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
)

// A Notifier tells what the journal says. Look and Close are for one goroutine; neither waits for a channel, but Close at its end.
type Notifier struct {
	cfg    Config
	reader *journal.Reader
	queues []chan Message
	done   sync.WaitGroup
	cancel context.CancelFunc
	told   map[string]bool // keys that this process has told, if the journal can't be written

	mu      sync.Mutex
	trouble []string // of channels, each said once
	said    map[string]bool
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
		queue := make(chan Message, queueLength)
		n.queues = append(n.queues, queue)
		n.done.Go(func() { n.serve(ctx, c, queue) })
	}
	return n, nil
}

// fromPast is a reader of what nobody has told: what came since the end of the last drain or, if that was killed, since its start.
func (n *Notifier) fromPast() (*journal.Reader, error) {
	since := time.Now().Add(-longAgo)
	var last time.Time
	for e, err := range n.cfg.Journal.Events(since) {
		if err != nil {
			return nil, err
		}
		switch e.Kind {
		case journal.DrainStarted, journal.DrainEnded:
			last = e.Time
		case journal.Notified:
			n.told[e.Key] = true
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
			return nil
		}
		if err != nil {
			return err
		}
		n.take(&e)
	}
}

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
	mark := journal.Event{Kind: journal.Notified, Key: key, System: e.System, Slice: e.Slice, Attempt: e.Attempt, Reason: string(m.Kind)}
	// What can't be written here is told all the same: twice is better than never.
	if mine, err := n.cfg.Journal.Claim(e.Time, mark); err == nil && !mine {
		return
	}
	m.Root = n.cfg.Root
	m = m.clean(filepath.Base(n.cfg.Root))
	for i, queue := range n.queues {
		select {
		case queue <- m:
		default:
			n.say(n.cfg.Channels[i].Name(), errors.New("it is too slow, and some notifications are left out"))
		}
	}
}

func (n *Notifier) serve(ctx context.Context, c Channel, queue <-chan Message) {
	for m := range queue {
		if ctx.Err() != nil {
			return
		}
		limited, cancel := context.WithTimeout(ctx, sendLimit)
		err := c.Send(limited, m)
		if errors.Is(limited.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("not done after %s", sendLimit)
		}
		cancel()
		if err != nil {
			n.say(c.Name(), err)
		}
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
