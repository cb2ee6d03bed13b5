package hub

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/core/remote"
)

// One port serves everything. TLS's protocol negotiation says what a connection is for; then each
// side says a few lines of JSON, and the rest is the named protocol.
const (
	joinProtocol = "gl-join/1" // a joining and its answer
	natsProtocol = "gl-nats/1" // an answer, then NATS
	gitProtocol  = "gl-git/1"  // an answer, a request and its answer, then git
)

const (
	mostLine      = 4 << 10 // bytes of a line
	handshakeTime = 10 * time.Second
)

// An answer ends the coordinator's part of an introduction.
type answer struct {
	Error string `json:"error,omitempty"`
	Code  string `json:"code,omitempty"` // of an error that the worker acts on
}

// codes are the errors that a worker tells apart.
var codes = map[string]error{"revoked": ErrRevoked, "withdrawn": ErrWithdrawn}

// answerOf returns the answer for an error, nil for none.
func answerOf(err error) answer {
	if err == nil {
		return answer{}
	}
	a := answer{Error: err.Error()}
	for code, known := range codes {
		if errors.Is(err, known) {
			a.Code = code
		}
	}
	return a
}

// err returns the error of an answer.
func (a answer) err() error {
	if known := codes[a.Code]; known != nil {
		return known
	}
	if a.Error == "" {
		return nil
	}
	return fmt.Errorf("the coordinator answers: %s", sanitize.Excerpt(a.Error, 300))
}

// A joining is what a worker says to join.
type joining struct {
	Secret string `json:"secret"`
	Name   string `json:"name"`
	NKey   string `json:"nkey"`
}

// A request is what a worker's git is for.
type request struct {
	Service Service      `json:"service"`
	Fence   remote.Fence `json:"fence"`
}

func writeLine(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// readLine reads a line and nothing of what follows it.
func readLine(r io.Reader, v any) error {
	line := make([]byte, 0, 256)
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(r, one); err != nil {
			return err
		}
		if one[0] == '\n' {
			return json.Unmarshal(line, v)
		}
		if line = append(line, one[0]); len(line) > mostLine {
			return errors.New("a line is too long")
		}
	}
}

// dial connects to the coordinator at the first of the addresses that answers with its key, for
// one of the protocols, and returns the connection after the coordinator's first answer.
func (j *Joined) dial(ctx context.Context, protocol string) (*tls.Conn, error) {
	own, err := newCertificate(j.Seed, "gl worker")
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{protocol},
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection: func(s tls.ConnectionState) error {
			pin, err := pinOf(s.PeerCertificates[0].Raw)
			if err == nil && pin != j.Pin {
				err = errPin
			}
			return err
		}}
	var errs []error
	for _, address := range j.Addresses {
		conn, err := dialOne(ctx, address, config)
		if err == nil || errors.Is(err, ErrRevoked) {
			return conn, err
		}
		errs = append(errs, fmt.Errorf("%s: %w", address, err))
	}
	return nil, errors.Join(errs...)
}

var errPin = errors.New("another server answers there: its certificate isn't the one of the join token")

func dialOne(ctx context.Context, address string, config *tls.Config) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	raw, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	conn := raw.(*tls.Conn)
	if err := hear(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// hear reads the coordinator's answer and returns its error.
func hear(conn net.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(handshakeTime)); err != nil {
		return err
	}
	var a answer
	if err := readLine(conn, &a); err != nil {
		return err
	}
	if err := a.err(); err != nil {
		return err
	}
	return conn.SetReadDeadline(time.Time{})
}
