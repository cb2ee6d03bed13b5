package hub

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"io/fs"
	"math/big"
	"path/filepath"
	"time"

	"github.com/nats-io/nkeys"

	"greenlight/internal/base/durable"
	"greenlight/internal/run/roster"
)

// newCertificate returns a certificate that the key of the seed has signed itself. Both sides know
// the other's key by its Pin, so names and dates in it don't count: clocks may differ.
func newCertificate(seed []byte, name string) (tls.Certificate, error) {
	if len(seed) != ed25519.SeedSize {
		return tls.Certificate{}, errors.New("the key has another length")
	}
	key := ed25519.NewKeyFromSeed(seed)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0), BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// pinOf returns the hash of the public key in a certificate.
func pinOf(der []byte) (string, error) {
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// serverKey is the file of the coordinator's key, in the hub's directory.
type serverKey struct {
	Seed []byte `json:"seed"`
}

// serverCertificate returns the coordinator's certificate. Its key is made once, because the
// workers know it.
func serverCertificate(dir string) (tls.Certificate, error) {
	file := filepath.Join(dir, "server.key.json")
	var k serverKey
	err := durable.ReadJSON(file, &k)
	if errors.Is(err, fs.ErrNotExist) {
		k.Seed = newSeed()
		err = durable.WriteJSON(file, k)
	}
	if err != nil {
		return tls.Certificate{}, err
	}
	return newCertificate(k.Seed, "gl serve")
}

func newSeed() []byte {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails
	return seed
}

// A Joined is what a worker keeps of its membership, in a file that only its user may read.
type Joined struct {
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"` // of the coordinator
	Pin       string   `json:"pin"`       // of its certificate
	Seed      []byte   `json:"seed"`      // of the key for TLS
	NKey      string   `json:"nkey"`      // the seed of the key for NATS
}

const joinedFile = "worker.key.json"

// ReadJoined reads a worker's membership from its directory; the error is fs.ErrNotExist if it
// hasn't joined.
func ReadJoined(dir string) (*Joined, error) {
	j := &Joined{}
	if err := durable.ReadJSON(filepath.Join(dir, joinedFile), j); err != nil {
		return nil, err
	}
	return j, roster.CheckAddresses(j.Addresses)
}

// newJoined makes the keys of a worker.
func newJoined(name string, t roster.Token) (*Joined, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	seed, err := pair.Seed()
	return &Joined{Name: name, Addresses: t.Addresses, Pin: t.Pin, Seed: newSeed(),
		NKey: string(seed)}, err
}

// public returns the public half of the key for NATS.
func (j *Joined) public() (string, error) {
	pair, err := nkeys.FromSeed([]byte(j.NKey))
	if err != nil {
		return "", err
	}
	return pair.PublicKey()
}

// sign signs what the NATS server asks for.
func (j *Joined) sign(nonce []byte) ([]byte, error) {
	pair, err := nkeys.FromSeed([]byte(j.NKey))
	if err != nil {
		return nil, err
	}
	defer pair.Wipe()
	return pair.Sign(nonce)
}
