package httpguard

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"greenlight/internal/base/durable"
)

// A Role is what a session may do.
type Role string

const (
	Person Role = "person" // read and act
	Reader Role = "reader" // read
)

const (
	loginLife   = 10 * time.Minute
	sessionLife = 14 * 24 * time.Hour
	mostLogins  = 32
	mostSession = 64
)

// A Store keeps logins and sessions in a file, and of each secret only the SHA-256: a process that
// reads the file can't log in. Several processes may use one file.
type Store struct {
	path string

	mu   sync.Mutex
	last stored
}

// A stored is the content of the file.
type stored struct {
	Address  string    `json:"address"` // of the last server: its pages look for it there again
	Logins   []login   `json:"logins"`
	Sessions []session `json:"sessions"`
}

type login struct {
	Token   string    `json:"token"`
	Role    Role      `json:"role"`
	Expires time.Time `json:"expires"`
}

type session struct {
	Path    string    `json:"path"`
	Token   string    `json:"token"`
	Role    Role      `json:"role"`
	Expires time.Time `json:"expires"`
}

// OpenStore reads the store in the file, which needn't exist. Its directory must.
func OpenStore(path string) (*Store, error) {
	s := &Store{path: path}
	return s, s.read()
}

func (s *Store) read() error {
	data, err := durable.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		s.last = stored{}
		return nil
	}
	if err != nil {
		return err
	}
	var now stored
	if err := json.Unmarshal(data, &now); err != nil {
		return fmt.Errorf("%s: %w; remove it, and log in again", s.path, err)
	}
	s.last = now
	return nil
}

// change changes the file under a lock. It drops what has expired.
func (s *Store) change(ctx context.Context, f func(*stored) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, err := durable.Await(ctx, s.path+".lock")
	if err != nil {
		return err
	}
	defer func() { _ = held.Unlock() }()
	if err := s.read(); err != nil {
		return err
	}
	next, now := s.last, time.Now()
	next.Logins = slices.DeleteFunc(slices.Clone(next.Logins),
		func(l login) bool { return now.After(l.Expires) })
	next.Sessions = slices.DeleteFunc(slices.Clone(next.Sessions),
		func(s session) bool { return now.After(s.Expires) })
	if err := f(&next); err != nil {
		return err
	}
	if err := durable.WriteJSON(s.path, next); err != nil {
		return err
	}
	s.last = next
	return nil
}

// Address returns where the last server answered, such as http://127.0.0.1:4711; "" for none.
func (s *Store) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.Address
}

// Listen records where a server answers. Sessions of another address end: a program that has that
// port now may have been sent their cookies.
func (s *Store) Listen(ctx context.Context, address string) error {
	return s.change(ctx, func(f *stored) error {
		if f.Address != address {
			f.Sessions = nil
		}
		f.Address = address
		return nil
	})
}

// Login returns a new secret that begins one session.
func (s *Store) Login(ctx context.Context, role Role) (token string, err error) {
	token = secret()
	return token, s.change(ctx, func(f *stored) error {
		f.Logins = append(f.Logins, login{hash(token), role, time.Now().Add(loginLife)})
		f.Logins = f.Logins[max(0, len(f.Logins)-mostLogins):]
		return nil
	})
}

// errLogin is the error for a token that begins no session, whatever the reason.
var errLogin = errors.New("this login link was used, or has expired")

// begin uses a login up, and returns the path and the token of a new session.
func (s *Store) begin(ctx context.Context, token string) (path, cookie string, err error) {
	if len(token) != len(secret()) {
		return "", "", errLogin
	}
	path, cookie = secret(), secret()
	err = s.change(ctx, func(f *stored) error {
		is := hash(token)
		i := slices.IndexFunc(f.Logins, func(l login) bool { return same(l.Token, is) })
		if i < 0 {
			return errLogin
		}
		f.Sessions = append(f.Sessions, session{Path: hash(path), Token: hash(cookie),
			Role: f.Logins[i].Role, Expires: time.Now().Add(sessionLife)})
		f.Sessions = f.Sessions[max(0, len(f.Sessions)-mostSession):]
		f.Logins = slices.Delete(f.Logins, i, i+1)
		return nil
	})
	return path, cookie, err
}

// find returns the role of a session; false if there is none of the path and the token.
func (s *Store) find(path, cookie string) (Role, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, p, c := time.Now(), hash(path), hash(cookie)
	role, ok := Reader, false
	for _, one := range s.last.Sessions {
		if same(one.Path, p) && same(one.Token, c) && now.Before(one.Expires) {
			role, ok = one.Role, true
		}
	}
	return role, ok
}

// End ends a session by its path, or all of them if that is "".
func (s *Store) End(ctx context.Context, path string) error {
	return s.change(ctx, func(f *stored) error {
		if path == "" {
			f.Logins = nil
		}
		f.Sessions = slices.DeleteFunc(f.Sessions, func(one session) bool {
			return path == "" || same(one.Path, hash(path))
		})
		return nil
	})
}

// secret returns 256 random bits as text for an address.
func secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// same compares in constant time.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// formToken returns the token that the forms of a session carry. It follows from the cookie, which
// no page can read.
func formToken(cookie string) string {
	mac := hmac.New(sha256.New, []byte(cookie))
	mac.Write([]byte("form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// AwaitUse returns once a login was used or has expired, or after a while.
func (s *Store) AwaitUse(ctx context.Context, token string, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(usePause)
	defer tick.Stop()
	for s.waits(token) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

const usePause = 500 * time.Millisecond

// waits reports whether a login wasn't used yet, by a server in this process or another.
func (s *Store) waits(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := durable.ReadFile(s.path)
	var now stored
	return err == nil && json.Unmarshal(data, &now) == nil &&
		slices.ContainsFunc(now.Logins, func(l login) bool { return l.Token == hash(token) })
}

// ErrRunning means that another server of the same store runs.
var ErrRunning = errors.New("gl web is already running")

// Alone takes the lock that one server holds; release gives it up.
func Alone(path string) (release func(), err error) {
	held, err := durable.TryLock(path)
	if errors.As(err, new(*durable.LockedError)) || errors.Is(err, durable.ErrLocked) {
		return nil, ErrRunning
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = held.Unlock() }, nil
}
