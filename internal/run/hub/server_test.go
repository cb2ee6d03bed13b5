package hub_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/hub"
	"greenlight/internal/run/roster"
)

// A site is a coordinator's hub on a port of this machine.
type site struct {
	*hub.Hub
	t       *testing.T
	options hub.Options
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, options: hub.Options{Dir: filepath.Join(t.TempDir(), "hub"), Project: repository(t),
		Listen: "127.0.0.1:0"}}
	s.open()
	t.Cleanup(func() { s.Close() })
	return s
}

func (s *site) open() {
	s.t.Helper()
	h, err := hub.Open(s.t.Context(), s.options)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Hub = h
	s.options.Listen = h.Server.Listen // the port stays
}

func (s *site) invite() roster.Token {
	s.t.Helper()
	token, err := s.Roster.Invite(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

// join makes a worker join, and connects it.
func (s *site) join(name string) (hub.Worker, *hub.Joined) {
	s.t.Helper()
	dir := s.t.TempDir()
	if err := hub.Join(s.t.Context(), dir, s.invite(), name); err != nil {
		s.t.Fatal(err)
	}
	j, err := hub.ReadJoined(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.connect(j), j
}

func (s *site) connect(j *hub.Joined) hub.Worker {
	s.t.Helper()
	w, err := hub.Connect(j)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { w.Close() })
	return w
}

// receive returns the next message.
func receive(t *testing.T, from <-chan hub.Envelope) hub.Envelope {
	t.Helper()
	select {
	case e, ok := <-from:
		if !ok {
			t.Fatal("the connection is closed")
		}
		return e
	case <-time.After(20 * time.Second):
		t.Fatal("no message")
	}
	return hub.Envelope{}
}

// wants receives a message and acknowledges it. Messages of before may come again first.
func wants(t *testing.T, from <-chan hub.Envelope, worker, text string, before ...string) {
	t.Helper()
	e := receive(t, from)
	for slices.Contains(before, string(e.Data)) {
		if err := e.Ack(); err != nil {
			t.Fatal(err)
		}
		e = receive(t, from)
	}
	if string(e.Data) != text || e.Worker != worker {
		t.Fatalf("received %q of %q, want %q of %q", e.Data, e.Worker, text, worker)
	}
	if err := e.Ack(); err != nil {
		t.Fatal(err)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, _ := s.join("a")
	b, _ := s.join("b")
	ctx := t.Context()
	for i := range 20 {
		text := fmt.Sprint(i)
		for name := range map[string]hub.Worker{"a": a, "b": b} {
			if err := s.Send(ctx, name, []byte(text+name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Send(ctx, []byte(text)); err != nil {
			t.Fatal(err)
		}
		wants(t, s.Messages(), "a", text)
	}
	for i := range 20 {
		wants(t, a.Messages(), "", fmt.Sprint(i, "a"))
		wants(t, b.Messages(), "", fmt.Sprint(i, "b"))
	}
	if err := s.Send(ctx, "c", []byte("x")); !errors.Is(err, hub.ErrUnknown) {
		t.Errorf("a message for nobody: %v", err)
	}
	large := make([]byte, remote.MaxMessage)
	if err := a.Send(ctx, large); err != nil {
		t.Errorf("the largest message: %v", err)
	}
	if e := receive(t, s.Messages()); !slices.Equal(e.Data, large) || e.Ack() != nil {
		t.Errorf("received %d bytes", len(e.Data))
	}
}

// What isn't acknowledged comes again: to the worker's next process, and to the coordinator's.
func TestRestarts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w, j := s.join("w")
	ctx := t.Context()
	if err := s.Send(ctx, "w", []byte("job")); err != nil {
		t.Fatal(err)
	}
	if e := receive(t, w.Messages()); string(e.Data) != "job" {
		t.Fatalf("received %q", e.Data)
	}
	w.Close()
	if _, open := <-w.Messages(); open {
		t.Error("a closed worker received a message")
	}
	w = s.connect(j)
	wants(t, w.Messages(), "", "job")

	if err := w.Send(ctx, []byte("done")); err != nil {
		t.Fatal(err)
	}
	receive(t, s.Messages())
	if err := s.Send(ctx, "w", []byte("more")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.open()
	wants(t, s.Messages(), "w", "done")
	wants(t, w.Messages(), "", "more", "job")
	if err := w.Send(ctx, []byte("again")); err != nil {
		t.Fatal(err)
	}
	wants(t, s.Messages(), "w", "again")
}

// A message that is delivered when its worker has just gone is for the worker's next connection,
// though NATS answers it.
func TestGoneWhileDelivered(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w, j := s.join("w")
	w.Close()
	for len(s.Connected()) > 0 {
		time.Sleep(time.Millisecond)
	}
	if err := s.Send(t.Context(), "w", []byte("job")); err != nil {
		t.Fatal(err)
	}
	s.Begin("w")
	wants(t, s.connect(j).Messages(), "", "job")
}

// An engine that was lost is made anew: the coordinator's files have all that counts.
func TestEngineIsReplaced(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	s := newSite(t)
	w, _ := s.join("w")
	s.Close()
	engine := filepath.Join(s.options.Dir, "engine")
	if err := os.RemoveAll(engine); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(engine, []byte("no directory"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.open()
	if err := s.Send(t.Context(), "w", []byte("job")); err != nil {
		t.Fatal(err)
	}
	wants(t, w.Messages(), "", "job")
}

// Another NATS keeps the queues: nothing of them is in the project then.
func TestNATSElsewhere(t *testing.T) {
	t.Parallel()
	n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true,
		StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() {
		n.Shutdown()
		n.WaitForShutdown()
	})
	if !n.ReadyForConnections(20 * time.Second) {
		t.Fatal("the other NATS doesn't start")
	}
	s := &site{t: t, options: hub.Options{Dir: filepath.Join(t.TempDir(), "hub"), Project: repository(t),
		Listen: "127.0.0.1:0", NATS: hub.Elsewhere{URL: n.ClientURL()}}}
	s.open()
	t.Cleanup(func() { s.Close() })
	w, _ := s.join("w")
	if err := errors.Join(s.Send(t.Context(), "w", []byte("job")), w.Send(t.Context(), []byte("done"))); err != nil {
		t.Fatal(err)
	}
	receive(t, w.Messages())
	s.Close()
	s.open()
	wants(t, w.Messages(), "", "job")
	wants(t, s.Messages(), "w", "done")
	if _, err := os.Stat(filepath.Join(s.options.Dir, "engine")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("queues in the project: %v", err)
	}
}
