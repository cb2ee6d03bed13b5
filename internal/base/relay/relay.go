// Package relay carries a command line over a unix socket to the process that has it run, and
// brings its output and exit code back. A gl that an agent calls on a worker asks that way: the
// state it is about is on another machine.
package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Variable is the environment variable with the path of the socket.
const Variable = "GL_WORKER_SOCKET"

const (
	// MaxInput is how many bytes of standard input a call may have.
	MaxInput = 512 << 10
	// callBytes bounds an encoded call: its input as base64, and its arguments.
	callBytes = 2*MaxInput + 1<<20
	// sendLimit is how long the other side may take to send its call.
	sendLimit = 30 * time.Second
)

// A Call is a command line without the program's name.
type Call struct {
	Argv  []string `json:"argv"`
	Dir   string   `json:"dir"` // absolute: where it was called
	Input []byte   `json:"input,omitempty"`
}

// A Reply is how the command ended.
type Reply struct {
	ExitCode int    `json:"exit_code"`
	Output   []byte `json:"output,omitempty"`
	Errors   []byte `json:"errors,omitempty"`
}

// Ask sends a call to the socket and waits for the reply.
func Ask(ctx context.Context, socket string, c Call) (r Reply, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return r, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := json.NewEncoder(conn).Encode(c); err != nil {
		return r, err
	}
	if err := json.NewDecoder(conn).Decode(&r); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return r, fmt.Errorf("read the answer: %w", err)
	}
	return r, ctx.Err()
}

// Serve answers the calls that come to the listener, each in a goroutine of its own, until the
// listener is closed. The context of an answer ends when its caller has gone.
func Serve(l net.Listener, answer func(context.Context, Call) Reply) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors, say
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go serve(conn, answer)
	}
}

func serve(conn net.Conn, answer func(context.Context, Call) Reply) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(sendLimit)) // a socket takes deadlines
	in := &io.LimitedReader{R: conn, N: callBytes}
	var c Call
	if err := json.NewDecoder(in).Decode(&c); err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // the caller sends nothing more: what ends this is its exit
		_, _ = io.Copy(io.Discard, conn)
		cancel()
	}()
	r := answer(ctx, c)
	_ = json.NewEncoder(conn).Encode(r) // a caller that has gone needs no answer
}
