package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"greenlight/internal/run/roster"
)

// Limits of the port. A worker has one connection for NATS and a few for git.
const (
	mostConnections = 512
	mostStrangers   = 32 // that haven't shown a worker's key yet
	mostOfWorker    = 64
	mostLines       = 4                // of a worker's connections for NATS: of more, the oldest ends
	transferTime    = 30 * time.Minute // of one fetch or push
	idleTime        = 10 * time.Minute // without a byte of a fetch or push
	mostUnread      = 64 << 20         // bytes that a worker may send after its push was refused
)

// A door is the TLS port.
type door struct {
	config   *tls.Config
	roster   *roster.Roster
	joins    *rate.Limiter
	exchange *Exchange
	nats     func() (net.Conn, error) // a connection to the NATS server
	gone     func(worker string)      // its connection for NATS has ended
	joined   func() error             // the list has another worker

	mu        sync.Mutex
	all       int
	strangers int
	open      map[string]map[net.Conn]connection // by worker
	group     sync.WaitGroup
}

// A connection is one of a worker.
type connection struct {
	protocol string
	pin      string // of the worker's certificate
	since    time.Time
}

func newDoor(certificate tls.Certificate, r *roster.Roster) *door {
	return &door{roster: r, joins: rate.NewLimiter(1, 10), open: map[string]map[net.Conn]connection{},
		config: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13,
			// a key that isn't on the roster is refused after the handshake
			ClientAuth:             tls.RequireAnyClientCert,
			SessionTicketsDisabled: true, // each connection shows its key
			NextProtos:             []string{joinProtocol, natsProtocol, gitProtocol}}}
}

// serve answers until the listener is closed, and waits for what runs.
func (d *door) serve(ctx context.Context, l net.Listener) error {
	defer d.group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil { // too many open files: what ends frees some
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		if !d.enter() {
			conn.Close()
			continue
		}
		d.group.Go(func() { d.greet(ctx, conn) })
	}
}

func (d *door) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all >= mostConnections || d.strangers >= mostStrangers {
		return false
	}
	d.all++
	d.strangers++
	return true
}

// greet does the handshake and finds out what a connection is for.
func (d *door) greet(ctx context.Context, raw net.Conn) {
	conn := tls.Server(raw, d.config)
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	stranger := true
	known := func() {
		if stranger {
			d.mu.Lock()
			d.strangers--
			d.mu.Unlock()
			stranger = false
		}
	}
	defer func() {
		stop()
		conn.Close()
		known()
		d.mu.Lock()
		d.all--
		d.mu.Unlock()
	}()
	if conn.SetDeadline(time.Now().Add(handshakeTime)) != nil || conn.HandshakeContext(ctx) != nil {
		return
	}
	state := conn.ConnectionState()
	pin, err := pinOf(state.PeerCertificates[0].Raw)
	if err != nil {
		return
	}
	if state.NegotiatedProtocol == joinProtocol {
		d.join(ctx, conn, pin)
		return
	}
	name, err := d.find(pin)
	if err == nil {
		err = d.note(name, conn, connection{state.NegotiatedProtocol, pin, time.Now()})
	}
	if err == nil { // cut may have been there before the connection was noted
		_, err = d.find(pin)
	}
	if writeLine(conn, answerOf(err)) != nil || err != nil {
		d.forget(name, conn)
		return
	}
	known()
	d.speak(ctx, conn, name, state.NegotiatedProtocol)
	d.forget(name, conn)
	if _, again := d.connected()[name]; !again { // it may have a new connection already
		d.gone(name)
	}
}

// speak serves the protocol of a worker's connection.
func (d *door) speak(ctx context.Context, conn *tls.Conn, name, protocol string) {
	switch protocol {
	case natsProtocol:
		if conn.SetDeadline(time.Time{}) == nil {
			d.relay(conn)
		}
	case gitProtocol:
		d.git(ctx, conn, name)
	}
}

// join admits a worker that has an invitation.
func (d *door) join(ctx context.Context, conn net.Conn, pin string) {
	if writeLine(conn, answer{}) != nil {
		return
	}
	var j joining
	if err := readLine(conn, &j); err != nil {
		return
	}
	err := errMany
	if d.joins.Allow() {
		err = d.roster.Admit(ctx, j.Secret, roster.Member{Name: j.Name, NKey: j.NKey, TLS: pin})
	}
	if err == nil {
		err = d.joined()
	}
	_ = writeLine(conn, answerOf(err))
}

var errMany = errors.New("too many try to join; wait a few seconds")

// find returns the worker whose certificate has the pin.
func (d *door) find(pin string) (string, error) {
	members, err := d.roster.Members()
	if err != nil {
		return "", errors.New("the list of workers can't be read")
	}
	i := slices.IndexFunc(members, func(m roster.Member) bool { return m.TLS == pin && !m.Revoked })
	if i < 0 {
		return "", ErrRevoked
	}
	return members[i].Name, nil
}

func (d *door) note(name string, conn net.Conn, is connection) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open[name]) >= mostOfWorker {
		return errors.New("this worker has too many connections")
	}
	if d.open[name] == nil {
		d.open[name] = map[net.Conn]connection{}
	}
	d.open[name][conn] = is
	var oldest net.Conn
	lines := 0
	for c, o := range d.open[name] {
		if o.protocol != natsProtocol {
			continue
		}
		if lines++; oldest == nil || o.since.Before(d.open[name][oldest].since) {
			oldest = c
		}
	}
	if lines > mostLines {
		end(oldest)
	}
	return nil
}

// end ends a connection at once.
func end(c net.Conn) { c.(*tls.Conn).NetConn().Close() }

func (d *door) forget(name string, conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open[name], conn)
	if len(d.open[name]) == 0 {
		delete(d.open, name)
	}
}

// cut ends the connections whose certificates aren't those of the worker.
func (d *door) cut(pins map[string]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, conns := range d.open {
		for conn, is := range conns {
			if pins[name] != is.pin {
				end(conn)
			}
		}
	}
}

// connected returns the addresses of the workers that have a connection for NATS.
func (d *door) connected() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]string{}
	for name, conns := range d.open {
		for conn, is := range conns {
			if is.protocol == natsProtocol {
				out[name] = conn.RemoteAddr().String()
			}
		}
	}
	return out
}

// relay copies between a connection and the NATS server until one of them ends.
func (d *door) relay(conn net.Conn) {
	inside, err := d.nats()
	if err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(conn, inside)
		conn.Close()
	}()
	_, _ = io.Copy(inside, conn)
	inside.Close()
	<-done
}

// git serves a fetch or a push of a worker.
func (d *door) git(ctx context.Context, conn *tls.Conn, name string) {
	var r request
	if err := readLine(conn, &r); err != nil || !r.Service.Known() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, transferTime)
	defer cancel()
	moving := &idling{Conn: conn, limit: idleTime, gone: cancel}
	told := false
	err := d.exchange.Serve(ctx, name, r.Service, r.Fence, moving, func() error {
		told = true
		return writeLine(conn, answer{})
	})
	if !told {
		_ = writeLine(conn, answerOf(err))
	}
	_ = conn.CloseWrite() // git at the other end reads until the end
	// A connection that is closed with something unread takes the last words with it.
	if conn.SetReadDeadline(time.Now().Add(handshakeTime)) == nil {
		_, _ = io.CopyN(io.Discard, conn, mostUnread)
	}
}

// An idling connection ends when nothing has moved for a while. gone is called when it breaks: git
// is ended then, instead of finishing what its worker may no longer do.
type idling struct {
	net.Conn
	limit time.Duration
	gone  func()
}

func (c *idling) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		c.gone()
	}
	return n, err
}

func (c *idling) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if err != nil {
		c.gone()
	}
	return n, err
}
