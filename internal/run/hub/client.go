package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/roster"
)

// Join makes this machine a worker of the coordinator that the token is from, under a name. Its
// keys are written to the directory before the coordinator hears of them: a repeated call after a
// kill uses them again. A worker that has joined already joins again, with new keys.
func Join(ctx context.Context, dir string, t roster.Token, name string) error {
	if err := remote.CheckWorker(name); err != nil {
		return err
	}
	file, half := filepath.Join(dir, joinedFile), filepath.Join(dir, "joining.key.json")
	j := &Joined{}
	if err := durable.ReadJSON(half, j); err != nil || j.Name != name || j.Pin != t.Pin {
		if j, err = newJoined(name, t); err != nil {
			return err
		}
	}
	j.Addresses = t.Addresses
	if err := durable.WriteJSON(half, j); err != nil {
		return err
	}
	if err := j.join(ctx, t.Secret); err != nil {
		return fmt.Errorf("join: %w", err)
	}
	return durable.Rename(half, file)
}

func (j *Joined) join(ctx context.Context, secret string) error {
	key, err := j.public()
	if err != nil {
		return err
	}
	conn, err := j.dial(ctx, joinProtocol)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := writeLine(conn, joining{Secret: secret, Name: j.Name, NKey: key}); err != nil {
		return err
	}
	return hear(conn)
}

// A client is a worker's end of the network.
type client struct {
	joined *Joined
	conn   *nats.Conn
	raw    chan *nats.Msg
	in     chan Envelope
	ready  chan struct{} // a connection is new
	done   chan struct{}

	mu  sync.Mutex
	err error
	up  context.Context // ends with the connection that there is now
	cut context.CancelFunc
}

var _ Worker = (*client)(nil)

const (
	askTime     = 20 * time.Second // for an answer, until the message is sent again
	readyTime   = 3 * time.Second  // the same, for the first word of a connection
	retryPause  = time.Second
	fullPause   = 5 * time.Second
	firstPause  = 200 * time.Millisecond
	longestWait = 10 * time.Second // between attempts to connect
)

// Connect connects a worker that has joined. It tries once, and returns: if that fails, and
// whenever the connection breaks, it is made beside. The error may be ErrRevoked.
func Connect(j *Joined) (Worker, error) {
	key, err := j.public()
	if err != nil {
		return nil, err
	}
	c := &client{joined: j, raw: make(chan *nats.Msg, 2*mostFlying), in: make(chan Envelope),
		ready: make(chan struct{}, 1), done: make(chan struct{})}
	c.disconnected(nil, nil)
	renewed := func(*nats.Conn) {
		select {
		case c.ready <- struct{}{}:
		default:
		}
	}
	conn, err := nats.Connect("nats://coordinator", nats.SetCustomDialer(c), nats.Name(j.Name),
		nats.Nkey(key, j.sign), nats.CustomInboxPrefix(inbox(j.Name)),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.CustomReconnectDelay(pauseBefore), nats.ReconnectBufSize(-1),
		nats.Timeout(2*handshakeTime), nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(3),
		nats.ConnectHandler(renewed), nats.ReconnectHandler(renewed),
		nats.DisconnectErrHandler(c.disconnected),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // or it prints them
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.conn = conn
	err = c.err
	c.mu.Unlock()
	if err == nil {
		_, err = conn.ChanSubscribe(toSubject(j.Name), c.raw)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	go c.listen()
	go c.announce()
	return c, nil
}

// disconnected ends what waits for an answer: none comes over a connection that is gone.
func (c *client) disconnected(*nats.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut != nil {
		c.cut()
	}
	c.up, c.cut = context.WithCancel(context.Background())
}

// connection returns a context that ends with the connection that there is now.
func (c *client) connection() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up
}

// pauseBefore grows with the attempts to connect.
func pauseBefore(attempts int) time.Duration {
	return min(longestWait, firstPause<<min(attempts, 6))
}

// Dial implements nats.CustomDialer.
func (c *client) Dial(string, string) (net.Conn, error) {
	conn, err := c.joined.dial(context.Background(), natsProtocol)
	if errors.Is(err, ErrRevoked) {
		if conn := c.end(ErrRevoked); conn != nil {
			go conn.Close() // the caller holds its locks
		}
	}
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// announce tells the coordinator, on each new connection, that the worker listens.
func (c *client) announce() {
	for {
		select {
		case <-c.ready:
		case <-c.done:
			return
		}
		for c.conn.IsConnected() {
			_, err := c.conn.Request(readySubject(c.joined.Name), nil, readyTime)
			if err == nil {
				break
			}
			if !c.pause(context.Background(), retryPause) {
				return
			}
		}
	}
}

// listen passes messages on.
func (c *client) listen() {
	defer close(c.in)
	for {
		select {
		case m := <-c.raw:
			select {
			case c.in <- Envelope{Data: m.Data, Ack: func() error {
				_ = m.Respond([]byte(answerKept)) // a lost one makes the message come again
				return nil
			}}:
			case <-c.done:
				return
			}
		case <-c.done:
			return
		}
	}
}

// pause waits, and reports whether the worker goes on.
func (c *client) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
	case <-c.done:
	}
	return false
}

// Send implements Worker.
func (c *client) Send(ctx context.Context, data []byte) error {
	if len(data) > remote.MaxMessage {
		return fmt.Errorf("a message of %d bytes is too large", len(data))
	}
	for {
		pause := retryPause
		if c.conn.IsConnected() {
			asked, cancel := context.WithTimeout(ctx, askTime)
			stop := context.AfterFunc(c.connection(), cancel)
			m, err := c.conn.RequestWithContext(asked, fromSubject(c.joined.Name), data)
			stop()
			cancel()
			if err == nil && string(m.Data) == answerKept {
				return nil
			}
			if err == nil {
				pause = fullPause
			}
		}
		if !c.pause(ctx, pause) {
			return errors.Join(c.Err(), ctx.Err())
		}
	}
}

// Messages implements Worker.
func (c *client) Messages() <-chan Envelope { return c.in }

// Err implements Worker.
func (c *client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

var errClosed = errors.New("the connection to the coordinator is closed")

// Close implements Worker.
func (c *client) Close() error {
	if conn := c.end(errClosed); conn != nil {
		conn.Close()
	}
	return nil
}

// end ends the worker's side, once, and returns the connection to close. While Connect makes the
// first one, that is nil, and Connect closes it.
func (c *client) end(err error) *nats.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil
	}
	c.err = err
	close(c.done)
	return c.conn
}

// Fetch implements Worker.
func (c *client) Fetch(ctx context.Context, repo string, f remote.Fence) error {
	return FetchOver(ctx, c.open, repo, f)
}

// Push implements Worker.
func (c *client) Push(ctx context.Context, repo string, f remote.Fence, commit string) error {
	return PushOver(ctx, c.open, repo, f, commit)
}

// open connects to the exchange.
func (c *client) open(ctx context.Context, s Service, f remote.Fence) (net.Conn, error) {
	for {
		conn, err := c.joined.dial(ctx, gitProtocol)
		if errors.Is(err, ErrRevoked) {
			if conn := c.end(err); conn != nil {
				conn.Close()
			}
			return nil, ErrRevoked
		}
		if err == nil {
			err = writeLine(conn, request{s, f})
			if err == nil {
				err = hear(conn)
			}
			if err == nil {
				return conn, nil
			}
			conn.Close()
			return nil, err
		}
		if !c.pause(ctx, retryPause) {
			return nil, errors.Join(err, c.Err(), ctx.Err())
		}
	}
}
