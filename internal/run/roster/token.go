package roster

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"strings"

	"greenlight/internal/base/durable"
)

// A Token is what a person gives a worker so that it can join: a secret that works once, where the
// coordinator is, and which certificate it has.
type Token struct {
	Addresses []string `json:"addresses"`
	Pin       string   `json:"pin"`
	Secret    string   `json:"secret"`
}

const (
	tokenStart = "gl-join-"
	mostToken  = 4 << 10 // bytes of its text
	// MostAddresses is how many addresses a token may have.
	MostAddresses = 16
)

// String returns the token's text. It is a secret.
func (t Token) String() string {
	data, _ := json.Marshal(t) // strings alone
	return tokenStart + base64.RawURLEncoding.EncodeToString(data)
}

// Write writes the token into a file that only its owner may read.
func (t Token) Write(file string) error {
	return durable.WriteFile(file, []byte(t.String()+"\n"), 0o600)
}

var errToken = errors.New("this isn't a join token: gl serve and gl workers invite make them")

// ParseToken reads the text of a token, with white space around it.
func ParseToken(text string) (Token, error) {
	var t Token
	coded, is := strings.CutPrefix(strings.TrimSpace(text), tokenStart)
	data, err := base64.RawURLEncoding.DecodeString(coded)
	if !is || err != nil || len(text) > mostToken || json.Unmarshal(data, &t) != nil ||
		t.Pin == "" || t.Secret == "" {
		return t, errToken
	}
	return t, CheckAddresses(t.Addresses)
}

// CheckAddresses returns an error unless all are HOST:PORT and at least one is there.
func CheckAddresses(list []string) error {
	if len(list) == 0 || len(list) > MostAddresses {
		return errToken
	}
	for _, a := range list {
		if host, port, err := net.SplitHostPort(a); err != nil || host == "" || port == "" {
			return errToken
		}
	}
	return nil
}
