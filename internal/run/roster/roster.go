// Package roster keeps the list of workers in a file: their names, the public halves of their keys,
// and the invitations by which they join. gl serve reads it at every connection; gl workers changes
// it from another process. Of an invitation's secret it has only the hash.
package roster

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/remote"
)

const (
	// InvitationLife is how long an invitation may be used.
	InvitationLife  = 10 * time.Minute
	mostInvitations = 32
	mostMembers     = 256
)

var (
	// ErrUnknown: no worker on the list has the name.
	ErrUnknown = errors.New("no such worker")
	// ErrInvitation: the secret is of no invitation, or it was used or is too old.
	ErrInvitation = errors.New("this join token was used, or has expired: gl workers invite makes another")
	// ErrTaken: a worker of that name has joined with another key.
	ErrTaken = errors.New("a worker of that name has joined already")
	// ErrNeverServed: gl serve has never run in the project.
	ErrNeverServed = errors.New("gl serve has never run in this project: start it first")
)

// A Member is a worker that has joined.
type Member struct {
	Name     string    `json:"name"`
	NKey     string    `json:"nkey"` // the public half of its key for NATS
	TLS      string    `json:"tls"`  // the hash of its certificate's public key: Pin
	Since    time.Time `json:"since"`
	Draining bool      `json:"draining,omitempty"` // gets no new jobs
	Revoked  bool      `json:"revoked,omitempty"`  // gets no connection; stays on the list as a reminder
}

// A Server is where gl serve was last.
type Server struct {
	Listen    string   `json:"listen"`    // as it was told, with the port that it got
	Addresses []string `json:"addresses"` // by which workers try to reach it
	Pin       string   `json:"pin"`       // of its certificate
}

// A Roster is the list of a project.
type Roster struct {
	file string
}

type content struct {
	Server      Server       `json:"server"`
	Workers     []Member     `json:"workers"`
	Invitations []invitation `json:"invitations,omitempty"`
}

type invitation struct {
	Secret  string    `json:"secret"` // its hash
	Expires time.Time `json:"expires"`
}

// Open returns the roster in a directory, which needn't exist.
func Open(dir string) *Roster { return &Roster{filepath.Join(dir, "roster.json")} }

func (r *Roster) read() (content, error) {
	var c content
	if err := durable.ReadJSON(r.file, &c); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("%w; without it, workers have to join again", err)
	}
	return c, nil
}

func (r *Roster) change(ctx context.Context, f func(*content) error) error {
	if err := durable.MkdirPrivate(filepath.Dir(r.file)); err != nil {
		return err
	}
	held, err := durable.Await(ctx, r.file+".lock")
	if err != nil {
		return err
	}
	defer func() { _ = held.Unlock() }()
	c, err := r.read()
	if err != nil {
		return err
	}
	now := time.Now()
	c.Invitations = slices.DeleteFunc(c.Invitations,
		func(i invitation) bool { return now.After(i.Expires) })
	if err := f(&c); err != nil {
		return err
	}
	return durable.WriteJSON(r.file, c)
}

// Stamp returns a value that is another one once the list has changed.
func (r *Roster) Stamp() string {
	info, err := durable.Stat(r.file)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size())
}

// Members lists the workers by name, with those that are revoked.
func (r *Roster) Members() ([]Member, error) {
	c, err := r.read()
	return c.Workers, err
}

// Server returns where gl serve was last, or ErrNeverServed.
func (r *Roster) Server() (Server, error) {
	c, err := r.read()
	if err == nil && c.Server.Pin == "" {
		err = ErrNeverServed
	}
	return c.Server, err
}

// SetServer notes where gl serve is.
func (r *Roster) SetServer(ctx context.Context, s Server) error {
	return r.change(ctx, func(c *content) error {
		c.Server = s
		return nil
	})
}

// Invite returns a token with which one worker may join.
func (r *Roster) Invite(ctx context.Context) (Token, error) {
	t := Token{Secret: rand.Text()}
	return t, r.change(ctx, func(c *content) error {
		if c.Server.Pin == "" {
			return ErrNeverServed
		}
		t.Addresses, t.Pin = c.Server.Addresses, c.Server.Pin
		c.Invitations = append(c.Invitations,
			invitation{hash(t.Secret), time.Now().Add(InvitationLife)})
		c.Invitations = c.Invitations[max(0, len(c.Invitations)-mostInvitations):]
		return nil
	})
}

// Admit puts a worker on the list and uses the invitation up. A worker that has joined with the
// same keys before, and didn't hear the answer, is admitted again.
func (r *Roster) Admit(ctx context.Context, secret string, m Member) error {
	if err := m.check(); err != nil {
		return err
	}
	return r.change(ctx, func(c *content) error {
		same := func(o Member) bool { return o.Name == m.Name && o.NKey == m.NKey && o.TLS == m.TLS }
		if i := slices.IndexFunc(c.Workers, same); i >= 0 && !c.Workers[i].Revoked {
			return nil
		}
		is := hash(secret)
		i := slices.IndexFunc(c.Invitations, func(i invitation) bool {
			return subtle.ConstantTimeCompare([]byte(i.Secret), []byte(is)) == 1
		})
		if i < 0 {
			return ErrInvitation
		}
		taken := func(o Member) bool {
			return !o.Revoked && o.Name == m.Name || o.NKey == m.NKey || o.TLS == m.TLS
		}
		if slices.ContainsFunc(c.Workers, taken) {
			return fmt.Errorf("%w: %s; use gl worker --name NAME, or gl workers revoke %[2]s", ErrTaken, m.Name)
		}
		c.Invitations = slices.Delete(c.Invitations, i, i+1)
		c.Workers = slices.DeleteFunc(c.Workers, func(o Member) bool { return o.Name == m.Name })
		if len(c.Workers) >= mostMembers {
			return fmt.Errorf("%d workers are on the list: gl workers revoke --forget NAME", mostMembers)
		}
		m.Since = time.Now().UTC().Truncate(time.Second)
		c.Workers = append(c.Workers, m)
		slices.SortFunc(c.Workers, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
		return nil
	})
}

func (m Member) check() error {
	if err := remote.CheckWorker(m.Name); err != nil {
		return err
	}
	if raw, err := base64.RawURLEncoding.DecodeString(m.TLS); err != nil || len(raw) != sha256.Size {
		return errors.New("a worker's certificate has no hash")
	}
	if len(m.NKey) != nkeyLen {
		return errors.New("a worker's NKey has another length")
	}
	return nil
}

const nkeyLen = 56

// Drain sets whether a worker gets no more jobs.
func (r *Roster) Drain(ctx context.Context, name string, on bool) error {
	return r.member(ctx, name, func(c *content, i int) { c.Workers[i].Draining = on })
}

// Revoke refuses a worker's keys from now on. forget also takes it off the list.
func (r *Roster) Revoke(ctx context.Context, name string, forget bool) error {
	return r.member(ctx, name, func(c *content, i int) {
		c.Workers[i].Revoked = true
		if forget {
			c.Workers = slices.Delete(c.Workers, i, i+1)
		}
	})
}

func (r *Roster) member(ctx context.Context, name string, f func(c *content, i int)) error {
	return r.change(ctx, func(c *content) error {
		i := slices.IndexFunc(c.Workers, func(m Member) bool { return m.Name == name })
		if i < 0 {
			return fmt.Errorf("%w: %q; gl workers lists them", ErrUnknown, name)
		}
		f(c, i)
		return nil
	})
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
