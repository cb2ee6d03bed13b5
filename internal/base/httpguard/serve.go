package httpguard

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of a server. A person has a few pages, each with one stream.
const (
	MostConnections = 512
	// WriteTime is how long a reader may take for what it is sent.
	WriteTime = 15 * time.Second
	maxHeader = 16 << 10
	// how long answers may take once the server is asked to end
	lastTime = 2 * time.Second
)

// times are how long the other end may take.
type times struct{ header, read, write, idle time.Duration }

func usualTimes() times {
	return times{header: 5 * time.Second, read: 15 * time.Second, write: WriteTime,
		idle: 30 * time.Second}
}

// Serve answers requests until ctx ends. config is nil for plain HTTP.
func Serve(ctx context.Context, l net.Listener, config *tls.Config, h http.Handler) error {
	return serve(ctx, l, config, h, usualTimes())
}

func serve(ctx context.Context, l net.Listener, config *tls.Config, h http.Handler, t times) error {
	if config != nil {
		l = tls.NewListener(l, config)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: t.header, ReadTimeout: t.read,
		WriteTimeout: t.write, IdleTimeout: t.idle,
		ConnState: newLimit(MostConnections).state, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
		// what a stranger sends isn't worth a line on the person's terminal
		ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
	defer cancel()
	if err := s.Shutdown(last); err != nil {
		_ = s.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A limit closes connections beyond a number at once: they would cost files that the rest of the
// program needs.
type limit struct {
	mu   sync.Mutex
	most int
	open map[net.Conn]bool
}

func newLimit(most int) *limit { return &limit{most: most, open: map[net.Conn]bool{}} }

// state is what a server calls when a connection begins and ends.
func (l *limit) state(c net.Conn, to http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch to {
	case http.StateNew:
		if len(l.open) >= l.most {
			_ = c.Close()
			return
		}
		l.open[c] = true
	case http.StateClosed, http.StateHijacked:
		delete(l.open, c)
	case http.StateActive, http.StateIdle:
	}
}
