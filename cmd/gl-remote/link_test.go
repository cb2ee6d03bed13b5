package main

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// A link is the network between a worker and gl serve: it takes the worker's connections and makes
// those to gl serve. It can be cut, held up and slow.
type link struct {
	net.Listener
	to string

	mu    sync.Mutex
	conns map[net.Conn]bool
	isCut bool          // no connection
	held  time.Time     // until then nothing gets through
	slow  time.Duration // at most, for each piece
}

func newLink(t testing.TB, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	l := &link{Listener: listener, to: to, conns: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = l.Close()
		l.cut()
	})
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go l.carry(c)
		}
	}()
	return l
}

func (l *link) address() string { return l.Addr().String() }

// cut ends all connections, with what is on the way, and refuses new ones.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = true
	for c := range l.conns {
		_ = c.Close()
	}
}

// hold lets nothing through for a while: connections stay, and their packets are lost and repeated.
func (l *link) hold(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = time.Now().Add(d)
}

// delay makes each piece late, by at most d.
func (l *link) delay(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slow = d
}

// mend makes it a good network again.
func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut, l.held, l.slow = false, time.Time{}, 0
}

// open adds connections to those that a cut ends; false if it is cut.
func (l *link) open(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		if l.isCut {
			_ = c.Close()
		} else {
			l.conns[c] = true
		}
	}
	return !l.isCut
}

// carry connects a worker's connection with gl serve.
func (l *link) carry(c net.Conn) {
	if !l.open(c) {
		return
	}
	server, err := net.Dial("tcp", l.to)
	if err != nil || !l.open(server) {
		l.close(c)
		return
	}
	go l.pump(c, server)
	l.pump(server, c)
}

func (l *link) pump(to, from net.Conn) {
	defer l.close(to, from)
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			l.wait()
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait waits as long as a piece takes.
func (l *link) wait() {
	l.mu.Lock()
	d := time.Duration(0)
	if l.slow > 0 {
		d = rand.N(l.slow)
	}
	l.mu.Unlock()
	time.Sleep(d)
	for { // a hold may be over sooner than it was told
		l.mu.Lock()
		held := time.Now().Before(l.held) && !l.isCut
		l.mu.Unlock()
		if !held {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (l *link) close(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(l.conns, c)
	}
}
