package hub

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"greenlight/internal/core/remote"
	"greenlight/internal/run/roster"
)

// Limits of the engine.
const (
	mostQueued   = 64 << 20           // bytes of a queue, of which each worker has two
	mostFlying   = 64                 // messages of a queue that are delivered and not acknowledged
	redelivery   = time.Minute        // without an acknowledgment
	queueLife    = 7 * 24 * time.Hour // of a message
	mostEngine   = 8 << 30            // bytes of all queues
	engineStart  = 30 * time.Second
	pingInterval = 10 * time.Second
	mostPending  = 32 << 20 // bytes that the server keeps for a connection that doesn't read
	mostSubs     = 4096     // of a connection; the hub's own has some for each worker
)

// An engine is the NATS server that workers speak to and the JetStream that keeps the queues: its
// own, or that of another NATS. The server listens nowhere: the door brings it connections.
type engine struct {
	server *server.Server
	keys   keys
	own    nkeys.KeyPair // the hub's key
	pub    string
	inside *nats.Conn // to the server
	queues *nats.Conn // to where the queues are: inside, or another NATS
	js     jetstream.JetStream
	prefix string // of the queues' subjects
	dir    string // of the queues, "" if they are elsewhere
}

// Elsewhere is an existing NATS with JetStream that keeps the queues.
type Elsewhere struct {
	URL         string
	Credentials string // a file, "" for none
}

// openEngine starts the server. pin tells projects apart in a NATS that they share.
func openEngine(dir, pin string, other Elsewhere) (*engine, error) {
	sum := sha256.Sum256([]byte(pin))
	e := &engine{prefix: "gl-" + hex.EncodeToString(sum[:6])}
	if other.URL == "" {
		e.dir = filepath.Join(dir, "engine")
	}
	var err error
	if e.own, err = nkeys.CreateUser(); err != nil {
		return nil, err
	}
	if e.pub, err = e.own.PublicKey(); err != nil {
		return nil, err
	}
	e.admit(nil)
	err = e.start()
	if err != nil && e.dir != "" { // nothing irreplaceable is in there
		if e.close(); os.RemoveAll(e.dir) == nil {
			err = e.start()
		}
	}
	if err == nil {
		e.queues = e.inside
		if other.URL != "" {
			err = e.connectElsewhere(other)
		}
	}
	if err == nil {
		e.js, err = jetstream.New(e.queues)
	}
	if err != nil {
		e.close()
		return nil, fmt.Errorf("NATS: %w", err)
	}
	return e, nil
}

// options returns the server's configuration.
func (e *engine) options() *server.Options {
	o := &server.Options{ServerName: "greenlight", DontListen: true, NoSigs: true, NoLog: true,
		MaxPayload: 1 << 20, MaxPending: mostPending, MaxControlLine: 2 << 10, MaxSubs: mostSubs,
		PingInterval: pingInterval, MaxPingsOut: 3, AuthTimeout: handshakeTime.Seconds(),
		DisableShortFirstPing: true, CustomClientAuthentication: &e.keys, AlwaysEnableNonce: true}
	if e.dir != "" {
		o.JetStream, o.StoreDir, o.SyncAlways = true, e.dir, true
		o.JetStreamMaxMemory, o.JetStreamMaxStore = 64<<20, mostEngine
	}
	return o
}

// keys are the NKeys that may connect, and what each may do. The server's own list of keys can't be
// changed without ending connections.
type keys struct {
	mu    sync.Mutex
	rules map[string]*server.Permissions // nil for all
}

// Check implements server.Authentication.
func (k *keys) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	k.mu.Lock()
	rule, known := k.rules[o.Nkey]
	k.mu.Unlock()
	if !known || c.Kind() != server.CLIENT {
		return false
	}
	key, err := nkeys.FromPublicKey(o.Nkey)
	if err != nil {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(o.Sig)
	if err != nil || key.Verify(c.GetNonce(), signature) != nil {
		return false
	}
	c.RegisterUser(&server.User{Username: o.Nkey, Permissions: rule})
	return true
}

// admit lets the server know the members.
func (e *engine) admit(members []roster.Member) {
	rules := map[string]*server.Permissions{e.pub: nil}
	for _, m := range members {
		if !m.Revoked {
			rules[m.NKey] = permissions(m.Name)
		}
	}
	e.keys.mu.Lock()
	defer e.keys.mu.Unlock()
	e.keys.rules = rules
}

// permissions returns what a worker may do.
func permissions(worker string) *server.Permissions {
	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{fromSubject(worker), readySubject(worker),
			ackSubject(worker, "*")}},
		Subscribe: &server.SubjectPermission{Allow: []string{toSubject(worker),
			inbox(worker) + ".>"}}}
}

// The subjects between a worker and the hub. JetStream is behind the hub: no worker has a right to
// its API, whose answers go wherever the asker says.
func fromSubject(worker string) string        { return "gl.from." + worker }
func readySubject(worker string) string       { return "gl.ready." + worker }
func toSubject(worker string) string          { return "gl.to." + worker }
func ackSubject(worker, number string) string { return "gl.ack." + worker + "." + number }
func inbox(worker string) string              { return "_INBOX." + worker }

func (e *engine) start() (err error) {
	if e.dir != "" {
		if err := os.MkdirAll(e.dir, 0o700); err != nil {
			return err
		}
	}
	if e.server, err = server.NewServer(e.options()); err != nil {
		return err
	}
	e.server.Start()
	if !e.server.ReadyForConnections(engineStart) || e.dir != "" && !e.server.JetStreamEnabled() {
		return errors.New("the server doesn't start")
	}
	e.inside, err = nats.Connect("", nats.InProcessServer(e.server), nats.Name("gl serve"),
		nats.Nkey(e.pub, func(nonce []byte) ([]byte, error) { return e.own.Sign(nonce) }),
		nats.MaxReconnects(-1))
	return err
}

func (e *engine) connectElsewhere(other Elsewhere) (err error) {
	options := []nats.Option{nats.Name("gl serve"), nats.MaxReconnects(-1),
		nats.Timeout(handshakeTime)}
	if other.Credentials != "" {
		options = append(options, nats.UserCredentials(other.Credentials))
	}
	e.queues, err = nats.Connect(other.URL, options...)
	return err
}

// connection returns a connection to the server, which has yet to show a key.
func (e *engine) connection() (net.Conn, error) { return e.server.InProcessConn() }

func (e *engine) close() {
	if e.queues != nil && e.queues != e.inside {
		e.queues.Close()
	}
	if e.inside != nil {
		e.inside.Close()
	}
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
}

// queue makes the queue of a name, unless it exists. A message is in it until it is removed by its
// number. JetStream's work queues would remove what is acknowledged by themselves, but allow one
// reader at a time, whose state is on disk: each connection would have to delete the last one's.
func (e *engine) queue(ctx context.Context, name string) error {
	_, err := e.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: e.stream(name),
		Subjects: []string{e.subject(name)}, Retention: jetstream.LimitsPolicy,
		Discard: jetstream.DiscardNew, MaxBytes: mostQueued, MaxMsgSize: remote.MaxMessage + 1<<10,
		MaxAge: queueLife, Storage: jetstream.FileStorage})
	if err != nil {
		return fmt.Errorf("queue %s: %w", name, err)
	}
	return nil
}

// A queued message is one of a queue. Its number is its place there.
type queued struct {
	number uint64
	data   []byte
	remove func() error // acknowledges it
}

// read gives f the messages of a queue, from the oldest on, and those again that aren't removed in
// a while. The reader is in memory alone: the next one begins with the oldest, too.
func (e *engine) read(ctx context.Context, name string,
	f func(queued)) (jetstream.ConsumeContext, error) {
	s, err := e.js.Stream(ctx, e.stream(name))
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", name, err)
	}
	c, err := s.CreateConsumer(ctx, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: redelivery, MaxAckPending: mostFlying, MemoryStorage: true,
		InactiveThreshold: 5 * time.Minute})
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", name, err)
	}
	return c.Consume(func(m jetstream.Msg) {
		at, err := m.Metadata()
		if err != nil {
			return // it isn't JetStream's
		}
		number := at.Sequence.Stream
		f(queued{number, m.Data(), func() error {
			ctx, cancel := context.WithTimeout(context.Background(), handshakeTime)
			defer cancel()
			err := s.DeleteMsg(ctx, number)
			if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
				err = nil // it is removed already
			}
			if err == nil {
				err = m.Ack()
			}
			return err
		}})
	}, jetstream.PullMaxMessages(mostFlying))
}

func (e *engine) stream(name string) string  { return e.prefix + "-" + name }
func (e *engine) subject(name string) string { return e.prefix + "." + name }

// drop removes a queue with what is in it.
func (e *engine) drop(ctx context.Context, name string) error {
	err := e.js.DeleteStream(ctx, e.stream(name))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return err
}

// put puts a message into a queue and returns when it is on disk.
func (e *engine) put(ctx context.Context, name string, data []byte) error {
	_, err := e.js.Publish(ctx, e.subject(name), data)
	return full(err)
}

// full returns ErrFull for the error of a queue that has no room.
func full(err error) error {
	var api *jetstream.APIError
	const maximumBytes = 10077 // the server's code for any limit of a stream
	if errors.As(err, &api) && api.ErrorCode == maximumBytes {
		return ErrFull
	}
	return err
}
