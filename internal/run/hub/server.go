package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/roster"
)

// Options are what a Hub needs.
type Options struct {
	Dir       string   // its files: workers.Dir
	Project   string   // the git directory of the project's repository
	Listen    string   // HOST:PORT; "" for where it was last, and at first port 7433 of all addresses
	Addresses []string // HOST:PORT by which workers reach it; nil to find out
	NATS      Elsewhere
}

const defaultPort = "7433"

// ErrRunning means that another gl serve of the project runs.
var ErrRunning = errors.New("gl serve is already running in this project")

// A Hub is the coordinator's end of the network.
type Hub struct {
	*Exchange
	Roster *roster.Roster
	Server roster.Server // where it listens

	lock    *durable.Held
	engine  *engine
	door    *door
	in      chan Envelope
	changed chan struct{}
	end     context.CancelFunc
	group   sync.WaitGroup

	mu      sync.Mutex
	lines   map[string]*line
	members []roster.Member // that the engine knows
}

var _ Coordinator = (*Hub)(nil)

// Open opens the port and serves workers until Close.
func Open(ctx context.Context, o Options) (_ *Hub, err error) {
	if err := durable.MkdirPrivate(o.Dir); err != nil {
		return nil, err
	}
	h := &Hub{Roster: roster.Open(o.Dir), in: make(chan Envelope), changed: make(chan struct{}, 1),
		lines: map[string]*line{}}
	run, end := context.WithCancel(context.WithoutCancel(ctx))
	h.end = end
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	h.lock, err = durable.TryLock(filepath.Join(o.Dir, "lock"))
	if errors.As(err, new(*durable.LockedError)) || errors.Is(err, durable.ErrLocked) {
		return nil, ErrRunning
	}
	if err != nil {
		return nil, err
	}
	if h.Exchange, err = OpenExchange(ctx, o.Dir, o.Project); err != nil {
		return nil, err
	}
	return h, h.open(ctx, run, o)
}

func (h *Hub) open(ctx, run context.Context, o Options) error {
	certificate, err := serverCertificate(o.Dir)
	if err != nil {
		return err
	}
	pin, err := pinOf(certificate.Certificate[0])
	if err != nil {
		return err
	}
	if h.engine, err = openEngine(o.Dir, pin, o.NATS); err != nil {
		return err
	}
	h.door = newDoor(certificate, h.Roster)
	h.door.exchange, h.door.nats, h.door.gone = h.Exchange, h.engine.connection, h.gone
	h.door.joined = func() error { return h.reread(run) }
	if err := h.reread(run); err != nil {
		return err
	}
	listener, err := h.listen(ctx, o, pin)
	if err != nil {
		return err
	}
	h.group.Go(func() { _ = h.door.serve(run, listener) })
	h.group.Go(func() { h.follow(run) })
	return nil
}

// listen opens the port and records its address.
func (h *Hub) listen(ctx context.Context, o Options, pin string) (net.Listener, error) {
	last, err := h.Roster.Server()
	if err != nil && !errors.Is(err, roster.ErrNeverServed) {
		return nil, err
	}
	at := o.Listen
	if at == "" {
		at = last.Listen
	}
	if at == "" {
		at = ":" + defaultPort
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("%w; gl serve --listen HOST:PORT takes another one", err)
	}
	host, _, _ := net.SplitHostPort(at)
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	h.Server = roster.Server{Listen: net.JoinHostPort(host, port), Addresses: o.Addresses, Pin: pin}
	if len(o.Addresses) == 0 {
		h.Server.Addresses = addressesOf(host, port)
	}
	if err := h.Roster.SetServer(ctx, h.Server); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// addressesOf returns by which addresses other machines may reach a port.
func addressesOf(host, port string) []string {
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return []string{net.JoinHostPort(host, port)}
	}
	var list []string
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if ok && n.IP.IsGlobalUnicast() {
			list = append(list, net.JoinHostPort(n.IP.String(), port))
		}
	}
	if name, err := os.Hostname(); err == nil && name != "" {
		list = append(list, net.JoinHostPort(name, port))
	}
	list = append(list[:min(len(list), roster.MostAddresses-1)], net.JoinHostPort("127.0.0.1", port))
	return list
}

// rosterPause is how long a change that gl workers made may go unnoticed.
const rosterPause = 200 * time.Millisecond

// follow reads the roster when another process has changed it.
func (h *Hub) follow(ctx context.Context) {
	tick := time.NewTicker(rosterPause)
	defer tick.Stop()
	for seen := h.Roster.Stamp(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := h.Roster.Stamp(); now != seen && h.reread(ctx) == nil {
			seen = now
		}
	}
}

// reread makes the engine and the door follow the roster: workers that joined have queues, those
// that are revoked have neither connections nor queues.
func (h *Hub) reread(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	members, err := h.Roster.Members()
	if err != nil {
		return err
	}
	if slices.Equal(members, h.members) {
		return nil
	}
	active, pins := map[string]bool{}, map[string]string{}
	for _, m := range members {
		if active[m.Name] = !m.Revoked; active[m.Name] {
			pins[m.Name] = m.TLS
		}
	}
	h.door.cut(pins)
	h.engine.admit(members)
	for name, l := range h.lines {
		if !active[name] {
			l.close()
			delete(h.lines, name)
			err = errors.Join(err, h.engine.drop(ctx, toQueue(name)),
				h.engine.drop(ctx, fromQueue(name)))
		}
	}
	for name := range active {
		if !active[name] || h.lines[name] != nil {
			continue
		}
		l, lineErr := newLine(ctx, h.engine, name, h.in)
		if lineErr != nil {
			return errors.Join(err, lineErr)
		}
		h.lines[name] = l
	}
	if err == nil {
		h.members = members
	}
	h.note()
	return err
}

func (h *Hub) note() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// gone ends the delivery to a worker whose connection has ended.
func (h *Hub) gone(worker string) {
	if l := h.line(worker); l != nil {
		l.end()
	}
	h.note()
}

func (h *Hub) line(worker string) *line {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lines[worker]
}

// Send implements Coordinator.
func (h *Hub) Send(ctx context.Context, worker string, data []byte) error {
	if len(data) > remote.MaxMessage {
		return fmt.Errorf("a message of %d bytes is too large", len(data))
	}
	if h.line(worker) == nil {
		return fmt.Errorf("%s: %w", worker, ErrUnknown)
	}
	return h.engine.put(ctx, toQueue(worker), data)
}

// Messages implements Coordinator.
func (h *Hub) Messages() <-chan Envelope { return h.in }

// Changed implements Coordinator.
func (h *Hub) Changed() <-chan struct{} { return h.changed }

// Connected implements Coordinator.
func (h *Hub) Connected() map[string]string { return h.door.connected() }

// Close ends all connections. What workers and coordinator haven't acknowledged stays in the
// engine.
func (h *Hub) Close() {
	h.end()
	h.group.Wait()
	h.mu.Lock()
	for _, l := range h.lines {
		l.close()
	}
	h.mu.Unlock()
	if h.engine != nil {
		h.engine.close()
	}
	if h.lock != nil {
		_ = h.lock.Unlock()
	}
}
