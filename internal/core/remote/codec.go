package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"greenlight/internal/base/sanitize"
)

// Text is a text of the other side, for people. Decoding makes it one line that is safe to show,
// and cuts it at 4 KiB.
type Text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*t = clean(s)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) { return json.Marshal(string(clean(string(t)))) }

func clean(s string) Text {
	const room = maxText - utf8.UTFMax // Excerpt counts characters, of which some take several bytes
	s = sanitize.Excerpt(s, room)
	for len(s) > room {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return Text(s)
}

type envelope struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

var toCoordinator = []func() ToCoordinator{
	func() ToCoordinator { return new(Hello) },
	func() ToCoordinator { return new(Beat) },
	func() ToCoordinator { return new(Goodbye) },
	func() ToCoordinator { return new(Accept) },
	func() ToCoordinator { return new(Refuse) },
	func() ToCoordinator { return new(Prepared) },
	func() ToCoordinator { return new(Started) },
	func() ToCoordinator { return new(Chunk) },
	func() ToCoordinator { return new(Heard) },
	func() ToCoordinator { return new(Saved) },
	func() ToCoordinator { return new(Offer) },
	func() ToCoordinator { return new(Ask) },
	func() ToCoordinator { return new(Gone) },
}

var toWorker = []func() ToWorker{
	func() ToWorker { return new(Greet) },
	func() ToWorker { return new(Welcome) },
	func() ToWorker { return new(Drain) },
	func() ToWorker { return new(Place) },
	func() ToWorker { return new(Withdraw) },
	func() ToWorker { return new(Ack) },
	func() ToWorker { return new(Say) },
	func() ToWorker { return new(End) },
	func() ToWorker { return new(Confirm) },
	func() ToWorker { return new(Answer) },
	func() ToWorker { return new(Discard) },
}

// Encode returns the message as it is sent. An error means that the message is invalid or too
// large.
func Encode(m Message) ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.kind(), err)
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.kind(), err)
	}
	data, err := json.Marshal(envelope{Kind: m.kind(), Body: body})
	if err == nil && len(data) > MaxMessage {
		err = fmt.Errorf("%d bytes are more than %d", len(data), MaxMessage)
	}
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.kind(), err)
	}
	return data, nil
}

// DecodeToCoordinator reads a message from a worker. What it returns is within the bounds of this
// package and safe to use in paths, refs and on terminals, whatever data is.
func DecodeToCoordinator(data []byte) (ToCoordinator, error) { return decode(data, toCoordinator) }

// DecodeToWorker is DecodeToCoordinator for messages of the coordinator.
func DecodeToWorker(data []byte) (ToWorker, error) { return decode(data, toWorker) }

func decode[M Message](data []byte, kinds []func() M) (M, error) {
	var none M
	if len(data) > MaxMessage {
		return none, fmt.Errorf("decode message: %d bytes are more than %d", len(data), MaxMessage)
	}
	var e envelope
	if err := strictly(data, &e); err != nil {
		return none, fmt.Errorf("decode message: %w", err)
	}
	i := slices.IndexFunc(kinds, func(make func() M) bool { return make().kind() == e.Kind })
	if i < 0 {
		return none, fmt.Errorf("decode message: unknown kind %.40q", e.Kind)
	}
	m := kinds[i]()
	if err := strictly(e.Body, m); err != nil {
		return none, fmt.Errorf("decode %s: %w", e.Kind, err)
	}
	if err := m.check(); err != nil {
		return none, fmt.Errorf("decode %s: %w", e.Kind, err)
	}
	return m, nil
}

func strictly(data []byte, to any) error {
	if len(data) == 0 || bytes.Equal(data, []byte("null")) {
		return errors.New("it is empty")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if _, hello := to.(*Hello); !hello { // one of another version is answered, not ignored
		d.DisallowUnknownFields()
	}
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more follows its end")
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func within(what string, n, least, most int64) error {
	if n < least || n > most {
		return fmt.Errorf("%s is %d, not %d to %d", what, n, least, most)
	}
	return nil
}

// plain returns an error unless s is a word of letters, digits and a few signs.
func plain(what, s string) error {
	if len(s) == 0 || len(s) > 100 {
		return fmt.Errorf("%s has %d bytes, not 1 to 100", what, len(s))
	}
	for i := range len(s) {
		if c := s[i]; !nameByte(c) && !strings.ContainsRune("@=:/+", rune(c)) {
			return fmt.Errorf("%s is %q: letters, digits and ._-@=:/+ are allowed", what, s)
		}
	}
	return nil
}

func optional(what, s string) error {
	if s == "" {
		return nil
	}
	return plain(what, s)
}

func words(what string, list []string, most int) error {
	if len(list) > most {
		return fmt.Errorf("%d %s are more than %d", len(list), what, most)
	}
	for _, s := range list {
		if err := plain(what, s); err != nil {
			return err
		}
	}
	return nil
}

// arguments checks what programs get: any text without NUL.
func arguments(what string, list []string) error {
	if len(list) > maxArgs {
		return fmt.Errorf("%d %s are more than %d", len(list), what, maxArgs)
	}
	for _, s := range list {
		if strings.ContainsRune(s, 0) {
			return fmt.Errorf("%s with a NUL byte", what)
		}
	}
	return nil
}

// inside checks names of files below the worktree.
func inside(what string, list ...string) error {
	if len(list) > maxFiles {
		return fmt.Errorf("%d %s are more than %d", len(list), what, maxFiles)
	}
	for _, s := range list {
		bad := s == "" || len(s) > 1024 || strings.ContainsAny(s, "\x00\\") || path.IsAbs(s) || path.Clean(s) != s ||
			s == ".." || strings.HasPrefix(s, "../")
		if bad || strings.EqualFold(strings.SplitN(s, "/", 2)[0], ".git") {
			return fmt.Errorf("%s %.80q is no path inside of the worktree", what, s)
		}
	}
	return nil
}

func directory(s string) error {
	if s == "" {
		return nil
	}
	return inside("directory", s)
}

func commit(what, s string) error {
	if len(s) != 40 && len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return fmt.Errorf("%s is %.80q, not a commit's full name", what, s)
	}
	return nil
}

func noCommit(what, s string) error {
	if s == "" {
		return nil
	}
	return commit(what, s)
}

func number(n int64) error { return within("number", n, 1, maxNumber) }
